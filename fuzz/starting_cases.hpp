// The cases that open a run.
#pragma once

#include <vector>

#include "generators/thresholds.hpp"

namespace assay {

/// Constants above 257 that the compiled kernel compares a size with: immediates of `setp` against
/// a scalar parameter that the contract says is the size, in one variant of each launch. What is
/// computed from the size first is not followed. Empty where the source does not compile here.
SizeValues compared_sizes(const Contract& contract);

/// The covering cases, and batches past what compared_sizes finds.
std::vector<Case> starting_cases(const Contract& contract);

}  // namespace assay
