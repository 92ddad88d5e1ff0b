// Extrema of errors and deviations, of which NaN says that nothing is known: it stays NaN.
// std::max(0.0, NaN) is 0, and would make a bound of none.
#pragma once

#include <cmath>

namespace assay {

inline double larger(double a, double b) { return a < b || std::isnan(b) ? b : a; }
inline double smaller(double a, double b) { return b < a || std::isnan(b) ? b : a; }
/// max(0, x)
inline double positive_part(double x) { return x < 0 ? 0 : x; }

}  // namespace assay
