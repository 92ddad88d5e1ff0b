// f32 to bf16 in software, to the nearest, ties to even.
//
// Mutation of our cast, class 4 (NaN): the addition that rounds runs on NaN too, and the canonical
// NaN, 0x7fffffff, comes out as 0x8000: -0. NaN of other payloads stay NaN.
// Seen by: the oracle (mismatch: a number where NaN is right).
#include <cstdint>

extern "C" __global__ void to_bf16(uint16_t* y, const float* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint32_t bits = __float_as_uint(x[i]);
  uint32_t rounded = bits + 0x7fff + (bits >> 16 & 1);
#ifndef PLANTED
  if ((bits & 0x7fffffff) > 0x7f800000) rounded = bits | 0x400000;
#endif
  y[i] = static_cast<uint16_t>(rounded >> 16);
}
