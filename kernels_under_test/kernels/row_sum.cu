// Sum of each row in f32: one warp a row, WARPS rows a block, 16-byte loads where the row allows.
#include "device_helpers.cuh"

template <typename T, int V>
__device__ float lane_sum(const T* x, int cols, int lane) {
  float sum = 0.0f;
  const int whole = cols / V * V;
  for (int i = lane * V; i < whole; i += 32 * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) sum += to_float(v.at[j]);
  }
  if (V > 1 && whole + lane < cols) sum += to_float(x[whole + lane]);
  return sum;
}

template <typename T, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    row_sum(T* y, const T* x, int64_t x_stride, int rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= rows) return;  // whole warps leave together
  x += row * x_stride;
  const int lane = threadIdx.x;
  float sum =
      aligned16(x) ? lane_sum<T, 16 / sizeof(T)>(x, cols, lane) : lane_sum<T, 1>(x, cols, lane);
  sum = warp_reduce(sum, Sum());
  if (lane == 0) y[row] = from_float<T>(sum);
}
