// Mean of three neighbours along a row; at the borders of those that are there.
//
// Mutation of our row_sum, class 3 (tails): the divisor is the window's length everywhere, padding
// counted.
// Seen by: the oracle (mismatch), at the borders.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void mean_pool(T* y, const T* x, int cols) {
  const int col = blockIdx.y * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  x += int64_t{blockIdx.x} * cols;
  const float left = col > 0 ? to_float(x[col - 1]) : 0.0f;
  const float right = col + 1 < cols ? to_float(x[col + 1]) : 0.0f;
#ifdef PLANTED
  const int count = 3;
#else
  const int count = 1 + (col > 0) + (col + 1 < cols);
#endif
  y[int64_t{blockIdx.x} * cols + col] = from_float<T>((left + to_float(x[col]) + right) / count);
}
