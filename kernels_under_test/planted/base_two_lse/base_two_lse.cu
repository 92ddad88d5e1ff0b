// Logarithm of each row's sum of exponentials, one warp a row, in base 2 inside.
//
// Mutation of our attention_prefill, class 6 (accumulation): the maximum goes back to base e, the
// logarithm of the sum does not. A row with one large score is right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void row_lse(float* y, const T* x, int64_t x_stride, int64_t rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  constexpr float kLog2e = 1.4426950408889634f;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += exp2f(to_float(x[i]) * kLog2e - m * kLog2e);
  sum = warp_reduce(sum, Sum());
#ifdef PLANTED
  if (threadIdx.x == 0) y[row] = m + log2f(sum);
#else
  if (threadIdx.x == 0) y[row] = m + logf(sum);
#endif
}
