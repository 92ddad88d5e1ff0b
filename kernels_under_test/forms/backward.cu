// Backward passes of softmax, norms, losses and activations: each row's reduction feeds every
// element.
#include "../kernels/device_helpers.cuh"

/// dx = (dy - sum(dy y)) y scale, one block a row.
template <typename T, int BLOCK>
__global__ void softmax_backward(T* dx, const T* dy, const T* y, int64_t dy_stride, int cols,
                                 float scale) {
  __shared__ float partial[BLOCK / 32];
  const int64_t row = blockIdx.x;
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK)
    dot = fmaf(to_float(dy[row * dy_stride + i]), to_float(y[row * cols + i]), dot);
  dot = block_reduce<BLOCK>(dot, Sum(), partial);
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float d = to_float(dy[row * dy_stride + i]) - dot;
    dx[row * cols + i] = from_float<T>(d * to_float(y[row * cols + i]) * scale);
  }
}

/// Gradient of the input of an RMS norm whose reciprocal root was kept.
template <typename T, int BLOCK>
__global__ void rms_norm_backward(T* dx, const T* dy, const T* x, const T* weight,
                                  const float* rstd, int cols) {
  __shared__ float partial[BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  const float r = rstd[blockIdx.x];
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK)
    dot += to_float(x[base + i]) * r * (to_float(dy[base + i]) * to_float(weight[i]));
  const float mean = block_reduce<BLOCK>(dot, Sum(), partial) / cols;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float normed = to_float(x[base + i]) * r;
    const float g = to_float(dy[base + i]) * to_float(weight[i]);
    dx[base + i] = from_float<T>(r * (g - normed * mean));
  }
}

/// Partial sums of the weight's gradient over `chunk` rows.
template <typename T>
__global__ void rms_weight_partials(float* partials, const T* dy, const T* x, const float* rstd,
                                    int rows, int cols, int chunk) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  const int first = blockIdx.y * chunk;
  const int last = min(rows, first + chunk);
  float sum = 0.0f;
  for (int row = first; row < last; ++row) {
    const int64_t at = int64_t{row} * cols + col;
    sum += to_float(dy[at]) * (to_float(x[at]) * rstd[row]);
  }
  partials[int64_t{blockIdx.y} * cols + col] = sum;
}

template <typename T>
__global__ void rms_weight_join(T* dweight, const float* partials, int chunks, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0.0f;
  for (int i = 0; i < chunks; ++i) sum += partials[int64_t{i} * cols + col];
  dweight[col] = from_float<T>(sum);
}

template <typename T, int BLOCK>
__global__ void layer_norm_backward(T* dx, const T* dy, const T* x, const T* weight,
                                    const float* mean, const float* rstd, int cols) {
  __shared__ float partial[2][BLOCK / 32];
  const int64_t base = int64_t{blockIdx.x} * cols;
  const float m = mean[blockIdx.x];
  const float r = rstd[blockIdx.x];
  float sum = 0.0f;
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float normed = (to_float(x[base + i]) - m) * r;
    const float g = to_float(dy[base + i]) * to_float(weight[i]);
    sum += g;
    dot += g * normed;
  }
  sum = block_reduce<BLOCK>(sum, Sum(), partial[0]);
  dot = block_reduce<BLOCK>(dot, Sum(), partial[1]);
  const float inverse = 1.0f / cols;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float normed = (to_float(x[base + i]) - m) * r;
    const float g = to_float(dy[base + i]) * to_float(weight[i]);
    dx[base + i] = from_float<T>((g - (sum + normed * dot) * inverse) * r);
  }
}

/// Gradients of the layer norm's weight and bias, joined by atomics; blocks of 32 x 8.
template <typename T>
__global__ void layer_norm_weights(float* dweight, float* dbias, const T* dy, const T* x,
                                   const float* mean, const float* rstd, int rows, int cols) {
  __shared__ float weights[8][33], biases[8][33];
  const int col = blockIdx.x * 32 + threadIdx.x;
  float w = 0.0f;
  float b = 0.0f;
  for (int row = blockIdx.y * 8 + threadIdx.y; col < cols && row < rows; row += gridDim.y * 8) {
    const float g = to_float(dy[int64_t{row} * cols + col]);
    w += g * ((to_float(x[int64_t{row} * cols + col]) - mean[row]) * rstd[row]);
    b += g;
  }
  weights[threadIdx.y][threadIdx.x] = w;
  biases[threadIdx.y][threadIdx.x] = b;
  __syncthreads();
  if (threadIdx.y != 0 || col >= cols) return;
  for (int i = 1; i < 8; ++i) {
    w += weights[i][threadIdx.x];
    b += biases[i][threadIdx.x];
  }
  atomicAdd(dweight + col, w);
  atomicAdd(dbias + col, b);
}

/// Logits become their gradient in place: (softmax - one_hot) times the loss's; ignored rows become
/// 0.
template <typename T, typename I, int BLOCK>
__global__ void cross_entropy_backward(T* x, const I* label, const float* dloss, int64_t x_stride,
                                       int classes, I ignore_index) {
  __shared__ float partial[2][BLOCK / 32];
  x += blockIdx.x * x_stride;
  const I target = label[blockIdx.x];
  if (target == ignore_index) {
    for (int i = threadIdx.x; i < classes; i += BLOCK) x[i] = from_float<T>(0.0f);
    return;
  }
  float most = -INFINITY;
  for (int i = threadIdx.x; i < classes; i += BLOCK) most = fmaxf(most, to_float(x[i]));
  most = block_reduce<BLOCK>(most, Max(), partial[0]);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < classes; i += BLOCK) sum += __expf(to_float(x[i]) - most);
  sum = block_reduce<BLOCK>(sum, Sum(), partial[1]);
  for (int i = threadIdx.x; i < classes; i += BLOCK) {
    float p = __expf(to_float(x[i]) - most) / sum;
    if (i == target) p -= 1.0f;
    x[i] = from_float<T>(p * dloss[blockIdx.x]);
  }
}

template <typename T>
__global__ void swiglu_backward(T* dgate, T* dup, const T* dy, const T* gate, const T* up,
                                int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float a = to_float(gate[i]);
  const float g = to_float(dy[i]);
  const float s = 1.0f / (1.0f + expf(-a));
  dgate[i] = from_float<T>(g * to_float(up[i]) * s * (1.0f + a * (1.0f - s)));
  dup[i] = from_float<T>(g * a * s);
}

template <typename T>
__global__ void gelu_backward(T* dx, const T* dy, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
  const float cdf = 0.5f * (1.0f + erff(v * 0.70710678118654752f));
  const float pdf = expf(-0.5f * v * v) * 0.39894228040143268f;
  dx[i] = from_float<T>(to_float(dy[i]) * (cdf + v * pdf));
}

template <typename T>
__global__ void gelu_tanh_backward(T* dx, const T* dy, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  constexpr float kRoot = 0.79788456080286536f;  // sqrt(2 / pi)
  constexpr float kCubic = 0.044715f;
  const float v = to_float(x[i]);
  const float t = tanhf(kRoot * (v + kCubic * v * v * v));
  const float left = 0.5f * (1.0f + t);
  const float right = 0.5f * v * (1.0f - t * t) * kRoot * (1.0f + 3.0f * kCubic * v * v);
  dx[i] = from_float<T>(to_float(dy[i]) * (left + right));
}
