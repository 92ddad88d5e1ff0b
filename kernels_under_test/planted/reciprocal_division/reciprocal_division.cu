// Elements divided by divisors of their own.
//
// Mutation of the division in kernels/binary.cu, class 6 (accumulation). A reciprocal and a product:
// two roundings where the contract promises the correctly rounded quotient. (A divisor that a row
// shares may be inverted once, rule R16; these may not.)
// Seen by: the oracle (mismatch), by one unit in the last place.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void divide(T* y, const T* x, const T* d, int64_t x_stride, int cols) {
  x += int64_t{blockIdx.x} * x_stride;
  d += int64_t{blockIdx.x} * cols;
  y += int64_t{blockIdx.x} * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
#ifdef PLANTED
    y[c] = from_float<T>(to_float(x[c]) * (1.0f / to_float(d[c])));
#else
    y[c] = from_float<T>(to_float(x[c]) / to_float(d[c]));
#endif
  }
}
