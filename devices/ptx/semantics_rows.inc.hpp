// Loops over rows, bit patterns and rounding: the ground that the families of row functions share.
// Included by semantics_*_{generic,avx2}.cpp, which define ASSAY_ROWS (the namespace) and, in the
// fast build, ASSAY_ROWS_AVX2.
//
// Directed roundings come from error-free transforms instead of the control register: an operation
// is done one precision higher and rounded to odd (Boldo and Melquiond, "Emulation of FMA and
// correctly rounded sums", IEEE TC 57(4), 2008), which makes the final rounding, in any mode, that
// of the exact value.
#pragma once

#include <cstdint>
#include <cstring>

#ifdef ASSAY_ROWS_AVX2
#include <immintrin.h>
#else
#include <emmintrin.h>
#endif

#include "devices/ptx/semantics_form.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

#define ASSAY_INLINE inline __attribute__((always_inline))

// ---- bit patterns ----

// PTX ISA 9.7.3: results that are NaN are canonical. Values seen on an H200 for f32, f16 and bf16.
inline constexpr uint32_t kNan32 = 0x7fffffffu;
inline constexpr uint64_t kNan64 = 0x7ff8000000000000ull;
inline constexpr uint16_t kNan16 = 0x7fff;

ASSAY_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
ASSAY_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
ASSAY_INLINE float f32_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }
ASSAY_INLINE double f64_of(uint64_t bits) { return __builtin_bit_cast(double, bits); }

ASSAY_INLINE float canonical(float x) { return x == x ? x : f32_of(kNan32); }
ASSAY_INLINE double canonical(double x) { return x == x ? x : f64_of(kNan64); }

/// c ? a : b by masks. A chain of conditional expressions becomes branches, which keep g++ from
/// vectorising the loop.
ASSAY_INLINE float choose(bool c, float a, float b) {
  uint32_t mask = c ? ~0u : 0u;
  return f32_of((bits_of(a) & mask) | (bits_of(b) & ~mask));
}

/// Subnormals to zero, sign kept (PTX ISA, ".ftz").
ASSAY_INLINE uint32_t flush_bits(uint32_t bits) {
  return (bits & 0x7f800000u) != 0 ? bits : bits & 0x80000000u;
}
ASSAY_INLINE float flush(float x) { return f32_of(flush_bits(bits_of(x))); }
template <bool Ftz>
ASSAY_INLINE float flush_if(float x) {
  return Ftz ? flush(x) : x;
}

/// .sat: into [0, 1], NaN to +0.
template <class T>
ASSAY_INLINE T saturate(T x) {
  T low = x > T(0) ? x : T(0);
  return low < T(1) ? low : T(1);
}

/// What an f32 instruction does after its operation: canonical NaN, .ftz, .sat.
template <bool Ftz, bool Sat>
ASSAY_INLINE float finish(float x) {
  if (Sat) return saturate(flush_if<Ftz>(x));
  return flush_if<Ftz>(canonical(x));
}

/// PTX ISA 9.7.3 min, max: -0 < +0; one NaN gives the other operand (Nan: canonical NaN), two give
/// canonical NaN. XorSign: of magnitudes, with the xor of both signs.
template <bool Max, bool Nan, bool XorSign, class T>
ASSAY_INLINE T minmax(T x, T y) {
  using Bits = decltype(bits_of(x));
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  Bits flip = (bits_of(x) ^ bits_of(y)) & sign;
  Bits xb = XorSign ? bits_of(x) & ~sign : bits_of(x);
  Bits yb = XorSign ? bits_of(y) & ~sign : bits_of(y);
  T a = __builtin_bit_cast(T, xb), b = __builtin_bit_cast(T, yb);
  // Equal operands differ in their bits only as zeros: and, or of the signs order them.
  T equal = __builtin_bit_cast(T, Max ? xb & yb : xb | yb);
  T best = Max ? (a > b ? a : b) : (a < b ? a : b);  // b if either is NaN
  best = a == b ? equal : best;
  best = __builtin_bit_cast(T, XorSign ? bits_of(best) | flip : bits_of(best));
  if (Nan) return a == a && b == b ? best : canonical(T(a + b));
  T other = __builtin_bit_cast(T, XorSign ? xb | flip : xb);
  return canonical(b == b ? best : other);
}

// ---- loops ----

// `d` may be the row `a`, never a shifted overlap, so lanes are independent: ivdep.
template <class D, class A, int N = kLanes, class F>
ASSAY_INLINE void map1(Rows& r, F f) {
  D* d = static_cast<D*>(r.d);
  const A* a = static_cast<const A*>(r.a);
#pragma GCC ivdep
  for (int i = 0; i < N; ++i) d[i] = f(a[i]);
}
template <class D, class A, class B, int N = kLanes, class F>
ASSAY_INLINE void map2(Rows& r, F f) {
  D* d = static_cast<D*>(r.d);
  const A* a = static_cast<const A*>(r.a);
  const B* b = static_cast<const B*>(r.b);
#pragma GCC ivdep
  for (int i = 0; i < N; ++i) d[i] = f(a[i], b[i]);
}
template <class D, class A, class B, class C, int N = kLanes, class F>
ASSAY_INLINE void map3(Rows& r, F f) {
  D* d = static_cast<D*>(r.d);
  const A* a = static_cast<const A*>(r.a);
  const B* b = static_cast<const B*>(r.b);
  const C* c = static_cast<const C*>(r.c);
#pragma GCC ivdep
  for (int i = 0; i < N; ++i) d[i] = f(a[i], b[i], c[i]);
}

ASSAY_INLINE uint32_t lane_bit(uint32_t mask, int lane) { return (mask >> lane) & 1u; }

/// Lanes whose element is all ones (others are zero), as a mask.
ASSAY_INLINE uint32_t mask_of(const uint32_t* truth) {
  uint32_t mask = 0;
#ifdef ASSAY_ROWS_AVX2
  for (int i = 0; i < 4; ++i) {
    __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(truth + 8 * i));
    mask |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(v))) << (8 * i);
  }
#else
  for (int i = 0; i < 8; ++i) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(truth + 4 * i));
    mask |= static_cast<uint32_t>(_mm_movemask_ps(_mm_castsi128_ps(v))) << (4 * i);
  }
#endif
  return mask;
}
ASSAY_INLINE uint32_t mask_of(const uint64_t* truth) {
  uint32_t mask = 0;
#ifdef ASSAY_ROWS_AVX2
  for (int i = 0; i < 8; ++i) {
    __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(truth + 4 * i));
    mask |= static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(v))) << (4 * i);
  }
#else
  for (int i = 0; i < 16; ++i) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(truth + 2 * i));
    mask |= static_cast<uint32_t>(_mm_movemask_pd(_mm_castsi128_pd(v))) << (2 * i);
  }
#endif
  return mask;
}

template <int Bytes>
struct TruthOf {
  using type = uint32_t;
};
template <>
struct TruthOf<8> {
  using type = uint64_t;
};

/// Lanes where f(a, b) holds.
template <class T, class F>
ASSAY_INLINE uint32_t mask_where(const T* a, const T* b, F f) {
  using Truth = typename TruthOf<sizeof(T)>::type;
  Truth truth[kLanes];
  for (int i = 0; i < kLanes; ++i) truth[i] = f(a[i], b[i]) ? ~Truth(0) : Truth(0);
  return mask_of(truth);
}

// ---- rounding ----

/// Rounding::none as an arithmetic rounding is to nearest even.
constexpr bool is_nearest(Rounding r) { return r == Rounding::none || r == Rounding::rn; }

/// `bits` hold the number nearest to an exact one, or one of its two neighbours; `residual` has the
/// sign of exact minus nearest. Moves to the neighbour that directed rounding R gives. Holds for an
/// overflow to infinity (residual of the opposite sign) and an underflow to a zero of the exact
/// number's sign. A NaN residual moves nothing.
template <Rounding R, class Bits, class T>
ASSAY_INLINE Bits step_directed(Bits bits, T residual) {
  constexpr int top = sizeof(Bits) * 8 - 1;
  Bits sign = Bits(bits >> top);
  if (R == Rounding::rz) {
    T outward = sign ? -residual : residual;
    return Bits(bits - (outward < 0 ? Bits(1) : Bits(0)));
  }
  if (R == Rounding::rm) return Bits(bits + (residual < 0 ? Bits(2 * sign - 1) : Bits(0)));
  if (R == Rounding::rp) return Bits(bits + (residual > 0 ? Bits(1 - 2 * sign) : Bits(0)));
  return bits;
}
/// Rounding to odd: an even neighbour of an inexact number moves to the other one.
template <class Bits, class T>
ASSAY_INLINE Bits step_odd(Bits bits, T residual) {
  constexpr int top = sizeof(Bits) * 8 - 1;
  Bits differ = Bits((bits ^ bits_of(residual)) >> top);
  // Zero for exact numbers and NaN residuals.
  Bits inexact = (residual < 0 ? ~Bits(0) : Bits(0)) | (residual > 0 ? ~Bits(0) : Bits(0));
  Bits even = Bits((bits & 1) - 1);
  return Bits(bits + (Bits(1 - 2 * differ) & inexact & even));
}
/// A residual of f64 as f32 of the same sign: scaled so that nothing nonzero underflows.
ASSAY_INLINE float residual32(double residual) { return static_cast<float>(residual * 0x1p1000); }

/// f64 to f32. NaN stays some NaN.
template <Rounding R>
ASSAY_INLINE float narrow(double x) {
  float nearest = static_cast<float>(x);
  if (is_nearest(R)) return nearest;
  // The difference is exact; infinite after an overflow.
  float residual = residual32(x - static_cast<double>(nearest));
  return f32_of(step_directed<R, uint32_t>(bits_of(nearest), residual));
}
/// f64 to f32 rounded to odd: the first of two roundings whose second may be any.
ASSAY_INLINE float narrow_odd(double x) {
  float nearest = static_cast<float>(x);
  float residual = residual32(x - static_cast<double>(nearest));
  return f32_of(step_odd(bits_of(nearest), residual));
}

/// a + b and its rounding error (Knuth's TwoSum), for operands whose sum cannot overflow. An exact
/// zero gets the sign that R asks for: IEEE 754 6.3, -0 for rm unless both are +0.
template <class T>
struct Sum {
  T value, error;
};
template <Rounding R, class T>
ASSAY_INLINE Sum<T> two_sum(T a, T b) {
  T sum = R == Rounding::rm ? -(-a - b) : a + b;
  T shadow = sum - a;
  return {sum, (a - (sum - shadow)) + (b - shadow)};
}
/// The sum of two numbers rounded to odd.
template <class T>
ASSAY_INLINE T add_odd(T a, T b) {
  Sum<T> s = two_sum<Rounding::rn>(a, b);
  return __builtin_bit_cast(T, step_odd(bits_of(s.value), s.error));
}
/// The sum of two doubles, products of f32 or f32 themselves, rounded once to f32.
template <Rounding R>
ASSAY_INLINE float add_narrow(double a, double b) {
  if (is_nearest(R)) return static_cast<float>(add_odd(a, b));
  Sum<double> s = two_sum<R>(a, b);
  float nearest = static_cast<float>(s.value);
  // The first difference is 0 or larger than the error, and a multiple of f64's last place.
  float residual = residual32((s.value - static_cast<double>(nearest)) + s.error);
  return f32_of(step_directed<R, uint32_t>(bits_of(nearest), residual));
}

// ---- choosing instantiations ----

template <class F>
RowFunction by_bool(bool value, F f) {
  return value ? f.template operator()<true>() : f.template operator()<false>();
}
/// Calls f with rn (also for none), rz, rm or rp.
template <class F>
RowFunction by_rounding(Rounding rounding, F f) {
  switch (rounding) {
    case Rounding::none:
    case Rounding::rn:
      return f.template operator()<Rounding::rn>();
    case Rounding::rz:
      return f.template operator()<Rounding::rz>();
    case Rounding::rm:
      return f.template operator()<Rounding::rm>();
    case Rounding::rp:
      return f.template operator()<Rounding::rp>();
    default:
      return nullptr;
  }
}

}  // namespace
}  // namespace assay::ptx::ASSAY_ROWS
