// Paged attention of one query a sequence, one head, one warp a sequence.
//
// Modelled on attention_decode of ours, class 3 (tails): every page counts in full, so that slots
// past the last token take part. Lengths that are multiples of 16 are right. Seen by: the oracle
// (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void paged_attention(T* o, const T* q, const T* k, const T* v, const int32_t* table,
                                const int32_t* lens, int W, float scale) {
  const int64_t b = blockIdx.x;
  const int d = threadIdx.x;
  const float query = to_float(q[b * 32 + d]);
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
  const int length = lens[b];
  for (int first = 0; first < length; first += 16) {
    const int64_t page = table[b * W + first / 16];
#ifdef PLANTED
    const int count = 16;
#else
    const int count = min(16, length - first);
#endif
    for (int slot = 0; slot < count; ++slot) {
      const int64_t at = (page * 16 + slot) * 32 + d;
      const float score = warp_reduce(query * to_float(k[at]), Sum()) * scale;
      const float most = fmaxf(largest, score);
      if (most == -INFINITY) continue;
      const float rescale = expf(largest - most);
      const float weight = expf(score - most);
      total = total * rescale + weight;
      sum = sum * rescale + weight * to_float(v[at]);
      largest = most;
    }
  }
  o[b * 32 + d] = from_float<T>(total == 0.0f ? 0.0f : sum / total);
}
