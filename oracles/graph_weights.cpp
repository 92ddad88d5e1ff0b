// Recognises exponential weights in a formula: e^(x - m), m the maximum of x or of that and more,
// rescaled by an online softmax, and means that they weigh.
#include <algorithm>

#include "oracles/formula_compiler.hpp"

namespace assay {

void FormulaCompiler::add_operands(int maximum, std::vector<int>& out) const {
  const Node& n = node(maximum);
  if (n.op != Op::max2) return out.push_back(maximum);
  for (const int arg : n.args) add_operands(arg, out);
}

std::optional<FormulaCompiler::Shift> FormulaCompiler::shift_of(int difference) const {
  const Node& n = node(difference);
  if (n.op != Op::sub || n.integral) return std::nullopt;
  std::vector<int> operands;
  add_operands(n.args[1], operands);
  // One operand is the maximum of a line; a second line has block maxima of its own, of which
  // nothing is derived.
  const auto of_line = [this](int id) { return node(id).op == Op::max; };
  const auto line = std::find_if(operands.begin(), operands.end(), of_line);
  if (line == operands.end() || std::count_if(operands.begin(), operands.end(), of_line) > 1)
    return std::nullopt;
  Shift shift;
  shift.scores = node(*line).args[0];
  shift.reduced = node(*line).reduced;
  operands.erase(line);
  for (const int other : operands)
    for (const int dim : node(other).dims)
      if (std::find(shift.reduced.begin(), shift.reduced.end(), dim) != shift.reduced.end())
        return std::nullopt;
  const auto own = std::find(operands.begin(), operands.end(), n.args[0]);
  if (n.args[0] != shift.scores) {
    if (own == operands.end()) return std::nullopt;
    shift.own = static_cast<size_t>(own - operands.begin()) + 1;
  }
  shift.others = std::move(operands);
  return shift;
}

/// e^(x - m) as an online softmax computes it.
int FormulaCompiler::rescaled(int weight, const Shift& shift, const Expr& e) {
  if (!contract_.accuracy.online || shift.reduced.size() != 1) return weight;
  Node n;
  n.op = Op::rescaled;
  n.args = {weight, shift.scores};
  n.args.insert(n.args.end(), shift.others.begin(), shift.others.end());
  n.integer = static_cast<int64_t>(shift.own);
  n.dims = node(weight).dims;
  n.reduced = shift.reduced;
  n.weight = contract_.accuracy.exp == ExpForm::prescaled ? 2 : 1;
  return put(n, e.where);
}

bool FormulaCompiler::reaches_one(int weight) const {
  const int power = node(weight).op == Op::rescaled ? node(weight).args[0] : weight;
  int exponent = node(power).args[0];
  while (node(exponent).op == Op::settle || node(exponent).op == Op::prescaled)
    exponent = node(exponent).args[0];
  return node(node(exponent).args[1]).op == Op::max;
}

/// The node below roundings; `roundings` collects their unit roundoffs.
int FormulaCompiler::unrounded(int id, double& roundings) const {
  while (node(id).op == Op::settle) {
    roundings += 2 * node(id).weight * format_of(node(id).type).unit_roundoff();
    id = node(id).args[0];
  }
  return id;
}

bool FormulaCompiler::is_weight(int id) const {
  const Node& n = node(id);
  if (n.op == Op::rescaled) return n.integer == 0;
  return n.op == Op::function && n.text == "exp" && n.nonpositive;
}

/// An online softmax adds w t with weights relative to the maximum so far, which may be larger:
/// what may overflow are sums of t. The sum takes t and w beside its terms.
void FormulaCompiler::add_running(Node& sum) const {
  double ignored = 0;
  int terms = unrounded(sum.args[0], ignored);
  if (node(terms).op == Op::where) terms = unrounded(node(terms).args[1], ignored);
  if (node(terms).op != Op::mul) return;
  for (const size_t k : {0, 1}) {
    int weight = unrounded(node(terms).args[k], ignored);
    // Normalised weights: the kernel adds w t, and divides at the end.
    if (node(weight).op == Op::hull && node(weight).share_of == sum.reduced)
      weight = node(weight).args[1];
    if (node(weight).op != Op::rescaled || node(weight).integer != 0) continue;
    sum.args.push_back(node(terms).args[1 - k]);
    sum.args.push_back(weight);
    return;
  }
}

/// sum(w t, D) / sum(w, D): within the hull of t. w / sum(w, D), where t is 1 for the element
/// itself and 0 for the others: within [0, 1].
int FormulaCompiler::weighted_mean(int id, const Expr& e) {
  const Node& quotient = node(id);
  if (quotient.op != Op::div || quotient.integral) return id;
  double roundings = 0;
  const int below = unrounded(quotient.args[1], roundings);
  if (node(below).op != Op::sum) return id;
  const std::vector<int> reduced = node(below).reduced;
  const int weight = unrounded(node(below).args[0], roundings);
  if (!is_weight(weight)) return id;
  int above = unrounded(quotient.args[0], roundings);
  int averaged = -1;
  if (above == weight) {
    averaged = literal(1, e.where);
  } else if (node(above).op == Op::sum && node(above).reduced == reduced &&
             node(above).mma_extra_bits >= 0) {
    above = unrounded(node(above).args[0], roundings);
    int masked = -1;
    if (node(above).op == Op::where) {
      masked = above;
      const int other = unrounded(node(above).args[2], roundings);
      if (node(other).op != Op::literal || node(other).real != 0) return id;
      above = unrounded(node(above).args[1], roundings);
    }
    if (node(above).op != Op::mul) return id;
    for (const size_t k : {0, 1})
      if (unrounded(node(above).args[k], roundings) == weight) averaged = node(above).args[1 - k];
    if (masked >= 0 && averaged >= 0) {
      // What is masked in the sum above alone, as by dropout, counts as 0 there and has its weight.
      Node kept = node(masked);
      kept.args = {node(masked).args[0], averaged, literal(0, e.where)};
      averaged = put(kept, e.where);
    }
  }
  if (averaged < 0) return id;
  Node n;
  n.op = Op::hull;
  const bool may_vanish = contract_.accuracy.exp == ExpForm::prescaled || !reaches_one(weight);
  n.weight = may_vanish ? 2 : 1;
  n.args = {id, weight, averaged};
  n.dims = node(id).dims;
  (above == weight ? n.share_of : n.reduced) = reduced;
  n.real = roundings;
  return put(n, e.where);
}

}  // namespace assay
