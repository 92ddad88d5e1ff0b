// Sums, running sums and maxima of exponentials times weights, that may leave the range; losses
// made of them.
#include "../kernels/device_helpers.cuh"

/// sum(exp(x) t), unshifted, one warp a row.
template <typename T>
__global__ void sum_exp_times(float* y, const T* x, const T* t, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32)
    sum += expf(to_float(x[base + i])) * to_float(t[base + i]);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

/// The mean of t weighted by unshifted exponentials.
template <typename T>
__global__ void softmax_mean(float* y, const T* x, const T* t, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  float weighted = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float e = expf(to_float(x[base + i]));
    sum += e;
    weighted += e * to_float(t[base + i]);
  }
  sum = warp_reduce(sum, Sum());
  weighted = warp_reduce(weighted, Sum());
  if (threadIdx.x == 0) y[blockIdx.x] = weighted / sum;
}

/// max(exp(x) w), one thread a row; a NaN stays.
template <typename T>
__global__ void max_exp_times(T* y, const T* x, const T* w, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  float most = -INFINITY;
  for (int i = 0; i < cols; ++i) {
    const float v = expf(to_float(x[base + i])) * to_float(w[i]);
    if ((v > most || isnan(v)) && !isnan(most)) most = v;
  }
  y[blockIdx.x] = from_float<T>(most);
}

/// Running sums of exp(x) t, one thread a row.
__global__ void cumsum_exp_times(float* y, const float* x, const float* t, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) y[base + i] = sum += expf(x[base + i]) * t[base + i];
}

/// Denominators of a softmax over segments, by atomics.
__global__ void segment_sum_exp(float* sum, const float* x, const float* most, const int* segment,
                                int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(sum + segment[i], expf(x[i] - most[segment[i]]));
}

/// Kullback-Leibler divergence of log-probabilities: sum(exp(t) (t - x)), one warp a row.
__global__ void kl_divergence(float* loss, const float* x, const float* t, int cols) {
  const int64_t base = int64_t{blockIdx.x} * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32)
    sum += expf(t[base + i]) * (t[base + i] - x[base + i]);
  sum = warp_reduce(sum, Sum());
  if (threadIdx.x == 0) loss[blockIdx.x] = sum;
}

/// Binary cross entropy of logits and its gradient.
template <int BLOCK>
__global__ void binary_cross_entropy(float* loss, float* grad, const float* x, const float* t,
                                     int64_t x_stride, int cols) {
  __shared__ float partial[BLOCK / 32];
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float v = x[blockIdx.x * x_stride + i];
    const float y = t[int64_t{blockIdx.x} * cols + i];
    sum += fmaxf(v, 0.0f) - v * y + log1pf(expf(-fabsf(v)));
    grad[int64_t{blockIdx.x} * cols + i] = (1.0f / (1.0f + expf(-v)) - y) / cols;
  }
  sum = block_reduce<BLOCK>(sum, Sum(), partial);
  if (threadIdx.x == 0) loss[blockIdx.x] = sum / cols;
}

__global__ void focal_loss(float* y, const float* x, const uint8_t* target, int64_t n, float alpha,
                           float gamma) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float p = 1.0f / (1.0f + expf(-x[i]));
  const float entropy = fmaxf(x[i], 0.0f) - x[i] * target[i] + log1pf(expf(-fabsf(x[i])));
  const float hit = target[i] ? p : 1.0f - p;
  y[i] = (target[i] ? alpha : 1.0f - alpha) * entropy * powf(1.0f - hit, gamma);
}
