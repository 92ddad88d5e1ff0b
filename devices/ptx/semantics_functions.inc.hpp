// The polynomials of the approximate instructions. Separate multiplications and additions, in f32
// or f64, so that every build gives the same bits. Minimax coefficients by the Remez exchange,
// rounded to the format that they are used in.
#pragma once

#include "devices/ptx/semantics_rows.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

/// 2^f for |f| <= 1/2: 1 + c f + f (low + f r(f)) with c + low in two parts; relative error 2^-28.5
/// of the polynomial. The rounding error of 1 + c f is added back (Dekker's Fast2Sum).
template <class T>
ASSAY_INLINE T exp2_fraction(T f) {
  constexpr double leading = 0x1.62e4311732dcfp-1;
  constexpr T c = T(leading), low = T(leading - double(c));
  T r = T(0x1.470b45aea5b40p-13);
  r = r * f + T(0x1.5f7276ad6bc2dp-10);
  r = r * f + T(0x1.3b270e6a33a8dp-7);
  r = r * f + T(0x1.c6ae72e06bf49p-5);
  r = r * f + T(0x1.ebfbe2c53d942p-3);
  T linear = c * f;
  T sum = T(1) + linear;
  T error = (T(1) - sum) + linear;
  return sum + (error + f * (low + f * r));
}

/// 2^x in f32, Ftz: with subnormal results flushed. x = n + f with n the nearest integer.
template <bool Ftz>
ASSAY_INLINE float exp2_f32(float x) {
  constexpr float lowest = Ftz ? -127.0f : -151.0f;
  float bounded = x > lowest ? x : lowest;
  bounded = bounded < 129.0f ? bounded : 129.0f;
  float shifted = bounded + 0x1.8p23f;  // n in the low bits
  float p = exp2_fraction(bounded - (shifted - 0x1.8p23f));
  float result;
  if (Ftz) {
    result = flush(f32_of(bits_of(p) + (bits_of(shifted) << 23)));
  } else {
    // Two factors: the second multiplication rounds a subnormal once.
    int32_t n = static_cast<int32_t>(bits_of(shifted) - 0x4b400000u);
    int32_t first = n >> 1, second = n - first;
    result = p * f32_of(uint32_t(first + 127) << 23) * f32_of(uint32_t(second + 127) << 23);
  }
  result = choose(x >= 128.0f, f32_of(0x7f800000u), result);
  return choose(x == x, result, f32_of(kNan32));
}

/// A positive f32 as m 2^exponent with m in [sqrt(1/2), sqrt(2)), exact.
struct Reduced {
  float m, exponent;
};
ASSAY_INLINE Reduced reduce_log(float x) {
  bool subnormal = x < 0x1p-126f;
  uint32_t bits = bits_of(subnormal ? x * 0x1p24f : x);
  uint32_t above = bits - 0x3f3504f3u;  // sqrt(1/2)
  int32_t n = static_cast<int32_t>(above) >> 23;
  float m = f32_of((above & 0x7fffffu) + 0x3f3504f3u);
  return {m, static_cast<float>(n - (subnormal ? 24 : 0))};
}
/// log2(m) for m in [sqrt(1/2), sqrt(2)): s = (m-1)/(m+1), log2(m) = s P(s^2); relative error 2^-25
/// from the leading coefficient.
template <class T>
ASSAY_INLINE T log2_fraction(T m) {
  T s = (m - T(1)) / (m + T(1));
  T u = s * s;
  T p = T(0x1.ba1980812b5a9p-2);
  p = p * u + T(0x1.2747191489933p-1);
  p = p * u + T(0x1.ec70e60d88486p-1);
  p = p * u + T(0x1.7154764e72486p+1);
  return s * p;
}

/// x = k pi/2 + r. k's low bits come from the sum with 2^52; beyond 2^20 r loses accuracy, beyond
/// 2^51 it is meaningless, as documented for these instructions: it is kept within [-0.8, 0.8].
struct Quadrant {
  double r;
  uint64_t k;
};
ASSAY_INLINE Quadrant reduce_angle(double x) {
  double shifted = x * 0x1.45f306dc9c883p-1 + 0x1.8p52;
  double k = shifted - 0x1.8p52;
  double r = (x - k * 0x1.921fb544p+0) - k * 0x1.0b4611a626331p-34;
  r = r < 0.8 ? r : 0.8;
  r = r > -0.8 ? r : -0.8;
  return {r, bits_of(shifted)};
}
/// sin(x + shift pi/2); absolute error below 2^-38 for |x| < 2^20.
template <int Shift>
ASSAY_INLINE double sine(double x) {
  Quadrant q = reduce_angle(x);
  double r = q.r, u = r * r;
  double s = 0x1.6c8966359a672p-19;
  s = s * u - 0x1.a00e0d8bddaefp-13;
  s = s * u + 0x1.1111061f75fe2p-7;
  s = s * u - 0x1.555555480ac92p-3;
  s = r * (1.0 + u * s);  // keeps -0
  double c = -0x1.242ad5fb74d22p-22;
  c = c * u + 0x1.a0112026c294dp-16;
  c = c * u - 0x1.6c16b898c9dfcp-10;
  c = c * u + 0x1.5555554f4e438p-5;
  c = (1.0 - 0.5 * u) + u * u * c;
  uint64_t quadrant = q.k + Shift;
  uint64_t chosen = (quadrant & 1) ? bits_of(c) : bits_of(s);
  return f64_of(chosen ^ ((quadrant & 2) << 62));
}
template <int Shift>
ASSAY_INLINE float sine_f32(float x) {
  float result = static_cast<float>(sine<Shift>(static_cast<double>(x)));
  return choose(x - x == 0, result, f32_of(kNan32));
}

/// tanh for |x| below 0.6, where 1 - 2/(e^2x + 1) would cancel: x + x^3 P(x^2).
template <class T>
ASSAY_INLINE T tanh_small(T x) {
  T u = x * x;
  T p = T(-0x1.825830p-8f);
  p = p * u + T(0x1.54b898p-6f);
  p = p * u + T(-0x1.b898dcp-5f);
  p = p * u + T(0x1.1109aep-3f);
  p = p * u + T(-0x1.55553ep-2f);
  return x + x * u * p;
}
ASSAY_INLINE float tanh_f32(float x) {
  float a = f32_of(bits_of(x) & 0x7fffffffu);
  float small = tanh_small(a < 0.6f ? a : 0.6f);
  float large = 1.0f - 2.0f / (exp2_f32<true>(a * 0x1.715476p+1f) + 1.0f);
  float result = choose(a < 0.6f, small, large);
  result = f32_of(bits_of(result) | (bits_of(x) & 0x80000000u));
  return choose(x == x, result, f32_of(kNan32));
}

}  // namespace
}  // namespace assay::ptx::ASSAY_ROWS
