// Sums, means and extrema of one row.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/accuracy_table.hpp"
#include "oracles/extrema.hpp"
#include "oracles/reducer.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool all_finite(const Row& row) {
  return std::all_of(row.v, row.v + row.n, [](double x) { return std::isfinite(x); });
}

bool any_unknown(const Row& row) {
  return row.e != nullptr &&
         std::any_of(row.e, row.e + row.n, [](double e) { return std::isinf(e); });
}

/// The infinity or NaN that terms which are no numbers make, whatever the others add up to.
double special_total(const Row& row) {
  double total = 0;
  for (int64_t k = 0; k < row.n; ++k)
    if (!std::isfinite(row.v[k])) total += row.v[k];
  return total;
}

double quantum_of(const Row& row) {
  double least = kInfinity;
  for (int64_t k = 0; k < row.n; ++k) least = std::min(least, rows::quantum(row.v[k]));
  return least;
}

}  // namespace

double division_error(DType type, const MathFigures& math) {
  const auto table = accuracy_rows("div", type, math);
  if (table.empty()) return 1;
  const rows::Accuracy published = accuracy_of(table.front());
  return std::max(1.0, published.ulps * 2 + published.relative / format_of(type).unit_roundoff());
}

rows::RowSum Reducer::terms_of(const Row& row) const {
  rows::RowSum s = kernels_.sum(row.n, row.v, row.e, row.lo, row.hi, exact_limit());
  if (row.aligned > 0) {
    s.magnitude = (s.magnitude + row.aligned) * rows::kOutward;
    s.exact = s.exact && s.magnitude < exact_limit() * quantum_of(row);
  }
  return s;
}

SumShape Reducer::shape(int64_t n) const {
  const double step = node_.mma_products > 0 ? step_error() : u_;
  return {n, depth_, step, underflow(n), exact_limit()};
}

JoiningSum Reducer::joining(const Row& row) const {
  const rows::RowSum s = terms_of(row);
  JoiningSum out{s.magnitude, s.lo, s.hi, 0};
  if (!std::isfinite(s.magnitude)) {
    for (int64_t k = 0; k < row.n; ++k)
      if (std::isfinite(row.v[k]))
        out.scaled +=
            (std::fabs(row.v[k]) * JoiningSum::kScale + element(row.e, k) * JoiningSum::kScale) *
            rows::kOutward;
  }
  if (std::isfinite(s.v)) {
    out.quantum = exact(row, s) ? quantum_of(row) : 0;
    return out;
  }
  out.magnitude = 0;
  for (int64_t k = 0; k < row.n; ++k)
    if (std::isfinite(row.v[k])) out.magnitude += std::fabs(row.v[k]);
  return out;
}

Element Reducer::reduce(const Row& row, bool& saw_nan) const {
  switch (node_.op) {
    case Op::sum:
      return sum(row);
    case Op::mean:
      return mean(row);
    case Op::var:
      return variance(row);
    default:
      return extremum(row, node_.op == Op::max ? 1 : -1, saw_nan);
  }
}

bool Reducer::exact(const Row& row, const rows::RowSum& s) const {
  if (!s.exact || node_.mma_products == 0) return s.exact;
  const double smallest = format_of(settings_.accumulate).smallest_subnormal();
  return s.magnitude * rounding_.u >= smallest || quantum_of(row) >= smallest;
}

double Reducer::growth(int64_t n) const {
  if (node_.mma_products > 0) {
    const double h = depth_ * step_error();
    return h <= 1 ? h * (1 + h) : kInfinity;
  }
  return rows::adding_error(depth_, std::max(static_cast<double>(n - 1), 0.0), u_);
}

double Reducer::step_error() const {
  const double addends = node_.mma_products + 1;
  return (addends * std::ldexp(1.0, -23 - node_.mma_extra_bits) + 2 * rounding_.u) * own_;
}

double Reducer::underflow(int64_t n) const {
  double etas = 0;
  if (node_.mma_products > 0) etas = depth_ * (node_.mma_products + 2) * 2;
  if (settings_.online > 0)
    etas += std::ceil(static_cast<double>(n) / static_cast<double>(settings_.online));
  return etas * others_.eta * own_;
}

double Reducer::exact_limit() const {
  const double limit = 1 / rounding_.u;
  if (node_.mma_products == 0) return limit;
  return std::min(limit, std::ldexp(1.0, 24 + std::min(node_.mma_extra_bits, 0)));
}

double Reducer::flushed(int64_t n) const {
  return settings_.flush ? static_cast<double>(n) * rounding_.min_normal * own_ : 0;
}

Element Reducer::sum(const Row& row) const {
  const rows::RowSum s = terms_of(row);
  Element out{s.v, s.e, 0, 0};
  const bool fits = s.magnitude < rounding_.largest * (1 - 2 * rounding_.u);
  const bool is_exact = exact(row, s);
  if (is_exact && !(settings_.flush && s.magnitude != 0) && (fits || !settings_.widen)) return out;
  if (!std::isfinite(s.e) || !std::isfinite(s.v)) {
    if (any_unknown(row)) return vast_sum(row);
    if (all_finite(row)) return far_sum(row);
  }
  if (!std::isfinite(s.v)) return not_finite(row, out, s.lo + s.hi);
  if (std::isnan(s.lo) || std::isnan(s.hi)) {  // of a term nothing is known: 0 times an overflow
    out.lo = out.hi = kNan;
    return out;
  }
  const double all = s.magnitude + larger(s.lo, s.hi);
  // Exact sums may still pass through a subnormal partial sum that is flushed.
  const double own = flushed(row.n) + (is_exact ? 0 : growth(row.n) * all + underflow(row.n));
  out.lo = (s.lo + own) * rows::kOutward;
  out.hi = (s.hi + own) * rows::kOutward;
  if (settings_.widen && all >= rounding_.largest * (1 - 2 * rounding_.u)) overflow(row, out);
  return out;
}

Element Reducer::not_finite(const Row& row, Element out, double reach) const {
  out.lo = out.hi = reach - reach;  // 0, or NaN when a term might have overflowed
  // Finite terms whose sum leaves double's range: the order of adding decides.
  if (all_finite(row))
    out.lo = out.hi = kNan;
  else
    out.v = special_total(row);
  if (!settings_.widen || std::isnan(out.v)) return out;
  if (may_meet_opposite_infinity(row, out.v)) out.lo = out.hi = kNan;
  return out;
}

bool Reducer::may_meet_opposite_infinity(const Row& row, double total) const {
  double against = 0;
  for (int64_t k = 0; k < row.n; ++k)
    if (std::isfinite(row.v[k]) && (row.v[k] > 0) != (total > 0)) against += std::fabs(row.v[k]);
  return against >= rounding_.largest * (1 - 2 * rounding_.u);
}

void Reducer::overflow(const Row& row, Element& out) const {
  double up = 0;
  double down = 0;
  for (int64_t k = 0; k < row.n; ++k) {
    const double e = row.e == nullptr ? 0 : row.e[k];
    up += positive_part(row.v[k] + (row.hi == nullptr ? 0 : row.hi[k]) + e);
    down += positive_part((row.lo == nullptr ? 0 : row.lo[k]) + e - row.v[k]);
  }
  const double limit = rounding_.largest * (1 - 4 * rounding_.u);
  partial_sums_overflow(up, down, growth(row.n), limit, out.lo, out.hi);
}

double Reducer::quotient(int64_t n) const {
  const bool power_of_two = n > 0 && (n & (n - 1)) == 0;
  const bool exact = division_ == 1 ? power_of_two : n <= 1;  // docs/judging/welford.md: x / 1
  return exact ? 0 : division_ * others_.u * own_;
}

bool Reducer::narrowed(const Element& s) const {
  const bool exact = s.e == 0 && s.lo == 0 && s.hi == 0 && representable(s.v);
  return narrows() && !exact;
}

Element Reducer::mean(const Row& row) const {
  if (welford()) return running_mean(row);
  const Element s = sum(row);
  const auto n = static_cast<double>(row.n);
  const rows::In a{&s.v, &s.e, &s.lo, &s.hi};
  const double zero = 0;
  const rows::In b{&n, &zero, &zero, &zero};
  Element out;
  kernels_.div(1, a, b, {&out.v, &out.e, &out.lo, &out.hi});
  const bool vast = rows::vast_limit(out.v, out.e, out.lo, out.hi) > 0;  // has room for it
  if (!std::isfinite(out.v) || vast) return out;
  const double divided = quotient(row.n);
  const double roundings = divided * (1 + divided) + (narrowed(s) ? others_.u * own_ : 0);
  const bool is_zero = s.v == 0 && s.e == 0 && s.lo == 0 && s.hi == 0;  // 0 / n is 0
  const double ulps = is_zero ? 0 : division_underflow() * own_;
  // Each end errs by itself: one may be infinite.
  const auto rounded = [&](double by) {
    // Scaled before they are added: next to double's end their sum may leave double.
    double own = 0;
    if (roundings != 0) own = roundings * std::fabs(out.v) + roundings * out.e + roundings * by;
    if (narrowed(s)) own = own * (1 + others_.u) + others_.eta * own_;
    return (by + own + ulps) * rows::kOutward;
  };
  out.lo = rounded(out.lo);
  out.hi = rounded(out.hi);
  // The sum may not fit the type that it is narrowed to before its division.
  const double most = std::fabs(s.v) + s.e + larger(s.lo, s.hi);
  if (settings_.widen && narrows() && most >= others_.largest * (1 - 2 * others_.u))
    (s.v < 0 ? out.lo : out.hi) = kInfinity;
  return out;
}

bool Reducer::representable(double x) const {
  if (x == 0 || others_.native_double) return true;
  const double c = x * others_.split;
  return c - (c - x) == x && std::fabs(x) >= others_.min_normal && std::fabs(x) <= others_.largest;
}

Element Reducer::extremum(const Row& row, double sign, bool& saw_nan) const {
  const rows::RowMax m = kernels_.max(row.n, row.v, row.e, row.lo, row.hi, sign);
  if (std::isinf(m.e) && !m.nan) return vast_extremum(row, sign);
  Element out{sign * m.v, m.e, sign > 0 ? m.lo : m.hi, sign > 0 ? m.hi : m.lo};
  if (!m.nan || std::isnan(out.lo)) return out;  // NaN: no bound, whatever else the row holds
  if (settings_.nan == rows::NanMode::propagate) return {kNan, 0, 0, 0};
  if (settings_.nan == rows::NanMode::ask) saw_nan = true;
  bool all_nan = true;
  for (int64_t k = 0; k < row.n && all_nan; ++k) all_nan = std::isnan(row.v[k]);
  // Of a row of NaN alone fmaxf gives NaN, or the number that the kernel began with.
  if (settings_.nan == rows::NanMode::ask || all_nan) return {kNan, 0, kNan, kNan};
  return out;
}

}  // namespace assay
