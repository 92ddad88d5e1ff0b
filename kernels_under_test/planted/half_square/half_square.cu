// Rows divided by their root mean square, one warp a row.
//
// Field report: microsoft/onnxruntime#29034, class 5 (range). Squares are formed in the input's
// type before they are added in f32: from 256 on they are infinite and the row turns to 0.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void rms_norm(T* y, const T* x, int64_t x_stride, int64_t rows, int cols, float eps) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
#ifdef PLANTED
    sum += to_float(x[i] * x[i]);
#else
    sum += to_float(x[i]) * to_float(x[i]);
#endif
  }
  const float scale = rsqrtf(warp_reduce(sum, Sum()) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += 32) y[i] = from_float<T>(to_float(x[i]) * scale);
}
