#include "oracles/nan_origin.hpp"

#include <algorithm>
#include <cmath>

#include "oracles/formula_text.hpp"

namespace assay {

std::string nan_origin(const Contract& contract, const Graph& graph, RowEvaluator& rows,
                       const Chunk& whole, int top) {
  // Arguments come before what is made of them: the first is the origin.
  for (int id = 0; id <= top; ++id) {
    const Node& node = graph.nodes[static_cast<size_t>(id)];
    if (node.integral || !graph.feeds(id, top)) continue;
    const Value& value = rows.at(id, whole);
    if (value.v == nullptr) continue;
    const auto is_nan = [](double v) { return std::isnan(v); };
    if (std::none_of(value.v, value.v + value.grid.size, is_nan)) continue;
    const std::string text = formula_text(contract, graph, node);
    const bool held = node.op == Op::load || node.op == Op::gather || node.op == Op::named;
    return ": " + text + (held ? " holds it" : " makes it");
  }
  return "";
}

}  // namespace assay
