// Each matrix of a batch multiplied by a factor of its own.
//
// Field report: microsoft/dion#103, class 1 (int32 offsets). The batch's stride has 64 bits, and so
// has its product; it is stored in an int.
// Seen by: the wrap checker, and as a read outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scale_batch(T* y, const T* x, const float* factor, int64_t batch_stride,
                            int64_t row_stride, int rows, int cols) {
#ifdef PLANTED
  const int matrix = blockIdx.y * batch_stride;
#else
  const int64_t matrix = blockIdx.y * batch_stride;
#endif
  x += matrix + blockIdx.x * row_stride;
  y += (int64_t{blockIdx.y} * rows + blockIdx.x) * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    y[c] = from_float<T>(to_float(x[c]) * factor[blockIdx.y]);
  }
}
