// Sums of rows of small positive numbers as e4m3, one warp a row.
//
// Mutation of our row_sum, class 6 (accumulation): the lanes add in the input's type, although the
// contract promises an f32 accumulator. Of the sum's digits the output keeps four bits, so that only a
// sum beside the middle of two codes tells.
// Seen by: the checker of narrow accumulation, in every case; now and then by the oracle (mismatch).
#include <cuda_fp8.h>

#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_sum(__nv_fp8_e4m3* y, const T* x, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
#ifdef PLANTED
  T part = from_float<T>(0.0f);
  for (int i = threadIdx.x; i < cols; i += 32) part = __hadd(part, x[i]);
  const float sum = warp_reduce(to_float(part), Sum());
#else
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
  sum = warp_reduce(sum, Sum());
#endif
  if (threadIdx.x == 0) y[row].__x = __nv_cvt_float_to_fp8(sum, __NV_SATFINITE, __NV_E4M3);
}
