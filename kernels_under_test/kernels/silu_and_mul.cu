// Gated activation of a feed-forward layer: y = T(silu(gate)) * up, where a row of x holds the gates
// and then the values. One block a token, as inference engines launch it.
#include "device_helpers.cuh"

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) silu_and_mul(T* y, const T* x, int width) {
  const T* gate = x + int64_t{blockIdx.x} * 2 * width;
  const T* up = gate + width;
  y += int64_t{blockIdx.x} * width;
  for (int i = threadIdx.x; i < width; i += BLOCK) {
    const float g = to_float(gate[i]);
    const T activated = from_float<T>(g / (1.0f + expf(-g)));
    y[i] = from_float<T>(to_float(activated) * to_float(up[i]));
  }
}
