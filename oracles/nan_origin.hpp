// Which term of a formula makes the NaN that is expected of an element.
#pragma once

#include <string>

#include "oracles/evaluate.hpp"

namespace assay {

/// ": x holds it" where an input does; ": log(x) makes it", of the first node on the way to `top`
/// that is NaN without a NaN among its arguments; "" where none is seen in doubles. `whole` is the
/// element with all that its reductions run over.
std::string nan_origin(const Contract& contract, const Graph& graph, RowEvaluator& rows,
                       const Chunk& whole, int top);

}  // namespace assay
