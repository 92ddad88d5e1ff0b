// Conversions of f16 and bf16 rows to and from f32, by element and by row.
#pragma once

#include "devices/ptx/semantics_rows.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

// ---- one element ----

/// Exact. Exponent and mantissa move up; multiplying by 2^112 corrects the bias and normalises
/// subnormals in one exact step.
ASSAY_INLINE float f16_to_f32(uint16_t h) {
  float scaled = f32_of(uint32_t(h & 0x7fffu) << 13) * 0x1p112f;
  uint32_t bits = bits_of(scaled);
  bits = (h & 0x7c00u) == 0x7c00u ? bits | 0x7f800000u : bits;  // infinity, NaN
  return f32_of(bits | (uint32_t(h & 0x8000u) << 16));
}
ASSAY_INLINE float bf16_to_f32(uint16_t h) { return f32_of(uint32_t(h) << 16); }

/// To nearest even; NaN to 0x7fff.
ASSAY_INLINE uint32_t f32_to_f16(float x) {
  uint32_t bits = bits_of(x), m = bits & 0x7fffffffu;
  uint32_t normal = (m + 0xfffu + ((m >> 13) & 1u) - 0x38000000u) >> 13;
  // Below 2^-14 the sum with 0.5 has f16's last subnormal place as its own.
  uint32_t subnormal = bits_of(f32_of(m) + 0.5f) - 0x3f000000u;
  uint32_t result = m < 0x38800000u ? subnormal : normal;
  result = m >= 0x477ff000u ? 0x7c00u : result;  // 65520 and above
  result |= (bits >> 16) & 0x8000u;
  return m > 0x7f800000u ? kNan16 : result;
}
ASSAY_INLINE uint32_t f32_to_bf16(float x) {
  uint32_t bits = bits_of(x);
  uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  return (bits & 0x7fffffffu) > 0x7f800000u ? kNan16 : rounded;
}

struct F16 {
  static ASSAY_INLINE float widen(uint16_t h) { return f16_to_f32(h); }
  static ASSAY_INLINE uint32_t narrow(float x) { return f32_to_f16(x); }
  static constexpr uint16_t infinity = 0x7c00, largest = 0x7bff;
};
struct Bf16 {
  static ASSAY_INLINE float widen(uint16_t h) { return bf16_to_f32(h); }
  static ASSAY_INLINE uint32_t narrow(float x) { return f32_to_bf16(x); }
  static constexpr uint16_t infinity = 0x7f80, largest = 0x7f7f;
};

/// f32 to a 16-bit format in any rounding mode.
template <class H, Rounding R>
ASSAY_INLINE uint16_t narrow_half(float x) {
  uint16_t nearest = static_cast<uint16_t>(H::narrow(x));
  if (is_nearest(R)) return nearest;
  return step_directed<R, uint16_t>(nearest, x - H::widen(nearest));
}

// ---- N elements ----

template <class H, int N>
ASSAY_INLINE void widen_row(float* d, const void* source) {
  const uint16_t* a = static_cast<const uint16_t*>(source);
  for (int i = 0; i < N; ++i) d[i] = H::widen(a[i]);
}
template <class H, int N>
ASSAY_INLINE void narrow_row(void* destination, const float* a) {
  uint16_t* d = static_cast<uint16_t*>(destination);
  for (int i = 0; i < N; ++i) d[i] = static_cast<uint16_t>(H::narrow(a[i]));
}

#ifdef ASSAY_ROWS_AVX2
template <int N>
ASSAY_INLINE void widen_f16c(float* d, const void* source) {
  const __m128i* a = static_cast<const __m128i*>(source);
  for (int i = 0; i < N / 8; ++i)
    _mm256_storeu_ps(d + 8 * i, _mm256_cvtph_ps(_mm_load_si128(a + i)));
}
// vcvtps2ph keeps NaN payloads and signs; PTX's NaN is 0x7fff.
ASSAY_INLINE __m128i narrow_f16c(const float* a) {
  __m256 x = _mm256_loadu_ps(a);
  __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  __m128i nan16 = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
  __m128i h = _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return _mm_blendv_epi8(h, _mm_set1_epi16(0x7fff), nan16);
}
template <int N>
ASSAY_INLINE void narrow_f16c(void* destination, const float* a) {
  __m128i* d = static_cast<__m128i*>(destination);
  for (int i = 0; i < N / 8; ++i) _mm_store_si128(d + i, narrow_f16c(a + 8 * i));
}
template <>
ASSAY_INLINE void widen_row<F16, 32>(float* d, const void* a) {
  widen_f16c<32>(d, a);
}
template <>
ASSAY_INLINE void widen_row<F16, 64>(float* d, const void* a) {
  widen_f16c<64>(d, a);
}
template <>
ASSAY_INLINE void narrow_row<F16, 32>(void* d, const float* a) {
  narrow_f16c<32>(d, a);
}
template <>
ASSAY_INLINE void narrow_row<F16, 64>(void* d, const float* a) {
  narrow_f16c<64>(d, a);
}
#endif

}  // namespace
}  // namespace assay::ptx::ASSAY_ROWS
