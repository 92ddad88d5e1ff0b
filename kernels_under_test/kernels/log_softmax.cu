// Row-wise log softmax: one block a row, f32 inside, 16 bytes at a time where both rows start on 16
// bytes.
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
  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(x, y) ? cols / V * V : 0;

  const float m = block_reduce<BLOCK>(thread_max<BLOCK, V>(x, whole, cols), Max(), maxima);

  float sum = 0.0f;
#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
    float e[V];
#pragma unroll
    for (int j = 0; j < V; ++j) e[j] = expf(to_float(v.at[j]) - m);
    sum += sum_in_pairs(e);
  }
#pragma unroll 1
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK) sum += expf(to_float(x[i]) - m);
  const float log_sum = logf(block_reduce<BLOCK>(sum, Sum(), sums));

#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) v.at[j] = from_float<T>((to_float(v.at[j]) - m) - log_sum);
    store(y + i, v);
  }
#pragma unroll 1
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK)
    y[i] = from_float<T>((to_float(x[i]) - m) - log_sum);
}
