// Rows divided by their root mean square, one warp a row.
//
// Mutation of our rms_norm, class 6 (accumulation), after the small rows of
// huggingface/kernels-community#681. eps is added to the root, not under it: rows of 0.001 come out
// at 1 instead of 0.7; for ordinary rows both agree to six digits.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void rms_norm(T* y, const T* x, int64_t x_stride, int64_t rows, int cols, float eps) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]) * to_float(x[i]);
  const float mean = warp_reduce(sum, Sum()) / cols;
#ifdef PLANTED
  const float root = sqrtf(mean) + eps;
#else
  const float root = sqrtf(mean + eps);
#endif
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = from_float<T>(to_float(x[i]) / root);
}
