// Gated activation of a feed-forward layer: y = T(silu(gate)) * up, where a row of x holds the gates
// and then the values. One block a token, as inference engines launch it; 16 bytes at a time where the
// token's rows start on 16 bytes.
#include "device_helpers.cuh"

template <typename T>
__device__ inline T silu_times(T gate, T up) {
  const float g = to_float(gate);
  const T activated = from_float<T>(g / (1.0f + expf(-g)));
  return from_float<T>(to_float(activated) * to_float(up));
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) silu_and_mul(T* y, const T* x, int width) {
  const T* gate = x + int64_t{blockIdx.x} * 2 * width;
  const T* up = gate + width;
  y += int64_t{blockIdx.x} * width;
  constexpr int V = 16 / sizeof(T);
  const int whole = aligned16(gate, up, y) ? width / V * V : 0;
  for (int i = threadIdx.x * V; i < whole; i += BLOCK * V) {
    const Vector<T, V> gates = load<V>(gate + i);
    const Vector<T, V> ups = load<V>(up + i);
    Vector<T, V> out;
#pragma unroll
    for (int j = 0; j < V; ++j) out.at[j] = silu_times(gates.at[j], ups.at[j]);
    store(y + i, out);
  }
  for (int i = whole + threadIdx.x; i < width; i += BLOCK) y[i] = silu_times(gate[i], up[i]);
}
