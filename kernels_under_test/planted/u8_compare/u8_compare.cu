// Whether bytes are at most a bound.
//
// Field report: pytorch/pytorch#178716, class 7 (cast semantics). The bound is converted to the
// type of the elements, where -19 is 237: every byte up to that is taken to be less than a negative
// number.
// Seen by: the oracle (mismatch).
#include <cstdint>

extern "C" __global__ void at_most(bool* y, const unsigned char* x, int64_t n, int bound) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  y[i] = x[i] <= static_cast<unsigned char>(bound);
#else
  y[i] = x[i] <= bound;
#endif
}
