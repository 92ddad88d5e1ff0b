// Elements divided by a divisor of each row.
//
// Mutation of the last pass of our softmax, class 6 (accumulation). One reciprocal a row and a
// product an element: two roundings where the contract promises the correctly rounded quotient.
// Seen by: the oracle (mismatch), by one unit in the last place.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void divide(T* y, const T* x, const T* d, int64_t x_stride, int cols) {
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  const float divisor = to_float(d[blockIdx.x]);
#ifdef PLANTED
  const float reciprocal = 1.0f / divisor;
#endif
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
#ifdef PLANTED
    y[c] = from_float<T>(to_float(x[c]) * reciprocal);
#else
    y[c] = from_float<T>(to_float(x[c]) / divisor);
#endif
  }
}
