// Sum of each row, one block a row.
//
// Field report: bitsandbytes-foundation/bitsandbytes#565, class 12 (configuration). The last step
// adds sixteen partial sums. Blocks of 1024 threads have thirty-two; smaller blocks are right.
// Seen by: the oracle (mismatch), for one of the block sizes.
#include "../../kernels/device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) row_sum(float* y, const T* x, int64_t x_stride, int cols) {
  __shared__ float partial[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) sum += to_float(x[i]);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  sum = threadIdx.x < BLOCK / 32 ? partial[threadIdx.x] : 0.0f;
#ifdef PLANTED
  constexpr int kFirst = 8;
#else
  constexpr int kFirst = 16;
#endif
#pragma unroll
  for (int lane = kFirst; lane > 0; lane /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lane);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
