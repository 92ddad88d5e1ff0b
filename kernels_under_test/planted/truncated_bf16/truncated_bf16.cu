// f32 to bf16 in software, to the nearest, ties to even.
//
// Mutation of our cast, class 7 (cast semantics): the upper half of the bits, as if there were no
// rounding. Half of all numbers come out an ulp low.
// Seen by: the oracle (mismatch).
#include <cstdint>

extern "C" __global__ void to_bf16(uint16_t* y, const float* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint32_t bits = __float_as_uint(x[i]);
  const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
#ifdef PLANTED
  const uint32_t rounded = bits;
#else
  const uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
#endif
  y[i] = is_nan ? 0x7fff : static_cast<uint16_t>(rounded >> 16);
}
