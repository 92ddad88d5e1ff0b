// A few variants, and a few of the sizes that are lists, that show every pair of choices.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// Variants in which every two choices (a dtype, a knob's value, a flag) that the relations over
/// dtypes, knobs and flags admit together stand together at least once, and every single one too:
/// most bugs need no more than two (Kuhn, Wallace and Gallo, IEEE TSE 30(6), 2004). The first ones
/// show each single choice soonest. Empty when the relations admit nothing. Deterministic.
std::vector<Variant> pairwise_variants(const Contract& contract);

/// Values of the sizes that a contract lists (`in`), so that every two stand together at least
/// once: a wrong map of heads to groups needs several of both. Whether relations admit them is left
/// to each case. One empty map where no size is listed.
std::vector<std::map<std::string, int64_t>> pairwise_listed_sizes(const Contract& contract);

}  // namespace assay
