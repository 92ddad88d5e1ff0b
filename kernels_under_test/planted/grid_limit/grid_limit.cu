// Every row multiplied by a factor of its own.
//
// Field report: NVIDIA/apex#411, class 2 (grid limits). Rows lie on grid.y, which ends at 65535;
// the launch stops there and the kernel does not stride over the rest. Seen by: unwritten elements,
// from row 65535 on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scale_rows(T* y, const T* x, const T* factor, int64_t rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
#ifdef PLANTED
  const int64_t row = blockIdx.y;
#else
  for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
#endif
  { y[row * cols + col] = from_float<T>(to_float(x[row * cols + col]) * to_float(factor[row])); }
}
