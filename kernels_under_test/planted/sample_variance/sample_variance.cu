// Rows less their mean, divided by their deviation, times a weight; one warp a row.
//
// Mutation of our layer_norm, class 6 (accumulation): the variance of a norm is over n; here it is
// a sample's, over n - 1. At a thousand columns the difference is in the fourth digit.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void layer_norm(T* y, const T* x, int64_t x_stride, const float* weight, int64_t rows,
                           int cols, float eps) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
  const float mean = warp_reduce(sum, Sum()) / cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float difference = to_float(x[i]) - mean;
    square += difference * difference;
  }
#ifdef PLANTED
  const float variance = warp_reduce(square, Sum()) / max(cols - 1, 1);
#else
  const float variance = warp_reduce(square, Sum()) / cols;
#endif
  const float scale = rsqrtf(variance + eps);
  for (int i = threadIdx.x; i < cols; i += 32)
    y[i] = from_float<T>((to_float(x[i]) - mean) * scale * weight[i]);
}
