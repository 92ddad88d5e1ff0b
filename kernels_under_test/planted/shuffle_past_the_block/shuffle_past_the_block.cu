// Sum of each row, one block of 48 threads a row: a warp and a half.
//
// Mutation of our row_sum, class 8 (what threads and blocks share): the half warp adds up as a whole one
// does, and its first step reads lanes 16 to 31, which do not exist. What comes is not defined; on cards
// it often is the lane's own value, counted twice, or 0.
// Seen by: the check of shuffles; as a value that nothing wrote, where it reaches the output.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void __launch_bounds__(48) row_sum(float* y, const T* x, int cols) {
  __shared__ float partial[2];
  x += int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 48) sum += to_float(x[i]);
  const bool half = threadIdx.x >= 32;
#ifdef PLANTED
  const int width = 32;
#else
  const int width = half ? 16 : 32;
#endif
  const unsigned lanes = half ? 0xffffu : 0xffffffffu;
  for (int step = width / 2; step > 0; step /= 2) {
    sum += __shfl_down_sync(lanes, sum, step, width);
  }
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = partial[0] + partial[1];
}
