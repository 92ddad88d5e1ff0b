// Weighted sum of the tokens in use of each context, one warp a context.
//
// Field report: tile-ai/tilelang#2461, class 4 (NaN). The weight of the padding is set to 0 and the
// padding is added all the same: it was never written, and 0 times NaN is NaN.
// Seen by: the oracle (mismatch), since what lies behind the last token is poison.
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void weighted_sum(float* y, const T* v, const float* w, const int* lens, int batch,
                             int token) {
  const int64_t b = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (b >= batch) return;
  v += b * token;
  w += b * token;
  float sum = 0.0f;
  for (int t = threadIdx.x; t < token; t += 32) {
#ifdef PLANTED
    const float weight = t < lens[b] ? w[t] : 0.0f;
    sum += weight * to_float(v[t]);
#else
    if (t < lens[b]) sum += w[t] * to_float(v[t]);
#endif
  }
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[b] = sum;
}
