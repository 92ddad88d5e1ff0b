// Attention of one head, one warp a query: a query sees itself and the window - 1 keys before it.
//
// Mutation of our attention_prefill, class 3 (tails): one library counts the query itself into the
// window, another the keys before it. Here the kernel follows the other.
// Seen by: the oracle (mismatch), in rows from the window's length on.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void window_attention(T* o, const T* q, const T* k, const T* v, int Lq, int Lk,
                                 int window, float scale) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= Lq) return;
  const int d = threadIdx.x;
  const float query = to_float(q[int64_t{row} * 32 + d]);
  float largest = -INFINITY;
  float total = 0.0f;
  float sum = 0.0f;
#ifdef PLANTED
  const int first = max(row - window, 0), last = row;
#else
  const int first = max(row - window + 1, 0), last = row;
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
