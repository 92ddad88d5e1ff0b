// Softmax of the keys that a mask leaves, one warp a row; 0 where it leaves none.
//
// Field report: NVIDIA/apex#1444, class 4 (masked rows). Masked scores are filled with -10000, far
// below every score, which is right as long as a row has one. A row of the filler alone comes out
// uniform, 1 / keys.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void masked_softmax(T* p, const T* score, const unsigned char* mask, int64_t rows,
                               int keys) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  p += row * keys;
  score += row * keys;
  mask += row * keys;
#ifdef PLANTED
  constexpr float kFill = -10000.0f;
#else
  constexpr float kFill = -INFINITY;
#endif
  const auto filled = [&](int i) { return mask[i] ? kFill : to_float(score[i]); };
  float m = -INFINITY;
  for (int i = threadIdx.x; i < keys; i += 32) m = fmaxf(m, filled(i));
  m = fmaxf(warp_reduce(m, Max()), -3e38f);  // -inf - -inf would be NaN
  float sum = 0.0f;
  for (int i = threadIdx.x; i < keys; i += 32) sum += expf(filled(i) - m);
  sum = warp_reduce(sum, Sum());
  for (int i = threadIdx.x; i < keys; i += 32)
    p[i] = from_float<T>(sum == 0.0f ? 0.0f : expf(filled(i) - m) / sum);
}
