// Optimizer steps in place, and the gradient's norm by atomics with clipping by it.
#include "../kernels/device_helpers.cuh"

/// f32 master weights and moments; the parameters in P are rounded from the master.
template <typename P, typename G>
__global__ void adamw(float* master, float* m, float* v, P* param, const G* grad, int64_t n,
                      float lr, float beta1, float beta2, float eps, float decay, float correction1,
                      float root_correction2, float inverse_scale) {
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * blockDim.x) {
    const float g = to_float(grad[i]) * inverse_scale;
    float w = master[i];
    w -= lr * decay * w;
    const float first = beta1 * m[i] + (1.0f - beta1) * g;
    const float second = beta2 * v[i] + (1.0f - beta2) * g * g;
    w -= (lr / correction1) * (first / (sqrtf(second) / root_correction2 + eps));
    master[i] = w;
    m[i] = first;
    v[i] = second;
    param[i] = from_float<P>(w);
  }
}

__global__ void lion(float* param, float* m, const float* grad, int64_t n, float lr, float beta1,
                     float beta2, float decay) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float c = beta1 * m[i] + (1.0f - beta1) * grad[i];
  const float sign = c > 0.0f ? 1.0f : c < 0.0f ? -1.0f : 0.0f;
  param[i] = param[i] * (1.0f - lr * decay) - lr * sign;
  m[i] = beta2 * m[i] + (1.0f - beta2) * grad[i];
}

__global__ void sgd_nesterov(float* param, float* m, const float* grad, int64_t n, float lr,
                             float momentum, float decay) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float d = fmaf(decay, param[i], grad[i]);
  const float b = momentum * m[i] + d;
  m[i] = b;
  param[i] -= lr * (d + momentum * b);
}

template <typename T, int BLOCK>
__global__ void sum_of_squares(float* total, const T* grad, int64_t n) {
  __shared__ float partial[BLOCK / 32];
  float sum = 0.0f;
  for (int64_t i = int64_t{blockIdx.x} * BLOCK + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * BLOCK) {
    const float g = to_float(grad[i]);
    sum += g * g;
  }
  sum = block_reduce<BLOCK>(sum, Sum(), partial);
  if (threadIdx.x == 0) atomicAdd(total, sum);
}

template <typename T>
__global__ void clip_by_norm(T* grad, float* norm, const float* total, int64_t n, float max_norm) {
  const float root = sqrtf(*total);
  const float factor = fminf(max_norm / (root + 1e-6f), 1.0f);
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i == 0) *norm = root;
  if (i < n) grad[i] = from_float<T>(to_float(grad[i]) * factor);
}
