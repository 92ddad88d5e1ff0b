// Attention of one query over n keys in segments, one warp each; a second launch joins them.
//
// Modelled on attention_decode of ours, class 3 (tails and empty parts): a segment that holds no
// key returns before it has written that, and the second launch reads what was there. Right
// wherever every segment holds a key. Seen by: uninitialised, the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

__global__ void segments(float* largest, float* totals, float* sums, const float* x, const float* v,
                         int n, int each) {
  const int segment = blockIdx.x;
  const int end = min(n, (segment + 1) * each);
#ifdef PLANTED
  if (segment * each >= n) return;
#endif
  float most = -INFINITY;
  for (int j = segment * each + threadIdx.x; j < end; j += 32) most = fmaxf(most, x[j]);
  most = warp_reduce(most, Max());
  float total = 0.0f;
  float sum = 0.0f;
  for (int j = segment * each + threadIdx.x; j < end && most != -INFINITY; j += 32) {
    const float weight = expf(x[j] - most);
    total += weight;
    sum += weight * v[j];
  }
  total = warp_reduce(total, Sum());
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x != 0) return;
  largest[segment] = most;
  totals[segment] = total;
  sums[segment] = sum;
}

__global__ void join(float* y, const float* largest, const float* totals, const float* sums,
                     int count) {
  float most = -INFINITY;
  for (int s = 0; s < count; ++s) most = fmaxf(most, largest[s]);
  float total = 0.0f;
  float sum = 0.0f;
  for (int s = 0; s < count; ++s) {
    if (largest[s] == -INFINITY) continue;
    const float factor = expf(largest[s] - most);
    total += totals[s] * factor;
    sum += sums[s] * factor;
  }
  y[0] = total == 0.0f ? 0.0f : sum / total;
}
