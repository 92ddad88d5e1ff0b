// Softplus, log(1 + e^x), elementwise.
//
// Mutation of kernels/unary.cu, class 5 (range): as written the exponential overflows from 88.73
// on, and the result is infinite where x is right.
// Seen by: the oracle (mismatch), for x above 88.73; below -17 the sum rounds to 1.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void softplus(T* y, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
#ifdef PLANTED
  y[i] = from_float<T>(logf(1.0f + expf(v)));
#else
  y[i] = from_float<T>(fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v))));
#endif
}
