// Unbiased variance of each row, one warp a row.
//
// Mutation of our layer_norm, class 6 (accumulation), after the right values of
// pytorch/pytorch#40308. The sum of squares is divided by n, not by n - 1.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_variance(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
  const float mean = warp_reduce(sum, Sum()) / cols;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float difference = to_float(x[i]) - mean;
    square += difference * difference;
  }
  square = warp_reduce(square, Sum());
#ifdef PLANTED
  if (threadIdx.x == 0) y[row] = square / cols;
#else
  if (threadIdx.x == 0) y[row] = square / (cols - 1);
#endif
}
