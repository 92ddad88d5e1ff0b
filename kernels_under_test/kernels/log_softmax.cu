// Row-wise log softmax: one block a row, f32 inside, a thread takes every BLOCK-th element.
//
// Three passes over the row: the maximum, the sum of exp(x - max), and (x - max) - log(sum). A NaN
// that fmaxf drops from the maximum comes back through the sum, so the whole row is NaN.
#include "device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) log_softmax(T* y, const T* x, int64_t x_stride, int cols) {
  __shared__ float maxima[BLOCK / 32];
  __shared__ float sums[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;

  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += BLOCK) m = fmaxf(m, to_float(x[i]));
  m = block_reduce<BLOCK>(m, Max(), maxima);

  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) sum += expf(to_float(x[i]) - m);
  const float log_sum = logf(block_reduce<BLOCK>(sum, Sum(), sums));

  for (int i = threadIdx.x; i < cols; i += BLOCK)
    y[i] = from_float<T>((to_float(x[i]) - m) - log_sum);
}
