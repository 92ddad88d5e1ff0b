// Attention of one head, one warp a query; a lane owns one of 32 elements of a row.
//
// Mutation of our attention_prefill, class 6 (accumulation): the scale went into the query's load,
// and stayed where it was. The answers are smoother averages than they should be.
// Seen by: the oracle (mismatch), with a scale other than 1.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void attention(T* o, const T* q, const T* k, const T* v, int Lq, int Lk, float scale) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= Lq) return;
  const int d = threadIdx.x;
#ifdef PLANTED
  const float query = to_float(q[int64_t{row} * 32 + d]) * scale;
#else
  const float query = to_float(q[int64_t{row} * 32 + d]);
#endif
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
  const int first = 0, last = Lk - 1;
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
