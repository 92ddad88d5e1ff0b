// Magnitudes with the signs of other elements.
//
// Field report: pytorch/pytorch#176035, class 11 (signed zero). A comparison with 0 cannot see the
// sign of -0.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void with_sign(T* y, const T* x, const T* s, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float magnitude = fabsf(to_float(x[i])), sign = to_float(s[i]);
#ifdef PLANTED
  y[i] = from_float<T>(sign < 0.0f ? -magnitude : magnitude);
#else
  y[i] = from_float<T>(copysignf(magnitude, sign));
#endif
}
