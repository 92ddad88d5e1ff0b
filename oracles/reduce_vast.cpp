// Reductions of rows with numbers beyond double, of which limits alone are known, and sums that are
// beyond double themselves (docs/judging/overflow.md, "Numbers beyond double").
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracles/accept.hpp"
#include "oracles/extrema.hpp"
#include "oracles/reducer.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One term, and how far from v its exact value or a correct kernel's may be.
struct Term {
  double v = 0;
  double below = 0;
  double above = 0;
  double limit = 0;  ///< of a vast one
};

Term term_at(const Row& row, int64_t k) {
  const double e = element(row.e, k);
  const double lo = element(row.lo, k);
  const double hi = element(row.hi, k);
  return {row.v[k], e + lo, e + hi, rows::vast_limit(row.v[k], e, lo, hi)};
}

/// A number of that sign, of which neither the exact value nor a correct kernel's is nearer to 0
/// than size - inner, by which a finite kernel's may be off.
Element limited_element(bool negative, double size, double inner) {
  return negative ? Element{-size, kInfinity, kInfinity, inner}
                  : Element{size, kInfinity, inner, kInfinity};
}

Element vast_element(bool negative, double limit, double deviation = rows::kVastDeviation) {
  const double size = std::min(limit, rows::kVastExponential);
  return limited_element(negative, size, size * deviation);
}

constexpr Element kNoBound{0, 0, kNan, kNan};
constexpr Element kIsNan{kNan, 0, 0, 0};

}  // namespace

/// At least the sum of the limits, less what terms of the other sign take from it. A kernel's that
/// is finite is made of terms that are, below 2^1025.
Element Reducer::vast_sum(const Row& row) const {
  double limits[2] = {0, 0};   // of positive and of negative ones
  double against[2] = {0, 0};  // how far the others may lie below, and above 0
  double inner = 0;            // what a finite kernel's terms may be off by
  bool unknown = false;        // a term may be anything: 0 times an infinity is NaN
  for (int64_t k = 0; k < row.n; ++k) {
    const Term t = term_at(row, k);
    // NaN stays NaN whatever is added.
    if (std::isnan(t.v)) return std::isfinite(t.below + t.above) ? kIsNan : kNoBound;
    if (t.limit > 0) {
      double& limit = limits[t.v < 0 ? 1 : 0];
      limit = std::min(limit + t.limit, rows::kVastExponential);
      inner += std::fabs(t.v) - t.limit;
      continue;
    }
    unknown |= std::isnan(t.below) || std::isnan(t.above);
    against[0] += positive_part(t.below - t.v);
    against[1] += positive_part(t.v + t.above);
    inner += std::isinf(t.above)   ? t.below
             : std::isinf(t.below) ? t.above
                                   : larger(t.below, t.above);
  }
  const bool negative = limits[1] > 0;
  const double taken = against[negative ? 1 : 0];
  const double relative = growth(row.n);
  const bool overflows = settings_.widen && !(taken < rounding_.largest * (1 - 4 * rounding_.u));
  const bool known =
      !unknown && (limits[0] > 0) != negative && std::isfinite(taken) && relative <= 0.25;
  const double limit = (limits[negative ? 1 : 0] * (1 - 2 * relative) - taken * (1 + 2 * relative) -
                        flushed(row.n)) *
                       (1 - 0x1p-40);
  if (!known || overflows) return kNoBound;
  inner +=
      rows::kVastExponential * std::max(rows::kLeastVastDeviation, rows::kVastSpread * relative);
  return limited_element(negative, limit + inner, inner * (1 + 0x1p-40));
}

/// Finite terms whose sum is no double: added again, scaled by 2^-64, which their count cannot
/// undo. Exact where every order of the kernel's is (rule R11), but for the range.
Element Reducer::far_sum(const Row& row) const {
  constexpr double unit = 0x1p64;
  std::vector<double> scaled[4];
  const double* from[4] = {row.v, row.e, row.lo, row.hi};
  const double* to[4] = {};
  double lost = 0;  // of terms that become subnormal
  for (int which = 0; which < 4; ++which) {
    if (from[which] == nullptr) continue;
    for (int64_t k = 0; k < row.n; ++k) {
      const double x = from[which][k];
      scaled[which].push_back(x / unit);
      if (x != 0 && std::fabs(x) < 0x1p-958) lost += 0x1p-1074;
    }
    to[which] = scaled[which].data();
  }
  const rows::RowSum s = kernels_.sum(row.n, to[0], to[1], to[2], to[3], exact_limit());
  const double e = s.e + lost;
  const double rounded = exact(row, s) ? 0 : growth(row.n) * (s.magnitude + larger(s.lo, s.hi));
  const double own = rounded + lost + flushed(row.n) / unit;
  const double lo = (s.lo + own) * rows::kOutward;
  const double hi = (s.hi + own) * rows::kOutward;
  if (!std::isfinite(e) || !std::isfinite(lo) || !std::isfinite(hi)) return kNoBound;
  Element out{s.v * unit, e * unit * rows::kOutward, lo * unit, hi * unit};
  if (!std::isfinite(out.v)) {
    const double spread = e + larger(lo, hi);
    const double limit = (std::fabs(s.v) - spread) * (1 - 0x1p-40) * unit;
    if (!(limit >= rows::kLeastVast)) return kNoBound;
    out = vast_element(s.v < 0, limit, rows::vast_deviation(spread / std::fabs(s.v)));
  }
  if (settings_.widen) overflow(row, out);
  return out;
}

/// Vast terms on the side of the extremum decide it; on the other side they take no part.
Element Reducer::vast_extremum(const Row& row, double sign) const {
  double largest = 0;          // limit of those on its side
  double nearest = kInfinity;  // and on the other side
  std::vector<double> rest[4];
  for (int64_t k = 0; k < row.n; ++k) {
    const Term t = term_at(row, k);
    if (t.limit == 0 && accepts_anything(t.below, t.above)) return kNoBound;  // NaN, perhaps
    if (t.limit > 0 && sign * t.v > 0) largest = std::max(largest, t.limit);
    if (t.limit > 0 && sign * t.v < 0) nearest = std::min(nearest, t.limit);
    if (t.limit > 0) continue;
    rest[0].push_back(t.v);
    rest[1].push_back(element(row.e, k));
    rest[2].push_back(element(row.lo, k));
    rest[3].push_back(element(row.hi, k));
  }
  const auto limited = [sign](double limit, bool outwards) {
    return vast_element((sign < 0) == outwards, limit);
  };
  if (largest > 0) return limited(largest, true);
  const auto n = static_cast<int64_t>(rest[0].size());
  if (n == 0) return limited(nearest, false);
  const rows::RowMax m =
      kernels_.max(n, rest[0].data(), rest[1].data(), rest[2].data(), rest[3].data(), sign);
  if (!(m.v - m.e - m.lo > -nearest)) return kNoBound;
  return {sign * m.v, m.e, sign > 0 ? m.lo : m.hi, sign > 0 ? m.hi : m.lo};
}

}  // namespace assay
