// Sum of each short row, one thread a row.
//
// Field report: flagos-ai/FlagGems#5501, class 3 (sizes 0 and 1). The sum starts from the row's
// first element, and a row of no elements has none; its sum is 0.
// Seen by: a read outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_sum(float* y, const T* x, int64_t x_stride, int rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += row * x_stride;
#ifdef PLANTED
  float sum = to_float(x[0]);
  for (int i = 1; i < cols; ++i) sum += to_float(x[i]);
#else
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) sum += to_float(x[i]);
#endif
  y[row] = sum;
}
