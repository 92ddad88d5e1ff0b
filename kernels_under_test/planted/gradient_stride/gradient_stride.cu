// Gradient of a rectifier, a block a row; the gradient that comes in and the input of the forward
// pass lie at strides of their own.
//
// Field report: pytorch/pytorch#194719, class 10 (strides). The forward pass saved the input's
// stride and the backward pass uses it for both. The gradient of a concatenation is a slice, with
// the stride of the whole.
// Seen by: the oracle (mismatch); out of bounds.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void relu_backward(T* dx, const T* dy, const T* x, int64_t dy_stride, int64_t x_stride,
                              int cols) {
  dx += int64_t{blockIdx.x} * cols;
  x += blockIdx.x * x_stride;
#ifdef PLANTED
  dy += blockIdx.x * x_stride;
#else
  dy += blockIdx.x * dy_stride;
#endif
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    dx[i] = to_float(x[i]) > 0.0f ? dy[i] : from_float<T>(0.0f);
}
