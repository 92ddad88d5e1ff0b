// Where a function that is neither monotonic nor of bounded slope may lie over a box of arguments.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "oracles/node_work.hpp"

namespace assay {

/// Values of the function at n points, each within its error; y is ignored by functions of one
/// argument.
using PointValues =
    std::function<void(int n, const double* x, const double* y, double* v, double* e)>;

/// Between which numbers f(x, y) lies for x and y between their ends (both one number of one sign:
/// known exactly), rounded outward; an end may be infinite. Nothing where NaN, or a pole of either
/// sign, may be among the values. A zero that is not known exactly, as from -0 to +0, may have
/// either sign.
std::optional<Ends> range_over_box(std::string_view function, const Ends& x, const Ends& y,
                                   const PointValues& values);

}  // namespace assay
