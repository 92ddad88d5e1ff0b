// Cross entropy of each row's logits with its label, as PyTorch defines it: one block a row, f32
// inside, 16 bytes at a time where the row starts on 16 bytes; labels gathered, `ignore_index` rows
// are 0, label smoothing mixes in the mean over classes. With LSE the loss is logsumexp(x) -
// x[target], the row's maximum added before the logit is taken off: what a fused loss does that
// keeps the logsumexp for its backward pass; otherwise x - m is taken off the logarithm of the
// shifted sum. `mean_of_losses` then divides the sum by the number of rows that count, in one
// block.
#include "device_helpers.cuh"

template <typename T, typename I, bool SMOOTH, int BLOCK, bool LSE = false>
__global__ void __launch_bounds__(BLOCK)
    cross_entropy(float* loss, const T* x, const I* label, int64_t x_stride, int classes,
                  int64_t ignore_index, float smoothing) {
  __shared__ float maxima[BLOCK / 32];
  __shared__ float sums[BLOCK / 32];
  __shared__ float totals[BLOCK / 32];
  const int64_t target = label[blockIdx.x];
  if (target == ignore_index) {
    if (threadIdx.x == 0) loss[blockIdx.x] = 0.0f;
    return;
  }
  x += int64_t{blockIdx.x} * x_stride;

  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(x) ? classes / V * V : 0;

  const float m = block_reduce<BLOCK>(thread_max<BLOCK, V>(x, whole, classes), Max(), maxima);

  float sum = 0.0f;
  float shifted = 0.0f;  // of x - m, or x, over all classes: smoothing needs their mean
#pragma unroll 1
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
    float e[V];
    float d[V];
#pragma unroll
    for (int j = 0; j < V; ++j) {
      const float logit = to_float(v.at[j]);
      e[j] = expf(logit - m);
      d[j] = LSE ? logit : logit - m;
    }
    sum += sum_in_pairs(e);
    if (SMOOTH) shifted += sum_in_pairs(d);
  }
#pragma unroll 1
  for (int i = whole + threadIdx.x; i < classes; i += BLOCK) {
    const float logit = to_float(x[i]);
    sum += expf(logit - m);
    if (SMOOTH) shifted += LSE ? logit : logit - m;
  }
  float log_sum = logf(block_reduce<BLOCK>(sum, Sum(), sums));
  if (LSE) log_sum = m + log_sum;
  if (SMOOTH) shifted = block_reduce<BLOCK>(shifted, Sum(), totals);

  if (threadIdx.x == 0) {
    float value = log_sum - (LSE ? to_float(x[target]) : to_float(x[target]) - m);
    if (SMOOTH) value = (1.0f - smoothing) * value + smoothing * (log_sum - shifted / classes);
    loss[blockIdx.x] = value;
  }
}

template <typename I, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    mean_of_losses(float* mean, const float* loss, const I* label, int rows, int64_t ignore_index) {
  __shared__ float sums[BLOCK / 32];
  __shared__ float counts[BLOCK / 32];
  float sum = 0.0f;
  float count = 0.0f;
  for (int i = threadIdx.x; i < rows; i += BLOCK) {
    sum += loss[i];
    count += label[i] == ignore_index ? 0.0f : 1.0f;
  }
  sum = block_reduce<BLOCK>(sum, Sum(), sums);
  count = block_reduce<BLOCK>(count, Sum(), counts);
  if (threadIdx.x == 0) *mean = sum / count;
}
