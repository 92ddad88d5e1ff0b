// Magnitude of a with the sign of b, elementwise.
//
// Field report: pytorch/pytorch#176035, where copysign(x, -0.0) came out positive: -0 is not less
// than 0, so a sign that comes from a comparison is lost with it.
// Seen by: the oracle (mismatch), where b is -0 or a NaN whose sign is set.
#include <cstdint>

__global__ void with_sign_of(float* y, const float* a, const float* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = b[i] < 0.0f ? -fabsf(a[i]) : fabsf(a[i]);
#else
  y[i] = copysignf(a[i], b[i]);
#endif
}
