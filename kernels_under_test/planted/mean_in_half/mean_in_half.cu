// Rows less their mean, divided by their deviation, one warp a row; squares in f32.
//
// Mutation of our layer_norm, class 6 (accumulation): the elements are widened where they are
// squared, and not where they are summed for the mean.
// Seen by: the oracle (mismatch), where a lane's sum outgrows its type.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void layer_norm(T* y, const T* x, int64_t x_stride, int64_t rows, int cols, float eps) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
#ifdef PLANTED
  T part = from_float<T>(0.0f);
  for (int i = threadIdx.x; i < cols; i += 32) part = part + x[i];
  const float sum = to_float(part);
#else
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
#endif
  const float mean = warp_reduce(sum, Sum()) / cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float difference = to_float(x[i]) - mean;
    square += difference * difference;
  }
  const float scale = rsqrtf(warp_reduce(square, Sum()) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += 32)
    y[i] = from_float<T>((to_float(x[i]) - mean) * scale);
}
