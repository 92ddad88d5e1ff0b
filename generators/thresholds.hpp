// Sizes at which a contract's launches change.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
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

/// What an expression over sizes, choices, derived values and integer scalars is in a case; nullopt
/// where it needs more than those (a stride).
std::optional<int64_t> launch_number(const Contract& contract, const Case& c, const Expr& expr);

/// Numbers by the name of a size.
using SizeValues = std::map<std::string, std::vector<int64_t>>;

/// Cases that compare a row alone with it in a batch one larger than each of the numbers that the
/// rows are `compared` with, where a property says that the rows are independent (properties.cpp).
std::vector<Case> batches_past(const Contract& contract, const SizeValues& compared);

}  // namespace assay
