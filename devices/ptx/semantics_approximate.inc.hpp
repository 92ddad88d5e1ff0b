// The approximate instructions: PTX ISA 9.7.3 rcp, sqrt, rsqrt, ex2, lg2, sin, cos, tanh and div in
// their .approx and .full forms. Fixed polynomials in f32 or f64 with separate multiplications and
// additions, so that every build gives the same bits; bounds are those of the PTX ISA.
#pragma once

#include "devices/ptx/semantics_float.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

/// 2^x: 2 ulp by the PTX ISA; this one errs by less than 1. x = n + f, |f| <= 1/2, and 2^f by a
/// minimax polynomial (relative error 2^-28.5).
template <bool Ftz>
ASSAY_INLINE float ex2_f32(float x) {
  constexpr float lowest = Ftz ? -127.0f : -151.0f;
  float bounded = x > lowest ? x : lowest;
  bounded = bounded < 129.0f ? bounded : 129.0f;
  float shifted = bounded + 0x1.8p23f;  // rounds to an integer, n in the low bits
  float f = bounded - (shifted - 0x1.8p23f);
  float p = 0x1.470b46p-13f;
  p = p * f + 0x1.5f7276p-10f;
  p = p * f + 0x1.3b270ep-7f;
  p = p * f + 0x1.c6ae72p-5f;
  p = p * f + 0x1.ebfbe2p-3f;
  p = p * f + 0x1.62e432p-1f;
  p = p * f + 1.0f;
  uint32_t n = bits_of(shifted) << 23;  // n modulo 2^9, in the exponent's place
  float result;
  if (Ftz) {
    result = flush(f32_of(bits_of(p) + n));
  } else {
    // Two factors: the second multiplication rounds a subnormal once.
    int32_t whole = static_cast<int32_t>(bits_of(shifted) - 0x4b400000u);
    int32_t first = whole >> 1, second = whole - first;
    result = p * f32_of(uint32_t(first + 127) << 23) * f32_of(uint32_t(second + 127) << 23);
  }
  result = x >= 128.0f ? f32_of(0x7f800000u) : result;
  return x == x ? result : f32_of(kNan32);
}
template <bool Ftz>
void ex2_row_f32(Rows& r) {
  map1<float, float>(r, [](float a) { return ex2_f32<Ftz>(a); });
}

/// 1 / sqrt(x): two correctly rounded operations err by less than 2^-22.9 relative, the PTX bound.
template <bool Ftz>
void rsqrt_row_f32(Rows& r) {
  map1<float, float>(
      r, [](float a) { return finish<Ftz, false>(1.0f / __builtin_sqrtf(flush_if<Ftz>(a))); });
}

/// div.approx: beyond |b| = 2^126 the result is 0, or NaN for an infinite dividend.
template <bool Ftz>
void div_approx_f32(Rows& r) {
  map2<float, float, float>(r, [](float a, float b) {
    float x = flush_if<Ftz>(a), y = flush_if<Ftz>(b);
    uint32_t magnitude = bits_of(y) & 0x7fffffffu;
    bool beyond = magnitude > 0x7e800000u && magnitude < 0x7f800000u;
    // x * 0 is the zero of the quotient's sign, or NaN.
    float zero = f32_of(bits_of(y) & 0x80000000u);
    return finish<Ftz, false>(beyond ? x * zero : x / y);
  });
}

RowFunction approximate_f32(const Form& form) {
  bool ftz = form.ftz;
  switch (form.op) {
    case Op::ex2:
      return ftz ? ex2_row_f32<true> : ex2_row_f32<false>;
    case Op::rcp:
      return ftz ? rcp_f32<Rounding::rn, true> : rcp_f32<Rounding::rn, false>;
    case Op::sqrt:
      return ftz ? sqrt_f32<Rounding::rn, true> : sqrt_f32<Rounding::rn, false>;
    case Op::rsqrt:
      return ftz ? rsqrt_row_f32<true> : rsqrt_row_f32<false>;
    case Op::div:
      if (form.full) return ftz ? div_f32<Rounding::rn, true> : div_f32<Rounding::rn, false>;
      return ftz ? div_approx_f32<true> : div_approx_f32<false>;
    default:
      return nullptr;
  }
}

}  // namespace

RowFunction approximate_row(const Form& form) {
  return form.type == Type::f32 ? approximate_f32(form) : nullptr;
}

}  // namespace assay::ptx::ASSAY_ROWS
