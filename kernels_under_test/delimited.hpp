// Sequences that prefix sums delimit: the rows of sequence i are those from sums[i] to sums[i + 1].
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

struct DelimitedDimension {
  std::string dimension;          ///< of the rows, one sequence after the other
  const OperandSpec* sums = nullptr;  ///< of the contract: has `prefix_sum_of`
};

/// True when the operand holds the prefix sums of lengths along `sequences`.
bool sums_along(const Contract& contract, const OperandSpec& operand, std::string_view sequences);

/// The dimensions on which sequences along `sequences` follow each other: those of which an
/// operand's `live` says `n < sums[...]`.
std::vector<DelimitedDimension> delimited_dimensions(const Contract& contract,
                                                     std::string_view sequences);

}  // namespace assay
