// Standard deviation of each row, one warp a row.
//
// Field report: openvinotoolkit/openvino#36587, class 6 (cancellation). A rewrite turns the mean of
// (x - mean)^2 into the mean of x (x - mean), equal on paper. At a mean of 10^4 it cancels, comes
// out negative, and its root is NaN.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_deviation(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += to_float(x[i]);
  const float mean = warp_reduce(sum, Sum()) / cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float difference = to_float(x[i]) - mean;
#ifdef PLANTED
    square += to_float(x[i]) * difference;
#else
    square += difference * difference;
#endif
  }
  square = warp_reduce(square, Sum());
  if (threadIdx.x == 0) y[row] = sqrtf(square / cols);
}
