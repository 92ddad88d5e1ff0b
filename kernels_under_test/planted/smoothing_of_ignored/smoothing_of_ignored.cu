// Cross entropy of each row's logits with its label, smoothed; one warp a row. Rows with the label
// -100 do not count.
//
// Mutation of our cross_entropy, class 4 (masked rows): an ignored row's own term is 0, its share
// of the smoothing is added.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void cross_entropy(float* y, const T* x, int64_t x_stride, const int64_t* label,
                              int64_t rows, int cols, float smoothing) {
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  x += row * x_stride;
  const int64_t target = label[row];
  float m = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, to_float(x[i]));
  m = warp_reduce(m, Max());
  float sum = 0.0f, shifted = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    sum += expf(to_float(x[i]) - m);
    shifted += to_float(x[i]) - m;
  }
  const float log_sum = logf(warp_reduce(sum, Sum()));
  const float spread = log_sum - warp_reduce(shifted, Sum()) / cols;
  if (threadIdx.x != 0) return;
  const bool counts = target != -100;
  const float nll = counts ? log_sum - (to_float(x[target]) - m) : 0.0f;
#ifdef PLANTED
  y[row] = (1.0f - smoothing) * nll + smoothing * spread;
#else
  y[row] = counts ? (1.0f - smoothing) * nll + smoothing * spread : 0.0f;
#endif
}
