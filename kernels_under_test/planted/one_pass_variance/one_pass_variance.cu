// Variance of each row, one warp a row.
//
// Field report: pytorch/pytorch#40308, openvinotoolkit/openvino#36587, class 6 (cancellation).
// E[x^2] - E[x]^2 in f32 loses the variance of data far from 0, and can be negative.
// Seen by: the oracle (mismatch), with a mean of some hundred deviations.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_variance(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float sum = 0.0f, square = 0.0f;
#ifdef PLANTED
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float v = to_float(x[i]);
    sum += v;
    square += v * v;
  }
  const float mean = warp_reduce(sum, Sum()) / cols;
  const float variance = warp_reduce(square, Sum()) / cols - mean * mean;
#else
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
  const float mean = warp_reduce(sum, Sum()) / cols;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float difference = to_float(x[i]) - mean;
    square += difference * difference;
  }
  const float variance = warp_reduce(square, Sum()) / cols;
#endif
  if (threadIdx.x == 0) y[row] = variance;
}
