// Gradient of the scores of a softmax over the first `visible` keys of each row, one warp a row,
// with the probabilities made anew from the scores.
//
// Field report: Dao-AILab/flash-attention#443, class 4 (masked rows). A row without a visible key
// has maximum and sum -inf and 0; its probabilities come out as NaN, and so do its gradients, which
// are 0. One reciprocal of the sum serves the probabilities and the mean that is taken from dp.
// Seen by: the oracle (mismatch: NaN).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void softmax_backward(float* ds, const T* score, const T* dp, const int32_t* visible,
                                 int64_t rows, int keys) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  ds += row * keys;
  score += row * keys;
  dp += row * keys;
  const int live = visible[row];
  const auto masked = [&](int i) { return i < live ? to_float(score[i]) : -INFINITY; };
  float m = -INFINITY;
  for (int i = threadIdx.x; i < keys; i += 32) m = fmaxf(m, masked(i));
  m = warp_reduce(m, Max());
#ifndef PLANTED
  if (m == -INFINITY) m = 0.0f;
#endif
  float sum = 0.0f, dots = 0.0f;
  for (int i = threadIdx.x; i < keys; i += 32) {
    const float e = expf(masked(i) - m);
    sum += e;
    dots += e * to_float(dp[i]);
  }
  sum = warp_reduce(sum, Sum());
  dots = warp_reduce(dots, Sum());
#ifdef PLANTED
  const float inverse = 1.0f / sum;
#else
  const float inverse = sum == 0.0f ? 0.0f : 1.0f / sum;
#endif
  const float mean = dots * inverse;
  for (int i = threadIdx.x; i < keys; i += 32)
    ds[i] = expf(masked(i) - m) * inverse * (to_float(dp[i]) - mean);
}
