// gelu, x Phi(x), elementwise.
//
// Mutation of our unary, class 6 (accuracy): the approximation by tanh in the place of the error
// function. The two differ by up to 5e-4: a test with a tolerance of 1e-3 passes.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void gelu(T* y, const T* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = to_float(x[i]);
#ifdef PLANTED
  y[i] = from_float<T>(0.5f * v *
                       (1.0f + tanhf(0.79788456080286535588f * (v + 0.044715f * v * v * v))));
#else
  y[i] = from_float<T>(0.5f * v * (1.0f + erff(v * 0.70710678118654752440f)));
#endif
}
