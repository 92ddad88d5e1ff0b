// Gradient times a scale and each row's gate, added to the gradient of before.
//
// Field report: fla-org/flash-linear-attention#1262, class 9 (specialisation on values). With a
// scale of exactly 1 a specialised path runs, in which the gate is gone along with the scale. Every
// other scale is right.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void scaled_gradient(float* dx, const T* dy, const float* gate, int cols, float scale) {
  dx += int64_t{blockIdx.x} * cols;
  dy += int64_t{blockIdx.x} * cols;
  const float g = gate[blockIdx.x];
  if (scale == 1.0f) {
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
#ifdef PLANTED
      dx[i] += to_float(dy[i]);
#else
      dx[i] += g * to_float(dy[i]);
#endif
    }
  } else {
    for (int i = threadIdx.x; i < cols; i += blockDim.x) dx[i] += g * scale * to_float(dy[i]);
  }
}
