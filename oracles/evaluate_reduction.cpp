// Reductions of the first tier: sum, mean, variance, maximum, minimum. Their allowances are
// primitives (docs/judging.md): they are never found by running the formula's loop.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Roundings of one step of a running mean, in u max|x|.
constexpr double kWelfordStep = 7;

/// One row of an argument, contiguous. Null: zeros.
struct Row {
  int64_t n = 0;
  const double* v = nullptr;
  const double* e = nullptr;
  const double* lo = nullptr;
  const double* hi = nullptr;
};

struct Element {
  double v = 0;
  double e = 0;
  double lo = 0;
  double hi = 0;
};

class Reducer {
 public:
  /// `errs` off: the terms' own allowances pass through, the reduction adds none.
  Reducer(const Node& node, int64_t depth, const EvaluationSettings& settings,
          const rows::Kernels& kernels, bool errs)
      : node_(node),
        depth_(static_cast<double>(depth)),
        settings_(settings),
        kernels_(kernels),
        rounding_(rounding_of(settings.accumulate, settings.flush)),
        others_(rounding_of(settings.arithmetic, settings.flush)),
        own_(errs ? 1 : 0),
        u_(rounding_.u * own_) {}

  SumShape shape(int64_t n) const {
    const double step = node_.mma_products > 0 ? step_error() : u_;
    return {n, depth_, step, underflow(n), exact_limit()};
  }

  /// What one row brings to a total beside its sum.
  JoiningSum joining(const Row& row) const {
    const rows::RowSum s = kernels_.sum(row.n, row.v, row.e, row.lo, row.hi, exact_limit());
    JoiningSum out{s.magnitude, s.lo, s.hi, 0};
    if (std::isfinite(s.v)) {
      out.quantum = s.exact ? quantum_of(row) : 0;
      return out;
    }
    out.magnitude = 0;
    for (int64_t k = 0; k < row.n; ++k)
      if (std::isfinite(row.v[k])) out.magnitude += std::fabs(row.v[k]);
    return out;
  }

  Element reduce(const Row& row, bool& saw_nan) const {
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

 private:
  static double quantum_of(const Row& row) {
    double least = kInfinity;
    for (int64_t k = 0; k < row.n; ++k) least = std::min(least, rows::quantum(row.v[k]));
    return least;
  }

  /// Relative to sum|t|. Any order: (n - 1) u (Jeannerod & Rump 2013). A path of h additions:
  /// (1 + u/(1 + u))^h - 1 <= h u (1 + h u) for h u <= 1.
  double growth(int64_t n) const {
    if (node_.mma_products > 0) {
      const double h = depth_ * step_error();
      return h <= 1 ? h * (1 + h) : kInfinity;
    }
    return depth_ * u_ * (depth_ < static_cast<double>(n - 1) ? 1 + depth_ * u_ : 1);
  }

  /// Of one step of a tensor core, relative to the magnitudes that it adds: each of the k products
  /// and the accumulator is cut to a multiple of 2^(-23 - e) of the largest, the sum to the
  /// accumulator's precision.
  double step_error() const {
    const double addends = node_.mma_products + 1;
    return (addends * std::ldexp(1.0, -23 - node_.mma_extra_bits) + 2 * rounding_.u) * own_;
  }

  /// Tensor cores cut to multiples of the smallest subnormal, and may drop smaller products; an
  /// online softmax multiplies its sums once a block.
  double underflow(int64_t n) const {
    double etas = 0;
    if (node_.mma_products > 0) etas = depth_ * (node_.mma_products + 2) * 2;
    if (settings_.online > 0)
      etas += std::ceil(static_cast<double>(n) / static_cast<double>(settings_.online));
    return etas * others_.eta * own_;
  }

  /// 2^p: the accumulator's precision, or that of a tensor core's adder where it is less.
  double exact_limit() const {
    const double limit = 1 / rounding_.u;
    if (node_.mma_products == 0) return limit;
    return std::min(limit, std::ldexp(1.0, 24 + std::min(node_.mma_extra_bits, 0)));
  }

  double flushed(int64_t n) const {
    return settings_.flush ? static_cast<double>(n) * rounding_.min_normal * own_ : 0;
  }

  /// growth sum|t| bounds every order of adding n terms; the terms' own deviations add.
  Element sum(const Row& row) const {
    const rows::RowSum s = kernels_.sum(row.n, row.v, row.e, row.lo, row.hi, exact_limit());
    Element out{s.v, s.e, 0, 0};
    const bool fits = s.magnitude < rounding_.largest * (1 - 2 * rounding_.u);
    if (s.exact && !(settings_.flush && s.magnitude != 0) && (fits || !settings_.widen)) return out;
    if (!std::isfinite(s.v)) return not_finite(row, out, s.lo + s.hi);
    if (std::isnan(s.lo) || std::isnan(s.hi)) {  // of a term nothing is known: 0 times an overflow
      out.lo = out.hi = kNan;
      return out;
    }
    const double all = s.magnitude + std::max(s.lo, s.hi);
    // Exact sums may still pass through a subnormal partial sum that is flushed.
    const double own = flushed(row.n) + (s.exact ? 0 : growth(row.n) * all + underflow(row.n));
    out.lo = (s.lo + own) * rows::kOutward;
    out.hi = (s.hi + own) * rows::kOutward;
    if (settings_.widen && all >= rounding_.largest * (1 - 2 * rounding_.u)) overflow(row, out);
    return out;
  }

  /// An infinite sum is exact, unless finite terms can overflow the other way: then inf - inf.
  Element not_finite(const Row& row, Element out, double reach) const {
    out.lo = out.hi = reach - reach;  // 0, or NaN when a term might have overflowed
    // Finite terms whose sum leaves double's range: the order of adding decides.
    if (std::all_of(row.v, row.v + row.n, [](double x) { return std::isfinite(x); }))
      out.lo = out.hi = kNan;
    if (!settings_.widen || std::isnan(out.v)) return out;
    if (may_meet_opposite_infinity(row, out.v)) out.lo = out.hi = kNan;
    return out;
  }

  /// The total is infinite; finite terms of the other sign may overflow before they meet it.
  bool may_meet_opposite_infinity(const Row& row, double total) const {
    double against = 0;
    for (int64_t k = 0; k < row.n; ++k)
      if (std::isfinite(row.v[k]) && (row.v[k] > 0) != (total > 0)) against += std::fabs(row.v[k]);
    return against >= rounding_.largest * (1 - 2 * rounding_.u);
  }

  /// A partial sum of the terms of one sign may be infinite: then so may be the total, or, with an
  /// infinity of the other sign too, NaN.
  void overflow(const Row& row, Element& out) const {
    double up = 0;
    double down = 0;
    for (int64_t k = 0; k < row.n; ++k) {
      const double e = row.e == nullptr ? 0 : row.e[k];
      up += std::max(0.0, row.v[k] + (row.hi == nullptr ? 0 : row.hi[k]) + e);
      down += std::max(0.0, (row.lo == nullptr ? 0 : row.lo[k]) + e - row.v[k]);
    }
    const double limit = rounding_.largest * (1 - 4 * rounding_.u);
    const double grown = (1 + growth(row.n)) * (1 + 0x1p-20);
    const bool above = up * grown >= limit;
    const bool below = down * grown >= limit;
    if (above && below)
      out.lo = out.hi = kNan;
    else if (above)
      out.hi = kInfinity;
    else if (below)
      out.lo = kInfinity;
  }

  /// Division by n; a kernel may multiply by the rounded reciprocal instead, one rounding more.
  double reciprocal(int64_t n) const {
    const bool power_of_two = n > 0 && (n & (n - 1)) == 0;
    return power_of_two ? 0 : others_.u * own_;
  }

  bool narrows() const { return settings_.arithmetic != settings_.accumulate; }

  /// A sum in a finer type may be rounded to that of the other operations before it is divided.
  bool narrowed(const Element& s) const {
    const bool exact = s.e == 0 && s.lo == 0 && s.hi == 0 && representable(s.v);
    return narrows() && !exact;
  }

  bool one_pass() const { return settings_.variance == VarianceForm::one_pass; }
  bool welford() const { return settings_.variance == VarianceForm::welford; }

  Element mean(const Row& row) const {
    if (welford()) return running_mean(row);
    const Element s = sum(row);
    const auto n = static_cast<double>(row.n);
    const rows::In a{&s.v, &s.e, &s.lo, &s.hi};
    const double zero = 0;
    const rows::In b{&n, &zero, &zero, &zero};
    Element out;
    kernels_.div(1, a, b, {&out.v, &out.e, &out.lo, &out.hi});
    if (!std::isfinite(out.v)) return out;
    const double roundings = reciprocal(row.n) + (narrowed(s) ? others_.u * own_ : 0);
    // Each end errs by itself: one may be infinite.
    const auto rounded = [&](double by) {
      double own = roundings * (std::fabs(out.v) + out.e + by);
      if (narrowed(s)) own = own * (1 + others_.u) + others_.eta * own_;
      return (by + own) * rows::kOutward;
    };
    out.lo = rounded(out.lo);
    out.hi = rounded(out.hi);
    // The sum may not fit the type that it is narrowed to before its division.
    const double most = std::fabs(s.v) + s.e + std::max(s.lo, s.hi);
    if (settings_.widen && narrows() && most >= others_.largest * (1 - 2 * others_.u))
      (s.v < 0 ? out.lo : out.hi) = kInfinity;
    return out;
  }

  /// The largest element of a correct kernel, in magnitude.
  double largest_term(const Row& row) const {
    double most = 0;
    for (int64_t k = 0; k < row.n; ++k) {
      const double up = row.hi == nullptr ? 0 : row.hi[k];
      const double down = row.lo == nullptr ? 0 : row.lo[k];
      const double e = row.e == nullptr ? 0 : row.e[k];
      most = std::max(most, std::fabs(row.v[k]) + e + std::max(up, down));
    }
    return most * rows::kOutward;
  }

  /// Welford's updates m + (x - m) / k, and Chan's merges of partial means: every step rounds, also
  /// where the sum would be exact. Each is a weighted average of what it takes, and adds at most
  /// 7 u max|x| (docs/judging.md).
  Element running_mean(const Row& row) const {
    const rows::RowSum s = kernels_.sum(row.n, row.v, row.e, row.lo, row.hi, 1 / rounding_.u);
    const auto n = static_cast<double>(row.n);
    Element out{s.v / n, 0, 0, 0};
    if (!std::isfinite(s.v)) {
      Element total = not_finite(row, {s.v, s.e, 0, 0}, s.lo + s.hi);
      // A mean that was infinite makes inf - inf of the next update, and a merge by the difference
      // with nothing inf x 0.
      if (std::isinf(s.v)) total.lo = total.hi = kNan;
      return {out.v, 0, total.lo, total.hi};
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

  /// Underflow along the longest path: a step's four results, each half of the smallest subnormal.
  double steps_eta() const { return depth_ * rounding_.eta * own_; }

  /// Exactly, from the exact mean m.
  rows::RowSum squared_differences(const Row& row, const Element& m) const {
    const std::vector<double> reach = term_reach(row);
    double shift = 0;
    for (const double r : reach) shift = std::max(shift, r);
    return kernels_.squares(row.n, row.v, row.e, reach.empty() ? nullptr : reach.data(), m.v, m.e,
                            shift);
  }

  /// Sums of squared differences by Welford and Chan: the increments of each step are differences
  /// from running means, weighted; W bounds the sum of the weights in every tree.
  Element running_variance(const Row& row) const {
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

  /// Two passes: with a mean that is off by delta the kernel sees var + delta^2, and each of its
  /// terms, their sum and the division round. One pass: E[x^2] - E[x]^2 cancels.
  Element variance(const Row& row) const {
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
    const double delta = exact_mean ? 0 : std::max(m.lo, m.hi) + u * (std::fabs(m.v) + m.e + m.hi);
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
    out.lo = std::min(down * rows::kOutward, var);  // a variance is not negative
    const double largest_square = one_pass() ? kInfinity : var * n + delta * delta * n;
    if (settings_.widen && (largest_square >= others_.largest * (1 - 2 * u) || one_pass()))
      widen_variance(row, out);
    return out;
  }

  /// The type of the other operations holds x (Veltkamp's split; subnormals are left to the
  /// rounding's bound).
  bool representable(double x) const {
    if (x == 0 || others_.native_double) return true;
    const double c = x * others_.split;
    return c - (c - x) == x && std::fabs(x) >= others_.min_normal &&
           std::fabs(x) <= others_.largest;
  }

  std::vector<double> term_reach(const Row& row) const {
    std::vector<double> reach;
    if (row.lo == nullptr && row.hi == nullptr) return reach;
    reach.resize(static_cast<size_t>(row.n));
    for (int64_t k = 0; k < row.n; ++k)
      reach[static_cast<size_t>(k)] =
          std::max(row.lo == nullptr ? 0 : row.lo[k], row.hi == nullptr ? 0 : row.hi[k]);
    return reach;
  }

  /// Squares of the elements (one pass) or of the differences may overflow.
  void widen_variance(const Row& row, Element& out) const {
    if (!one_pass()) {
      out.hi = kInfinity;
      return;
    }
    double squares = 0;
    for (int64_t k = 0; k < row.n; ++k) squares += row.v[k] * row.v[k];
    if (squares >= others_.largest * (1 - 2 * others_.u)) out.lo = out.hi = kNan;
  }

  Element extremum(const Row& row, double sign, bool& saw_nan) const {
    const rows::RowMax m = kernels_.max(row.n, row.v, row.e, row.lo, row.hi, sign);
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

  const Node& node_;
  const double depth_;
  const EvaluationSettings& settings_;
  const rows::Kernels& kernels_;
  const rows::Rounding rounding_;  ///< of partial sums
  const rows::Rounding others_;    ///< of what is done before and after them
  const double own_;
  const double u_;
};

}  // namespace

int64_t reduction_depth(const EvaluationSettings& settings, const Graph& graph, const Node& node,
                        int64_t n) {
  int64_t stated = settings.depth;
  if (!settings.depth_along.empty()) {
    int64_t nested = 0;
    for (const int dim : node.reduced) {
      const auto found = settings.depth_along.find(graph.dims[static_cast<size_t>(dim)]);
      if (found == settings.depth_along.end() || nested < 0)
        nested = -1;
      else
        nested += found->second;
    }
    if (nested >= 0) stated = nested;
  }
  const bool tensor = node.mma_products > 0;
  const int64_t most = std::max<int64_t>(tensor ? n : n - 1, 0);
  if (!tensor) return stated < 0 ? most : std::min(stated, most);
  const int64_t instruction = int64_t{node.mma_products} * node.mma_steps;
  const int64_t chain = (n + instruction - 1) / instruction;
  return (stated < 0 ? chain : std::min(stated, most)) * node.mma_steps;
}

void NodeWork::reduction() {
  const Value& a = argument(0);
  if (node_.op == Op::var || ((node_.op == Op::sum || node_.op == Op::mean) && a.least >= 0))
    out_.least = 0;
  const rows::Out out = arrays();
  const Grid reduced = grid_of(node_.reduced, chunk_);
  const auto axes = merged_axes<1>(reduced, {&a.grid});
  const bool contiguous = axes.empty() || (axes.size() == 1 && axes[0].stride[0] == 1);
  auto& buffers = *evaluator_.buffers_;
  const double* arrays_in[4] = {a.v, a.e, a.lo, a.hi};
  const int64_t depth =
      reduction_depth(evaluator_.settings_, evaluator_.graph_, node_, reduced.size);
  const Reducer reducer(node_, depth, evaluator_.settings_, *evaluator_.kernels_, errs());
  const auto row_at = [&](int64_t offset) {
    const double* place[4] = {};
    for (int which = 0; which < 4; ++which) {
      const double* from = arrays_in[which];
      if (from == nullptr) continue;
      place[which] = from + offset;
      if (contiguous) continue;
      double* lane = buffers.lane[which].get(std::max<int64_t>(reduced.size, 1));
      for_runs<1>(reduced, {&a.grid},
                  [&](int64_t done, int64_t n, const auto& step, const auto& stride) {
                    const double* source = from + offset + step[0];
                    for (int64_t k = 0; k < n; ++k) lane[done + k] = source[k * stride[0]];
                  });
      place[which] = lane;
    }
    return Row{reduced.size, place[0], place[1], place[2], place[3]};
  };
  if (node_.joins) {
    out_.joining.resize(static_cast<size_t>(out_.grid.size));
    out_.shape = reducer.shape(reduced.size);
  }
  int seen = 0;
  for_runs<1>(
      out_.grid, {&a.grid}, [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
        for (int64_t k = 0; k < n; ++k) {
          const Row row = row_at(offset[0] + k * stride[0]);
          const Element r = reducer.reduce(row, evaluator_.saw_undecided_nan_);
          if (node_.joins) out_.joining[static_cast<size_t>(done + k)] = reducer.joining(row);
          out.v[done + k] = r.v;
          out.e[done + k] = r.e;
          out.lo[done + k] = r.lo;
          out.hi[done + k] = r.hi;
          seen |=
              (r.e != 0 ? rows::kAnyError : 0) | (r.lo != 0 || r.hi != 0 ? rows::kAnyAllowance : 0);
        }
      });
  flags(seen);
  if (node_.args.size() == 3 && evaluator_.settings_.widen) running_overflow();
}

/// Sums of an online softmax: t where the weight may not be 0, as if each weight were 1.
void NodeWork::running_overflow() {
  const Value& t = argument(1);
  const Value& w = argument(2);
  const Grid reduced = grid_of(node_.reduced, chunk_);
  const double limit = format_of(evaluator_.settings_.accumulate).largest * (1 - 0x1p-20);
  double* lo = out_.own_lo.get(1);
  double* hi = out_.own_hi.get(1);
  if (out_.lo == nullptr) std::fill_n(lo, out_.grid.size, 0.0);
  if (out_.hi == nullptr) std::fill_n(hi, out_.grid.size, 0.0);
  out_.lo = lo;
  out_.hi = hi;
  for_runs<2>(out_.grid, {&t.grid, &w.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k) {
                  double up = 0;
                  double down = 0;
                  for_runs<2>(
                      reduced, {&t.grid, &w.grid},
                      [&](int64_t, int64_t m, const auto& first, const auto& step) {
                        for (int64_t j = 0; j < m; ++j) {
                          const int64_t at = offset[0] + k * stride[0] + first[0] + j * step[0];
                          const int64_t kw = offset[1] + k * stride[1] + first[1] + j * step[1];
                          if (certainly_zero(w, kw)) continue;
                          up += std::max(0.0, t.v[at] + element(t.hi, at) + element(t.e, at));
                          down += std::max(0.0, element(t.lo, at) + element(t.e, at) - t.v[at]);
                        }
                      });
                  // An infinity times a factor that has vanished is NaN.
                  if (!(up < limit) || !(down < limit)) lo[done + k] = hi[done + k] = kNan;
                }
              });
}

}  // namespace assay
