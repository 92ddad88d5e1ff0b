// Logarithm of the sum of exponentials of scaled logits, in f32; one warp a row.
//
// Field report: linkedin/Liger-Kernel#1432, class 6 (accumulation). The scaled logits are rounded
// to the input's type before they are widened: all the f32 that follows works on three digits.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scaled_logsumexp(float* y, const T* x, int64_t x_stride, int64_t rows, int cols,
                                 float scale) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  const auto logit = [&](int i) {
    const float s = to_float(x[i]) * scale;
#ifdef PLANTED
    return to_float(from_float<T>(s));
#else
    return s;
#endif
  };
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, logit(i));
  m = warp_reduce(m, Max());
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += expf(logit(i) - m);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[row] = m + logf(sum);
}
