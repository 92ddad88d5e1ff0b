// f32 to e4m3 in software, for hardware without the conversion: ties to even, saturating.
//
// Field report: sgl-project/sglang#40581, class 7 (cast semantics). The test of the exponent is
// made for a format whose highest exponent is infinity's. e4m3 has numbers there, up to 448: from
// 256 on all become 448.
// Seen by: the oracle (mismatch).
#include <cstdint>

extern "C" __global__ void to_e4m3(unsigned char* y, const float* x, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint32_t bits = __float_as_uint(x[i]);
  const uint32_t sign = bits >> 24 & 0x80;
  const uint32_t magnitude = bits & 0x7fffffff;
#ifdef PLANTED
  constexpr uint32_t kSaturates = 0x43800000;  // 256, exponent field 15
#else
  constexpr uint32_t kSaturates = 0x43e80000;  // 464, the middle of 448 and the next step
#endif
  uint32_t code;
  if (magnitude > 0x7f800000) {
    code = 0x7f;  // NaN
  } else if (magnitude >= kSaturates) {
    code = 0x7e;                        // 448
  } else if (magnitude < 0x3c800000) {  // below 2^-6: multiples of 2^-9
    code = static_cast<uint32_t>(__float2int_rn(__uint_as_float(magnitude) * 512.0f));
  } else {
    const uint32_t odd = magnitude >> 20 & 1;
    code = (magnitude + 0x7ffff + odd - (120u << 23)) >> 20;  // bias 127 to 7, 23 bits to 3
  }
  y[i] = static_cast<unsigned char>(sign | code);
}
