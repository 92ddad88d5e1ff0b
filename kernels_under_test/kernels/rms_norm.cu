// RMS norm with the residual added in place, as inference engines fuse it: residual += x, rounded to
// T; y = T(residual / rms(residual)) * weight, the product rounded again. One block a row; 16 bytes
// at a time where everything that the row reads and writes starts on 16 bytes.
#include "device_helpers.cuh"

template <typename T>
__device__ inline T scaled(T residual, float scale, T weight) {
  const T normed = from_float<T>(to_float(residual) * scale);
  return from_float<T>(to_float(normed) * to_float(weight));
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    rms_norm(T* y, T* residual, const T* x, const T* weight, int64_t x_stride, int cols, float eps) {
  __shared__ float partial[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  residual += int64_t{blockIdx.x} * cols;

  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(x, y, residual, weight) ? cols / V * V : 0;

  float squares = 0.0f;
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> added = load<V>(x + i);
    Vector<T, V> sums = load<V>(residual + i);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      sums.at[j] = from_float<T>(to_float(added.at[j]) + to_float(sums.at[j]));
      squares += to_float(sums.at[j]) * to_float(sums.at[j]);
    }
    store(residual + i, sums);
  }
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK) {
    const T sum = from_float<T>(to_float(x[i]) + to_float(residual[i]));
    residual[i] = sum;
    squares += to_float(sum) * to_float(sum);
  }
  const float scale = rsqrtf(block_reduce<BLOCK>(squares, Sum(), partial) / cols + eps);

  // Each thread reads what it wrote itself.
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> sums = load<V>(residual + i);
    const Vector<T, V> weights = load<V>(weight + i);
    Vector<T, V> out;
#pragma unroll
    for (int j = 0; j < V; ++j) out.at[j] = scaled(sums.at[j], scale, weights.at[j]);
    store(y + i, out);
  }
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK)
    y[i] = scaled(residual[i], scale, weight[i]);
}
