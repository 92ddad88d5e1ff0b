// Row-wise softmax, one warp a row.
//
// Field report: ggml-org/llama.cpp#2665, class 5 (range). exp(x) instead of exp(x - max): from
// logits of 89 on the exponentials overflow; far below 0 their sum is 0.
// Seen by: the oracle (mismatch: NaN or 0 where a finite value is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void warp_softmax(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
#ifdef PLANTED
  const float m = 0.0f;
#else
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
#endif
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(to_float(x[i]) - m);
  sum = warp_reduce(sum, Sum());
  for (int i = threadIdx.x; i < cols; i += 32) {
    y[i] = from_float<T>(expf(to_float(x[i]) - m) / sum);
  }
}
