// A few variants that show every pair of choices.
#pragma once

#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// Variants in which every two choices (a dtype, a knob's value, a flag) that the relations over
/// dtypes, knobs and flags admit together stand together at least once, and every single one too:
/// most bugs need no more than two (Kuhn, Wallace and Gallo, IEEE TSE 30(6), 2004). The first ones
/// show each single choice soonest. Empty when the relations admit nothing. Deterministic.
std::vector<Variant> pairwise_variants(const Contract& contract);

}  // namespace assay
