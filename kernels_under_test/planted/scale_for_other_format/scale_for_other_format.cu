// Rows to e5m2 with a scale of their own, max |x| / largest; one warp a row.
//
// Mutation of our rms_norm_fp8, class 5 (range): the largest number is e4m3's, 448, where e5m2 goes
// to 57344. The codes are right by the scale that is written with them, and use half of the range.
// Seen by: the oracle (mismatch of the scale).
#include <cuda_fp8.h>

#include "../../kernels/device_helpers.cuh"

template <typename T, typename Q>
__global__ void quantise_rows(Q* q, float* scales, const T* x, int64_t x_stride, int64_t rows,
                              int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  q += row * cols;
#ifdef PLANTED
  constexpr float kLargest = 448.0f;
#else
  constexpr float kLargest = 57344.0f;
#endif
  float most = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) most = fmaxf(most, fabsf(to_float(x[i])));
  const float scale = fmaxf(warp_reduce(most, Max()), 1e-10f) / kLargest;
  if (threadIdx.x == 0) scales[row] = scale;
  for (int i = threadIdx.x; i < cols; i += 32)
    q[i].__x = __nv_cvt_float_to_fp8(to_float(x[i]) / scale, __NV_SATFINITE, __NV_E5M2);
}
