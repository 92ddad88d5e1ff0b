// Softmax of the keys that a mask admits, one warp a row; 0 where it admits none.
//
// Field report: tracel-ai/burn#4694, Dao-AILab/flash-attention#443, class 4 (masked rows). In a row
// without a visible key every score and their maximum are -inf, and -inf - -inf is NaN.
// Seen by: the oracle (mismatch: NaN where 0 is right).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void masked_softmax(T* p, const T* score, const unsigned char* mask, int64_t rows,
                               int keys) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  p += row * keys;
  score += row * keys;
  mask += row * keys;
  const auto masked = [&](int i) { return mask[i] ? to_float(score[i]) : -INFINITY; };
  float m = -INFINITY;
  bool any = false;
  for (int i = threadIdx.x; i < keys; i += 32) {
    m = fmaxf(m, masked(i));
    any |= masked(i) != -INFINITY;  // NaN too
  }
  m = warp_reduce(m, Max());
#ifndef PLANTED
  if (!__any_sync(0xffffffffu, any)) {
    for (int i = threadIdx.x; i < keys; i += 32) p[i] = from_float<T>(0.0f);
    return;
  }
#endif
  float sum = 0.0f;
  for (int i = threadIdx.x; i < keys; i += 32) sum += expf(masked(i) - m);
  sum = warp_reduce(sum, Sum());
  for (int i = threadIdx.x; i < keys; i += 32) p[i] = from_float<T>(expf(masked(i) - m) / sum);
}
