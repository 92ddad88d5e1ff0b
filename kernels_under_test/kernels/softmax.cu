// Row-wise softmax: one block a row, f32 inside, vectors where both rows start on 16 bytes.
//
// Three passes over the row: the maximum, the sum of exp(x - max), the quotient. f32 rows keep
// their exponentials in y between the last two; narrower types compute them again, since y would
// round them. A NaN that fmaxf drops from the maximum comes back through exp(NaN - max) into the
// sum, so the whole row is NaN, as it is for a row that holds +inf or nothing but -inf. The loops
// are short (two vectors a thread at 1024 columns): unrolling them would only add remainder loops.
#include "device_helpers.cuh"

template <typename T, int BLOCK, int V>
__device__ void softmax_row(T* y, const T* x, int cols) {
  constexpr bool kKeep = sizeof(T) == sizeof(float);
  __shared__ float maxima[BLOCK / 32];
  __shared__ float sums[BLOCK / 32];
  // Whole vectors first; of the fewer than V elements that remain, the first threads take one each.
  const int whole = cols / V * V;
  const int last = whole + threadIdx.x;

  float m = -INFINITY;
#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) m = fmaxf(m, to_float(v.at[j]));
  }
  if (V > 1 && last < cols) m = fmaxf(m, to_float(x[last]));
  m = block_reduce<BLOCK>(m, Max(), maxima);

  float sum = 0.0f;
#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float e = expf(to_float(v.at[j]) - m);
      sum += e;
      if constexpr (kKeep) v.at[j] = e;
    }
    if constexpr (kKeep) store(y + i, v);
  }
  if (V > 1 && last < cols) {
    const float e = expf(to_float(x[last]) - m);
    sum += e;
    if constexpr (kKeep) y[last] = e;
  }
  sum = block_reduce<BLOCK>(sum, Sum(), sums);

#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    Vector<T, V> v = load<V>(kKeep ? y + i : x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float e = kKeep ? to_float(v.at[j]) : expf(to_float(v.at[j]) - m);
      v.at[j] = from_float<T>(e / sum);
    }
    store(y + i, v);
  }
  if (V > 1 && last < cols) {
    const float e = kKeep ? to_float(y[last]) : expf(to_float(x[last]) - m);
    y[last] = from_float<T>(e / sum);
  }
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) softmax(T* y, const T* x, int64_t x_stride, int cols) {
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  if (aligned16(x, y)) {
    softmax_row<T, BLOCK, 16 / sizeof(T)>(y, x, cols);
  } else {
    softmax_row<T, BLOCK, 1>(y, x, cols);
  }
}
