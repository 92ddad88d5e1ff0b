// Quotient rounded down, as Python and the contract define it.
//
// Field report: triton-lang/triton#619, class 7 (integer semantics). C++ rounds towards 0: -1 / 2
// is 0, not -1. Seen by: the oracle (mismatch), for a negative dividend that the divisor does not
// divide.
#include <cstdint>

template <typename T>
__global__ void floor_divide(T* y, const T* n, const T* d, int64_t count) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const T quotient = n[i] / d[i];
#ifdef PLANTED
  y[i] = quotient;
#else
  y[i] = quotient - (n[i] % d[i] < 0);  // d > 0
#endif
}
