// Which elements of a formula's operands reach one element of its result: those that a `where`
// masks off do not.
#pragma once

#include <cstdint>
#include <functional>

#include "oracles/evaluate.hpp"
#include "oracles/graph.hpp"

namespace assay {

/// Is `holds` true of some operand element (of floating type) that element `position` of `top`'s
/// array in the chunk is made from? A condition chooses and is no part of the result; where it may
/// go either way both branches are.
bool any_selected(const Graph& graph, RowEvaluator& rows, const Chunk& chunk, int top,
                  int64_t position, const std::function<bool(double)>& holds);

}  // namespace assay
