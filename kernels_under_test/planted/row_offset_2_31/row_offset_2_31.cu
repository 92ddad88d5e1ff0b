// Rows copied out of a strided matrix and doubled.
//
// Field report: microsoft/onnxruntime#32299, ggml-org/llama.cpp#23574, class 1 (int32 offsets). Row
// index times row stride in int: from 2^31 on the offset is negative.
// Seen by: the wrap checker, and as a read outside the buffer.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void double_rows(T* y, const T* x, int x_stride, int cols) {
#ifdef PLANTED
  const int row = blockIdx.x;
#else
  const int64_t row = blockIdx.x;
#endif
  const int64_t out = int64_t{blockIdx.x} * cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    y[out + c] = from_float<T>(2.0f * to_float(x[row * x_stride + c]));
  }
}
