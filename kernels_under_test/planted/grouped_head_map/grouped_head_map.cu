// Attention of one new query a sequence over a cache with grouped heads, one warp a query head.
//
// Mutation of attention_decode of ours, class 10 (strides): the G query heads of a group stand side by
// side, so head h reads KV head h / G; taken modulo the number of KV heads, the groups are
// interleaved. Right with one KV head, and with groups of one. Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void grouped_attention(T* o, const T* q, const T* k, const T* v, const int32_t* lens,
                                  int token, int Hkv, int G, float scale) {
  const int head = blockIdx.x;
  const int64_t b = blockIdx.y;
  const int d = threadIdx.x;
#ifdef PLANTED
  const int kv = head % Hkv;
#else
  const int kv = head / G;
#endif
  const int64_t row = (b * Hkv * G + head) * 32 + d;
  const float query = to_float(q[row]);
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
  const int length = lens[b];
  for (int j = 0; j < length; ++j) {
    const int64_t at = ((b * token + j) * Hkv + kv) * 32 + d;
    const float score = warp_reduce(query * to_float(k[at]), Sum()) * scale;
    const float most = fmaxf(largest, score);
    if (most == -INFINITY) continue;
    const float rescale = expf(largest - most);
    const float weight = expf(score - most);
    total = total * rescale + weight;
    sum = sum * rescale + weight * to_float(v[at]);
    largest = most;
  }
  o[row] = from_float<T>(total == 0.0f ? 0.0f : sum / total);
}
