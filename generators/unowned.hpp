// What a contract's `owns` says of one element: which blocks write it, or that none does.
#pragma once

#include <optional>
#include <vector>

#include "generators/instance.hpp"

namespace assay {

/// Blocks of the case's only launch that own an element of a judged output, by linear index, at
/// most `most` of them, ascending; whichever blocks the case runs. Empty: no block does, or it
/// cannot be told.
std::vector<int64_t> owners_of(const Instance& instance, const Tensor& output,
                               const std::vector<int64_t>& element, size_t most);

/// An element that no block of the whole grid owns, whichever of them the case runs: a grid that
/// does not reach all of the output shows at one of its corners. nullopt: each has an owner, or it
/// cannot be told.
std::optional<std::vector<int64_t>> unowned_element(const Instance& instance,
                                                    const Tensor& output);

/// Whether no block of the whole grid owns this element; false where that cannot be told.
bool is_unowned(const Instance& instance, const Tensor& output, const std::vector<int64_t>& at);

}  // namespace assay
