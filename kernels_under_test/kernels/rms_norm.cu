// RMS norm with the residual added in place, as inference engines fuse it: residual += x, rounded to
// T; y = T(residual / rms(residual)) * weight, the product rounded again. One block a row.
#include "device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    rms_norm(T* y, T* residual, const T* x, const T* weight, int64_t x_stride, int cols, float eps) {
  __shared__ float partial[BLOCK / 32];
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;
  residual += int64_t{blockIdx.x} * cols;

  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const T sum = from_float<T>(to_float(x[i]) + to_float(residual[i]));
    residual[i] = sum;
    squares += to_float(sum) * to_float(sum);
  }
  const float scale = rsqrtf(block_reduce<BLOCK>(squares, Sum(), partial) / cols + eps);

  // Each thread reads what it wrote itself.
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const T normed = from_float<T>(to_float(residual[i]) * scale);
    y[i] = from_float<T>(to_float(normed) * to_float(weight[i]));
  }
}
