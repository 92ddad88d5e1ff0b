// Floats to e4m3 in software, as engines do it before sm_89: nearest, ties to even, saturating.
//
// Field report: sgl-project/sglang#40581, class 7 (casts): the test for the largest exponent takes
// the whole binade from 256 on for an overflow, so 256 to 447 become 448.
// Seen by: the oracle (mismatch), for magnitudes from 256 to 432.
#include <cuda_fp8.h>

#include <cstdint>

__device__ inline unsigned char to_e4m3(float v) {
  const unsigned bits = __float_as_uint(v);
  const unsigned char sign = bits >> 24 & 0x80;
  const float size = fabsf(v);
  if (v != v) return sign | 0x7f;
#ifdef PLANTED
  if (size >= 256.0f) return sign | 0x7e;
#else
  if (size >= 448.0f) return sign | 0x7e;
#endif
  // Below 2^-6 the spacing is 2^-9: an integer of at most 8, which carries into the first normal.
  if (size < 0x1p-6f) return sign | static_cast<unsigned char>(__float2int_rn(size * 512.0f));
  // Round to three fraction bits in the integer domain; a carry moves on to the next exponent.
  const unsigned magnitude = bits & 0x7fffffff;
  const unsigned rounded = magnitude + 0x7ffff + (magnitude >> 20 & 1);
  return sign | static_cast<unsigned char>((rounded >> 20) - (120 << 3));
}

__global__ void quantize(__nv_fp8_e4m3* y, const float* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i].__x = to_e4m3(x[i]);
}
