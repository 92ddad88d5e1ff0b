// The variants of a contract: every choice of dtypes, knobs and flags.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// Calls `visit` for each variant that the relations over dtypes, knobs and flags alone admit
/// (others are left to each case's own check), the last choice varying fastest, until it returns
/// false.
void for_variants(const Contract& contract, const std::function<bool(const Variant&)>& visit);

/// What a name stands for in a relation over choices: a knob's or flag's value, a dtype's number;
/// nullopt for others and for what is not chosen yet.
std::optional<int64_t> choice_value(const Variant& variant, std::string_view name);

/// Whether the relations over dtypes, knobs and flags alone leave room for these choices; those not
/// made yet are free.
bool admits_choices(const Contract& contract, const Variant& partial);

/// How many variants the contract admits; 2^20 stands for that many or more.
int64_t count_variants(const Contract& contract);

/// The variants whose choices are what `only` says ("T=f16", "OP=3"). Throws InputError for a name
/// or a value that the contract does not have, and when more than `most` remain.
std::vector<Variant> chosen_variants(const Contract& contract, const std::vector<std::string>& only,
                                     size_t most);

}  // namespace assay
