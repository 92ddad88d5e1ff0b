// Remainder of a division truncated to an integer, elementwise.
//
// Mutation of kernels/binary.cu, class 6 (accuracy): x - y trunc(x / y) takes a quotient that has
// been rounded; fmod is exact.
// Seen by: the oracle (mismatch), where the quotient exceeds 2^24 or rounds up to an integer.
#include <cstdint>

__global__ void remainder_of(float* y, const float* a, const float* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = a[i] - b[i] * truncf(a[i] / b[i]);
#else
  y[i] = fmodf(a[i], b[i]);
#endif
}
