// Layer norm over the columns, two passes over a row that waits in shared memory as f32: the mean,
// then the mean square of the differences from it. One block a row.
#include "device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK)
    layer_norm(T* y, const T* x, const T* weight, const T* bias, int64_t x_stride, int cols,
               float eps) {
  extern __shared__ float row[];  // cols floats
  __shared__ float sums[BLOCK / 32];
  __shared__ float squares[BLOCK / 32];
  constexpr int V = 16 / sizeof(T);
  x += int64_t{blockIdx.x} * x_stride;
  y += int64_t{blockIdx.x} * cols;

  float sum = 0.0f;
  const int whole = aligned16(x) ? cols / V * V : 0;
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) {
      row[i + j] = to_float(v.at[j]);
      sum += row[i + j];
    }
  }
  for (int i = whole + threadIdx.x; i < cols; i += BLOCK) {
    row[i] = to_float(x[i]);
    sum += row[i];
  }
  const float mean = block_reduce<BLOCK>(sum, Sum(), sums) / cols;  // its barrier publishes `row`

  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    const float difference = row[i] - mean;
    square += difference * difference;
  }
  const float variance = block_reduce<BLOCK>(square, Sum(), squares) / cols;
  const float scale = rsqrtf(variance + eps);

  for (int i = threadIdx.x; i < cols; i += BLOCK) {
    y[i] = from_float<T>((row[i] - mean) * scale * to_float(weight[i]) + to_float(bias[i]));
  }
}
