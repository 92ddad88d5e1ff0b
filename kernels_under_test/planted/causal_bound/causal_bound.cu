// Causal attention of one head, one warp a query; a lane owns one of 32 elements of a row.
//
// Modelled on attention_prefill of ours, class 3 (tails): the query's own key is left out. Most
// weights are small, so that the answers look right. Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void causal_attention(T* o, const T* q, const T* k, const T* v, int L, float scale) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= L) return;
  const int d = threadIdx.x;
  const float query = to_float(q[int64_t{row} * 32 + d]);
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
#ifdef PLANTED
  const int last = max(row - 1, 0);
#else
  const int last = row;
#endif
  for (int j = 0; j <= last; ++j) {
    const float score = warp_reduce(query * to_float(k[int64_t{j} * 32 + d]), Sum()) * scale;
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
