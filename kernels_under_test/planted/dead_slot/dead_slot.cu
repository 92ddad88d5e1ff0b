// Paged attention of one query a sequence, one head, one warp a sequence, a page of 16 slots at a
// time.
//
// Field report: tile-ai/tilelang#2461, class 4 (NaN), in a paged cache: the score of a slot past the
// last token is masked to -inf and its weight is 0, but its value takes part. The slot was never
// written, and 0 times NaN is NaN; where a cache happens to hold finite numbers the answer is right.
// Seen by: the oracle (mismatch), since slots that no token uses are poison.
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
    const T* keys = k + page * 16 * 32 + d;
    const T* values = v + page * 16 * 32 + d;
    const int count = min(16, length - first);
    float scores[16];
    float most = largest;
#pragma unroll
    for (int slot = 0; slot < 16; ++slot) {
      const float score = warp_reduce(query * to_float(keys[slot * 32]), Sum()) * scale;
      scores[slot] = slot < count ? score : -INFINITY;
      most = fmaxf(most, scores[slot]);
    }
    if (most == -INFINITY) continue;
    const float rescale = expf(largest - most);
    total *= rescale;
    sum *= rescale;
    largest = most;
#pragma unroll
    for (int slot = 0; slot < 16; ++slot) {
      const float weight = expf(scores[slot] - most);
      total += weight;
#ifdef PLANTED
      sum += weight * to_float(values[slot * 32]);
#else
      sum += slot < count ? weight * to_float(values[slot * 32]) : 0.0f;
#endif
    }
  }
  o[b * 32 + d] = from_float<T>(total == 0.0f ? 0.0f : sum / total);
}
