// Variances of one row, and the running means of Welford's form.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracles/extrema.hpp"
#include "oracles/reducer.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Roundings of one step of a running mean, in u max|x|.
constexpr double kWelfordStep = 7;

/// The largest element of a correct kernel, in magnitude.
double largest_term(const Row& row) {
  double most = 0;
  for (int64_t k = 0; k < row.n; ++k) {
    const double up = row.hi == nullptr ? 0 : row.hi[k];
    const double down = row.lo == nullptr ? 0 : row.lo[k];
    const double e = row.e == nullptr ? 0 : row.e[k];
    most = larger(most, std::fabs(row.v[k]) + e + larger(up, down));
  }
  return most * rows::kOutward;
}

std::vector<double> term_reach(const Row& row) {
  std::vector<double> reach;
  if (row.lo == nullptr && row.hi == nullptr) return reach;
  reach.resize(static_cast<size_t>(row.n));
  for (int64_t k = 0; k < row.n; ++k)
    reach[static_cast<size_t>(k)] =
        larger(row.lo == nullptr ? 0 : row.lo[k], row.hi == nullptr ? 0 : row.hi[k]);
  return reach;
}

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
  const double most = largest_term(row);
  const double step = kWelfordStep * u_ * depth_;
  const double own = row.n <= 1 ? 0 : step * (1 + 2 * step) * most + 4 * steps_eta();
  out.lo = (s.lo / n + own) * rows::kOutward;
  out.hi = (s.hi / n + own) * rows::kOutward;
  const bool bounded = step <= 0.25;
  // A difference of two means, or n_A m_A + n_B m_B before its division, may overflow.
  const double reached = std::max(2.0, n) * most;
  const bool overflows = settings_.widen && reached >= rounding_.largest * (1 - 2 * rounding_.u);
  if (!bounded || overflows) out.lo = out.hi = kNan;
  return out;
}

rows::RowSum Reducer::squared_differences(const Row& row, const Element& m) const {
  const std::vector<double> reach = term_reach(row);
  double shift = 0;
  for (const double r : reach) shift = larger(shift, r);
  return kernels_.squares(row.n, row.v, row.e, reach.empty() ? nullptr : reach.data(), m.v, m.e,
                          shift);
}

Element Reducer::running_variance(const Row& row) const {
  const Element m = running_mean(row);
  if (!std::isfinite(m.v) || std::isnan(m.lo)) return {kNan, 0, m.lo - m.lo, m.hi - m.hi};
  const auto n = static_cast<double>(row.n);
  const rows::RowSum s = squared_differences(row, m);
  Element out;
  out.v = s.v / n;
  out.e = (s.e / n + out.v * 0x1p-52) * rows::kOutward;
  const double most = largest_term(row);
  // A merge with nothing squares the mean itself, (0 - m)^2 n 0: NaN where that overflows.
  const bool overflows =
      settings_.widen && n * most * most >= rounding_.largest * (1 - 2 * rounding_.u);
  if (row.n <= 1 && overflows) return {out.v, out.e, kNan, kNan};
  if (row.n <= 1) return s.hi == 0 ? Element{0, 0, 0, 0} : Element{out.v, out.e, 0, s.hi};
  const double total = s.v + s.e + s.hi;  // a correct kernel's own terms
  const double h = depth_;
  const double step = kWelfordStep * u_ * h;
  const double delta = step * (1 + 2 * step) * most + 4 * steps_eta();
  const double weights = std::max(1.0, n / 2 * std::log2(n) * (1 + 0x1p-40));
  const double root = std::sqrt(total) + 2 * delta * std::sqrt(weights);
  const double increments = 4 * delta * std::sqrt(weights * total) + 4 * weights * delta * delta +
                            8 * u_ * (1 + 8 * u_) * root * root;
  const double additions = 2 * h * u_ * (1 + 2 * h * u_) * (total + increments);
  const double sum_error = increments + additions + (n + 8) * 8 * rounding_.eta * own_;
  const double division = 2 * u_ * (total + sum_error) / n;
  const double own = (sum_error / n + division + rounding_.eta * own_) * (1 + 0x1p-40);
  out.hi = (s.hi / n + own) * rows::kOutward;
  // An update's increment may be negative by what its two differences round; -own bounds it.
  out.lo = (s.hi / n + own) * rows::kOutward;
  const double square = 4 * (n + 1) * (total + delta * delta);
  if (overflows || (settings_.widen && square >= rounding_.largest * (1 - 2 * u_)))
    out.lo = out.hi = kNan;
  return out;
}

Element Reducer::variance(const Row& row) const {
  if (welford()) return running_variance(row);
  const Element m = mean(row);
  const auto n = static_cast<double>(row.n);
  if (!std::isfinite(m.v)) return {kNan, 0, m.lo - m.lo, m.hi - m.hi};
  const double u = others_.u * own_;
  const rows::RowSum s = squared_differences(row, m);
  Element out;
  out.v = s.v / n;
  out.e = (s.e / n + out.v * 0x1p-52) * rows::kOutward;
  const double var = out.v + out.e;
  const bool exact_mean = m.e == 0 && m.lo == 0 && m.hi == 0 && representable(m.v);
  const double delta = exact_mean ? 0 : larger(m.lo, m.hi) + u * (std::fabs(m.v) + m.e + m.hi);
  const double relative = growth(row.n) + 5 * u;
  const double from_terms = s.hi / n;
  double up = delta * delta + from_terms +
              relative * (var + delta * delta + from_terms) * (1 + 4 * relative);
  const bool all_zero = exact_mean && var == 0 && from_terms == 0;  // no difference underflows
  const double underflow = all_zero ? 0 : others_.eta * own_ * (n + 2);
  double down = from_terms + relative * var + underflow;
  if (one_pass()) {
    const rows::RowSum q = kernels_.squares(row.n, row.v, row.e, nullptr, 0, 0, 0);
    const double mean_size = std::fabs(m.v) + m.e;
    const double lost = relative * (q.magnitude / n) + delta * (2 * mean_size + delta) +
                        2 * u * (mean_size + delta) * (mean_size + delta);
    up += lost;
    down += lost;
  }
  out.hi = (up + underflow) * rows::kOutward;
  out.lo = smaller(down * rows::kOutward, var);  // a variance is not negative
  const double largest_square = one_pass() ? kInfinity : var * n + delta * delta * n;
  if (settings_.widen && (largest_square >= others_.largest * (1 - 2 * u) || one_pass()))
    widen_variance(row, out);
  // A term that is infinite makes the mean infinite, and its own difference inf - inf.
  if (settings_.widen && !std::isfinite(from_terms)) out.lo = out.hi = kNan;
  return out;
}

void Reducer::widen_variance(const Row& row, Element& out) const {
  if (!one_pass()) {
    out.hi = kInfinity;
    return;
  }
  double squares = 0;
  for (int64_t k = 0; k < row.n; ++k) squares += row.v[k] * row.v[k];
  if (squares >= others_.largest * (1 - 2 * others_.u)) out.lo = out.hi = kNan;
}

}  // namespace assay
