// Totals: sums whose accumulator also holds a starting value, or another sum (rule R11; derived in
// docs/judging.md, "Sums with a starting value").
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/extrema.hpp"
#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// All terms of one element of a total.
struct Terms {
  double magnitude = 0;
  double scaled = 0;  ///< the magnitude, as JoiningSum's
  double quantum = kInfinity;
  double lo = 0;  ///< sums of the terms' own allowances
  double hi = 0;
  double up = 0;  ///< sums of the positive terms, and of the negative ones' sizes
  double down = 0;

  void add(double v, double e, const JoiningSum& part, bool negative) {
    const double size = part.magnitude * rows::kOutward;
    const double lower = negative ? part.hi : part.lo;
    const double upper = negative ? part.lo : part.hi;
    const double value = negative ? -v : v;
    magnitude += size;
    scaled += std::isfinite(size) ? size * JoiningSum::kScale : part.scaled * rows::kOutward;
    quantum = std::min(quantum, part.quantum);
    lo += lower;
    hi += upper;
    if (std::isfinite(v)) {
      up += positive_part((size + value) / 2 + upper + e);
      down += positive_part((size - value) / 2 + lower + e);
    } else {  // its finite terms, of whatever sign
      up += size;
      down += size;
    }
  }
};

/// A value that is one term.
JoiningSum one_term(const Value& x, int64_t k) {
  const double e = element(x.e, k);
  JoiningSum part{std::fabs(x.v[k]) + e, element(x.lo, k), element(x.hi, k), 0};
  if (!std::isfinite(x.v[k])) part.magnitude = 0;
  if (e == 0 && part.lo == 0 && part.hi == 0) part.quantum = rows::quantum(x.v[k]);
  return part;
}

/// The count of an element's terms and how they may be added, over all parts.
struct Shape {
  double terms = 0;
  double depth = -1;  ///< parts join by one addition each, but for the first
  double step_error = 0;
  double underflow = 0;
  double exact_limit = kInfinity;
  bool tensor = false;

  /// `missing`: terms that this element's part lacks.
  void add(const SumShape& sum, int64_t missing) {
    const auto own = static_cast<double>(sum.terms - missing);
    terms += own;
    depth += 1 + (missing > 0 ? std::min(sum.depth, std::max(own - 1, 0.0)) : sum.depth);
    step_error = std::max(step_error, sum.step_error);
    underflow += sum.underflow;
    exact_limit = std::min(exact_limit, sum.exact_limit);
  }
  /// Relative to sum|t|, as that of one sum (evaluate_reduction.cpp).
  double growth() const {
    const double most = std::max(0.0, terms - 1);
    if (!tensor) return rows::adding_error(depth, most, step_error);
    const double h = depth * step_error;
    return h <= 1 ? h * (1 + h) : kInfinity;
  }
};

}  // namespace

void partial_sums_overflow(double up, double down, double growth, double limit, double& lo,
                           double& hi) {
  const double grown = (1 + growth) * (1 + 0x1p-20);
  const bool above = up * grown >= limit;
  const bool below = down * grown >= limit;
  if (above && below)
    lo = hi = kNan;
  else if (above)
    hi = kInfinity;
  else if (below)
    lo = kInfinity;
}

void NodeWork::total() {
  const Value& written = argument(0);
  pass_through(written);
  const EvaluationSettings& settings = evaluator_.settings_;
  const rows::Rounding rounding = rounding_of(settings.accumulate, settings.flush);
  std::vector<Terms> terms(static_cast<size_t>(out_.grid.size));
  std::vector<Shape> shapes(terms.size());
  for (size_t p = 1; p < node_.args.size(); ++p) {
    const Value& part = argument(p);
    const char mark = node_.text[p - 1];
    const bool joins = mark == 'a' || mark == 's';
    const bool negative = mark == '-' || mark == 's';
    const SumShape shape = joins ? part.shape : SumShape{1, 0, 0, 0, 1 / rounding.u};
    const bool tensor = joins && argument_node(p).mma_products > 0;
    for_runs<1>(out_.grid, {&part.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t j = 0; j < n; ++j) {
                    const int64_t k = offset[0] + j * stride[0];
                    const auto to = static_cast<size_t>(done + j);
                    const JoiningSum own =
                        joins ? part.joining[static_cast<size_t>(k)] : one_term(part, k);
                    terms[to].add(part.v[k], element(part.e, k), own, negative);
                    shapes[to].add(shape, own.missing);
                    shapes[to].tensor |= tensor;
                  }
                });
  }
  const double limit = rounding.largest * (1 - 2 * rounding.u);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  double* lo = out_.own_lo.get(size);
  double* hi = out_.own_hi.get(size);
  for (int64_t k = 0; k < out_.grid.size; ++k) {
    const Terms& t = terms[static_cast<size_t>(k)];
    const Shape& shape = shapes[static_cast<size_t>(k)];
    const double growth = errs() ? shape.growth() : 0;
    const double flushed = settings.flush && errs() ? shape.terms * rounding.min_normal : 0;
    const bool limited = rows::limited(written.v[k], element(written.e, k), element(written.lo, k),
                                       element(written.hi, k));
    if (!std::isfinite(written.v[k]) || limited) {
      lo[k] = element(written.lo, k);
      hi[k] = element(written.hi, k);
      // Finite terms of the other sign may overflow before they meet it.
      const double against = written.v[k] > 0 ? t.down : t.up;
      if (settings.widen && !std::isnan(written.v[k]) && !(against < limit)) lo[k] = hi[k] = kNan;
      continue;
    }
    const double all = t.magnitude + larger(t.lo, t.hi);
    const bool exact = t.quantum > 0 && (all == 0 || all < shape.exact_limit * t.quantum);
    double rounded = growth == 0 ? 0 : growth * all;
    if (std::isinf(rounded)) {  // of magnitudes that no double holds
      const double scaled = t.scaled + larger(t.lo, t.hi) * JoiningSum::kScale;
      rounded = growth * scaled * rows::kOutward / JoiningSum::kScale;
    }
    double own = exact ? 0 : shape.underflow + rounded;
    if (all != 0) own += flushed;
    lo[k] = (t.lo + own) * rows::kOutward;
    hi[k] = (t.hi + own) * rows::kOutward;
    if (settings.widen && all >= limit)
      partial_sums_overflow(t.up, t.down, growth, limit, lo[k], hi[k]);
  }
  out_.lo = lo;
  out_.hi = hi;
}

}  // namespace assay
