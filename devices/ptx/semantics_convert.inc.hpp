// cvt with a float on either side: PTX ISA 9.7.9 "cvt". Forms that kernels run often have loops of
// their own; all others widen the source to f64 (exactly, or to odd for 64-bit integers), then
// round once.
#pragma once

#include "devices/ptx/semantics_half.inc.hpp"
#include "devices/ptx/semantics_soft64.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

// ---- sources, as f64 ----

/// Nearest f64 whose last bit is odd where bits were lost: roundings after it are those of x.
ASSAY_INLINE double odd_f64(uint64_t x) {
  uint64_t head = (x >> 11) | uint64_t((x & 0x7ffu) != 0);
  return x >> 53 ? static_cast<double>(head) * 2048.0 : static_cast<double>(x);
}
ASSAY_INLINE double odd_f64(int64_t x) {
  double magnitude = odd_f64(x < 0 ? 0 - static_cast<uint64_t>(x) : static_cast<uint64_t>(x));
  return x < 0 ? -magnitude : magnitude;
}

template <Type S, bool Ftz>
__attribute__((noinline)) void load_f64(double* x, const void* row) {
  auto read = [&](auto element, auto widen) {
    const decltype(element)* a = static_cast<const decltype(element)*>(row);
    for (int i = 0; i < kLanes; ++i) x[i] = widen(a[i]);
  };
  if (S == Type::f64) read(double(), [](double v) { return v; });
  if (S == Type::f32) read(float(), [](float v) { return double(flush_if<Ftz>(v)); });
  if (S == Type::f16) read(uint16_t(), [](uint16_t v) { return double(f16_to_f32(v)); });
  if (S == Type::bf16)
    read(uint16_t(), [](uint16_t v) { return double(flush_if<Ftz>(bf16_to_f32(v))); });
  if (S == Type::u8) read(uint16_t(), [](uint16_t v) { return double(v & 255); });
  if (S == Type::s8) read(uint16_t(), [](uint16_t v) { return double(int8_t(v)); });
  if (S == Type::u16) read(uint16_t(), [](uint16_t v) { return double(v); });
  if (S == Type::s16) read(uint16_t(), [](uint16_t v) { return double(int16_t(v)); });
  if (S == Type::u32) read(uint32_t(), [](uint32_t v) { return double(v); });
  if (S == Type::s32) read(int32_t(), [](int32_t v) { return double(v); });
  if (S == Type::u64) read(uint64_t(), [](uint64_t v) { return odd_f64(v); });
  if (S == Type::s64) read(int64_t(), [](int64_t v) { return odd_f64(v); });
}

// ---- float results ----

/// Limits that cvt's modifiers put on a result. Applied before rounding: the limits are numbers of
/// the result's type and rounding is monotonic. satfinite keeps NaN; relu turns -0 into +0.
enum class Limit { none, sat, relu, finite, relu_finite };

constexpr double largest_of(Type type) {
  switch (type) {
    case Type::f16:
      return 65504.0;
    case Type::bf16:
      return 0x1.fep127;
    default:
      return 0x1.fffffep127;
  }
}
template <Type D, Limit L>
ASSAY_INLINE double limit(double x) {
  constexpr double largest = largest_of(D);
  if (L == Limit::sat) return saturate(x);
  if (L == Limit::relu || L == Limit::relu_finite) x = x <= 0 ? 0.0 : x;
  if (L == Limit::finite || L == Limit::relu_finite) {
    x = x > largest ? largest : x;
    x = x < -largest ? -largest : x;
  }
  return x;
}

template <Type D, Rounding R, Limit L, bool Ftz>
__attribute__((noinline)) void store_f64(void* row, const double* x) {
  if (D == Type::f64) {
    double* d = static_cast<double*>(row);
    for (int i = 0; i < kLanes; ++i) d[i] = canonical(limit<D, L>(x[i]));
  } else if (D == Type::f32) {
    float* d = static_cast<float*>(row);
    for (int i = 0; i < kLanes; ++i) d[i] = flush_if<Ftz>(canonical(narrow<R>(limit<D, L>(x[i]))));
  } else {
    uint16_t* d = static_cast<uint16_t*>(row);
    for (int i = 0; i < kLanes; ++i) {
      float odd = narrow_odd(limit<D, L>(x[i]));
      d[i] = D == Type::f16 ? narrow_half<F16, R>(odd) : narrow_half<Bf16, R>(odd);
    }
  }
}

template <Type D, Type S, Rounding R, Limit L, bool Ftz>
void cvt_float(Rows& r) {
  double x[kLanes];
  load_f64<S, Ftz>(x, r.a);
  store_f64<D, R, L, Ftz>(r.d, x);
}

// 64-bit integers to f64 in one rounding of their own.
template <class T, Rounding R>
void cvt_f64_int64(Rows& r) {
  map1<double, T>(r, [](T v) {
    double nearest = static_cast<double>(v);
    if (is_nearest(R)) return nearest;
    __int128 gap = static_cast<__int128>(v) - static_cast<__int128>(nearest);
    double residual = gap < 0 ? -1.0 : gap > 0 ? 1.0 : 0.0;
    return f64_of(step_directed<R, uint64_t>(bits_of(nearest), residual));
  });
}

// ---- rounding to integral values ----

/// Magnitudes below 2^23 (2^52) round when added to it; the sign of the argument stays, on zeros
/// too.
template <Rounding R, class T>
ASSAY_INLINE T round_integral(T x) {
  constexpr T big = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  using Bits = decltype(bits_of(x));
  constexpr Bits sign = Bits(1) << (8 * sizeof(T) - 1);
  Bits negative = bits_of(x) & sign;
  T a = __builtin_bit_cast(T, bits_of(x) & ~sign);
  T nearest = (a + big) - big;
  T floor = nearest > a ? nearest - T(1) : nearest;
  T ceiling = nearest < a ? nearest + T(1) : nearest;
  T rounded = nearest;
  if (R == Rounding::rzi) rounded = floor;
  if (R == Rounding::rmi) rounded = negative ? ceiling : floor;
  if (R == Rounding::rpi) rounded = negative ? floor : ceiling;
  rounded = a < big ? rounded : a;  // NaN: a
  return __builtin_bit_cast(T, bits_of(rounded) | negative);
}

template <Rounding R, bool Ftz, bool Sat>
void cvt_integral_f32(Rows& r) {
  map1<float, float>(r,
                     [](float a) { return finish<Ftz, Sat>(round_integral<R>(flush_if<Ftz>(a))); });
}
template <Type T, Rounding R, Limit L>
void cvt_integral(Rows& r) {
  double x[kLanes];
  load_f64<T, false>(x, r.a);
  for (int i = 0; i < kLanes; ++i) x[i] = round_integral<R>(x[i]);
  store_f64<T, Rounding::rn, L, false>(r.d, x);
}

// ---- integer results ----

template <int Bytes>
struct SignedTwin {
  using type = int32_t;
};
template <>
struct SignedTwin<8> {
  using type = int64_t;
};

template <class D>
constexpr D highest_int() {
  return D(-1) < D(0) ? D((uint64_t(1) << (8 * sizeof(D) - 1)) - 1) : D(~uint64_t(0));
}
template <class D>
constexpr D lowest_int() {
  return D(-1) < D(0) ? D(uint64_t(1) << (8 * sizeof(D) - 1)) : D(0);
}

/// An integral x that lies inside D's range. Through signed conversions, which are the ones that
/// x86-64 has.
template <class D, class T>
ASSAY_INLINE D cast_inside(T x) {
  if (sizeof(D) < 4 || (sizeof(D) == 4 && D(-1) < D(0))) return D(static_cast<int32_t>(x));
  if (D(-1) < D(0)) return D(static_cast<int64_t>(x));
  using S = typename SignedTwin<sizeof(D)>::type;
  constexpr T half = sizeof(D) == 4 ? T(0x1p31) : T(0x1p63);
  bool upper = x >= half;
  D low = D(static_cast<S>(upper ? x - half : x));
  return upper ? D(low + (D(1) << (8 * sizeof(D) - 1))) : low;
}

/// Saturates. NaN: 0, or 2^(bits-1) from f64 and to 64-bit integers (PTX ISA 9.7.9 "cvt").
template <class D, bool FromF64, class T>
ASSAY_INLINE D to_int(T x) {
  constexpr T low = T(lowest_int<D>());
  constexpr T end = T(2) * T(uint64_t(1) << (8 * sizeof(D) - (D(-1) < D(0) ? 2 : 1)));
  bool inside = x >= low && x < end;
  D value = cast_inside<D>(inside ? x : T(0));
  value = x >= end ? highest_int<D>() : value;
  value = x < low ? lowest_int<D>() : value;
  constexpr D nan = FromF64 || sizeof(D) == 8 ? D(uint64_t(1) << (8 * sizeof(D) - 1)) : D(0);
  return x == x ? value : nan;
}

template <class D>
struct StorageOf {
  using type = D;
};
template <>
struct StorageOf<uint8_t> {
  using type = uint16_t;
};
template <>
struct StorageOf<int8_t> {
  using type = int16_t;
};
template <class D>
using Storage = typename StorageOf<D>::type;

template <class D, Rounding R, bool Ftz>
void cvt_int_f32(Rows& r) {
  map1<Storage<D>, float>(
      r, [](float a) { return Storage<D>(to_int<D, false>(round_integral<R>(flush_if<Ftz>(a)))); });
}
template <class D, Type S, Rounding R, bool Ftz>
void cvt_int(Rows& r) {
  double x[kLanes];
  load_f64<S, Ftz>(x, r.a);
  Storage<D>* d = static_cast<Storage<D>*>(r.d);
  for (int i = 0; i < kLanes; ++i)
    d[i] = Storage<D>(to_int<D, S == Type::f64>(round_integral<R>(x[i])));
}

// ---- direct loops ----

template <bool Ftz, bool Sat>
void cvt_f32_f32(Rows& r) {
  // Without modifiers a move: NaN keeps its payload, as on an H200.
  map1<float, float>(r, [](float a) { return Ftz || Sat ? finish<Ftz, Sat>(a) : a; });
}
void cvt_f32_s32(Rows& r) {
  map1<float, int32_t>(r, [](int32_t a) { return static_cast<float>(a); });
}
void cvt_f32_u32(Rows& r) {
  map1<float, uint32_t>(r, [](uint32_t a) { return static_cast<float>(a); });
}
void cvt_f64_f32(Rows& r) {
  map1<double, float>(r, [](float a) { return canonical(static_cast<double>(a)); });
}
void cvt_f32_f16(Rows& r) {
  float x[kLanes];
  widen_row<F16, kLanes>(x, r.a);
  float* d = static_cast<float*>(r.d);
  for (int i = 0; i < kLanes; ++i) d[i] = canonical(x[i]);
}
// The upper half of an f32: NaN keeps its payload, as on an H200.
void cvt_f32_bf16(Rows& r) {
  map1<uint32_t, uint16_t>(r, [](uint16_t a) { return uint32_t(a) << 16; });
}
template <class H>
void cvt_half_f32(Rows& r) {
  narrow_row<H, kLanes>(r.d, static_cast<const float*>(r.a));
}
// cvt.f16x2.f32 d, a, b: a in the upper half.
template <class H>
void cvt_pair_f32(Rows& r) {
  map2<uint32_t, float, float>(
      r, [](float a, float b) { return (H::narrow(a) << 16) | H::narrow(b); });
}
#ifdef ASSAY_ROWS_AVX2
template <>
void cvt_pair_f32<F16>(Rows& r) {
  const float* a = static_cast<const float*>(r.a);
  const float* b = static_cast<const float*>(r.b);
  __m128i* d = static_cast<__m128i*>(r.d);
  for (int i = 0; i < kLanes / 8; ++i) {
    __m128i upper = narrow_f16c(a + 8 * i), lower = narrow_f16c(b + 8 * i);
    _mm_store_si128(d + 2 * i, _mm_unpacklo_epi16(lower, upper));
    _mm_store_si128(d + 2 * i + 1, _mm_unpackhi_epi16(lower, upper));
  }
}
#endif
template <Type H, Rounding R, Limit L>
void cvt_pair(Rows& r) {
  double x[kLanes];
  uint16_t a[kLanes], b[kLanes];
  load_f64<Type::f32, false>(x, r.a);
  store_f64<H, R, L, false>(a, x);
  load_f64<Type::f32, false>(x, r.b);
  store_f64<H, R, L, false>(b, x);
  uint32_t* d = static_cast<uint32_t*>(r.d);
  for (int i = 0; i < kLanes; ++i) d[i] = (uint32_t(a[i]) << 16) | b[i];
}

/// tf32 keeps f32's layout with 10 fraction bits. rna rounds ties away from zero. satfinite: the
/// largest finite number instead of an infinity.
template <Rounding R, bool Relu, bool Finite>
void cvt_tf32(Rows& r) {
  map1<uint32_t, uint32_t>(r, [](uint32_t a) {
    uint32_t add = R == Rounding::rna  ? 0x1000u
                   : R == Rounding::rn ? 0xfffu + ((a >> 13) & 1u)
                                       : 0u;
    uint32_t rounded = (a + add) & ~0x1fffu;
    bool infinite = (rounded & 0x7fffffffu) == 0x7f800000u;
    if (Finite) rounded = infinite ? (a & 0x80000000u) | 0x7f7fe000u : rounded;
    if (Relu) rounded = a >> 31 ? 0u : rounded;
    return (a & 0x7fffffffu) > 0x7f800000u ? kNan32 : rounded;
  });
}

}  // namespace
}  // namespace assay::ptx::ASSAY_ROWS
