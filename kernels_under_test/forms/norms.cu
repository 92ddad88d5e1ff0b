// Norms over other axes than a row's, with running statistics, and with vectors as engines load
// them.
#include "../kernels/device_helpers.cuh"

/// Group norm of channels-last images, one block a (sample, group), two passes, SiLU after it.
template <typename T, int BLOCK, bool SILU>
__global__ void group_norm(T* y, const T* x, const T* weight, const T* bias, int pixels,
                           int channels, int groups, float eps) {
  __shared__ float partial[2][BLOCK / 32];
  const int width = channels / groups;
  const int group = blockIdx.x % groups;
  const int64_t base = int64_t{blockIdx.x / groups} * pixels * channels + group * width;
  const int total = pixels * width;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < total; i += BLOCK)
    sum += to_float(x[base + int64_t{i / width} * channels + i % width]);
  const float mean = block_reduce<BLOCK>(sum, Sum(), partial[0]) / total;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < total; i += BLOCK) {
    const float d = to_float(x[base + int64_t{i / width} * channels + i % width]) - mean;
    squares += d * d;
  }
  const float rstd = rsqrtf(block_reduce<BLOCK>(squares, Sum(), partial[1]) / total + eps);
  for (int i = threadIdx.x; i < total; i += BLOCK) {
    const int c = group * width + i % width;
    const int64_t at = base + int64_t{i / width} * channels + i % width;
    float v = (to_float(x[at]) - mean) * rstd * to_float(weight[c]) + to_float(bias[c]);
    if (SILU) v = v / (1.0f + expf(-v));
    y[at] = from_float<T>(v);
  }
}

/// Batch norm in training: biased variance for y, unbiased for the running one; one block a
/// channel.
template <int BLOCK>
__global__ void batch_norm_train(float* y, float* save_mean, float* save_rstd, float* running_mean,
                                 float* running_var, const float* x, const float* weight,
                                 const float* bias, int batch, int channels, int pixels, float eps,
                                 float momentum) {
  __shared__ float partial[2][BLOCK / 32];
  const int c = blockIdx.x;
  const int n = batch * pixels;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += BLOCK)
    sum += x[(int64_t{i / pixels} * channels + c) * pixels + i % pixels];
  const float mean = block_reduce<BLOCK>(sum, Sum(), partial[0]) / n;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < n; i += BLOCK) {
    const float d = x[(int64_t{i / pixels} * channels + c) * pixels + i % pixels] - mean;
    squares += d * d;
  }
  squares = block_reduce<BLOCK>(squares, Sum(), partial[1]);
  const float rstd = rsqrtf(squares / n + eps);
  if (threadIdx.x == 0) {
    save_mean[c] = mean;
    save_rstd[c] = rstd;
    running_mean[c] = (1.0f - momentum) * running_mean[c] + momentum * mean;
    running_var[c] = (1.0f - momentum) * running_var[c] + momentum * (squares / (n - 1));
  }
  for (int i = threadIdx.x; i < n; i += BLOCK) {
    const int64_t at = (int64_t{i / pixels} * channels + c) * pixels + i % pixels;
    y[at] = (x[at] - mean) * rstd * weight[c] + bias[c];
  }
}

/// Batch norm in inference, with or without weight and bias, ReLU after it.
template <typename T>
__global__ void batch_norm_inference(T* y, const T* x, const float* mean, const float* var,
                                     const float* weight, const float* bias, int64_t n,
                                     int channels, int pixels, float eps, int relu) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int c = int(i / pixels % channels);
  const float rstd = 1.0f / sqrtf(var[c] + eps);
  float v =
      (to_float(x[i]) - mean[c]) * rstd * (weight ? weight[c] : 1.0f) + (bias ? bias[c] : 0.0f);
  if (relu) v = v > 0.0f || isnan(v) ? v : 0.0f;
  y[i] = from_float<T>(v);
}

/// RMS norm weighted by 1 + weight, in place, the residual rounded to T.
template <typename T, int BLOCK>
__global__ void rms_norm_unit_offset(T* x, T* residual, const T* weight, int cols, float eps) {
  __shared__ float partial[BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const T sum = from_float<T>(to_float(x[base + i]) + to_float(residual[base + i]));
    residual[base + i] = sum;
    squares += to_float(sum) * to_float(sum);
  }
  const float rstd = rsqrtf(block_reduce<BLOCK>(squares, Sum(), partial) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += BLOCK)
    x[base + i] = from_float<T>(to_float(residual[base + i]) * rstd * (1.0f + to_float(weight[i])));
}

template <typename T, int BLOCK>
__global__ void l2_normalize(T* y, const T* x, int cols, float eps) {
  __shared__ float partial[BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float v = to_float(x[base + i]);
    squares += v * v;
  }
  const float inverse = 1.0f / fmaxf(sqrtf(block_reduce<BLOCK>(squares, Sum(), partial)), eps);
  for (int i = threadIdx.x; i < cols; i += BLOCK)
    y[base + i] = from_float<T>(to_float(x[base + i]) * inverse);
}

template <typename T, int BLOCK>
__global__ void cosine_similarity(float* y, const T* a, const T* b, int cols, float eps) {
  __shared__ float partial[3][BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  float ab = 0.0f;
  float aa = 0.0f;
  float bb = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float u = to_float(a[base + i]);
    const float v = to_float(b[base + i]);
    ab += u * v;
    aa += u * u;
    bb += v * v;
  }
  ab = block_reduce<BLOCK>(ab, Sum(), partial[0]);
  aa = block_reduce<BLOCK>(aa, Sum(), partial[1]);
  bb = block_reduce<BLOCK>(bb, Sum(), partial[2]);
  if (threadIdx.x == 0) y[blockIdx.x] = ab / (fmaxf(sqrtf(aa), eps) * fmaxf(sqrtf(bb), eps));
}
