// Cross entropy of each row's logits with its label, with a share of the weight spread over all
// classes; one warp a row.
//
// Mutation of our cross_entropy, class 6 (accumulation): the share is divided among the other
// classes, n - 1 of them, though the label's logit is in the sum. At 50,000 classes nobody sees it.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void smoothed_nll(float* y, const T* x, int64_t x_stride, const int64_t* label,
                             int64_t rows, int cols, float smoothing) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float sum = 0.0f, shifted = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    sum += expf(to_float(x[i]) - m);
    shifted += to_float(x[i]) - m;
  }
  const float log_sum = logf(warp_reduce(sum, Sum()));
  shifted = warp_reduce(shifted, Sum());
  if (threadIdx.x != 0) return;
#ifdef PLANTED
  const float mean = shifted / (cols - 1);
#else
  const float mean = shifted / cols;
#endif
  const float nll = log_sum - (to_float(x[label[row]]) - m);
  y[row] = (1.0f - smoothing) * nll + smoothing * (log_sum - mean);
}
