// Residual added to every row; both inputs may have a row stride.
//
// Field report: unslothai/unsloth#10617, pytorch/pytorch#194719, class 10 (strides). The residual
// is read as if its rows lay one behind the other. Seen by: the oracle (mismatch), and the poison
// between the rows.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void add_residual(T* y, const T* x, const T* residual, int64_t x_stride,
                             int64_t residual_stride, int cols) {
  x += int64_t{blockIdx.x} * x_stride;
#ifdef PLANTED
  residual += int64_t{blockIdx.x} * cols;
#else
  residual += int64_t{blockIdx.x} * residual_stride;
#endif
  y += int64_t{blockIdx.x} * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    y[c] = from_float<T>(to_float(x[c]) + to_float(residual[c]));
  }
}
