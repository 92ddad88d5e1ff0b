// Elements that a kernel must leave as they were, and how much of an output is valid.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "oracles/case_judge.hpp"

namespace assay {

/// Elements of `output` for which `free(logical)` does not hold must have the bits that they had
/// before the run: what an inout operand held, an output's poison. Looks only where the kernel
/// stored. `why`: "no index names it".
void judge_untouched(CaseState& state, const Tensor& output, const char* rule,
                     const std::string& why, const std::function<bool(int64_t logical)>& free);

/// The elements that `valid` names, by what the kernel wrote where it speaks of outputs; everything
/// without one.
Box valid_box(const Instance& instance, const OutputReader& outputs, const Tensor& output);

Box intersection(const Box& a, const Box& b);

}  // namespace assay
