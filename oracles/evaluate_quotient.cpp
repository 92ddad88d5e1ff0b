// Quotients whose divisor serves more than one of them, along a dimension of the result or in
// another quotient: a kernel may take the reciprocal once and multiply by it (rule R16; derived in
// docs/judging.md).
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "oracles/accuracy_table.hpp"
#include "oracles/extrema.hpp"
#include "oracles/node_work.hpp"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool power_of_two(double x) {
  constexpr uint64_t fraction = (uint64_t{1} << 52) - 1;
  return x != 0 && std::isfinite(x) && (std::bit_cast<uint64_t>(x) & fraction) == 0;
}

/// Relative error of an operation's published figure.
double relative_error(std::string_view operation, const EvaluationSettings& settings, double u) {
  const auto table = accuracy_rows(operation, settings.arithmetic, settings.math);
  if (table.empty()) return kInfinity;
  const rows::Accuracy published = accuracy_of(table.front());
  return published.ulps * 2 * u + published.relative;
}

/// A kernel's reciprocal of one divisor.
struct Reciprocal {
  double relative = 0;     ///< beyond the rounding of the quotient
  double underflow = 0;    ///< absolute, times the dividend
  bool overflows = false;  ///< it may be infinite although the divisor is not 0
  bool vanishes = false;   ///< it may be 0 although the divisor is finite
};

}  // namespace

namespace {

/// Both serve some function in its usual forms, and none of these has both.
bool in_different_forms(const Graph& graph, int a, int b) {
  bool apart = false;
  for (const Node& forms : graph.nodes) {
    if (forms.op != Op::forms) continue;
    bool some_a = false;
    bool some_b = false;
    for (const int form : forms.args) {
      const bool has_a = graph.feeds(a, form);
      const bool has_b = graph.feeds(b, form);
      if (has_a && has_b) return false;
      some_a |= has_a;
      some_b |= has_b;
    }
    apart |= some_a && some_b;
  }
  return apart;
}

/// Whether division rounds correctly.
bool division_rounds(const EvaluationSettings& settings) {
  const auto table = accuracy_rows("div", settings.arithmetic, settings.math);
  return !table.empty() && table.front().base == 0 && table.front().slope == 0;
}

}  // namespace

bool reciprocal_serves(const Graph& graph, const Node& node) {
  if (node.op != Op::div || node.integral) return false;
  if (graph.nodes[static_cast<size_t>(node.args[1])].dims.size() < node.dims.size()) return true;
  const auto id = static_cast<int>(&node - graph.nodes.data());
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& other = graph.nodes[k];
    const bool shares =
        other.op == Op::div && !other.integral && &other != &node && other.args[1] == node.args[1];
    if (shares && !in_different_forms(graph, id, static_cast<int>(k))) return true;
  }
  return false;
}

bool divides_by_root(const Graph& graph, const Node& node) {
  const Node* divisor = &graph.nodes[static_cast<size_t>(node.args[1])];
  while (divisor->op == Op::settle) divisor = &graph.nodes[static_cast<size_t>(divisor->args[0])];
  return divisor->op == Op::function && divisor->text == "sqrt";
}

double reciprocal_error(const Graph& graph, const Node& node, const EvaluationSettings& settings) {
  const double u = format_of(settings.arithmetic).unit_roundoff();
  const bool rounds = division_rounds(settings);
  // fl(1 / b), where division is approximate also the product's own rounding.
  double relative = rounds ? u : relative_error("div", settings, u) + u;
  if (divides_by_root(graph, node)) {
    const double root = relative_error("rsqrt", settings, u) + (rounds ? 0 : u);
    if (std::isfinite(root)) relative = std::max(relative, root);
  }
  return relative;
}

void NodeWork::hoisted_reciprocal() {
  if (!reciprocal_serves(evaluator_.graph_, node_) || !errs() || out_.grid.size == 0) return;
  const EvaluationSettings& settings = evaluator_.settings_;
  const rows::Rounding rounding = rounding_of(settings.arithmetic, settings.flush);
  const double relative = reciprocal_error(evaluator_.graph_, node_, settings);
  const bool by_root = divides_by_root(evaluator_.graph_, node_);
  const bool rounds = division_rounds(settings);
  const Value& a = argument(0);
  const Value& b = argument(1);
  const auto reciprocal_of = [&](int64_t k) {
    const double spread = element(b.e, k) + larger(element(b.lo, k), element(b.hi, k));
    const double size = std::fabs(b.v[k]);
    const double most = (size + spread) * rows::kOutward;
    const double least = (size - spread) / rows::kOutward;
    Reciprocal r;
    if (!std::isfinite(most) || size == 0) return r;
    const bool exact = spread == 0 && (size == 1 || (rounds && power_of_two(b.v[k])));
    r.relative = exact && !by_root ? 0 : relative;
    if (most * rounding.min_normal > 1) {
      r.underflow = settings.flush ? std::min(rounding.eta, 1 / least) + rounding.eta * rounding.u
                                   : rounding.eta;
      r.vanishes = settings.flush;
    }
    r.overflows = settings.widen && least * rounding.largest <= 1 + 2 * rounding.u;
    return r;
  };
  const int64_t size = out_.grid.size;
  double* lo = out_.own_lo.get(size);
  double* hi = out_.own_hi.get(size);
  if (out_.lo == nullptr) std::fill_n(lo, size, 0.0);
  if (out_.hi == nullptr) std::fill_n(hi, size, 0.0);
  bool any = out_.lo != nullptr;
  const auto one = [&](int64_t k, int64_t ka, const Reciprocal& r) {
    const double spread = element(a.e, ka) + larger(element(a.lo, ka), element(a.hi, ka));
    const double dividend = std::fabs(a.v[ka]) + spread;
    if (std::isinf(dividend) && r.vanishes) lo[k] = hi[k] = kNan;           // inf x 0
    if (std::fabs(a.v[ka]) <= spread && r.overflows) lo[k] = hi[k] = kNan;  // 0 x inf
    if (!std::isfinite(out_.v[k]) || dividend == 0) return;
    if (rows::vast_limit(out_.v[k], element(out_.e, k), lo[k], hi[k]) > 0) return;
    // Scaled before they are added: next to double's end their sum may leave double.
    const double factor = r.relative * (1 + r.relative);
    double own = r.underflow == 0 ? 0 : r.underflow * dividend;
    if (factor != 0)
      own += factor * std::fabs(out_.v[k]) + factor * element(out_.e, k) +
             factor * larger(lo[k], hi[k]);
    lo[k] = (lo[k] + own) * rows::kOutward;
    hi[k] = (hi[k] + own) * rows::kOutward;
    if (r.overflows) (out_.v[k] < 0 ? lo[k] : hi[k]) = kInfinity;
  };
  auto& buffers = *evaluator_.buffers_;
  ArgumentBlocks dividends(a, buffers.splat[0], buffers.zeros);
  /// Of a reciprocal that neither overflows nor vanishes.
  const auto many = [&](int64_t first, int64_t count, int64_t first_a, int64_t step_a,
                        const Reciprocal& r) {
    for (int64_t k = 0; k < count; k += rows::kBlock) {
      const int m = static_cast<int>(std::min<int64_t>(rows::kBlock, count - k));
      const double* e = out_.e == nullptr ? buffers.zeros : out_.e + first + k;
      evaluator_.kernels_->hoist(m, dividends.block(first_a + k * step_a, step_a, m),
                                 {out_.v + first + k, e, nullptr, nullptr}, r.relative, r.underflow,
                                 lo + first + k, hi + first + k);
    }
  };
  for_runs<2>(out_.grid, {&a.grid, &b.grid},
              [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                const int64_t line = stride[1] == 0 ? n : 1;
                for (int64_t k = 0; k < n; k += line) {
                  const Reciprocal r = reciprocal_of(offset[1] + k * stride[1]);
                  if (r.relative == 0 && r.underflow == 0 && !r.overflows) continue;
                  any = true;
                  const int64_t from = offset[0] + k * stride[0];
                  if (!r.overflows && !r.vanishes) {
                    many(done + k, line, from, stride[0], r);
                    continue;
                  }
                  for (int64_t j = 0; j < line; ++j) one(done + k + j, from + j * stride[0], r);
                }
              });
  if (!any) return;
  out_.lo = lo;
  out_.hi = hi;
}

}  // namespace assay
