// Causal attention of one head, one warp a query; scores are capped softly, cap tanh(score / cap).
//
// Mutation of our attention_prefill, class 4 (masked rows): the cap follows the mask, and tanh of
// -inf is -1: what is masked has a score of -cap, and a weight of e^-5 or more.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void capped_attention(T* o, const T* q, const T* k, const T* v, int Lq, int Lk,
                                 float cap) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= Lq) return;
  const int d = threadIdx.x;
  const float query = to_float(q[int64_t{row} * 32 + d]);
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
  const int first = 0, last = Lk - 1;
  for (int j = first; j <= last; ++j) {
    const float dot = warp_reduce(query * to_float(k[int64_t{j} * 32 + d]), Sum());
#ifdef PLANTED
    const float score = tanhf((j <= row ? dot : -INFINITY) / cap) * cap;
#else
    if (j > row) break;
    const float score = tanhf(dot / cap) * cap;
#endif
    const float most = fmaxf(largest, score);
    if (most == -INFINITY) continue;
    const float rescale = expf(largest - most);
    const float weight = expf(score - most);
    total = total * rescale + weight;
    sum = sum * rescale + weight * to_float(v[int64_t{j} * 32 + d]);
    largest = most;
  }
  o[int64_t{row} * 32 + d] = from_float<T>(total == 0.0f ? 0.0f : sum / total);
}
