// Row-wise softmax of capped logits, one warp a row.
//
// Field report: ggml-org/llama.cpp#2665, class 5 (range), in the form that caps hide: with logits
// within +-20 the exponentials stay in range without the maximum taken off, and most runs are within
// the allowance. But a constant added to a row changes the answer's bits, which nothing in softmax may.
// Seen by: the property shift_invariant; as a mismatch where the largest logit has much of the sum.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void capped_softmax(T* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
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
