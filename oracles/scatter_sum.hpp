// "hist[bins = x]" = "add(1)": elements to which every writer that names them adds (rule R19).
#pragma once

#include "oracles/case_judge.hpp"

namespace assay {

/// An inout operand starts at what it held, an output at 0: there every element must be written.
void judge_scatter_sum(CaseState& state, const FormulaRoot& root, const Tensor& output);

}  // namespace assay
