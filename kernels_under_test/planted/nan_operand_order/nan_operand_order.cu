// Smaller of two elements; NaN if either is.
//
// Field report: cupy/cupy#3097, class 4 (NaN). One comparison serves both operands, and it is false
// for NaN in either: a NaN in b is returned, a NaN in a is not.
// Seen by: the oracle (mismatch: a number where NaN is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void smaller(T* y, const T* a, const T* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float u = to_float(a[i]), v = to_float(b[i]);
#ifdef PLANTED
  y[i] = u < v ? a[i] : b[i];
#else
  y[i] = u < v || u != u ? a[i] : b[i];
#endif
}
