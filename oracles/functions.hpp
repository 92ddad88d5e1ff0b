// Elementwise functions: how each behaves, for the propagation of enclosures through it.
#pragma once

#include <string_view>

namespace assay {

enum class Shape : unsigned char {
  increasing,  ///< with a slope that grows or falls on either side of 0: no inflection elsewhere
  decreasing,  ///< likewise
  lipschitz,   ///< |f(x) - f(y)| <= slope |x - y|, and f within [-1, 1]
  step,        ///< increasing and piecewise constant, exact on any argument: floor, rint, ...
  other,       ///< over a box of inexact arguments: function_range.hpp
};

struct FunctionInfo {
  std::string_view name;
  int arguments = 1;
  Shape shape = Shape::other;
  double slope = 0;
  bool exact = false;  ///< a kernel computes it without error: floor, fmod, copysign, is_nan
  /// Finite arguments at which the CUDA Math API documents the value itself, 0 aside: pow(x, 0) is 1.
  bool (*documented_at)(double x, double y) = nullptr;
};

/// Null for a function that the judge does not know.
const FunctionInfo* find_function(std::string_view name);

/// The double nearest to the exact value (multiprecision inside); the sign of zero as IEEE 754's
/// recommended functions have it. y is ignored by functions of one argument. Sines of arguments
/// beyond 2^128 are not known; ask `is_known` first.
double nearest_value(std::string_view function, double x, double y);
inline bool is_known(std::string_view function, double x) {
  const bool periodic = function == "sin" || function == "cos" || function == "tan";
  return !periodic || !(x > 0x1p128 || x < -0x1p128);
}

}  // namespace assay
