// A matrix with any strides copied to a contiguous one.
//
// Field report: unslothai/unsloth#10675, beside #10617, class 10 (strides). The strides come in the
// order of a column-major matrix: rows step by the columns' stride.
// Seen by: the oracle (mismatch), and as reads outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void to_contiguous(T* y, const T* x, int64_t row_stride, int64_t col_stride, int cols) {
#ifdef PLANTED
  const int64_t row_step = col_stride, col_step = row_stride;
#else
  const int64_t row_step = row_stride, col_step = col_stride;
#endif
  const int64_t row = blockIdx.x;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    y[row * cols + c] = x[row * row_step + c * col_step];
  }
}
