// Average of values by softmax of scores: four parts of the keys, each a block's, joined by a
// second launch.
//
// Mutation of our attention_decode, class 6 (accumulation): the parts' sums and totals are added as
// they are, although each is relative to the maximum of its own part.
// Seen by: the oracle (mismatch), wherever two parts have different maxima.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void part_means(float* part_sum, float* part_total, float* part_most, const T* s,
                           const T* v, int keys) {
  const int64_t b = blockIdx.x;
  const int each = (keys + 3) / 4;
  const int first = blockIdx.y * each;
  const int last = min(keys, first + each);
  s += b * keys;
  v += b * keys;
  float m = -INFINITY;
  for (int i = first + threadIdx.x; i < last; i += 32) m = fmaxf(m, to_float(s[i]));
  m = warp_reduce(m, Max());
  float total = 0.0f, sum = 0.0f;
  for (int i = first + threadIdx.x; i < last; i += 32) {
    const float weight = expf(to_float(s[i]) - m);
    total += weight;
    sum += weight * to_float(v[i]);
  }
  total = warp_reduce(total, Sum());
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x != 0) return;
  part_sum[b * 4 + blockIdx.y] = sum;
  part_total[b * 4 + blockIdx.y] = total;
  part_most[b * 4 + blockIdx.y] = m;
}

__global__ void join_parts(float* o, const float* part_sum, const float* part_total,
                           const float* part_most) {
  const int64_t b = blockIdx.x;
  if (threadIdx.x != 0) return;
  float most = -INFINITY;
  for (int p = 0; p < 4; ++p) most = fmaxf(most, part_most[b * 4 + p]);
  float sum = 0.0f, total = 0.0f;
  for (int p = 0; p < 4; ++p) {
#ifdef PLANTED
    const float factor = 1.0f;
#else
    const float factor = expf(part_most[b * 4 + p] - most);
#endif
    sum += part_sum[b * 4 + p] * factor;
    total += part_total[b * 4 + p] * factor;
  }
  o[b] = sum / total;
}
