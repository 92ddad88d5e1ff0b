#include "oracles/accept.hpp"

#include <algorithm>
#include <cmath>

#include "oracles/rows.hpp"

namespace assay {

Cell cell_of(DType type, uint64_t bits) {
  const FloatFormat format = format_of(type);
  Cell cell;
  cell.value = to_double(type, bits);
  cell.closed = (bits & 1) == 0;
  if (!std::isfinite(cell.value)) return cell;
  const double magnitude = std::fabs(cell.value);
  int exponent = format.min_exponent;
  bool lowest_of_binade = false;
  if (magnitude > 0) {
    const int own = std::ilogb(magnitude);
    lowest_of_binade = own > format.min_exponent && magnitude == std::ldexp(1.0, own);
    exponent = std::max(own, format.min_exponent);
  }
  // Half of double's smallest subnormal is no double: f64 subnormals keep a whole one.
  const double half = std::max(std::ldexp(1.0, exponent - format.precision), 0x1p-1074);
  const double inward = lowest_of_binade ? half / 2 : half;
  cell.below = cell.value > 0 ? inward : half;
  cell.above = cell.value < 0 ? inward : half;
  return cell;
}

Margins margins_of(const Cell& cell, double v, double e, double lo, double hi) {
  Margins m;
  m.nan = std::isnan(v);
  m.infinite = std::isinf(v) ? (v > 0 ? 1 : -1) : 0;
  m.value = v;
  m.value_error = e;
  const double d = cell.value - v;
  // Exact when the two are within a factor of two of each other (Sterbenz); when they are not, the
  // distance is large and its rounding is covered below.
  const bool exact_d =
      (v - cell.value / 2) * (v - cell.value * 2) <= 0 || v == 0 || cell.value == 0;
  // Scaled before they are added, here and below: next to double's own largest number the sum of
  // a value and its reach leaves double.
  const auto error = [&](double reach) {
    const double rounded = std::fabs(d) * 0x1p-50 + e * 0x1p-50 + reach * 0x1p-50;
    return e + (exact_d && reach == 0 ? 0 : rounded);
  };
  m.over = d - hi - cell.below;
  m.under = -d - lo - cell.above;
  m.over_error = error(hi);
  m.under_error = error(lo);
  // d and the cell's half width are both multiples of a tiny power of two, but their difference
  // may round when they lie far apart; its sign is right even then.
  return m;
}

Excess excess_of(DType type, const Cell& cell, const Margins& m, double lo, double hi) {
  Excess x;
  x.times = x.times_internal = HUGE_VAL;
  if (m.nan || m.infinite != 0 || !std::isfinite(cell.value)) return x;
  const bool above = m.over > m.under;
  const double outside = above ? m.over : m.under;
  x.distance = std::fabs(cell.value - m.value);
  x.internal = above ? hi : lo;
  // Half an ulp of the exact value: the cell of a number far away (of 0) has another size.
  x.allowance = x.internal + std::max(ulp(type, m.value) / 2, 0x1p-1074);
  // Not distance / allowance, whose rounding can hide a small excess.
  x.times = 1 + outside / x.allowance;
  if (x.internal > 0) x.times_internal = 1 + outside / x.internal;
  return x;
}

namespace {

Decision side(double margin, double error, bool closed) {
  if (std::isnan(margin) || std::isnan(error)) return Decision::doubt;
  if (closed ? margin + error <= 0 : margin + error < 0) return Decision::accepted;
  if (closed ? margin - error > 0 : margin - error >= 0) return Decision::rejected;
  return Decision::doubt;
}

/// The kernel wrote an infinity of this sign; the exact value is finite.
Decision decide_overflow(const FloatFormat& format, const Margins& m, int sign, double reach) {
  if (std::isinf(reach)) return Decision::accepted;
  if (m.beyond) return sign * m.value > 0 ? Decision::accepted : Decision::rejected;
  const double half_ulp = std::ldexp(1.0, format.max_exponent - format.precision);
  const double short_of = format.largest - sign * m.value;
  // Near double's own largest number, the sum of a value and its reach leaves double.
  if (short_of < -0x1p1000 && std::fabs(m.value_error) < 0x1p1000 - half_ulp)
    return Decision::accepted;
  const double distance = short_of - reach + half_ulp;  // <= 0: reaches it
  // Exact next to the largest finite (Sterbenz): 65504 + 16 lies on the threshold itself. What is
  // left to round there is small, which f64 needs: 2^-50 of its largest number is four ulps.
  const double size = std::fabs(m.value);
  const bool near = size >= format.largest / 2 && size / 2 <= format.largest;
  const double left = near ? std::fabs(format.largest - size) : size;
  const double rounded = left * 0x1p-50 + reach * 0x1p-50 + half_ulp * 0x1p-50;
  const double error = m.value_error + (near && reach == 0 ? 0 : rounded);
  // On the threshold itself the tie goes to the even neighbour: infinity, whose predecessor is odd,
  // but in e4m3, where 448 is even.
  const bool tie_is_finite = !format.has_infinity;
  if (tie_is_finite ? distance + error < 0 : distance + error <= 0) return Decision::accepted;
  if (tie_is_finite && distance - error >= 0) return Decision::rejected;
  return distance - error > 0 ? Decision::rejected : Decision::doubt;
}

/// Of the exact value a limit is known, which decides: a correct kernel's is no less than the inner
/// reach below that. Infinity of its sign was accepted before; the other one, NaN and what lies
/// below the limit are wrong.
Decision decide_by_limit(const FloatFormat& format, const Cell& cell, const Margins& m, double lo,
                         double hi) {
  const double sign = m.value > 0 ? 1 : -1;
  // Higher tiers may know a larger limit; the inner reach was made for this one.
  const double known = sign * std::min(std::fabs(m.value), rows::kVastExponential);
  const double least = rows::vast_limit(known, m.value_error, lo, hi) * (1 - 0x1p-50);
  if (least == 0) return Decision::doubt;
  if (std::isnan(cell.value) && !format.has_infinity)
    return least > 2 * format.largest ? Decision::accepted : Decision::doubt;
  if (!std::isfinite(cell.value)) return Decision::rejected;
  const bool short_of = sign * cell.value + std::max(cell.above, cell.below) < least;
  return short_of ? Decision::rejected : Decision::doubt;
}

}  // namespace

Decision decide(DType type, const Cell& cell, const Margins& m, double lo, double hi) {
  if (accepts_anything(lo, hi)) return Decision::accepted;
  const FloatFormat format = format_of(type);
  const bool got_nan = std::isnan(cell.value);
  if (m.nan) return got_nan ? Decision::accepted : Decision::rejected;
  if (m.infinite != 0) {
    const bool overflow_code = got_nan && !format.has_infinity;
    return cell.value == m.infinite * HUGE_VAL || overflow_code ? Decision::accepted
                                                                : Decision::rejected;
  }
  const double outward = cell.value > 0 ? hi : lo;
  if (std::isinf(cell.value) && std::isinf(outward)) return Decision::accepted;
  if (std::isinf(m.value_error)) return decide_by_limit(format, cell, m, lo, hi);
  if (got_nan && !format.has_infinity)
    return decide_overflow(format, m, m.value < 0 ? -1 : 1, m.value < 0 ? lo : hi);
  if (got_nan) return Decision::rejected;
  if (std::isinf(cell.value))
    return decide_overflow(format, m, cell.value > 0 ? 1 : -1, cell.value > 0 ? hi : lo);
  const Decision over = side(m.over, m.over_error, cell.closed);
  const Decision under = side(m.under, m.under_error, cell.closed);
  if (over == Decision::rejected || under == Decision::rejected) return Decision::rejected;
  if (over == Decision::accepted && under == Decision::accepted) return Decision::accepted;
  return Decision::doubt;
}

}  // namespace assay
