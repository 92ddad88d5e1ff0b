// The edges of what an operand is rounded or cast to, for each pair of types.
#include <algorithm>
#include <set>

#include "generators/draft.hpp"

namespace assay {
namespace {

constexpr int64_t kMostEdgeWork = 1 << 16;

/// Gives an operand some hundreds of elements by the first of its sizes that admits them.
bool lengthen(const Facts& facts, const OperandSpec& operand, Case& c) {
  constexpr int64_t kElements = 400;
  for (const SizeSpec* size : extent_sizes(facts.contract, operand)) {
    if (!size->in.empty()) continue;
    const Case least = c;
    for (int64_t wanted = kElements; wanted >= 8; wanted /= 2) {
      c.sizes[size->name] = std::clamp(wanted, size->min, size->max);
      fit_ties(facts.contract, size->name, c);
      const auto work = work_if_valid(facts.contract, c);
      if (work && *work <= kMostEdgeWork) return true;
    }
    c = least;
  }
  return work_if_valid(facts.contract, c).has_value();
}

}  // namespace

void add_rounding_edges(const Facts& facts, int variants,
                        const std::function<void(int, Case&)>& choose, std::vector<Case>& out) {
  std::set<std::pair<DType, DType>> seen;
  for (int i = 0; i < variants; ++i) {
    Case c;
    c.kernel = facts.contract.name;
    choose(i, c);
    for (const OperandSpec& operand : facts.contract.args) {
      if (operand.kind != OperandKind::input) continue;
      const DType from = resolve_dtype(operand, c.variant());
      for (const DType to : rounded_types(facts.contract, c.variant(), from)) {
        if (!seen.emplace(from, to).second) continue;
        Random random(static_cast<uint64_t>(7000 + seen.size()));
        Case edges = c;
        edges.sizes = least_case(facts.contract).sizes;
        fit_ties(facts.contract, "", edges);
        telling_values(facts, random, edges);
        edges.values[operand.name] = rounding_edges_recipe(to);
        edges.value_seed = seen.size();
        if (lengthen(facts, operand, edges)) out.push_back(std::move(edges));
      }
    }
  }
}

}  // namespace assay
