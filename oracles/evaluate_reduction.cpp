// Reductions of the first tier: rows of an argument, each reduced by Reducer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/extrema.hpp"
#include "oracles/reducer.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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
  const bool adds = node.op != Op::max && node.op != Op::min;
  if (stated == 0 && adds && n > 1)
    throw InputError(node.where_, "'depth' is 0 in this case, but " + std::to_string(n) +
                                      " terms take at least 1 addition");
  // A merge with nothing, which is no addition, rounds where it is a quotient of weighted sums.
  const bool welford = settings.variance == VarianceForm::welford &&
                       (node.op == Op::mean || node.op == Op::var);
  if (welford && n > 1 && stated >= 0) return stated;
  const bool tensor = node.mma_products > 0;
  const int64_t most = std::max<int64_t>(tensor ? n : n - 1, 0);
  if (!tensor) return stated < 0 ? most : std::min(stated, most);
  const int64_t instruction = int64_t{node.mma_products} * node.mma_steps;
  const int64_t chain = (n + instruction - 1) / instruction;
  return (stated < 0 ? chain : std::min(stated, most)) * node.mma_steps;
}

/// Of each sum in tensor cores the largest product that has a factor below the least normal number,
/// which counts as that number: the exponents that products are aligned by are those of their
/// factors, and such factors are not normalised (docs/judging/matmul.md). Empty where there is
/// none.
std::vector<double> NodeWork::aligned_products() const {
  const Node& product = evaluator_.graph_.nodes[static_cast<size_t>(node_.mma_product)];
  const Value& a = evaluator_.argument(product.args[0]);
  const Value& b = evaluator_.argument(product.args[1]);
  const double least = node_.mma_min_normal;
  const auto reach = [](const Value& x, int64_t k) {
    return element(x.e, k) + larger(element(x.lo, k), element(x.hi, k));
  };
  const auto is_small = [&](const Value& x, int64_t k) {
    return !(std::fabs(x.v[k]) - reach(x, k) >= least);
  };
  const auto size = [&](const Value& x, int64_t k) {
    return std::max(std::fabs(x.v[k]) + reach(x, k), least);
  };
  const auto any_small = [&](const Value& x) {
    for (int64_t k = 0; k < x.grid.size; ++k)
      if (is_small(x, k)) return true;
    return false;
  };
  std::vector<double> out;
  if (!any_small(a) && !any_small(b)) return out;
  out.resize(static_cast<size_t>(out_.grid.size));
  const Grid reduced = grid_of(node_.reduced, chunk_);
  const auto most_of = [&](int64_t first_a, int64_t first_b) {
    double most = 0;
    for_runs<2>(reduced, {&a.grid, &b.grid},
                [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t j = 0; j < n; ++j) {
                    const int64_t ka = first_a + offset[0] + j * stride[0];
                    const int64_t kb = first_b + offset[1] + j * stride[1];
                    if (!is_small(a, ka) && !is_small(b, kb)) continue;
                    const double one = size(a, ka) * size(b, kb);
                    if (std::isfinite(one)) most = std::max(most, one);
                  }
                });
    return most;
  };
  for_runs<2>(out_.grid, {&a.grid, &b.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                for (int64_t k = 0; k < n; ++k)
                  out[static_cast<size_t>(done + k)] =
                      most_of(offset[0] + k * stride[0], offset[1] + k * stride[1]);
              });
  return out;
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
  const std::vector<double> aligned =
      node_.mma_products > 0 ? aligned_products() : std::vector<double>();
  int seen = 0;
  for_runs<1>(
      out_.grid, {&a.grid}, [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
        for (int64_t k = 0; k < n; ++k) {
          Row row = row_at(offset[0] + k * stride[0]);
          if (!aligned.empty()) row.aligned = aligned[static_cast<size_t>(done + k)];
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
                          if (certainly_zero(w, kw) || std::isnan(t.v[at])) continue;
                          up += positive_part(t.v[at] + element(t.hi, at) + element(t.e, at));
                          down += positive_part(element(t.lo, at) + element(t.e, at) - t.v[at]);
                        }
                      });
                  // An infinity times a factor that has vanished is NaN.
                  if (!(up < limit) || !(down < limit)) lo[done + k] = hi[done + k] = kNan;
                }
              });
}

}  // namespace assay
