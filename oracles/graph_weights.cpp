// Recognises exponential weights in a formula: e^(x - max(x)), rescaled by an online softmax, and
// means that they weigh.
#include <algorithm>

#include "oracles/formula_compiler.hpp"

namespace assay {

/// e^(x - max(x, D)) as an online softmax computes it.
int FormulaCompiler::rescaled(int weight, int difference, const Expr& e) {
  if (!contract_.accuracy.online) return weight;
  Node n;
  n.op = Op::rescaled;
  n.args = {weight, node(difference).args[0]};
  n.dims = node(weight).dims;
  n.reduced = node(node(difference).args[1]).reduced;
  n.weight = contract_.accuracy.exp == ExpForm::prescaled ? 2 : 1;
  return n.reduced.size() == 1 ? put(n, e.where) : weight;
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
  if (n.op == Op::rescaled) return true;
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
    if (node(weight).op != Op::rescaled) continue;
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
    if (node(above).op == Op::where) {
      const int other = unrounded(node(above).args[2], roundings);
      if (node(other).op != Op::literal || node(other).real != 0) return id;
      above = unrounded(node(above).args[1], roundings);
    }
    if (node(above).op != Op::mul) return id;
    for (const size_t k : {0, 1})
      if (unrounded(node(above).args[k], roundings) == weight) averaged = node(above).args[1 - k];
  }
  if (averaged < 0) return id;
  Node n;
  n.op = Op::hull;
  n.weight = contract_.accuracy.exp == ExpForm::prescaled ? 2 : 1;
  n.args = {id, weight, averaged};
  n.dims = node(id).dims;
  (above == weight ? n.share_of : n.reduced) = reduced;
  n.real = roundings;
  return put(n, e.where);
}

}  // namespace assay
