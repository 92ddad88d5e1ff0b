// Rows divided by their length, one warp a row; by eps where the length is less, as torch's
// normalize does it.
//
// Mutation of our rms_norm, class 6 (accumulation): eps is added to the length. Rows of ordinary
// length agree to six digits; short ones do not.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void normalise(T* y, const T* x, int64_t x_stride, int64_t rows, int cols, float eps) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) square += to_float(x[i]) * to_float(x[i]);
  const float length = sqrtf(warp_reduce(square, Sum()));
#ifdef PLANTED
  const float divisor = length + eps;
#else
  const float divisor = length != length ? length : fmaxf(length, eps);  // fmaxf drops NaN
#endif
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = from_float<T>(to_float(x[i]) / divisor);
}
