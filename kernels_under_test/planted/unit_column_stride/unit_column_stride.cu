// The gradient of a loss times the one that comes from above, which may be expanded.
//
// Field report: ROCm/TransformerEngine#623, class 10 (strides). What has more than one element is
// taken to have a column stride of 1. An expanded gradient has many elements and one place in
// memory.
// Seen by: reads outside the buffer, and the poison between elements.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void chain(T* y, const T* loss, const T* grad, int64_t grad_row_stride,
                      int64_t grad_col_stride, int rows, int cols) {
  const int64_t row = blockIdx.x;
#ifdef PLANTED
  const int64_t step = int64_t{rows} * cols > 1 ? 1 : 0;
#else
  const int64_t step = grad_col_stride;
#endif
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const float g = to_float(grad[row * grad_row_stride + c * step]);
    y[row * cols + c] = from_float<T>(to_float(loss[row * cols + c]) * g);
  }
}
