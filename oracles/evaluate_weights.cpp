// Exponential weights: what an online softmax's rescaling adds to them, and weighted means, which
// lie within the hull of what they average (docs/judging/attention.md).
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/accuracy_table.hpp"
#include "oracles/extrema.hpp"
#include "oracles/hull.hpp"
#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The exact share w / sum(w) is in [0, 1], whatever is known of v.
double share_error(double v) { return std::max(std::fabs(v), std::fabs(1 - v)) * rows::kOutward; }

/// Maxima of a line's blocks as the kernel may see them.
class BlockMaxima {
 public:
  BlockMaxima(const Value& x, int64_t base, int64_t step, int64_t n, int64_t block) {
    for (int64_t first = 0; first < n; first += block) {
      double low = -kInfinity;
      double high = -kInfinity;
      for (int64_t j = first; j < std::min(n, first + block); ++j) {
        const int64_t k = base + j * step;
        unknown_ |= std::isnan(x.v[k]);
        if (std::isnan(x.v[k])) continue;
        const double slack = std::isfinite(x.v[k]) ? element(x.e, k) : 0;
        low = larger(low, x.v[k] - element(x.lo, k) - slack);
        high = larger(high, x.v[k] + element(x.hi, k) + slack);
      }
      unknown_ |= std::isnan(low) || std::isnan(high);
      if (std::isnan(low) || std::isnan(high)) low = high = kInfinity;
      low_.push_back(low);
      high_.push_back(high);
      if (std::isfinite(high)) largest_ = std::max(largest_, std::fabs(high));
      if (std::isfinite(low)) largest_ = std::max(largest_, std::fabs(low));
    }
    find_distinct();
  }

  /// Maxima that may replace that of a block, in whatever order the blocks are visited.
  int64_t above(int64_t block) const {
    if (unknown_) return blocks() - 1;
    const double own = low_[static_cast<size_t>(block)];
    return above_value(own) - (high_[static_cast<size_t>(block)] > own ? 1 : 0);  // itself
  }
  /// Maxima that may replace a number.
  int64_t above_value(double low) const {
    if (unknown_ || std::isnan(low)) return blocks();
    return distinct_.end() - std::upper_bound(distinct_.begin(), distinct_.end(), low);
  }
  double low_of(int64_t block) const {
    return unknown_ ? -kInfinity : low_[static_cast<size_t>(block)];
  }
  double largest() const { return largest_; }
  int64_t blocks() const { return static_cast<int64_t>(low_.size()); }

 private:
  /// Equal maxima that are known exactly are one: its first block replaces, the others do not.
  void find_distinct() {
    std::vector<double> exact;
    for (size_t b = 0; b < low_.size(); ++b)
      (low_[b] == high_[b] ? exact : distinct_).push_back(high_[b]);
    std::sort(exact.begin(), exact.end());
    exact.erase(std::unique(exact.begin(), exact.end()), exact.end());
    distinct_.insert(distinct_.end(), exact.begin(), exact.end());
    std::sort(distinct_.begin(), distinct_.end());
  }

  std::vector<double> low_;
  std::vector<double> high_;
  std::vector<double> distinct_;
  double largest_ = 0;
  bool unknown_ = false;
};

}  // namespace

Hull hull_of_line(const Value& w, int64_t kw, const Value& t, int64_t kt, const Grid& reduced) {
  Hull hull;
  for_runs<2>(reduced, {&w.grid, &t.grid},
              [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k) {
                  const int64_t at = kt + offset[1] + k * stride[1];
                  const double e = element(t.e, at);
                  hull.add(w, kw + offset[0] + k * stride[0], t.v[at] - element(t.lo, at) - e,
                           t.v[at] + element(t.hi, at) + e);
                }
              });
  return hull;
}

/// A path of n additions and a rescaling a block in each sum, in tensor cores twice as coarse, and
/// the declared roundings of w.
HullSlack hull_slack(const Node& node, const EvaluationSettings& settings, int64_t n) {
  const rows::Rounding rounding = rounding_of(settings.arithmetic, settings.flush);
  const auto terms = static_cast<double>(n);
  const double absolute = terms * rounding.eta;
  return {8 * (terms + 4) * rounding.u + node.real + absolute, absolute};
}

/// Calls visit(line's first element in out_, in each argument) for every line of out_ along
/// `along`.
template <size_t N, typename Visit>
void NodeWork::lines_along(int along, const std::array<const Grid*, N>& args, Visit visit) {
  Grid lines = out_.grid;
  for (size_t d = 0; d < lines.dims.size(); ++d)
    if (lines.dims[d] == along) lines.extent[d] = 1;
  lines.size = 1;
  for (const int64_t extent : lines.extent) lines.size *= extent;
  std::array<const Grid*, N + 1> grids{&out_.grid};
  std::copy(args.begin(), args.end(), grids.begin() + 1);
  for_runs<N + 1>(lines, grids, [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
    for (int64_t k = 0; k < n; ++k) {
      std::array<int64_t, N + 1> at{};
      for (size_t a = 0; a <= N; ++a) at[a] = offset[a] + k * stride[a];
      visit(at);
    }
  });
}

/// The argument's own arrays, until some of them are replaced.
void NodeWork::pass_through(const Value& argument) {
  out_.v = argument.v;
  out_.e = argument.e;
  out_.lo = argument.lo;
  out_.hi = argument.hi;
  out_.least = argument.least;
  out_.source_generation = argument.generation;
}

/// What the shift is a maximum of besides the scores, for each line of out_ along `along`.
std::vector<std::vector<Ends>> NodeWork::other_operands(int along) {
  std::vector<std::vector<Ends>> lines;
  for (size_t a = 2; a < node_.args.size(); ++a) {
    const Value& x = argument(a);
    size_t line = 0;
    lines_along<1>(along, {&x.grid}, [&](const std::array<int64_t, 2>& at) {
      const int64_t k = at[1];
      const double slack = std::isfinite(x.v[k]) ? element(x.e, k) : 0;
      if (line == lines.size()) lines.emplace_back();
      lines[line++].push_back(
          {x.v[k] - element(x.lo, k) - slack, x.v[k] + element(x.hi, k) + slack});
    });
  }
  return lines;
}

namespace {

/// Those that may replace a number; of what is not known, all.
int64_t count_above(const std::vector<Ends>& others, double low) {
  return std::count_if(others.begin(), others.end(),
                       [low](const Ends& x) { return !(x.high <= low); });
}

double largest_of(const std::vector<Ends>& others) {
  double largest = 0;
  for (const Ends& x : others)
    for (const double end : {x.low, x.high})
      if (std::isfinite(end)) largest = std::max(largest, std::fabs(end));
  return largest;
}

}  // namespace

/// Weights e^(x_i - m) of an online softmax: what was summed before is multiplied by one more
/// rounded exponential at each new maximum.
void NodeWork::rescaled() {
  const Value& w = argument(0);
  const Value& x = argument(1);
  const auto& settings = evaluator_.settings_;
  pass_through(w);
  if (!errs() || settings.online <= 0) return;
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  double* lo = out_.own_lo.get(size);
  double* hi = out_.own_hi.get(size);
  const rows::Rounding rounding = rounding_of(settings.arithmetic, settings.flush);
  const auto table = accuracy_rows("exp", settings.arithmetic, settings.math);
  const rows::Accuracy published = accuracy_of(table.front());
  const bool prescaled = node_.weight > 1;
  const bool of_scores = node_.integer == 0;
  const int along = node_.reduced[0];
  const int64_t n = chunk_.extent[static_cast<size_t>(along)];
  const int64_t step_w = stride_along(w.grid, along);
  const int64_t step_x = stride_along(x.grid, along);
  const int64_t step = stride_along(out_.grid, along);
  const std::vector<std::vector<Ends>> operands = other_operands(along);
  const std::vector<Ends> none;
  size_t line = 0;
  lines_along<2>(along, {&w.grid, &x.grid}, [&](const std::array<int64_t, 3>& first) {
    const BlockMaxima maxima(x, first[2], step_x, n, settings.online);
    const std::vector<Ends>& others = operands.empty() ? none : operands[line++];
    const double largest = std::max(maxima.largest(), largest_of(others));
    const auto new_maxima = [&](int64_t j) {
      // x log2e - m log2e in one fused operation is the rounding of m log2e where x is m: then each
      // block has a factor near 1, new maximum or not.
      if (prescaled && largest > 0) return maxima.blocks() - 1 + std::ssize(others);
      if (!of_scores) {  // itself is among the others
        const Ends& own = others[static_cast<size_t>(node_.integer - 1)];
        return maxima.above_value(own.low) + count_above(others, own.low) -
               (own.high <= own.low ? 0 : 1);
      }
      const int64_t block = j / settings.online;
      return maxima.above(block) + count_above(others, maxima.low_of(block));
    };
    for (int64_t j = 0; j < (of_scores ? n : 1); ++j) {
      const int64_t k = first[1] + j * step_w;
      const auto count = static_cast<double>(new_maxima(j));
      // Each factor's own figure and the product's rounding; its exponent's rounding telescopes
      // into that of x - m, but for what the two products lose.
      const double slopes = published.slope * 2 * largest;
      double relative =
          count * ((published.ulps + slopes) * 2 + 1) * rounding.u + count * published.relative;
      if (prescaled && count > 0) relative += (count + 1) * 2 * rounding.u * largest;
      relative = relative < 1 ? relative * (1 + relative) : kInfinity;
      const double size_w = std::fabs(w.v[k]) + element(w.e, k) + element(w.hi, k);
      const double own = count == 0 || size_w == 0 ? 0 : (relative * size_w + count * rounding.eta);
      const int64_t to = first[0] + j * step;
      lo[to] = (element(w.lo, k) + own) * rows::kOutward;
      hi[to] = (element(w.hi, k) + own) * rows::kOutward;
      if (!std::isfinite(w.v[k]) || std::isnan(lo[to]) || std::isnan(hi[to])) continue;
      // No weight is negative; none exceeds that of the maximum, 1, but for the factors' figures.
      const double slack = element(w.e, k);
      const double most =
          1 + (count + 2) * ((published.ulps * 2 + 1) * rounding.u + published.relative);
      if (lo[to] > 0) lo[to] = std::min(lo[to], w.v[k] + slack);
      if (hi[to] > 0 && of_scores && !prescaled)
        hi[to] = std::min(hi[to], std::max(0.0, most - w.v[k]) + slack);
    }
  });
  out_.lo = lo;
  out_.hi = hi;
}

/// w / sum(w) itself: the element's own t is 1, that of the others 0.
void NodeWork::clip_shares(const Value& q, const Value& w, double relative, double absolute,
                           bool may_vanish, double* e, double* lo, double* hi) {
  auto& buffers = *evaluator_.buffers_;
  ArgumentBlocks shares(q, buffers.splat[0], buffers.zeros);
  ArgumentBlocks weights(w, buffers.splat[1], buffers.zeros);
  for_runs<2>(out_.grid, {&q.grid, &w.grid},
              [&](int64_t done, int64_t count, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < count; k += rows::kBlock) {
                  const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, count - k));
                  const rows::In s = shares.block(offset[0] + k * stride[0], stride[0], m);
                  const int64_t to = done + k;
                  std::copy_n(s.lo, m, lo + to);
                  std::copy_n(s.hi, m, hi + to);
                  evaluator_.kernels_->share(m, s,
                                             weights.block(offset[1] + k * stride[1], stride[1], m),
                                             relative, absolute, lo + to, hi + to);
                  for (int j = 0; j < m; ++j) e[to + j] = std::min(s.e[j], share_error(s.v[j]));
                  for (int j = 0; j < m && may_vanish; ++j)
                    if (std::isnan(s.lo[j]) || std::isnan(s.hi[j])) lo[to + j] = hi[to + j] = kNan;
                }
              });
}

/// A quotient of sum(w t) and sum(w), w >= 0 the same computed numbers: whatever errors they carry,
/// it lies within the hull of those t whose w may not be 0, but for the roundings of both sums.
void NodeWork::hull() {
  const Value& q = argument(0);
  const Value& w = argument(1);
  const Value& t = argument(2);
  const auto& settings = evaluator_.settings_;
  pass_through(q);
  if (settings.widen || (q.lo == nullptr && q.hi == nullptr)) return;
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  double* e = out_.own_e.get(size);
  double* lo = out_.own_lo.get(size);
  double* hi = out_.own_hi.get(size);
  const Grid reduced = grid_of(node_.reduced, chunk_);
  const bool share = !node_.share_of.empty();
  // The weight of the kernel's own maximum is 1, so that the divisor is never 0, unless it has the
  // rounding of a prescaled exponent.
  const bool may_vanish = node_.weight > 1;
  const auto [relative, absolute] =
      hull_slack(node_, settings, share ? grid_of(node_.share_of, chunk_).size : reduced.size);
  const auto clip = [&, relative = relative, absolute = absolute](int64_t to, int64_t at,
                                                                  const Hull& hull) {
    const double v = q.v[at];
    const double largest = larger(std::fabs(hull.least), std::fabs(hull.most));
    if (!std::isfinite(largest) || !hull.bounded) return;
    const bool lost = std::isnan(lo[to]) || std::isnan(hi[to]);
    if (lost && may_vanish) return;
    if (lost) lo[to] = hi[to] = kInfinity;
    // The exact mean lies in the hull as well: so much is known of it at least.
    const double away = std::max(std::fabs(v - hull.least), std::fabs(hull.most - v));
    e[to] = std::min(e[to], away * rows::kOutward);
    const double slack = relative * largest + absolute + e[to];
    lo[to] = std::min(lo[to], std::max(0.0, v - hull.least + slack) * rows::kOutward);
    hi[to] = std::min(hi[to], std::max(0.0, hull.most - v + slack) * rows::kOutward);
  };
  if (share)
    clip_shares(q, w, relative, absolute, may_vanish, e, lo, hi);
  else
    for_runs<3>(out_.grid, {&q.grid, &w.grid, &t.grid},
                [&](int64_t done, int64_t count, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < count; ++k) {
                    const int64_t at = offset[0] + k * stride[0];
                    e[done + k] = element(q.e, at);
                    lo[done + k] = element(q.lo, at);
                    hi[done + k] = element(q.hi, at);
                    if (!std::isfinite(q.v[at])) continue;
                    const int64_t kw = offset[1] + k * stride[1];
                    const int64_t kt = offset[2] + k * stride[2];
                    clip(done + k, at, hull_of_line(w, kw, t, kt, reduced));
                  }
                });
  out_.e = q.e == nullptr ? nullptr : e;
  out_.lo = lo;
  out_.hi = hi;
}

}  // namespace assay
