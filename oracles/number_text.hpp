// Numbers as the reports print them: from their bits, the same on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// Shortest text that reads back as the same double.
std::string shortest(double x);
/// Shortest text that reads back in the element's own type.
std::string element_text(DType type, uint64_t bits);
/// As many digits as the exact value has beside it: 0.18 of one type and of another are not equal.
std::string full_text(DType type, uint64_t bits);
/// Six digits.
std::string brief(double x);
/// A multiple above 1 never reads as 1.
std::string multiple(double x);
/// The element's bits, as many digits as it has.
std::string hex(DType type, uint64_t bits);
std::string wide_text(__int128 x);

/// The 4-bit elements of a word, in the order of their indices: "8 7 6 5 4 3 2 1".
std::string packed_text(const Packing& pack, uint64_t word);

}  // namespace assay
