// What a contract's formula says before any case is run: policies that it makes matter, indices
// that stand for extents, quotients of integers that are 0.
#include <algorithm>
#include <set>

#include "fuzz/lint.hpp"
#include "generators/pairwise.hpp"
#include "oracles/graph.hpp"
#include "oracles/tally.hpp"

namespace assay {

namespace {

/// A formula's graph with what follows from its operands' domains.
class FormulaFacts {
 public:
  FormulaFacts(const Contract& contract, const Graph& graph) : contract_(contract), graph_(graph) {
    for (const Node& node : graph.nodes) nan_.push_back(node_may_be_nan(node));
  }

  const Node& node(int id) const { return graph_.nodes[static_cast<size_t>(id)]; }
  bool may_be_nan(int id) const { return nan_[static_cast<size_t>(id)]; }

  /// Through roundings and conversions to reals.
  int plain(int id) const {
    while (node(id).op == Op::settle || node(id).op == Op::to_real) id = node(id).args[0];
    return id;
  }

  /// Whether something of the formula itself keeps a value from growing on one side.
  bool bounded(int id, bool above) const {
    const Node& n = node(plain(id));
    const auto arg = [&](size_t k, bool side) { return bounded(n.args[k], side); };
    switch (n.op) {
      case Op::literal:
      case Op::extent:
      case Op::dim_index:
        return true;
      case Op::named:
        return n.operand < 0 || n.integral;
      case Op::neg:
        return arg(0, !above);
      case Op::abs:
        return !above || (arg(0, true) && arg(0, false));
      case Op::min2:
        return above ? arg(0, true) || arg(1, true) : arg(0, false) && arg(1, false);
      case Op::max2:
        return above ? arg(0, true) && arg(1, true) : arg(0, false) || arg(1, false);
      case Op::where:
        return arg(1, above) && arg(2, above);
      case Op::sub:
        return n.integral || (below_its_maximum(n) && above);
      case Op::max:
      case Op::min:
      case Op::forms:
        return arg(0, above);
      case Op::function: {
        static const std::set<std::string> rounds{"floor", "ceil", "trunc", "rint"};
        static const std::set<std::string> small{"sin", "cos", "tanh", "erf", "erfc", "normcdf"};
        return small.contains(n.text) || (rounds.contains(n.text) && arg(0, above)) ||
               (n.text == "exp" && (n.nonpositive || !above || arg(0, true)));
      }
      case Op::load:
      case Op::gather:
        return n.operand >= 0 && !operand(n).domain.empty();
      default:
        return n.integral;
    }
  }

  const OperandSpec& operand(const Node& n) const {
    return contract_.args[static_cast<size_t>(n.operand)];
  }

 private:
  /// Values of an operand with a domain, and those that the kernel wrote, are taken for numbers.
  bool node_may_be_nan(const Node& n) const {
    const bool loads = n.op == Op::load || n.op == Op::gather;
    if (loads && is_floating(n.type) && !n.from_output && operand(n).domain.empty()) return true;
    if (n.integral) return false;
    return std::any_of(n.args.begin(), n.args.end(), [&](int id) { return may_be_nan(id); });
  }

  bool below_its_maximum(const Node& difference) const {
    const Node& m = node(plain(difference.args[1]));
    return m.op == Op::max && plain(m.args[0]) == plain(difference.args[0]);
  }

  const Contract& contract_;
  const Graph& graph_;
  std::vector<bool> nan_;  ///< by node
};

bool is_extremum(const Node& n) {
  return n.op == Op::max || n.op == Op::min || n.op == Op::max2 || n.op == Op::min2;
}

/// An exponential that leaves the range where its result is not the output itself, which an
/// infinity would equal.
bool may_overflow(const FormulaFacts& facts, const Node& n) {
  if (n.op != Op::function || n.nonpositive) return false;
  const bool grows = n.text == "exp" || n.text == "exp2" || n.text == "expm1";
  return grows && !facts.bounded(n.args[0], true);
}

void add_policies(const Contract& contract, const Graph& graph, std::set<std::string>& lines) {
  const FormulaFacts facts(contract, graph);
  const Policy& policy = contract.policy;
  std::set<int> outputs;
  for (const FormulaRoot& root : graph.roots) {
    int id = facts.plain(root.node);
    while (facts.node(id).op == Op::forms) id = facts.plain(facts.node(id).args[0]);
    outputs.insert(id);
  }
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const Node& n = graph.nodes[k];
    const auto id = static_cast<int>(k);
    const bool ranks = n.op == Op::argmax || n.op == Op::argmin;
    const bool chooses = ranks || is_extremum(n);
    const bool of_nan =
        std::any_of(n.args.begin(), n.args.end(), [&](int arg) { return facts.may_be_nan(arg); });
    if (chooses && of_nan && !policy.nan) lines.insert(kAskNan);
    if (ranks && !policy.tie) lines.insert(kAskTie);
    if (may_overflow(facts, n) && !outputs.contains(id) && !policy.range) lines.insert(kAskRange);
    // `quant` saturates by its definition, and a conversion of integers wraps.
    const bool converts = n.op == Op::cast && n.text == "cast" && n.type != DType::boolean &&
                          !facts.node(n.args[0]).integral;
    const bool clamped =
        converts && facts.bounded(n.args[0], true) && facts.bounded(n.args[0], false);
    if (converts && !clamped && !policy.cast_overflow) lines.insert(kAskCast);
  }
}

/// The innermost name or call that a node was made of, as the formula says it.
std::string named(const Graph& graph, const Node& n) {
  if (n.op == Op::extent) return "size(" + graph.dims[static_cast<size_t>(n.dimension)] + ")";
  return n.text;
}

bool depends_on_sum(const FormulaFacts& facts, int id) {
  const Node& n = facts.node(facts.plain(id));
  if (!n.reduced.empty() && (n.op == Op::sum || n.op == Op::var || n.op == Op::mean)) return true;
  const bool passes = n.op == Op::mul || n.op == Op::div || n.op == Op::neg || n.op == Op::forms;
  return passes && std::any_of(n.args.begin(), n.args.end(),
                               [&](int arg) { return depends_on_sum(facts, arg); });
}

/// A real quotient by an index divides by 0 at once; a sum times an index is no sum of the
/// formula's kind: the extent is meant.
void add_indices(const Contract& contract, const Graph& graph, std::vector<Lint>& out) {
  const FormulaFacts facts(contract, graph);
  for (const Node& n : graph.nodes) {
    if (n.integral || (n.op != Op::div && n.op != Op::mul)) continue;
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const Node& index = facts.node(facts.plain(n.args[k]));
      if (index.op != Op::dim_index) continue;
      const bool divides = n.op == Op::div && k == 1;
      const bool scales = n.op == Op::mul && depends_on_sum(facts, n.args[1 - k]);
      if (!divides && !scales) continue;
      const std::string& name = graph.dims[static_cast<size_t>(index.dimension)];
      out.push_back({n.where_, "formula",
                     "`" + name + "` here is the index along " + name +
                         (divides ? ", 0 at first" : "") + "; write size(" + name +
                         ") for the extent"});
    }
  }
}

void add_quotients(const Graph& graph, std::vector<Lint>& out) {
  for (const Node& n : graph.nodes) {
    if (n.op != Op::div || !n.integral) continue;
    const Node& over = graph.nodes[static_cast<size_t>(n.args[0])];
    const Node& by = graph.nodes[static_cast<size_t>(n.args[1])];
    const bool is_number = over.op == Op::literal && over.integer > 0;
    if (!is_number || (by.op != Op::extent && by.op != Op::named)) continue;
    const std::string number = std::to_string(over.integer), name = named(graph, by);
    out.push_back({n.where_, "formula",
                   number + " / " + name + " divides integers and is 0 where " + name +
                       " is larger; write " + number + ".0 / " + name + " for the real quotient"});
  }
}

}  // namespace

std::vector<std::string> open_policies(const Contract& contract) {
  std::set<std::string> lines;
  for (const Variant& variant : pairwise_variants(contract))
    add_policies(contract, compile_formula(contract, variant), lines);
  for (const OracleSpec& oracle : contract.oracles) {
    if (oracle.op != "topk" && oracle.op != "sort") continue;
    const bool indices = std::any_of(oracle.roles.begin(), oracle.roles.end(),
                                     [](const OracleRole& role) { return role.name == "indices"; });
    if (indices && !contract.policy.tie) lines.insert(kAskTie);
  }
  std::vector<std::string> out;
  for (const char* line : {kAskNan, kAskTie, kAskRange, kAskCast})
    if (lines.contains(line)) out.emplace_back(line);
  return out;
}

std::vector<Lint> formula_slips(const Contract& contract) {
  std::vector<Lint> all, out;
  for (const Variant& variant : pairwise_variants(contract)) {
    const Graph graph = compile_formula(contract, variant);
    add_indices(contract, graph, all);
    add_quotients(graph, all);
  }
  for (Lint& lint : all) {
    const auto same = [&](const Lint& other) {
      return other.message == lint.message && other.where == lint.where;
    };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(lint));
  }
  return out;
}

}  // namespace assay
