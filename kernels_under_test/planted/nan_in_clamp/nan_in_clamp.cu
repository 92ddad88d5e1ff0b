// Elements kept between two bounds; NaN stays NaN.
//
// Mutation of our binary, class 4 (NaN): fmaxf gives the bound for NaN, so that a NaN on its way to
// the loss turns into a plausible number.
// Seen by: the oracle (mismatch: a number where NaN is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void clamp(T* y, const T* x, int64_t n, float low, float high) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
#ifdef PLANTED
  y[i] = from_float<T>(fminf(fmaxf(v, low), high));
#else
  y[i] = from_float<T>(v < low ? low : v > high ? high : v);
#endif
}
