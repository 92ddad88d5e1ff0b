// Rows negated, with 32-bit offsets where they suffice.
//
// Field report: Dao-AILab/flash-attention#2611, vllm-project/vllm#50427, class 1 (int32 offsets).
// The number of elements decides which offsets are used. What matters is the view's largest offset:
// a row stride of 9728 passes 2^31 at row 220753, however few columns the view has.
// Seen by: the wrap checker, and as a read outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename Offset, typename T>
__device__ void negate_row(T* y, const T* x, Offset x_stride, Offset cols) {
  const Offset row = blockIdx.x;
  for (Offset c = threadIdx.x; c < cols; c += blockDim.x)
    y[row * cols + c] = -x[row * x_stride + c];
}

template <typename T>
__global__ void negate_rows(T* y, const T* x, int64_t x_stride, int64_t rows, int64_t cols) {
#ifdef PLANTED
  const bool narrow = rows * cols <= 0x7fffffff;
#else
  const bool narrow = rows * cols <= 0x7fffffff && (rows - 1) * x_stride + cols <= 0x7fffffff;
#endif
  if (narrow) {
    negate_row<int>(y, x, static_cast<int>(x_stride), static_cast<int>(cols));
  } else {
    negate_row<int64_t>(y, x, x_stride, cols);
  }
}
