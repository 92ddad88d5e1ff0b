// Facts of [accuracy] that apply to nothing in a contract's formula.
#include <algorithm>
#include <functional>

#include "fuzz/findings.hpp"
#include "fuzz/lint.hpp"
#include "kernels_under_test/toml_document.hpp"
#include "kernels_under_test/variants.hpp"
#include "oracles/graph.hpp"

namespace assay {
namespace {

/// Of more variants than these, what the others compile to is not looked at, and no fact is called
/// idle.
constexpr int kMostVariants = 1024;

/// A fact that some node of a formula must bear out.
struct Fact {
  const TomlEntry* entry;
  std::string name;  ///< as messages call it
  std::string of;    ///< what it speaks of
  std::function<bool(const Graph&, const Node&)> holds;
  bool idle = true;
};

bool sums_reals(const Node& n) {
  return !n.integral &&
         (n.op == Op::sum || n.op == Op::mean || n.op == Op::var || n.op == Op::cumsum);
}

/// Sums by index have no node of their own: the root adds.
bool adds_reals(const Graph& graph) {
  return std::any_of(graph.roots.begin(), graph.roots.end(), [&graph](const FormulaRoot& root) {
    return root.accumulates && !graph.nodes[static_cast<size_t>(root.node)].integral;
  });
}

void add_depth(const TomlEntry& entry, std::vector<Fact>& facts) {
  const std::string sums = "sums, means, variances and cumulative sums of real numbers";
  if (entry.value.kind != TomlValue::Kind::table) {
    facts.push_back({&entry, "`depth`", sums, [](const Graph& graph, const Node& n) {
                       return sums_reals(n) || adds_reals(graph);
                     }});
    return;
  }
  for (const TomlEntry& along : entry.value.entries)
    facts.push_back({&along, "`depth` along '" + along.key + "'", sums + " over that dimension",
                     [name = along.key](const Graph& graph, const Node& n) {
                       const auto is = [&](int dim) {
                         return graph.dims[static_cast<size_t>(dim)] == name;
                       };
                       return sums_reals(n) && std::any_of(n.reduced.begin(), n.reduced.end(), is);
                     }});
}

void add_fact(const TomlEntry& entry, const Accuracy& accuracy, std::vector<Fact>& facts) {
  const auto add = [&](const std::string& of, std::function<bool(const Node&)> holds) {
    facts.push_back({&entry, "`" + entry.key + "`", of,
                     [holds](const Graph&, const Node& n) { return holds(n); }});
  };
  if (entry.key == "depth") return add_depth(entry, facts);
  if (entry.key == "online")
    add("weights exp(x - m), where m is max(x, D) over one dimension, or max() of that and of "
        "operands without it, in one formula with them",
        [](const Node& n) { return n.op == Op::rescaled; });
  if (entry.key == "exp" && accuracy.exp == ExpForm::prescaled)
    add("exp()", [](const Node& n) { return n.op == Op::prescaled; });
  if (entry.key == "variance" && accuracy.variance == VarianceForm::one_pass)
    add("var(x, D), however it is written", [](const Node& n) { return n.op == Op::var; });
  if (entry.key == "variance" && accuracy.variance == VarianceForm::welford)
    add("var(x, D) and mean(x, D)",
        [](const Node& n) { return n.op == Op::var || n.op == Op::mean; });
  if (entry.key == "mma")
    add("sums of products of two values of one type that tensor cores take, with `accumulate` "
        "other than f64",
        [](const Node& n) { return n.mma_products > 0; });
}

}  // namespace

std::vector<Lint> idle_facts(const Contract& contract) {
  const TomlValue document = parse_toml(read_text(contract.path), contract.path);
  const TomlEntry* section = document.find("accuracy");
  std::vector<Fact> facts;
  if (section == nullptr) return {};
  for (const TomlEntry& entry : section->value.entries) add_fact(entry, contract.accuracy, facts);
  const auto idle = [](const Fact& fact) { return fact.idle; };
  int variants = 0;
  for_variants(contract, [&](const Variant& variant) {
    if (++variants > kMostVariants) return false;
    const Graph graph = compile_formula(contract, variant);
    for (Fact& fact : facts)
      fact.idle = fact.idle && std::none_of(graph.nodes.begin(), graph.nodes.end(),
                                            [&](const Node& n) { return fact.holds(graph, n); });
    return std::any_of(facts.begin(), facts.end(), idle);
  });
  std::vector<Lint> out;
  for (const Fact& fact : facts)
    if (fact.idle && variants <= kMostVariants)
      out.push_back({fact.entry->where, "unused",
                     fact.name +
                         " of [accuracy] applies to nothing in the formula, and allows for "
                         "nothing: it speaks of " +
                         fact.of});
  return out;
}

}  // namespace assay
