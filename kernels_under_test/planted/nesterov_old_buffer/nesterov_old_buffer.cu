// A step of descent with Nesterov's momentum, in place: b = momentum b + g, p = p - rate (g +
// momentum b).
//
// Mutation of our binary, class 6 (accuracy): the step is made with the buffer as it was before
// this gradient. It still descends.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void sgd_step(float* p, float* buffer, const T* g, int64_t n, float rate,
                         float momentum) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float gradient = to_float(g[i]);
  const float old = buffer[i];
  const float b = momentum * old + gradient;
#ifdef PLANTED
  p[i] -= rate * (gradient + momentum * old);
#else
  p[i] -= rate * (gradient + momentum * b);
#endif
  buffer[i] = b;
}
