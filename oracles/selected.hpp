// Which elements of a formula's operands reach one element of its result: those that a `where`
// masks off do not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "oracles/evaluate.hpp"
#include "oracles/graph.hpp"

namespace assay {

/// Is `holds` true of some operand element (of floating type) that one of the elements `positions`
/// of `top`'s array in the chunk is made from? A condition chooses and is no part of the result;
/// where it may go either way both branches are.
bool any_selected(const Graph& graph, RowEvaluator& rows, const Chunk& chunk, int top,
                  std::span<const int64_t> positions, const std::function<bool(double)>& holds);

}  // namespace assay
