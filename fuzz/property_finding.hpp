// How a property that does not hold is told: both values, what else differs, a likely reason.
#pragma once

#include <string>
#include <vector>

#include "compilers/program.hpp"
#include "fuzz/properties.hpp"

namespace assay {

/// Derived values and launches of a property's other run that are not those of the case's own:
/// "S = 4, here 1", "grid [16, 1, 1], here [1, 1, 1]".
std::vector<std::string> differences(const Instance& own, const Instance& other);

/// What is wrong with a property's other run: "row 0 alone gives y[0, 5] = A, as row 0 of 16 it
/// gives B". "" when nothing is.
std::string problem_of(const Instance& own, const ComparedRun& run);

/// Where programs first add floating-point numbers by atomics, "sum.cu:12"; "" where they do not.
std::string float_atomics(const std::vector<Program>& programs);

}  // namespace assay
