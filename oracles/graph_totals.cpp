// Recognises sums that start from a value, or that one accumulator may add together.
#include <algorithm>
#include <string>

#include "oracles/formula_compiler.hpp"

namespace assay {
namespace {

bool subtracts(char mark) { return mark == '-' || mark == 's'; }

}  // namespace

/// A sum over all of the result's dimensions, so that each of its elements has an accumulator, and
/// of which no other part is made: that part would be known too late to be added before its end. A
/// cumulative sum has one accumulator for a whole line, where only what is the same for all of the
/// line can be.
bool FormulaCompiler::joins(int id, size_t dims, const std::vector<Part>& parts) const {
  const Node& n = node(id);
  const bool scan = n.op == Op::cumsum;
  if ((n.op != Op::sum && !scan) || n.integral || n.args.size() != 1 || n.dims.size() != dims)
    return false;
  return std::none_of(parts.begin(), parts.end(), [&](const Part& other) {
    if (other.id == id) return false;
    const std::vector<int>& has = node(other.id).dims;
    const bool varies = scan && std::find(has.begin(), has.end(), n.reduced[0]) != has.end();
    return varies || graph_.feeds(id, other.id);
  });
}

/// What `id` adds: the parts of a total, and both sides of a sum that the accumulator rounds.
void FormulaCompiler::add_parts(int id, bool negative, size_t dims,
                                std::vector<Part>& parts) const {
  const Node& n = node(id);
  if (n.op == Op::total && n.dims.size() == dims) {
    for (size_t k = 1; k < n.args.size(); ++k)
      parts.push_back({n.args[k], negative != subtracts(n.text[k - 1])});
    return;
  }
  if (n.op == Op::settle && n.type == arithmetic_ && n.weight == 1 && n.text.empty() &&
      node(n.args[0]).op == Op::add) {
    for (const int side : node(n.args[0]).args) add_parts(side, negative, dims, parts);
    return;
  }
  parts.push_back({id, negative});
}

int FormulaCompiler::total(int id, const Expr& e) {
  const Node& added = node(id);
  if ((added.op != Op::add && added.op != Op::sub) || added.integral) return id;
  const size_t dims = added.dims.size();
  std::vector<Part> parts;
  add_parts(added.args[0], false, dims, parts);
  add_parts(added.args[1], added.op == Op::sub, dims, parts);
  Node n;
  n.op = Op::total;
  n.args = {id};
  n.dims = added.dims;
  bool any = false;
  for (const Part& part : parts) {
    const bool joining = joins(part.id, dims, parts);
    n.args.push_back(part.id);
    n.text += joining ? (part.negative ? 's' : 'a') : (part.negative ? '-' : '+');
    if (joining) graph_.nodes[static_cast<size_t>(part.id)].joins = true;
    any |= joining;
  }
  return any ? put(n, e.where) : id;
}

}  // namespace assay
