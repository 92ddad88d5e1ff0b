// Averages of bytes, rounded up.
//
// Mutation of our int_divide, class 7 (integer semantics): the sum is kept in a byte on its way.
// Two bright pixels average to a dark one.
// Seen by: the oracle (mismatch).
#include <cstdint>

extern "C" __global__ void average(uint8_t* y, const uint8_t* a, const uint8_t* b, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  const uint8_t sum = a[i] + b[i] + 1;
#else
  const int sum = a[i] + b[i] + 1;
#endif
  y[i] = sum / 2;
}
