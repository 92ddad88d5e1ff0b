// Sum of each row of halves: a tile of the row in shared memory, added two at a time; one warp a row.
//
// Mutation of our row_sum, class 3 (tails): the last pair of an odd row has one element, and its other
// half is whatever the shared memory holds. Zeros, as on a card that has just been started, are right.
// Seen by: the check of uninitialised values, by the byte.
#include <cuda_fp16.h>

#include <cstdint>

__global__ void __launch_bounds__(32) pair_sum(float* y, const __half* x, int cols) {
  __shared__ __half2 tile[256];  // cols <= 512
  __half* row = reinterpret_cast<__half*>(tile);
  x += int64_t{blockIdx.x} * cols;
  for (int i = threadIdx.x; i < cols; i += 32) row[i] = x[i];
#ifndef PLANTED
  if (threadIdx.x == 0 && cols % 2 != 0) row[cols] = __float2half_rn(0.0f);
#endif
  __syncwarp();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < (cols + 1) / 2; i += 32) {
    const float2 pair = __half22float2(tile[i]);
    sum += pair.x + pair.y;
  }
#pragma unroll
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
