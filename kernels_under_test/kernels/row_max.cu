// Largest element of each row; NaN wins, as in amax of the tensor libraries. One warp a row, WARPS
// rows a block, 16-byte loads where the row allows.
#include "device_helpers.cuh"

/// fmaxf would drop a NaN.
struct NanMax {
  __device__ float operator()(float a, float b) const { return a > b || a != a ? a : b; }
};

template <typename T, int V>
__device__ float lane_max(const T* x, int cols, int lane) {
  float m = -INFINITY;
  const int whole = cols / V * V;
  for (int i = lane * V; i < whole; i += 32 * V) {
    const Vector<T, V> v = load<V>(x + i);
#pragma unroll
    for (int j = 0; j < V; ++j) m = NanMax()(m, to_float(v.at[j]));
  }
  if (V > 1 && whole + lane < cols) m = NanMax()(m, to_float(x[whole + lane]));
  return m;
}

template <typename T, int WARPS>
__global__ void __launch_bounds__(32 * WARPS)
    row_max(T* y, const T* x, int64_t x_stride, int rows, int cols) {
  const int64_t row = int64_t{blockIdx.x} * WARPS + threadIdx.y;
  if (row >= rows) return;  // whole warps leave together
  x += row * x_stride;
  const int lane = threadIdx.x;
  float m =
      aligned16(x) ? lane_max<T, 16 / sizeof(T)>(x, cols, lane) : lane_max<T, 1>(x, cols, lane);
  m = warp_reduce(m, NanMax());
  if (lane == 0) y[row] = from_float<T>(m);
}
