// f64 arithmetic in every rounding mode from 128-bit integers: the directed modes, and fma where
// the CPU has none.
#pragma once

#include "devices/ptx/semantics_rows.inc.hpp"

namespace assay::ptx::ASSAY_ROWS {
namespace {

using Mantissa = unsigned __int128;

ASSAY_INLINE int bit_length(Mantissa m) {
  uint64_t high = static_cast<uint64_t>(m >> 64), low = static_cast<uint64_t>(m);
  if (high) return 128 - __builtin_clzll(high);
  return low ? 64 - __builtin_clzll(low) : 0;
}

/// Right shift that keeps what falls off as a sticky lowest bit.
ASSAY_INLINE Mantissa shift_jam(Mantissa m, int n) {
  if (n <= 0) return m;
  if (n > 127) return m != 0;
  return (m >> n) | Mantissa((m & ((Mantissa(1) << n) - 1)) != 0);
}

template <Rounding R>
ASSAY_INLINE bool rounds_away(bool negative, bool odd, bool half, bool below_half) {
  if (R == Rounding::rz) return false;
  if (R == Rounding::rm) return negative && (half || below_half);
  if (R == Rounding::rp) return !negative && (half || below_half);
  return half && (below_half || odd);
}

/// +-m 2^exponent rounded to f64; m != 0, its lowest bit may be sticky if m has 56 bits or more.
template <Rounding R>
double pack64(bool negative, Mantissa m, int exponent) {
  int length = bit_length(m);
  int ulp = exponent + length - 53;  // exponent of the result's last place
  if (ulp < -1074) ulp = -1074;
  int drop = ulp - exponent;
  uint64_t kept;
  if (drop <= 0) {
    kept = static_cast<uint64_t>(m << -drop);
  } else {
    m = shift_jam(m, drop - 2);  // two bits below the last place: half, and the rest as sticky
    if (drop == 1) m <<= 1;
    kept = static_cast<uint64_t>(m >> 2);
    bool half = (m & 2) != 0, rest = (m & 1) != 0;
    kept += rounds_away<R>(negative, kept & 1, half, rest);
  }
  // A subnormal has exponent field 0; a carry into bit 53 moves to the next binade by itself.
  uint64_t bits = kept;
  if (kept >> 52) bits = kept + (static_cast<uint64_t>(ulp + 1074) << 52);
  if (ulp > 971 || (bits >> 52) >= 2047) {
    bool to_infinity =
        is_nearest(R) || (R == Rounding::rm && negative) || (R == Rounding::rp && !negative);
    bits = to_infinity ? 0x7ff0000000000000ull : 0x7fefffffffffffffull;
  }
  return f64_of(bits | (static_cast<uint64_t>(negative) << 63));
}

struct Parts64 {
  bool negative;
  int exponent;  ///< of the last place
  uint64_t mantissa;
};
/// Of a finite number; a nonzero mantissa has 53 bits.
ASSAY_INLINE Parts64 unpack64(double x) {
  uint64_t bits = bits_of(x);
  int field = static_cast<int>(bits >> 52) & 2047;
  uint64_t m = bits & 0xfffffffffffffull;
  if (field != 0) return {(bits >> 63) != 0, field - 1075, m | (1ull << 52)};
  if (m == 0) return {(bits >> 63) != 0, -1074, 0};
  int shift = __builtin_clzll(m) - 11;
  return {(bits >> 63) != 0, -1074 - shift, m << shift};
}
ASSAY_INLINE bool is_finite(double x) {
  return (bits_of(x) & 0x7ff0000000000000ull) != 0x7ff0000000000000ull;
}

template <Rounding R>
double soft_fma(double a, double b, double c) {
  if (!is_finite(a) || !is_finite(b) || !is_finite(c)) {
    // One infinity or NaN decides; a finite product must not overflow before it meets c.
    return !is_finite(a) || !is_finite(b) ? a * b + c : c;
  }
  Parts64 x = unpack64(a), y = unpack64(b), z = unpack64(c);
  bool negative = x.negative != y.negative;
  if (x.mantissa == 0 || y.mantissa == 0 || z.mantissa == 0) {
    if (x.mantissa == 0 || y.mantissa == 0) {
      if (z.mantissa != 0) return c;
      bool zero_sign = negative == z.negative ? negative : R == Rounding::rm;
      return zero_sign ? -0.0 : 0.0;
    }
    return pack64<R>(negative, Mantissa(x.mantissa) * y.mantissa, x.exponent + y.exponent);
  }
  // Both terms with their top bit at 124 to 125, then the lower one shifted down.
  Mantissa p = (Mantissa(x.mantissa) * y.mantissa) << 20;
  int p_exponent = x.exponent + y.exponent - 20;
  Mantissa q = Mantissa(z.mantissa) << 72;
  int q_exponent = z.exponent - 72;
  int top = p_exponent > q_exponent ? p_exponent : q_exponent;
  p = shift_jam(p, top - p_exponent);
  q = shift_jam(q, top - q_exponent);
  if (negative == z.negative) return pack64<R>(negative, p + q, top);
  if (p == q) return R == Rounding::rm ? -0.0 : 0.0;
  return p > q ? pack64<R>(negative, p - q, top) : pack64<R>(!negative, q - p, top);
}

template <Rounding R>
double soft_mul(double a, double b) {
  Parts64 x, y;
  if (!is_finite(a) || !is_finite(b)) return a * b;
  x = unpack64(a);
  y = unpack64(b);
  if (x.mantissa == 0 || y.mantissa == 0) return a * b;
  return pack64<R>(x.negative != y.negative, Mantissa(x.mantissa) * y.mantissa,
                   x.exponent + y.exponent);
}

template <Rounding R>
double soft_div(double a, double b) {
  if (!is_finite(a) || !is_finite(b) || a == 0 || b == 0) return a / b;
  Parts64 x = unpack64(a), y = unpack64(b);
  Mantissa numerator = Mantissa(x.mantissa) << 64;
  Mantissa quotient = numerator / y.mantissa;  // 64 or 65 bits
  bool sticky = quotient * y.mantissa != numerator;
  return pack64<R>(x.negative != y.negative, (quotient << 1) | Mantissa(sticky),
                   x.exponent - y.exponent - 65);
}

template <Rounding R>
double soft_sqrt(double a) {
  double nearest = __builtin_sqrt(a);
  if (is_nearest(R) || !(a > 0) || !is_finite(a)) return nearest;
  Parts64 x = unpack64(a), s = unpack64(nearest);
  Mantissa square = Mantissa(s.mantissa) * s.mantissa;  // 2^(2 s.exponent) each
  int shift = x.exponent - 2 * s.exponent;              // 52 or 53
  Mantissa exact = Mantissa(x.mantissa) << shift;
  double residual = exact == square ? 0.0 : exact > square ? 1.0 : -1.0;
  return f64_of(step_directed<R, uint64_t>(bits_of(nearest), residual));
}

/// Sum of two doubles in a directed mode: |a| >= |b| makes Dekker's Fast2Sum exact and free of
/// spurious overflow.
template <Rounding R>
ASSAY_INLINE double soft_add(double a, double b) {
  double sum = a + b;
  if (is_nearest(R)) return sum;
  bool swap = __builtin_fabs(a) < __builtin_fabs(b);
  double large = swap ? b : a, small = swap ? a : b;
  double error = small - (sum - large);
  if (!is_finite(sum) && is_finite(a) && is_finite(b)) error = -sum;  // overflow
  uint64_t bits = step_directed<R, uint64_t>(bits_of(sum), error);
  if (R == Rounding::rm && sum == 0 && ((bits_of(a) | bits_of(b)) >> 63)) bits = 1ull << 63;
  return f64_of(bits);
}

}  // namespace
}  // namespace assay::ptx::ASSAY_ROWS
