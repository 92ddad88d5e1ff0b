// Rows negated; at most 32768 blocks stride over the rows.
//
// Field report: NVIDIA/apex#411, class 2 (grid limits). The loop that was added for rows past the
// grid steps by the hardware's limit, not by the grid that was launched.
// Seen by: unwritten elements, from row 32768 on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void negate_rows(T* y, const T* x, int64_t x_stride, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
#ifdef PLANTED
  constexpr int kStep = 65535;
#else
  const int kStep = gridDim.y;
#endif
  for (int64_t row = blockIdx.y; row < rows; row += kStep) {
    y[row * cols + col] = -x[row * x_stride + col];
  }
}
