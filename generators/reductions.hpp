// What a contract's formula reduces, and cases in which it reduces much.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generators/instance.hpp"
#include "generators/values.hpp"

namespace assay {

// reduced_dimensions() is in generators/values.hpp.

/// Value operands (inputs and inouts) that a reduction of the formula reads, by way of other lines
/// too, in order of appearance.
std::vector<std::string> reduced_operands(const Contract& contract);

/// The most elements that one reduction of the case runs over, by its longest dimension; 0 where
/// the formula reduces nothing.
int64_t reduced_extent(const Instance& instance);

/// The case with a reduction over about `extent` elements, and little else: sizes with limits are
/// at 2 or less but for the one that makes it long, layouts and blocks are plain. Choices and
/// values stay, and listed sizes where the work allows it, else they are the first of their lists. nullopt where no size of the contract makes it longer than
/// `more_than`, or where that costs more than `work_limit` (work_estimate).
std::optional<Case> lengthened(const Contract& contract, Case c, int64_t extent, int64_t more_than,
                               int64_t work_limit);

}  // namespace assay
