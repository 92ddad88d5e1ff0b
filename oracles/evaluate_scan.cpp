// What runs along one dimension that stays, or picks a place in it: cumulative sums, argmax,
// argmin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/codes.hpp"
#include "oracles/extrema.hpp"
#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A cumulative sum so far: of its own terms alone, whatever follows them.
class RunningSum {
 public:
  RunningSum(const EvaluationSettings& settings, int64_t depth, bool errs)
      : settings_(settings),
        depth_(static_cast<double>(depth)),
        rounding_(rounding_of(settings.accumulate, settings.flush)),
        limit_(rounding_.largest * (1 - 2 * rounding_.u)),
        errs_(errs) {}

  void add(double v, double e, double lo, double hi) {
    const double before = total_;
    total_ += v;
    const double t = total_ - before;
    const double lost = std::fabs((before - (total_ - t)) + (v - t));  // exact (Knuth)
    error_ = (error_ + e + (std::isfinite(total_) ? lost : 0)) * rows::kOutward;
    lo_ = (lo_ + lo) * rows::kOutward;
    hi_ = (hi_ + hi) * rows::kOutward;
    if (!std::isfinite(v)) special_ += v;
    if (std::isfinite(v)) {
      up_ = (up_ + positive_part(v + hi + e)) * rows::kOutward;
      down_ = (down_ + positive_part(lo + e - v)) * rows::kOutward;
      magnitude_ = (magnitude_ + std::fabs(v) + e) * rows::kOutward;
    }
    const bool known = e == 0 && lo == 0 && hi == 0;
    // Once a prefix is not exact, none is that follows.
    quantum_ = known && exact() ? std::min(quantum_, rows::quantum(v)) : 0;
    ++terms_;
  }

  void put(double& v, double& e, double& lo, double& hi) const {
    v = special_ == 0 ? total_ : special_;
    e = std::isfinite(v) ? error_ : 0;
    if (!std::isfinite(v)) {
      // Finite terms whose sum leaves double's range: the order of adding decides.
      const bool meets = settings_.widen && (v > 0 ? down_ : up_) >= limit_;
      lo = hi = special_ == 0 || meets ? kNan : (lo_ + hi_) - (lo_ + hi_);
      return;
    }
    const double all = magnitude_ + larger(lo_, hi_);
    const double any_order = static_cast<double>(std::max<int64_t>(terms_ - 1, 0));
    const double growth = rows::adding_error(depth_, any_order, rounding_.u);
    const double flushed = settings_.flush ? any_order * rounding_.min_normal : 0;
    const double own = errs_ ? (exact() ? 0 : growth * all) + flushed : 0;
    lo = (lo_ + own) * rows::kOutward;
    hi = (hi_ + own) * rows::kOutward;
    if (settings_.widen && terms_ > 1 && all >= limit_)
      partial_sums_overflow(up_, down_, growth, limit_, lo, hi);
  }

  /// What it brings to a total. `length`: of the whole line.
  JoiningSum joining(int64_t length) const {
    return {magnitude_, lo_, hi_, exact() ? quantum_ : 0, length - terms_};
  }

 private:
  /// Multiples of a quantum whose magnitudes fit the accumulator together: no order rounds (R11).
  bool exact() const { return magnitude_ * rounding_.u < quantum_; }

  const EvaluationSettings& settings_;
  const double depth_;
  const rows::Rounding rounding_;
  const double limit_;
  const bool errs_;
  double total_ = 0;
  double error_ = 0;
  double lo_ = 0;
  double hi_ = 0;
  double up_ = 0;  ///< sums of the positive terms, and of the negative ones' sizes
  double down_ = 0;
  double magnitude_ = 0;
  double quantum_ = kInfinity;  ///< all terms are multiples of it; 0: none is known
  double special_ = 0;          ///< sum of the terms that are no numbers
  int64_t terms_ = 0;
};

}  // namespace

/// Calls visit(place, base, step, n) for each line of the argument along the reduced dimension:
/// elements base + step [0, n) of it; `place` is the line's first element in the result.
template <typename Visit>
void NodeWork::each_line(const Value& a, Visit visit) {
  const int along = node_.reduced[0];
  const int64_t n = chunk_.extent[static_cast<size_t>(along)];
  Grid lines = out_.grid;
  for (size_t d = 0; d < lines.dims.size(); ++d) {
    if (lines.dims[d] != along) continue;
    lines.extent[d] = 1;
    lines.size = n == 0 ? 0 : lines.size / n;
  }
  const int64_t step = stride_along(a.grid, along);
  for_runs<2>(lines, {&a.grid, &out_.grid},
              [&](int64_t, int64_t count, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < count; ++k)
                  visit(offset[1] + k * stride[1], offset[0] + k * stride[0], step, n);
              });
}

void NodeWork::scan() {
  const Value& a = argument(0);
  if (a.least >= 0) out_.least = 0;
  const rows::Out out = arrays();
  const int64_t step_out = stride_along(out_.grid, node_.reduced[0]);
  const bool reversed = node_.text == "reversed";
  const bool exclusive = node_.text == "exclusive";
  const int64_t length = chunk_.extent[static_cast<size_t>(node_.reduced[0])];
  const int64_t depth = reduction_depth(evaluator_.settings_, evaluator_.graph_, node_, length);
  if (node_.joins) {
    const FloatFormat format = format_of(evaluator_.settings_.accumulate);
    const double u = format.unit_roundoff();
    out_.joining.resize(static_cast<size_t>(out_.grid.size));
    out_.shape = {length, static_cast<double>(depth), u, 0, 1 / u};
  }
  each_line(a, [&](int64_t place, int64_t base, int64_t step, int64_t n) {
    RunningSum sum(evaluator_.settings_, depth, errs());
    const auto put = [&](int64_t to) {
      sum.put(out.v[to], out.e[to], out.lo[to], out.hi[to]);
      if (node_.joins) out_.joining[static_cast<size_t>(to)] = sum.joining(n);
    };
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = reversed ? n - 1 - i : i;
      const int64_t k = base + j * step;
      const int64_t to = place + j * step_out;
      if (exclusive) put(to);
      sum.add(a.v[k], element(a.e, k), element(a.lo, k), element(a.hi, k));
      if (!exclusive) put(to);
    }
  });
}

void NodeWork::integer_scan() {
  const Value& a = argument(0);
  const int64_t step_out = stride_along(out_.grid, node_.reduced[0]);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  __int128* out = out_.own_i.get(size);
  uint8_t* status = out_.own_status.get(size);
  bool all_known = true;
  const bool reversed = node_.text == "reversed";
  const bool exclusive = node_.text == "exclusive";
  each_line(a, [&](int64_t place, int64_t base, int64_t step, int64_t n) {
    __int128 total = 0;
    uint8_t worst = kKnown;
    const auto put = [&](int64_t j) {
      out[place + j * step_out] = total;
      status[place + j * step_out] = worst;
      all_known = all_known && worst == kKnown;
    };
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = reversed ? n - 1 - i : i;
      const int64_t k = base + j * step;
      if (exclusive) put(j);
      total += a.i[k];
      if (a.status != nullptr) worst = std::max(worst, a.status[k]);
      if (!exclusive) put(j);
    }
  });
  out_.i = out;
  out_.status = all_known ? nullptr : status;
}

/// The index as an operand of the rest of a formula: known where only one can be right.
void NodeWork::index_of_extremum() {
  const Value& a = argument(0);
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  __int128* out = out_.own_i.get(size);
  __int128* high = out_.own_i_high.get(size);
  uint8_t* status = out_.own_status.get(size);
  each_line(a, [&](int64_t place, int64_t base, int64_t step, int64_t n) {
    const double sign = node_.op == Op::argmin ? -1.0 : 1.0;
    const Scores scores{a.v, a.e, a.lo, a.hi, base, step, n, sign, a.i, a.status};
    const IndexExpectation expected = expected_index(scores, evaluator_.settings_.nan);
    out[place] = expected.first;
    high[place] = expected.bounded ? expected.last : expected.first - 1;
    status[place] = expected.bounded && expected.candidates == 1 ? kKnown : kUndefined;
  });
  out_.i = out;
  out_.i_high = high;
  out_.status = status;
}

}  // namespace assay
