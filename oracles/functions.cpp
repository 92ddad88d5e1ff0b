// The table of elementwise functions that formulas may call.
#include "oracles/functions.hpp"

#include <array>

namespace assay {

const FunctionInfo* find_function(std::string_view name) {
  static constexpr auto table = std::to_array<FunctionInfo>({
      {"exp", 1, Shape::increasing},      {"exp2", 1, Shape::increasing},
      {"expm1", 1, Shape::increasing},    {"log", 1, Shape::increasing},
      {"log2", 1, Shape::increasing},     {"log10", 1, Shape::increasing},
      {"log1p", 1, Shape::increasing},    {"sqrt", 1, Shape::increasing},
      {"rsqrt", 1, Shape::decreasing},    {"sin", 1, Shape::lipschitz, 1},
      {"cos", 1, Shape::lipschitz, 1},    {"tan", 1, Shape::other},
      {"tanh", 1, Shape::increasing},     {"erf", 1, Shape::increasing},
      {"erfc", 1, Shape::decreasing},     {"floor", 1, Shape::step, 0, true},
      {"ceil", 1, Shape::step, 0, true},  {"trunc", 1, Shape::step, 0, true},
      {"rint", 1, Shape::step, 0, true},  {"is_nan", 1, Shape::other, 0, true},
      {"pow", 2, Shape::other},           {"atan2", 2, Shape::other},
      {"fmod", 2, Shape::other, 0, true}, {"copysign", 2, Shape::other, 0, true},
  });
  for (const FunctionInfo& info : table)
    if (info.name == name) return &info;
  return nullptr;
}

}  // namespace assay
