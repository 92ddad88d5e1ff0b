// Average of values by softmax of scores, a thread an element; even and odd keys are two parts,
// joined at the end.
//
// Field report: Dao-AILab/flash-attention#334, class 3 (sizes 0 and 1): NaN at a sequence of one.
// The report does not say why; here each part is divided by its own total, and one key leaves a
// part without any: 0 / 0, whose weight of 0 does not help.
// Seen by: the oracle (mismatch: NaN).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void two_part_mean(T* o, const T* s, const T* v, int keys) {
  const int64_t b = blockIdx.x;
  s += b * keys;
  v += b * keys * blockDim.x + threadIdx.x;
  float largest[2] = {-INFINITY, -INFINITY}, total[2] = {}, mean[2] = {};
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    for (int j = part; j < keys; j += 2) {
      const float most = fmaxf(largest[part], to_float(s[j]));
      const float rescale = expf(largest[part] - most);
      const float weight = expf(to_float(s[j]) - most);
      total[part] = total[part] * rescale + weight;
      mean[part] = mean[part] * rescale + weight * to_float(v[int64_t{j} * blockDim.x]);
      largest[part] = most;
    }
  }
  const float most = fmaxf(largest[0], largest[1]);
  const float first = total[0] * expf(largest[0] - most);
  const float second = total[1] * expf(largest[1] - most);
  float sum;
#ifdef PLANTED
  sum = mean[0] / total[0] * first + mean[1] / total[1] * second;
#else
  sum = mean[0] * expf(largest[0] - most) + mean[1] * expf(largest[1] - most);
#endif
  o[b * blockDim.x + threadIdx.x] = from_float<T>(sum / (first + second));
}
