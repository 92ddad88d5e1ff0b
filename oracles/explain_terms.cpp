// The terms of an element's allowance, the largest first, each with the source of its constant.
#include <algorithm>
#include <cmath>

#include "oracles/accuracy_table.hpp"
#include "oracles/explainer.hpp"
#include "oracles/functions.hpp"
#include "oracles/node_work.hpp"
#include "oracles/number_text.hpp"
#include "oracles/reducer.hpp"

namespace assay {

namespace {

constexpr char kFlushed[] = ": a subnormal number may be flushed to 0";

/// A function that rounds nothing: what it adds is the flush of its result.
bool exact_function(const Node& n) {
  if (n.op != Op::function) return false;
  const FunctionInfo* found = find_function(n.text);
  return found != nullptr && found->exact;
}

}  // namespace

void Explainer::list_terms(int top) {
  // An evaluation for each node that errs beside those before it: what is added is its term, so
  // that the terms add up to the allowance, whatever operation they are of.
  double before = 0;
  for (int id = -1; id <= top; ++id) {
    const bool none = id < 0;
    if (!none && (node(id).integral || !formula_.graph.feeds(id, top))) continue;
    EvaluationSettings first = settings_;
    first.erring = id + 1;
    rows_.restart(first);
    const Value& value = rows_.at(top, whole_);
    const int64_t k = position(value);
    const double now = of_side(element(value.lo, k), element(value.hi, k));
    const bool more = now > before || (std::isnan(now) && !std::isnan(before));
    if (more && none)
      report_.terms.push_back({"what no operation of the formula rounds", now, "docs/judging.md"});
    else if (more)
      report_.terms.push_back(
          {term_name(node(id)) + step_beyond(id, top), now - before, term_source(node(id))});
    before = now;
  }
  rows_.restart(settings_);
  std::stable_sort(
      report_.terms.begin(), report_.terms.end(),
      [](const AllowanceTerm& a, const AllowanceTerm& b) { return a.value > b.value; });
}

/// What errs by a rounding errs by a whole step of floor, rint, ... behind it.
std::string Explainer::step_beyond(int id, int top) {
  for (int step = id + 1; step <= top; ++step) {
    if (!formula_.graph.feeds(id, step) || !formula_.graph.feeds(step, top)) continue;
    if (node(step).op != Op::function) continue;
    const FunctionInfo* found = find_function(node(step).text);
    if (found == nullptr || found->shape != Shape::step) continue;
    const Value& value = rows_.at(step, whole_);
    for (int64_t k = 0; k < value.grid.size; ++k)
      if (element(value.lo, k) >= 1 || element(value.hi, k) >= 1)
        return ", across a step of " + node_text(node(step));
  }
  return "";
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
  const double division = division_error(settings_.arithmetic, settings_.math);
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
    case Op::cumsum:
      return text + ": at most " + std::to_string(depth) + " u sum|terms|, of its own terms";
    case Op::load:
    case Op::gather:
      return text + kFlushed;
    case Op::forms:
      return text + ": by how far the forms in which kernels compute it differ";
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
      return text + ": " + std::to_string(depth) + " u sum|terms| / n, and the reciprocal of n" +
             (division == 1 ? "" : ", " + brief(division) + " u");
    case Op::var:
      if (welford)
        return text + ": Welford, " + std::to_string(depth) +
               " steps, and as many that move the means by a few u of |x| and |x - mean|";
      return text + ": (" + std::to_string(depth) + " + " + brief(4 + division) +
             ") u var + delta^2";
    case Op::div:
      if (reciprocal_serves(formula_.graph, n))
        return text + ": " + published_text(n) + ", or the reciprocal of the divisor taken once" +
               (divides_by_root(formula_.graph, n) ? " by rsqrt: " : ": ") +
               brief(reciprocal_error(formula_.graph, n, settings_)) + " relative (R16)";
      return text + ": " + published_text(n);
    default:
      return text + (exact_function(n) ? kFlushed : ": " + published_text(n));
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
    case Op::load:
    case Op::gather:
      return "R12";
    case Op::forms:
      return "docs/judging/elementwise.md, usual forms";
    case Op::cumsum:
      return "Jeannerod & Rump 2013; docs/judging.md, cumulative sums";
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
      if (exact_function(n)) return "R12";
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
