// Softplus, log(1 + exp(x)).
//
// Field report: pytorch/pytorch#188546 for the function, mutated from our unary kernel, class 5
// (range). The exponential of a large x overflows, and infinity is returned for x itself.
// Seen by: the oracle (mismatch), from x = 88.8 on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void softplus(T* y, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
#ifdef PLANTED
  y[i] = from_float<T>(log1pf(expf(v)));
#else
  y[i] = from_float<T>(fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v))));
#endif
}
