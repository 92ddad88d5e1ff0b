// Is one output element right? The rounding cell of what the kernel wrote must meet the enclosure
// [exact - lo, exact + hi] (rule R4).
#pragma once

#include <cmath>
#include <cstdint>

#include "kernels_under_test/dtype.hpp"

namespace assay {

/// The reals that round to one number of a format, as distances from it.
struct Cell {
  double value = 0;     ///< the number
  double below = 0;     ///< down to value - below ...
  double above = 0;     ///< ... up to value + above
  bool closed = false;  ///< the ends belong to it: its significand is even
};
Cell cell_of(DType type, uint64_t bits);

/// What a tier knows about one element.
struct Margins {
  bool nan = false;     ///< the exact value is NaN
  int infinite = 0;     ///< its sign when it is infinite
  double value = 0;     ///< a double near it
  bool beyond = false;  ///< finite, but larger than any double: `value` is the largest
  double value_error = 0;
  /// got - cell.below - (exact + hi), and (exact - lo) - (got + cell.above), each within its error:
  /// positive means outside.
  double over = 0;
  double over_error = 0;
  double under = 0;
  double under_error = 0;
};

enum class Decision { accepted, rejected, doubt };

/// Margins of the first tier; v is within e of the exact value.
Margins margins_of(const Cell& cell, double v, double e, double lo, double hi);

/// Decides one element. `lo`, `hi`: the allowance, which may be infinite or NaN (anything).
Decision decide(DType type, const Cell& cell, const Margins& margins, double lo, double hi);

/// How far an element lies from its exact value, as a multiple of what is allowed on that side.
struct Excess {
  double distance = 0;   ///< |got - exact|
  double allowance = 0;  ///< the side's allowance and half an ulp of the exact value
  double internal = 0;   ///< the side's allowance alone
  /// Above 1 exactly when the element is outside; infinite where the two cannot be compared (NaN,
  /// infinities).
  double times = 0;
  double times_internal = 0;  ///< the same without the cell; infinite when nothing is allowed
};
Excess excess_of(DType type, const Cell& cell, const Margins& margins, double lo, double hi);

/// The allowance accepts any value at all, NaN included.
inline bool accepts_anything(double lo, double hi) {
  return std::isnan(lo) || std::isnan(hi) || (std::isinf(lo) && std::isinf(hi));
}

}  // namespace assay
