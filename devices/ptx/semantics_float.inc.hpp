// f32 and f64 arithmetic: PTX ISA 9.7.3 (add sub mul fma mad div abs neg min max rcp sqrt copysign
// testp), correctly rounded forms. The approximate ones are in semantics_approximate.inc.hpp.
#pragma once

#include "devices/ptx/semantics_soft64.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

// ---- f32 ----

template <Rounding R>
ASSAY_INLINE float add32(float a, float b) {
  if (is_nearest(R)) return a + b;
  return add_narrow<R>(a, b);
}
template <Rounding R>
ASSAY_INLINE float mul32(float a, float b) {
  if (is_nearest(R)) return a * b;
  return narrow<R>(static_cast<double>(a) * static_cast<double>(b));  // exact product
}
template <Rounding R>
ASSAY_INLINE float fma32(float a, float b, float c) {
#ifdef ASSAY_ROWS_AVX2
  if (is_nearest(R)) return __builtin_fmaf(a, b, c);
#endif
  double product = static_cast<double>(a) * static_cast<double>(b);  // exact
  return add_narrow<R>(product, c);
}
/// For quotients and roots q of f32: the remainder a - q b is exact in f64 (a multiple of the
/// product of both last places, no longer than 25 bits), so its sign is the residual's.
template <Rounding R>
ASSAY_INLINE float div32(float a, float b) {
  float q = a / b;
  if (is_nearest(R)) return q;
  double remainder = static_cast<double>(a) - static_cast<double>(q) * static_cast<double>(b);
  float residual = residual32(remainder);
  residual = b < 0 ? -residual : residual;
  // Quotients that are exact by IEEE 754: of or by an infinity or a zero.
  bool special = q == 0 ? a == 0 || b - b != 0 : a - a != 0 || b == 0;
  return f32_of(step_directed<R, uint32_t>(bits_of(q), special ? 0.0f : residual));
}
template <Rounding R>
ASSAY_INLINE float sqrt32(float a) {
  float root = __builtin_sqrtf(a);
  if (is_nearest(R)) return root;
  double residual = static_cast<double>(a) - static_cast<double>(root) * static_cast<double>(root);
  return f32_of(step_directed<R, uint32_t>(bits_of(root), residual32(residual)));
}

template <Rounding R, bool Ftz, bool Sat>
void add_f32(Rows& r) {
  map2<float, float, float>(r, [](float a, float b) {
    return finish<Ftz, Sat>(add32<R>(flush_if<Ftz>(a), flush_if<Ftz>(b)));
  });
}
template <Rounding R, bool Ftz, bool Sat>
void sub_f32(Rows& r) {
  map2<float, float, float>(r, [](float a, float b) {
    float minus = f32_of(bits_of(flush_if<Ftz>(b)) ^ 0x80000000u);
    return finish<Ftz, Sat>(add32<R>(flush_if<Ftz>(a), minus));
  });
}
template <Rounding R, bool Ftz, bool Sat>
void mul_f32(Rows& r) {
  map2<float, float, float>(r, [](float a, float b) {
    return finish<Ftz, Sat>(mul32<R>(flush_if<Ftz>(a), flush_if<Ftz>(b)));
  });
}
template <Rounding R, bool Ftz, bool Sat>
void fma_f32(Rows& r) {
  map3<float, float, float, float>(r, [](float a, float b, float c) {
    return finish<Ftz, Sat>(fma32<R>(flush_if<Ftz>(a), flush_if<Ftz>(b), flush_if<Ftz>(c)));
  });
}
template <Rounding R, bool Ftz>
void div_f32(Rows& r) {
  map2<float, float, float>(r, [](float a, float b) {
    return finish<Ftz, false>(div32<R>(flush_if<Ftz>(a), flush_if<Ftz>(b)));
  });
}
template <Rounding R, bool Ftz>
void rcp_f32(Rows& r) {
  map1<float, float>(r,
                     [](float a) { return finish<Ftz, false>(div32<R>(1.0f, flush_if<Ftz>(a))); });
}
template <Rounding R, bool Ftz>
void sqrt_f32(Rows& r) {
  map1<float, float>(r, [](float a) { return finish<Ftz, false>(sqrt32<R>(flush_if<Ftz>(a))); });
}

// ---- min and max ----

template <bool Max, bool Ftz, bool Nan, bool XorSign>
void minmax_f32(Rows& r) {
  map2<float, float, float>(r, [](float a, float b) {
    return minmax<Max, Nan, XorSign>(flush_if<Ftz>(a), flush_if<Ftz>(b));
  });
}
template <bool Max>
void minmax_f64(Rows& r) {
  map2<double, double, double>(r,
                               [](double a, double b) { return minmax<Max, false, false>(a, b); });
}

// ---- sign operations, on bits: NaN keeps its payload ----

template <bool Ftz>
void abs_f32(Rows& r) {
  map1<uint32_t, uint32_t>(r, [](uint32_t a) { return (Ftz ? flush_bits(a) : a) & 0x7fffffffu; });
}
template <bool Ftz>
void neg_f32(Rows& r) {
  map1<uint32_t, uint32_t>(r, [](uint32_t a) { return (Ftz ? flush_bits(a) : a) ^ 0x80000000u; });
}
void abs_f64(Rows& r) {
  map1<uint64_t, uint64_t>(r, [](uint64_t a) { return a & ~(1ull << 63); });
}
void neg_f64(Rows& r) {
  map1<uint64_t, uint64_t>(r, [](uint64_t a) { return a ^ (1ull << 63); });
}
// copysign d, a, b: a's sign on b's magnitude.
template <class U>
void copysign_bits(Rows& r) {
  constexpr U sign = U(1) << (8 * sizeof(U) - 1);
  map2<U, U, U>(r, [](U a, U b) { return U((a & sign) | (b & ~sign)); });
}

// ---- f64 ----

template <Rounding R>
void add_f64(Rows& r) {
  map2<double, double, double>(r, [](double a, double b) { return canonical(soft_add<R>(a, b)); });
}
template <Rounding R>
void sub_f64(Rows& r) {
  map2<double, double, double>(r, [](double a, double b) {
    return canonical(soft_add<R>(a, f64_of(bits_of(b) ^ (1ull << 63))));
  });
}
template <Rounding R>
void mul_f64(Rows& r) {
  map2<double, double, double>(
      r, [](double a, double b) { return canonical(is_nearest(R) ? a * b : soft_mul<R>(a, b)); });
}
template <Rounding R>
void fma_f64(Rows& r) {
  map3<double, double, double, double>(r, [](double a, double b, double c) {
#ifdef ASSAY_ROWS_AVX2
    if (is_nearest(R)) return canonical(__builtin_fma(a, b, c));
#endif
    return canonical(soft_fma<R>(a, b, c));
  });
}
template <Rounding R>
void div_f64(Rows& r) {
  map2<double, double, double>(
      r, [](double a, double b) { return canonical(is_nearest(R) ? a / b : soft_div<R>(a, b)); });
}
template <Rounding R>
void rcp_f64(Rows& r) {
  map1<double, double>(
      r, [](double a) { return canonical(is_nearest(R) ? 1.0 / a : soft_div<R>(1.0, a)); });
}
template <Rounding R>
void sqrt_f64(Rows& r) {
  map1<double, double>(r, [](double a) { return canonical(soft_sqrt<R>(a)); });
}

// ---- testp ----

template <Testp Kind, class U, int MantissaBits>
ASSAY_INLINE bool test_property(U a) {
  constexpr U magnitude = U(~U(0)) >> 1;
  constexpr U infinity = magnitude & U(~((U(1) << MantissaBits) - 1));
  U m = a & magnitude;
  switch (Kind) {
    case Testp::finite:
      return m < infinity;
    case Testp::infinite:
      return m == infinity;
    case Testp::number:
      return m <= infinity;
    case Testp::notanumber:
      return m > infinity;
    case Testp::normal:
      // Zeros count as normal (PTX ISA 9.7.3 "testp"; seen on an H200).
      return m < infinity && (m >= (U(1) << MantissaBits) || m == 0);
    case Testp::subnormal:
      return m < (U(1) << MantissaBits) && m != 0;
    case Testp::none:
      return false;
  }
  return false;
}
template <Testp Kind, class U, int MantissaBits>
void testp_bits(Rows& r) {
  const U* a = static_cast<const U*>(r.a);
  r.p_out = mask_where(a, a, [](U x, U) { return test_property<Kind, U, MantissaBits>(x); });
}
template <class U, int MantissaBits>
RowFunction testp_row(Testp kind) {
  switch (kind) {
    case Testp::finite:
      return testp_bits<Testp::finite, U, MantissaBits>;
    case Testp::infinite:
      return testp_bits<Testp::infinite, U, MantissaBits>;
    case Testp::number:
      return testp_bits<Testp::number, U, MantissaBits>;
    case Testp::notanumber:
      return testp_bits<Testp::notanumber, U, MantissaBits>;
    case Testp::normal:
      return testp_bits<Testp::normal, U, MantissaBits>;
    case Testp::subnormal:
      return testp_bits<Testp::subnormal, U, MantissaBits>;
    case Testp::none:
      return nullptr;
  }
  return nullptr;
}

// ---- choice ----

template <Rounding R, bool Ftz, bool Sat>
RowFunction arithmetic_f32(Op op) {
  switch (op) {
    case Op::add:
      return add_f32<R, Ftz, Sat>;
    case Op::sub:
      return sub_f32<R, Ftz, Sat>;
    case Op::mul:
      return mul_f32<R, Ftz, Sat>;
    case Op::mad:
    case Op::fma:
      return fma_f32<R, Ftz, Sat>;
    case Op::div:
      return Sat ? nullptr : div_f32<R, Ftz>;
    case Op::rcp:
      return Sat ? nullptr : rcp_f32<R, Ftz>;
    case Op::sqrt:
      return Sat ? nullptr : sqrt_f32<R, Ftz>;
    default:
      return nullptr;
  }
}
template <Rounding R>
RowFunction arithmetic_f64(Op op) {
  switch (op) {
    case Op::add:
      return add_f64<R>;
    case Op::sub:
      return sub_f64<R>;
    case Op::mul:
      return mul_f64<R>;
    case Op::mad:
    case Op::fma:
      return fma_f64<R>;
    case Op::div:
      return div_f64<R>;
    case Op::rcp:
      return rcp_f64<R>;
    case Op::sqrt:
      return sqrt_f64<R>;
    default:
      return nullptr;
  }
}

template <bool Max>
RowFunction minmax_f32_row(const Form& form) {
  return by_bool(form.ftz, [&]<bool Ftz>() {
    return by_bool(form.nan, [&]<bool Nan>() {
      return by_bool(form.xorsign_abs,
                     [&]<bool Xor>() -> RowFunction { return minmax_f32<Max, Ftz, Nan, Xor>; });
    });
  });
}

RowFunction f32_row(const Form& form) {
  switch (form.op) {
    case Op::abs:
      return form.ftz ? abs_f32<true> : abs_f32<false>;
    case Op::neg:
      return form.ftz ? neg_f32<true> : neg_f32<false>;
    case Op::min:
      return minmax_f32_row<false>(form);
    case Op::max:
      return minmax_f32_row<true>(form);
    case Op::copysign:
      return copysign_bits<uint32_t>;
    case Op::testp:
      return testp_row<uint32_t, 23>(form.testp);
    default:
      break;
  }
  return by_rounding(form.rounding, [&]<Rounding R>() {
    return by_bool(form.ftz, [&]<bool Ftz>() {
      return by_bool(form.sat, [&]<bool Sat>() { return arithmetic_f32<R, Ftz, Sat>(form.op); });
    });
  });
}

RowFunction f64_row(const Form& form) {
  if (form.ftz || form.sat || form.nan || form.xorsign_abs) return nullptr;
  switch (form.op) {
    case Op::abs:
      return abs_f64;
    case Op::neg:
      return neg_f64;
    case Op::min:
      return minmax_f64<false>;
    case Op::max:
      return minmax_f64<true>;
    case Op::copysign:
      return copysign_bits<uint64_t>;
    case Op::testp:
      return testp_row<uint64_t, 52>(form.testp);
    default:
      break;
  }
  return by_rounding(form.rounding, [&]<Rounding R>() { return arithmetic_f64<R>(form.op); });
}

}  // namespace

RowFunction float_row(const Form& form) {
  if (form.approx || form.full || form.relu) return nullptr;
  if (form.type == Type::f32) return f32_row(form);
  return form.type == Type::f64 ? f64_row(form) : nullptr;
}

}  // namespace assay::ptx::ASSAY_ROWS
