// Joins two partial attention outputs by their logsumexps, as split sequences need. The logsumexps lie
// by head; a part that saw no key has -inf there, and whatever it wrote counts for nothing. A thread
// moves 16 bytes of one head.
#include "device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    merge_attention(T* out, float* out_lse, const T* a, const float* a_lse, const T* b,
                    const float* b_lse, int tokens, int heads, int dim) {
  constexpr int V = 16 / sizeof(T);
  const int packs = dim / V;
  const int64_t thread = int64_t{blockIdx.x} * BLOCK + threadIdx.x;
  const int64_t row = thread / packs;
  if (row >= int64_t{tokens} * heads) return;
  const int64_t lse = row % heads * tokens + row / heads;
  const int pack = static_cast<int>(thread % packs);
  const int64_t at = row * dim + pack * V;

  const float max = fmaxf(a_lse[lse], b_lse[lse]);
  Vector<T, V> result;
  if (max == -INFINITY) {
#pragma unroll
    for (int j = 0; j < V; ++j) result.at[j] = from_float<T>(0.0f);
    store(out + at, result);
    if (pack == 0) out_lse[lse] = -INFINITY;
    return;
  }
  const float exp_a = expf(a_lse[lse] - max);
  const float exp_b = expf(b_lse[lse] - max);
  const float sum = exp_a + exp_b;
  const Vector<T, V> from_a = load<V>(a + at);
  const Vector<T, V> from_b = load<V>(b + at);
#pragma unroll
  for (int j = 0; j < V; ++j) {
    const float part_a = exp_a == 0.0f ? 0.0f : to_float(from_a.at[j]) * (exp_a / sum);
    const float part_b = exp_b == 0.0f ? 0.0f : to_float(from_b.at[j]) * (exp_b / sum);
    result.at[j] = from_float<T>(part_a + part_b);
  }
  store(out + at, result);
  if (pack == 0) out_lse[lse] = logf(sum) + max;
}
