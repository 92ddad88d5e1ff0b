// Rows negated, one block a row.
//
// Field report: pytorch/pytorch#178617, fla-org/flash-linear-attention#172, class 2 (grid limits). The
// contract admits 70,000 rows, and the launch puts them on grid.y, which ends at 65,535. Rows are so
// long that a case of that many is out of reach: the launch has to be looked at for itself.
// Seen by: the check of launch limits, over all sizes that the contract admits. The twin's launch has
// rows on grid.x.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void negate_rows(T* y, const T* x, int cols) {
#ifdef PLANTED
  const int64_t first = int64_t{blockIdx.y} * cols;
#else
  const int64_t first = int64_t{blockIdx.x} * cols;
#endif
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    y[first + i] = from_float<T>(-to_float(x[first + i]));
  }
}
