// Softmax of each row, one block of four warps a row.
//
// Field report: ggml-org/llama.cpp#26385, class 8 (races). Two reductions share the warps' partial
// results, with no barrier between the loads of the first and the stores of the second.
// Seen by: the race check; the values are right unless one warp runs far ahead of another.
#include "../../kernels/device_helpers.cuh"

template <typename Op>
__device__ float reduce(float v, Op op, float* partial) {
  v = warp_reduce(v, op);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = v;
  __syncthreads();
  v = partial[0];
  for (int warp = 1; warp < 4; ++warp) v = op(v, partial[warp]);
  return v;
}

template <typename T>
__global__ void __launch_bounds__(128) softmax_rows(T* y, const T* x, int cols) {
  __shared__ float partial[4];
  x += int64_t{blockIdx.x} * cols;
  y += int64_t{blockIdx.x} * cols;
  float largest = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 128) largest = fmaxf(largest, to_float(x[i]));
  largest = reduce(largest, Max(), partial);
#ifndef PLANTED
  __syncthreads();
#endif
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 128) sum += expf(to_float(x[i]) - largest);
  sum = reduce(sum, Sum(), partial);
  for (int i = threadIdx.x; i < cols; i += 128) {
    y[i] = from_float<T>(expf(to_float(x[i]) - largest) / sum);
  }
}
