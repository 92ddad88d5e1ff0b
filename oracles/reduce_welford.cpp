// Means and variances of one row by Welford's updates and Chan's merges, in any tree of at most
// `depth` steps (derived in docs/judging/welford.md, whose letters these are).
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/extrema.hpp"
#include "oracles/reducer.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// What the bounds need of a correct kernel's own elements, rounded outward. c is the exact mean.
struct Spread {
  double n = 0;
  double centre = 0;     ///< |c|
  double largest = 0;    ///< A, of |x|
  double farthest = 0;   ///< D, of |x - c|
  double magnitude = 0;  ///< the mean of |x|
  double deviation = 0;  ///< the mean of |x - c|
};

/// `m`: the mean; its hi a bound of what the elements' own deviations move it by.
Spread spread_of(const Row& row, const Element& m) {
  Spread s;
  s.n = static_cast<double>(row.n);
  s.centre = std::fabs(m.v) + m.e + m.hi;
  for (int64_t k = 0; k < row.n; ++k) {
    const double up = row.hi == nullptr ? 0 : row.hi[k];
    const double down = row.lo == nullptr ? 0 : row.lo[k];
    const double reach = (row.e == nullptr ? 0 : row.e[k]) + larger(up, down);
    const double size = std::fabs(row.v[k]) + reach;
    const double from_mean = std::fabs(row.v[k] - m.v) + reach + m.e + m.hi;
    s.largest = larger(s.largest, size);
    s.farthest = larger(s.farthest, from_mean);
    s.magnitude += size;
    s.deviation += from_mean;
  }
  // |x - c| comes of a difference that rounds to half an ulp of the larger of both.
  const double rounded = s.largest * 0x1p-52;
  const double outward = (1 + s.n * 0x1p-52) * rows::kOutward;
  s.largest *= outward;
  s.farthest = (s.farthest + rounded) * outward;
  s.magnitude = s.magnitude / s.n * outward;
  s.deviation = (s.deviation / s.n + rounded) * outward;
  return s;
}

/// What one step rounds, and a path of steps.
class Steps {
 public:
  /// `division`: the error of a division or a reciprocal, in u. Counts up to 1/u are exact.
  Steps(const Spread& spread, double u, double eta, double h, double division)
      : s_(spread), u_(u), h_(h), counts_(spread.n * u > 1 ? 2 : 0), division_(division) {
    g_ = 3 + division + counts_;
    const double most = std::max(g_ * s_.largest, s_.largest + 2 * g_ * s_.farthest);
    each_ = u_ * most * outward();
    underflow_ = 4 * h_ * eta;
    away_ = h_ * each_ + underflow_;
  }

  bool bounded() const { return g_ * h_ * u_ <= 0.125; }

  double mean_error() const {
    const double root = std::sqrt(s_.n * s_.deviation * s_.farthest);
    const double weighted =
        h_ * u_ * (s_.magnitude + g_ * s_.deviation + (1 + g_) * away_ + beside(h_, root)) *
        outward();
    // The mean depth of the elements is at most that of a chain, and of merges with nothing.
    const double chain = each_ * ((s_.n + 1) / 2 - 1 / s_.n + merges_with_nothing());
    return std::min(weighted, chain) + underflow_;
  }

  /// Y: how far the elements move, as a vector, without what moves all of them alike. `norm` and
  /// `root`: of the elements, and of their differences from the mean.
  double movement(double norm, double root) const {
    const double k = std::max(h_ - 1, 0.0);
    const double n = s_.n;
    const double levels = k * u_ * (norm + g_ * root + std::sqrt(n) * beside(k, root)) * outward();
    const double chain = each_ * std::sqrt(n * n * (n + 9) / 12);
    return (merges_with_nothing() > 0 ? levels : std::min(levels, chain)) +
           underflow_ * std::sqrt(n);
  }

  /// Roundings of an increment of the sum of squares, in u.
  double increment() const { return 8 + 2 * division_ + 2 * counts_; }
  /// Of the last division, or of a product with the reciprocal.
  double quotient() const { return (division_ + 1 + counts_) * u_; }

 private:
  double merges_with_nothing() const { return std::max(h_ - (s_.n - 1), 0.0); }

  /// Covers the terms of higher order.
  double outward() const { return (1 + 16 * g_ * h_ * u_) * rows::kOutward; }

  /// The share of what is merged with an element's own part in one of `k` steps. `root`: a bound of
  /// the root of sum (x - c)^2.
  double beside(double k, double root) const {
    const double mean = (g_ - 1) * s_.centre;
    const double by_largest = std::max(mean, g_ * (s_.farthest + away_));
    const double by_sum = std::hypot(mean, g_ * root / std::sqrt(std::max(k, 1.0))) + g_ * away_;
    return std::min(by_largest, by_sum);
  }

  const Spread& s_;
  const double u_;
  const double h_;
  const double counts_;
  const double division_;
  double g_ = 0;
  double each_ = 0;  ///< the most that one step rounds
  double underflow_ = 0;
  double away_ = 0;  ///< the farthest that an element moves
};

}  // namespace

Element Reducer::running_mean(const Row& row) const {
  const rows::RowSum s = kernels_.sum(row.n, row.v, row.e, row.lo, row.hi, 1 / rounding_.u);
  const auto n = static_cast<double>(row.n);
  Element out{s.v / n, 0, 0, 0};
  if (!std::isfinite(s.v)) {
    Element total = not_finite(row, {s.v, s.e, 0, 0}, s.lo + s.hi);
    // A mean that was infinite makes inf - inf of the next update, and a merge by the difference
    // with nothing inf x 0.
    if (std::isinf(total.v)) total.lo = total.hi = kNan;
    return {total.v, 0, total.lo, total.hi};
  }
  out.e = (s.e / n + std::fabs(out.v) * 0x1p-52) * rows::kOutward;
  out.lo = s.lo / n * rows::kOutward;
  out.hi = s.hi / n * rows::kOutward;
  const Spread spread = spread_of(row, {out.v, out.e, 0, larger(out.lo, out.hi)});
  const Steps steps(spread, u_, rounding_.eta * own_, depth_, division_);
  const double own = row.n <= 1 ? 0 : steps.mean_error();
  out.lo = (out.lo + own) * rows::kOutward;
  out.hi = (out.hi + own) * rows::kOutward;
  // A difference of two means, or n_A m_A + n_B m_B before its division, may overflow.
  const double reached = std::max(2.0, n) * spread.largest;
  const bool overflows = settings_.widen && reached >= rounding_.largest * (1 - 2 * rounding_.u);
  if (!steps.bounded() || overflows) out.lo = out.hi = kNan;
  return out;
}

Element Reducer::running_variance(const Row& row) const {
  const Element m = running_mean(row);
  if (!std::isfinite(m.v) || std::isnan(m.lo)) return {kNan, 0, m.lo - m.lo, m.hi - m.hi};
  const auto n = static_cast<double>(row.n);
  const rows::RowSum s = squared_differences(row, m);
  Element out;
  out.v = s.v / n;
  out.e = (s.e / n + out.v * 0x1p-52) * rows::kOutward;
  const rows::RowSum moved = kernels_.sum(row.n, row.v, row.e, row.lo, row.hi, 1 / rounding_.u);
  const Spread spread =
      spread_of(row, {m.v, m.e, 0, larger(moved.lo, moved.hi) / n * rows::kOutward});
  const double most = spread.largest;
  // A merge with nothing squares the mean itself, (0 - m)^2 n 0: NaN where that overflows.
  const bool overflows =
      settings_.widen && n * most * most >= rounding_.largest * (1 - 2 * rounding_.u);
  if (row.n <= 1 && overflows) return {out.v, out.e, kNan, kNan};
  if (row.n <= 1) return s.hi == 0 ? Element{0, 0, 0, 0} : Element{out.v, out.e, 0, s.hi};
  const double total = s.v + s.e + s.hi;  // S of a correct kernel's own terms
  const double root = std::sqrt(total) * rows::kOutward;
  const double norm = std::sqrt(total + n * spread.centre * spread.centre) * rows::kOutward;
  const Steps steps(spread, u_, rounding_.eta * own_, depth_, division_);
  const double y = steps.movement(norm, root);
  const double squares = (root + y) * (root + y);
  const double drift = 2 * std::sqrt(2.0) * u_ * (1 + 16 * u_) * (norm + y) * (root + y);
  const double roundings = (steps.increment() + std::min(2 * depth_, n)) * u_;
  const double rounded = roundings * (1 + roundings) * (squares + drift);
  const double underflow = (8 + std::log2(n)) * (n + 8) * rounding_.eta * own_;
  const auto divided = [&](double sum_error) {
    const double division = steps.quotient() * (total + sum_error) / n;
    const double own = (sum_error / n + division + rounding_.eta * own_) * (1 + 0x1p-40);
    return (s.hi / n + own) * rows::kOutward;
  };
  out.hi = divided(2 * y * root + y * y + drift + rounded + underflow);
  // The elements as moved have a variance of at least 0; an update's increment may be negative by
  // what its new mean rounds, and so may the sum.
  out.lo = divided(std::min(2 * y * root, total) + drift + rounded + underflow);
  const double delta = larger(m.lo, m.hi);
  const double square = 4 * (n + 1) * (total + delta * delta);
  if (overflows || (settings_.widen && square >= rounding_.largest * (1 - 2 * u_)))
    out.lo = out.hi = kNan;
  return out;
}

}  // namespace assay
