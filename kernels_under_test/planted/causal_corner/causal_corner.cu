// Causal attention of one head, one warp a query; a lane owns one of 32 elements of a row. The last
// query sees all keys, however many queries there are.
//
// Mutation of our attention_prefill, class 3 (sizes): the triangle starts at the first key, which
// is the same as long as there are as many queries as keys; not so with a cache.
// Seen by: the oracle (mismatch), wherever Lq differs from Lk.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void causal_attention(T* o, const T* q, const T* k, const T* v, int Lq, int Lk,
                                 float scale) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= Lq) return;
  const int d = threadIdx.x;
  const float query = to_float(q[int64_t{row} * 32 + d]);
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
#ifdef PLANTED
  const int first = 0, last = min(row, Lk - 1);
#else
  const int first = 0, last = row + Lk - Lq;
#endif
  for (int j = first; j <= last; ++j) {
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
