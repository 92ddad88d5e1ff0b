// Sum of each row, one block of four warps a row.
//
// Mutation of block_reduce in kernels/device_helpers.cuh, class 8 (races): no barrier between the
// warps' stores of their sums and the load of all of them.
// Seen by: the race check, in every row.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void __launch_bounds__(128) sum_rows(float* y, const T* x, int cols) {
  __shared__ float partial[4];
  x += int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 128) sum += to_float(x[i]);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
#ifndef PLANTED
  __syncthreads();
#endif
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < 4; ++warp) sum += partial[warp];
  y[blockIdx.x] = sum;
}
