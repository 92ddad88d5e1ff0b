// What the nodes of a formula's graph say, as text for reports.
#pragma once

#include <string>

#include "oracles/graph.hpp"

namespace assay {

/// The formula behind a node, without the roundings: "sum((x * x), cols)".
std::string formula_text(const Contract& contract, const Graph& graph, const Node& node);

}  // namespace assay
