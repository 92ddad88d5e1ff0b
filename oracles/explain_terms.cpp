// The terms of an element's allowance, the largest first, each with the source of its constant.
#include <algorithm>
#include <cmath>

#include "oracles/accuracy_table.hpp"
#include "oracles/explainer.hpp"
#include "oracles/functions.hpp"
#include "oracles/node_work.hpp"
#include "oracles/number_text.hpp"

namespace assay {

namespace {

bool may_err(const Node& n) {
  return n.op == Op::settle || n.op == Op::sum || n.op == Op::mean || n.op == Op::var ||
         n.op == Op::div || n.op == Op::prescaled || n.op == Op::rescaled || n.op == Op::total ||
         (n.op == Op::function && !n.integral && !find_function(n.text)->exact);
}

}  // namespace

void Explainer::list_terms(int top) {
  for (size_t id = 0; id < formula_.graph.nodes.size(); ++id) {
    const Node& n = formula_.graph.nodes[id];
    if (!may_err(n) || !formula_.graph.feeds(static_cast<int>(id), top)) continue;
    EvaluationSettings alone = settings_;
    alone.only = static_cast<int>(id);
    rows_.restart(alone);
    const Value& value = rows_.at(top, whole_);
    const int64_t k = position(value);
    const double own =
        of_side(value.lo == nullptr ? 0 : value.lo[k], value.hi == nullptr ? 0 : value.hi[k]);
    if (own > 0 || std::isnan(own)) report_.terms.push_back({term_name(n), own, term_source(n)});
  }
  rows_.restart(settings_);
  std::stable_sort(
      report_.terms.begin(), report_.terms.end(),
      [](const AllowanceTerm& a, const AllowanceTerm& b) { return a.value > b.value; });
}

int64_t Explainer::reduced_count(const Node& n) const {
  int64_t count = 1;
  for (const int dim : n.reduced) count *= rows_.extents()[static_cast<size_t>(dim)];
  return count;
}

std::string Explainer::term_name(const Node& n) const {
  const std::string text = node_text(n);
  const bool welford = settings_.variance == VarianceForm::welford;
  const int64_t depth = reduction_depth(settings_, formula_.graph, n, reduced_count(n));
  switch (n.op) {
    case Op::settle:
      return "rounding of " + node_text(node(n.args[0])) + " to " + std::string(name(n.type)) +
             (n.weight > 1 ? ": " + std::to_string(n.weight) + " u" : ": u");
    case Op::sum:
      if (n.mma_products > 0)
        return text + ": " + std::to_string(depth) + " steps of tensor cores, each (" +
               std::to_string(n.mma_products) + " + 1) 2^" +
               std::to_string(-23 - n.mma_extra_bits) + " + 2 u of sum|terms|";
      return text + ": " + std::to_string(depth) + " u sum|terms|";
    case Op::prescaled:
      return text + ": log2 e and the products with it";
    case Op::total:
      return text +
             ": added in any order, one more addition than the terms of its sum, each u of "
             "their magnitudes (R11)";
    case Op::rescaled:
      return text + ": a factor at each new maximum";
    case Op::mean:
      if (welford)
        return text + ": Welford, " + std::to_string(depth) +
               " steps, each a few u of |x| and |x - mean|";
      return text + ": " + std::to_string(depth) + " u sum|terms| / n, and the reciprocal of n";
    case Op::var:
      if (welford)
        return text + ": Welford, " + std::to_string(depth) +
               " steps, and as many that move the means by a few u of |x| and |x - mean|";
      return text + ": (" + std::to_string(depth) + " + 5) u var + delta^2";
    case Op::div:
      if (reciprocal_serves(formula_.graph, n))
        return text + ": " + published_text(n) + ", or the reciprocal of the divisor taken once" +
               (divides_by_root(formula_.graph, n) ? " by rsqrt: " : ": ") +
               brief(reciprocal_error(formula_.graph, n, settings_)) + " relative (R16)";
      return text + ": " + published_text(n);
    default:
      return text + ": " + published_text(n);
  }
}

std::string Explainer::published_text(const Node& n) const {
  const auto table =
      accuracy_rows(n.op == Op::div ? "div" : n.text, settings_.arithmetic, settings_.math);
  if (table.empty()) return "no published accuracy";
  const AccuracyRow& row = table.front();
  if (row.measure == ErrorMeasure::absolute) return shortest(row.base) + " absolute";
  if (row.measure == ErrorMeasure::relative) return shortest(row.base) + " relative";
  std::string text = shortest(row.base);
  if (row.slope != 0) text += " + floor(" + shortest(row.slope) + " |x|)";
  return text + " ulp of the correctly rounded result";
}

std::string Explainer::term_source(const Node& n) const {
  const bool welford = settings_.variance == VarianceForm::welford;
  switch (n.op) {
    case Op::settle:
    case Op::prescaled:
      return "IEEE 754-2019, round to nearest";
    case Op::rescaled:
      return "docs/judging/attention.md";
    case Op::total:
      return "docs/judging.md, sums with a starting value";
    case Op::sum:
      if (n.mma_products > 0) return "Fasi et al. 2021; docs/judging/matmul.md";
      return "Jeannerod & Rump 2013";
    case Op::mean:
      if (welford) return "docs/judging/welford.md";
      return "Jeannerod & Rump 2013";
    case Op::var:
      if (welford) return "docs/judging/welford.md";
      return "Chan, Golub & LeVeque 1983; docs/judging.md";
    default: {
      const auto table =
          accuracy_rows(n.op == Op::div ? "div" : n.text, settings_.arithmetic, settings_.math);
      return table.empty() ? "" : std::string(table.front().source);
    }
  }
}

void Explainer::add_output_rounding(double exact) {
  if (!std::isfinite(exact)) return;
  report_.terms.push_back({"rounding of " + report_.output + " to " +
                               std::string(name(output_.dtype)) + ": half an ulp",
                           half_ulp(exact), "IEEE 754-2019, round to nearest"});
}

}  // namespace assay
