// The table of elementwise functions that formulas may call.
#include "oracles/functions.hpp"

#include <array>
#include <cmath>

namespace assay {

namespace {

bool at_zero(double x, double) { return x == 0; }
bool at_one(double x, double) { return x == 1; }
bool on_an_axis(double x, double y) { return x == 0 || y == 0; }
bool power_is_one(double x, double y) { return y == 0 || x == 1 || (x == -1 && std::isinf(y)); }

}  // namespace

const FunctionInfo* find_function(std::string_view name) {
  static constexpr auto table = std::to_array<FunctionInfo>({
      {"exp", 1, Shape::increasing},
      {"exp2", 1, Shape::increasing, 0, false, at_zero},
      {"exp10", 1, Shape::increasing, 0, false, at_zero},
      {"expm1", 1, Shape::increasing},
      {"log", 1, Shape::increasing},
      {"log2", 1, Shape::increasing},
      {"log10", 1, Shape::increasing},
      {"log1p", 1, Shape::increasing},
      {"sqrt", 1, Shape::increasing},
      {"rsqrt", 1, Shape::decreasing},
      {"cbrt", 1, Shape::increasing},
      {"sin", 1, Shape::lipschitz, 1},
      {"hypot", 2, Shape::other, 0, false, on_an_axis},
      {"cos", 1, Shape::lipschitz, 1, false, at_zero},
      {"tan", 1, Shape::other},
      {"asin", 1, Shape::increasing},
      {"acos", 1, Shape::decreasing, 0, false, at_one},
      {"atan", 1, Shape::increasing},
      {"sinh", 1, Shape::increasing},
      {"cosh", 1, Shape::other, 0, false, at_zero},
      {"tanh", 1, Shape::increasing},
      {"asinh", 1, Shape::increasing},
      {"acosh", 1, Shape::increasing, 0, false, at_one},
      {"atanh", 1, Shape::increasing},
      {"erf", 1, Shape::increasing},
      {"erfc", 1, Shape::decreasing},
      {"normcdf", 1, Shape::increasing},
      {"floor", 1, Shape::step, 0, true},
      {"ceil", 1, Shape::step, 0, true},
      {"trunc", 1, Shape::step, 0, true},
      {"rint", 1, Shape::step, 0, true},
      {"is_nan", 1, Shape::other, 0, true},
      {"is_inf", 1, Shape::other, 0, true},
      {"pow", 2, Shape::other, 0, false, power_is_one},
      {"atan2", 2, Shape::other},
      {"fmod", 2, Shape::other, 0, true},
      {"copysign", 2, Shape::other, 0, true},
  });
  for (const FunctionInfo& info : table)
    if (info.name == name) return &info;
  return nullptr;
}

}  // namespace assay
