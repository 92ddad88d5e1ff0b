// Sum of each row through a scratch buffer in global memory, one block of two warps a row.
//
// Field report: triton-lang/triton#10924, class 8 (races). What a thread stores to a buffer another
// thread of the block loads back, with no barrier in between.
// Seen by: the race check.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void __launch_bounds__(64) scratch_sum(float* y, float* scratch, const T* x, int cols) {
  x += int64_t{blockIdx.x} * cols;
  scratch += int64_t{blockIdx.x} * 64;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 64) sum += to_float(x[i]);
  scratch[threadIdx.x] = sum;
#ifndef PLANTED
  __syncthreads();
#endif
  if (threadIdx.x >= 32) return;
  sum += scratch[threadIdx.x + 32];
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
