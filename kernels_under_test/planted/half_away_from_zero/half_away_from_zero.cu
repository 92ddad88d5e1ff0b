// Numbers to int8 by a fixed scale, to the nearest.
//
// Mutation of our quantize_int8, class 7 (cast semantics): roundf for rintf: a tie goes away from
// zero, where the contract's `quant` goes to even.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void quantise(signed char* q, const T* x, int64_t n, float scale) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  const int code = max(-128, min(127, static_cast<int>(roundf(to_float(x[i]) / scale))));
#else
  const int code = max(-128, min(127, static_cast<int>(rintf(to_float(x[i]) / scale))));
#endif
  q[i] = static_cast<signed char>(code);
}
