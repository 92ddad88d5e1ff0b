// Sum of each row of a half-precision matrix as f32, one warp a row.
//
// Field report: triton-lang/triton#1960, class 6 (accumulation). The lanes add in the input's own
// type, although the contract promises an f32 accumulator.
// Seen by: the oracle (mismatch) on exact data whose partial sums pass 2^11 (f16) or 2^8 (bf16).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void half_row_sum(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  T sum = from_float<T>(0.0f);
  for (int i = threadIdx.x; i < cols; i += 32) sum = __hadd(sum, x[i]);
  const float total = warp_reduce(to_float(sum), Sum());
#else
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
  const float total = warp_reduce(sum, Sum());
#endif
  if (threadIdx.x == 0) y[row] = total;
}
