// Sizes at which a contract's launches change.
#pragma once

#include <cstdint>
#include <vector>

#include "generators/case.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

/// Values of `size`, ascending: the first one past each place where the two sides of a comparison
/// change order, or the arguments of a min or max, in launches (grid, block, shared, when) and
/// derived values; and past which an axis of a grid has more than 65,535 blocks. The case's other
/// sizes and its choices stay. `rows > 512` and `min(rows, 512)` give 513, `ceil_div(rows, 4) >=
/// 129` gives 517. Empty for a size that the contract lists.
std::vector<int64_t> thresholds(const Contract& contract, const Case& c, const SizeSpec& size);

}  // namespace assay
