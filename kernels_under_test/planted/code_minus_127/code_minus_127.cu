// Numbers to int8 by a fixed scale, to the nearest.
//
// Mutation of our quantize_int8, class 7 (cast semantics): the codes are clamped to +-127, as a
// symmetric scheme has it, under a contract that admits all of int8: -128 is never written.
// Seen by: the oracle (mismatch).
#include "../../kernels/device_helpers.cuh"

template <typename T>
__global__ void quantise(signed char* q, const T* x, int64_t n, float scale) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef PLANTED
  const int code = max(-127, min(127, __float2int_rn(to_float(x[i]) / scale)));
#else
  const int code = max(-128, min(127, __float2int_rn(to_float(x[i]) / scale)));
#endif
  q[i] = static_cast<signed char>(code);
}
