// Outputs that a formula names by index: "cache[slot = slots]" = "k" (rules R17, R18).
#pragma once

#include "oracles/case_judge.hpp"

namespace assay {

/// Judges an output whose elements are written, or added to, by the points of index operands.
void judge_scatter(CaseState& state, const FormulaRoot& root, const Tensor& output);

}  // namespace assay
