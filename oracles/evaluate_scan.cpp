// What runs along one dimension that stays, or picks a place in it: cumulative sums, argmax,
// argmin.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/codes.hpp"
#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A cumulative sum so far.
class RunningSum {
 public:
  RunningSum(const EvaluationSettings& settings, int64_t depth, bool exact, bool errs)
      : settings_(settings),
        depth_(depth),
        rounding_(rounding_of(settings.accumulate, settings.flush)),
        limit_(rounding_.largest * (1 - 2 * rounding_.u)),
        exact_(exact),
        errs_(errs) {}

  void add(double v, double e, double lo, double hi) {
    const double before = total_;
    total_ += v;
    const double t = total_ - before;
    const double lost = std::fabs((before - (total_ - t)) + (v - t));  // exact (Knuth)
    error_ = (error_ + e + (std::isfinite(total_) ? lost : 0)) * rows::kOutward;
    lo_ = (lo_ + lo) * rows::kOutward;
    hi_ = (hi_ + hi) * rows::kOutward;
    if (std::isfinite(v)) {
      (v > 0 ? positive_ : negative_) += std::fabs(v) * rows::kOutward;
      magnitude_ = (magnitude_ + std::fabs(v) + e) * rows::kOutward;
    }
    ++terms_;
  }

  void put(double& v, double& e, double& lo, double& hi) const {
    v = total_;
    e = std::isfinite(total_) ? error_ : 0;
    if (!std::isfinite(total_)) {
      const bool meets = settings_.widen && (total_ > 0 ? negative_ : positive_) >= limit_;
      lo = hi = meets ? kNan : (lo_ + hi_) - (lo_ + hi_);
      return;
    }
    const double all = magnitude_ + std::max(lo_, hi_);
    const double any_order = static_cast<double>(std::max<int64_t>(terms_ - 1, 0));
    const double h = std::min(static_cast<double>(depth_), any_order);
    const double path = h * rounding_.u * (1 + h * rounding_.u);
    const double flushed = settings_.flush ? any_order * rounding_.min_normal : 0;
    const double own = errs_ ? (exact_ ? 0 : path * all) + flushed : 0;
    lo = (lo_ + own) * rows::kOutward;
    hi = (hi_ + own) * rows::kOutward;
    if (settings_.widen && terms_ > 1 && all >= limit_) overflow(lo, hi);
  }

 private:
  /// A partial sum may be infinite. With terms of one sign so may the total; with both, anything.
  void overflow(double& lo, double& hi) const {
    if (positive_ > 0 && negative_ > 0)
      lo = hi = kNan;
    else
      (positive_ > 0 ? hi : lo) = kInfinity;
  }

  const EvaluationSettings& settings_;
  const int64_t depth_;
  const rows::Rounding rounding_;
  const double limit_;
  const bool exact_;
  const bool errs_;
  double total_ = 0;
  double error_ = 0;
  double lo_ = 0;
  double hi_ = 0;
  double positive_ = 0;
  double negative_ = 0;
  double magnitude_ = 0;
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
  const double limit = 1 / format_of(evaluator_.settings_.accumulate).unit_roundoff();
  const bool reversed = node_.text == "reversed";
  const bool exclusive = node_.text == "exclusive";
  std::vector<double> line;
  each_line(a, [&](int64_t place, int64_t base, int64_t step, int64_t n) {
    line.resize(static_cast<size_t>(n));
    bool clean = true;
    for (int64_t j = 0; j < n; ++j) {
      const int64_t k = base + j * step;
      line[static_cast<size_t>(j)] = a.v[k];
      clean = clean && element(a.e, k) == 0 && element(a.lo, k) == 0 && element(a.hi, k) == 0;
    }
    // Multiples of a quantum, all partial sums within the precision: every prefix is exact too.
    const rows::RowSum whole =
        evaluator_.kernels_->sum(n, line.data(), nullptr, nullptr, nullptr, limit);
    const int64_t depth = reduction_depth(evaluator_.settings_, evaluator_.graph_, node_, n);
    RunningSum sum(evaluator_.settings_, depth, clean && whole.exact, errs());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = reversed ? n - 1 - i : i;
      const int64_t k = base + j * step;
      const int64_t to = place + j * step_out;
      if (exclusive) sum.put(out.v[to], out.e[to], out.lo[to], out.hi[to]);
      sum.add(a.v[k], element(a.e, k), element(a.lo, k), element(a.hi, k));
      if (!exclusive) sum.put(out.v[to], out.e[to], out.lo[to], out.hi[to]);
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
  uint8_t* status = out_.own_status.get(size);
  each_line(a, [&](int64_t place, int64_t base, int64_t step, int64_t n) {
    const Scores scores{a.v, a.e, a.lo, a.hi, base, step, n, node_.op == Op::argmin ? -1.0 : 1.0};
    const IndexExpectation expected = expected_index(scores, evaluator_.settings_.nan);
    out[place] = expected.first;
    status[place] = expected.bounded && expected.candidates == 1 ? kKnown : kUndefined;
  });
  out_.i = out;
  out_.status = status;
}

}  // namespace assay
