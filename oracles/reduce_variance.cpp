// Variances of one row, in two passes or one.
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

rows::RowSum Reducer::squared_differences(const Row& row, const Element& m) const {
  const std::vector<double> reach = term_reach(row);
  double shift = 0;
  for (const double r : reach) shift = larger(shift, r);
  return kernels_.squares(row.n, row.v, row.e, reach.empty() ? nullptr : reach.data(), m.v, m.e,
                          shift);
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
  // Two roundings of a difference, one of its square; the division, or a product with a reciprocal.
  const double relative = growth(row.n) + (3 + division_ + 1) * u;
  const double from_terms = s.hi / n;
  double up = delta * delta + from_terms +
              relative * (var + delta * delta + from_terms) * (1 + 4 * relative);
  const bool all_zero = exact_mean && var == 0 && from_terms == 0;  // no difference underflows
  const double underflow =
      all_zero ? 0 : (others_.eta * (n + 2) + division_underflow()) * own_;
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
