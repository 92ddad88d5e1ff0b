// Private to the first tier: reduces one row. The allowances are primitives (docs/judging.md): they
// are never found by running the formula's loop.
#pragma once

#include <cstdint>

#include "oracles/node_work.hpp"

namespace assay {

/// One row of an argument, contiguous. Null: zeros.
struct Row {
  int64_t n = 0;
  const double* v = nullptr;
  const double* e = nullptr;
  const double* lo = nullptr;
  const double* hi = nullptr;
  /// Of products in tensor cores: the largest where a factor may be below the least normal number
  /// and counts as that.
  double aligned = 0;
};

struct Element {
  double v = 0;
  double e = 0;
  double lo = 0;
  double hi = 0;
};

/// The error of a division or a reciprocal in a type, in u: 1 where it is correctly rounded.
double division_error(DType type, const MathFigures& math);

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
        division_(divides() ? division_error(welford() ? settings.accumulate : settings.arithmetic,
                                             settings.math)
                            : 1),
        own_(errs ? 1 : 0),
        u_(rounding_.u * own_) {}

  SumShape shape(int64_t n) const;
  /// The row's sum; magnitude and exactness as a tensor core aligns them.
  rows::RowSum terms_of(const Row& row) const;
  /// What one row brings to a total beside its sum.
  JoiningSum joining(const Row& row) const;
  Element reduce(const Row& row, bool& saw_nan) const;

 private:
  // reduce_sum.cpp
  /// Products enter a tensor core unrounded: what lies below the accumulator's smallest subnormal
  /// number may be lost although the products are multiples of a quantum.
  bool exact(const Row& row, const rows::RowSum& s) const;
  /// Relative to sum|t|: rows::adding_error, or of steps of a tensor core
  /// (docs/judging/matmul.md).
  double growth(int64_t n) const;
  /// Of one step of a tensor core, relative to the magnitudes that it adds: each of the k products
  /// and the accumulator is cut to a multiple of 2^(-23 - e) of the largest, the sum to the
  /// accumulator's precision.
  double step_error() const;
  /// Tensor cores cut to multiples of the smallest subnormal, and may drop smaller products; an
  /// online softmax multiplies its sums once a block.
  double underflow(int64_t n) const;
  /// 2^p: the accumulator's precision, or that of a tensor core's adder where it is less.
  double exact_limit() const;
  double flushed(int64_t n) const;
  /// growth sum|t| bounds every order of adding n terms; the terms' own deviations add.
  Element sum(const Row& row) const;
  /// An infinite sum is exact, unless finite terms can overflow the other way: then inf - inf.
  Element not_finite(const Row& row, Element out, double reach) const;
  /// The total is infinite; finite terms of the other sign may overflow before they meet it.
  bool may_meet_opposite_infinity(const Row& row, double total) const;
  /// A partial sum of the terms of one sign may be infinite: then so may be the total, or, with an
  /// infinity of the other sign too, NaN.
  void overflow(const Row& row, Element& out) const;
  /// Division by n, beyond one rounding: a kernel may multiply by the rounded reciprocal instead;
  /// where division is approximate either errs by as much (docs/judging/sums.md), but for n = 1.
  double quotient(int64_t n) const;
  /// A sum in a finer type may be rounded to that of the other operations before it is divided.
  bool narrowed(const Element& s) const;
  Element mean(const Row& row) const;
  /// The type of the other operations holds x (Veltkamp's split; subnormals are left to the
  /// rounding's bound).
  bool representable(double x) const;
  Element extremum(const Row& row, double sign, bool& saw_nan) const;

  // reduce_vast.cpp: what no double holds (docs/judging/overflow.md)
  Element vast_sum(const Row& row) const;
  Element far_sum(const Row& row) const;
  Element vast_extremum(const Row& row, double sign) const;

  // reduce_variance.cpp
  /// Exactly, from the exact mean m.
  rows::RowSum squared_differences(const Row& row, const Element& m) const;
  /// Two passes: with a mean that is off by delta the kernel sees var + delta^2, and each of its
  /// terms, their sum and the division round. One pass: E[x^2] - E[x]^2 cancels.
  Element variance(const Row& row) const;
  /// Squares of the elements (one pass) or of the differences may overflow.
  void widen_variance(const Row& row, Element& out) const;

  // reduce_welford.cpp (docs/judging/welford.md)
  /// Welford's updates m + (x - m) / k, and Chan's merges of partial means: every step rounds, also
  /// where the sum would be exact.
  Element running_mean(const Row& row) const;
  /// The sum of squared differences of the elements as moved by what the steps above them round.
  Element running_variance(const Row& row) const;

  bool narrows() const { return settings_.arithmetic != settings_.accumulate; }
  bool one_pass() const { return settings_.variance == VarianceForm::one_pass; }
  bool welford() const { return settings_.variance == VarianceForm::welford; }
  bool divides() const { return node_.op == Op::mean || node_.op == Op::var; }
  /// Next to 0 an approximate division's ulps are the smallest subnormal number.
  double division_underflow() const {
    if (division_ == 1) return 0;
    return division_ / 2 * format_of(settings_.arithmetic).smallest_subnormal();
  }

  const Node& node_;
  const double depth_;
  const EvaluationSettings& settings_;
  const rows::Kernels& kernels_;
  const rows::Rounding rounding_;  ///< of partial sums
  const rows::Rounding others_;    ///< of what is done before and after them
  const double division_;          ///< the error of one, in u of its type
  const double own_;
  const double u_;
};

}  // namespace assay
