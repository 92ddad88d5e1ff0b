// Row-wise softmax, one warp a row.
//
// Field report: flashinfer-ai/flashinfer#4267, class 4 (masked rows). The running maximum starts
// from a number that stands for "masked", and real logits lie below it: all their exponentials
// vanish, and so does their sum.
// Seen by: the oracle (mismatch: NaN where a finite value is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void warp_softmax(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  y += row * cols;
#ifdef PLANTED
  float m = -5e4f;
#else
  float m = -INFINITY;
#endif
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(to_float(x[i]) - m);
  sum = warp_reduce(sum, Sum());
  for (int i = threadIdx.x; i < cols; i += 32) {
    y[i] = from_float<T>(expf(to_float(x[i]) - m) / sum);
  }
}
