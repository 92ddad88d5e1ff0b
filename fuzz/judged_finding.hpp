// What is told of a mismatch beyond the judge's counts: that no block of the grid owns what is
// wrong, that a kernel called in place left it alone.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generators/instance.hpp"
#include "oracles/verdict.hpp"

namespace assay {

/// An element of an output by its logical index.
using OutputElement = std::pair<std::string, int64_t>;

/// The elements that speak for a mismatch: the worst, the first and the last that is listed, each
/// once; of unwritten ones the first and the last.
std::vector<OutputElement> telling_elements(const Verdict& verdict);

/// Of a mismatch: "; y[65535, 0] is owned by no block of grid [65535, 1, 1], and rows=65536 is
/// admitted", where that is so of one of its telling elements; "" where each has an owner.
std::string unowned_text(const Instance& instance, const Verdict& verdict);

}  // namespace assay
