// The functions that a formula may use: one table for the contract's checks and for the judge.
//
// In a formula a dimension's name is its index, and arithmetic broadcasts over dimensions by name.
// Besides these functions a formula has the operators of the expression language, `c ? a : b`,
// gathers `table[V = idx]` and `x.before`.
#pragma once

#include <array>
#include <string_view>

namespace assay {

enum class FormulaForm {
  elementwise,  ///< of operands only
  reduction,    ///< sum(x, cols, ...): the arguments after the first name dimensions, which go
  scan,         ///< cumsum(x, cols), softmax(x, cols): the named dimensions stay
  reduction_or_pair,  ///< max(x, cols, ...), or elementwise max(a, b)
  typed,              ///< round(x, T): the last argument names a type parameter or a dtype
  of_type,            ///< qmax(T): the only argument names a type
  of_output,          ///< given(scale): the only argument names an output
  of_dimension,       ///< size(cols): the only argument names a dimension or a size
};

/// What decides which values tell right and wrong kernels apart; bits of FormulaFunction::traits.
enum FormulaTrait : unsigned {
  kAdds = 1,         ///< adds up elements: integers within the accumulator make it exact
  kSelects = 2,      ///< one element decides: max, softmax by the one that is subtracted
  kRanks = 4,        ///< and its index is the answer
  kExponential = 8,  ///< grows or vanishes with the exponent of e or 2: overflow near 88.7
  kSaturates = 16,   ///< made of exponentials, but bounded
  kCentres = 32,     ///< an offset that all elements share cancels, or a square root is near 0
};

struct FormulaFunction {
  std::string_view name;
  int min_arguments;
  int max_arguments;
  FormulaForm form;
  unsigned traits = 0;  ///< FormulaTrait, or-ed

  constexpr bool has(unsigned trait) const { return (traits & trait) != 0; }
  /// May run over dimensions, which its arguments after the first name.
  constexpr bool reduces() const {
    return form == FormulaForm::reduction || form == FormulaForm::scan ||
           form == FormulaForm::reduction_or_pair;
  }
};

/// Most dimensions that a reduction may name at once.
inline constexpr int kMaxReducedDimensions = 8;

inline constexpr std::array kFormulaFunctions = std::to_array<FormulaFunction>({
    {"where", 3, 3, FormulaForm::elementwise},
    {"abs", 1, 1, FormulaForm::elementwise},
    {"exp", 1, 1, FormulaForm::elementwise, kExponential},
    {"exp2", 1, 1, FormulaForm::elementwise, kExponential},
    {"exp10", 1, 1, FormulaForm::elementwise, kExponential},
    {"expm1", 1, 1, FormulaForm::elementwise, kExponential},
    {"log", 1, 1, FormulaForm::elementwise},
    {"log2", 1, 1, FormulaForm::elementwise},
    {"log10", 1, 1, FormulaForm::elementwise},
    {"log1p", 1, 1, FormulaForm::elementwise},
    {"sqrt", 1, 1, FormulaForm::elementwise, kCentres},
    {"rsqrt", 1, 1, FormulaForm::elementwise, kCentres},
    {"cbrt", 1, 1, FormulaForm::elementwise},
    {"sin", 1, 1, FormulaForm::elementwise},
    {"cos", 1, 1, FormulaForm::elementwise},
    {"tan", 1, 1, FormulaForm::elementwise},
    {"asin", 1, 1, FormulaForm::elementwise},
    {"acos", 1, 1, FormulaForm::elementwise},
    {"atan", 1, 1, FormulaForm::elementwise},
    {"sinh", 1, 1, FormulaForm::elementwise, kExponential},
    {"cosh", 1, 1, FormulaForm::elementwise, kExponential},
    {"tanh", 1, 1, FormulaForm::elementwise, kSaturates},
    {"asinh", 1, 1, FormulaForm::elementwise},
    {"acosh", 1, 1, FormulaForm::elementwise},
    {"atanh", 1, 1, FormulaForm::elementwise},
    {"erf", 1, 1, FormulaForm::elementwise},
    {"erfc", 1, 1, FormulaForm::elementwise},
    {"normcdf", 1, 1, FormulaForm::elementwise},
    {"sigmoid", 1, 1, FormulaForm::elementwise, kSaturates},
    {"silu", 1, 1, FormulaForm::elementwise},
    {"gelu", 1, 1, FormulaForm::elementwise},
    {"gelu_tanh", 1, 1, FormulaForm::elementwise},
    {"softplus", 1, 1, FormulaForm::elementwise},
    {"logsigmoid", 1, 1, FormulaForm::elementwise},
    {"floor", 1, 1, FormulaForm::elementwise},
    {"ceil", 1, 1, FormulaForm::elementwise},
    {"trunc", 1, 1, FormulaForm::elementwise},
    {"rint", 1, 1, FormulaForm::elementwise},
    {"is_nan", 1, 1, FormulaForm::elementwise},
    {"is_inf", 1, 1, FormulaForm::elementwise},
    {"pow", 2, 2, FormulaForm::elementwise},
    {"atan2", 2, 2, FormulaForm::elementwise},
    {"hypot", 2, 2, FormulaForm::elementwise},
    {"fmod", 2, 2, FormulaForm::elementwise},
    {"copysign", 2, 2, FormulaForm::elementwise},
    {"maximum", 2, 2, FormulaForm::elementwise},
    {"minimum", 2, 2, FormulaForm::elementwise},
    {"div_trunc", 2, 2, FormulaForm::elementwise},
    {"div_floor", 2, 2, FormulaForm::elementwise},
    {"mod_trunc", 2, 2, FormulaForm::elementwise},
    {"mod_floor", 2, 2, FormulaForm::elementwise},
    {"max", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction_or_pair, kSelects},
    {"min", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction_or_pair, kSelects},
    {"sum", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction, kAdds},
    {"mean", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction, kAdds | kCentres},
    {"amax", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction, kSelects},
    {"amin", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction, kSelects},
    {"var", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction, kAdds | kCentres},
    {"logsumexp", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction, kAdds | kExponential},
    {"argmax", 2, 2, FormulaForm::reduction, kSelects | kRanks},
    {"argmin", 2, 2, FormulaForm::reduction, kSelects | kRanks},
    {"cumsum", 2, 2, FormulaForm::scan, kAdds},
    {"cumsum_exclusive", 2, 2, FormulaForm::scan, kAdds},
    {"cumsum_reversed", 2, 2, FormulaForm::scan, kAdds},
    {"softmax", 2, 1 + kMaxReducedDimensions, FormulaForm::scan, kAdds | kSelects | kExponential},
    {"log_softmax", 2, 1 + kMaxReducedDimensions, FormulaForm::scan,
     kAdds | kSelects | kExponential},
    {"round", 2, 2, FormulaForm::typed},
    {"quant", 2, 2, FormulaForm::typed},
    {"cast", 2, 2, FormulaForm::typed},
    {"qmax", 1, 1, FormulaForm::of_type},
    {"given", 1, 1, FormulaForm::of_output},
    {"size", 1, 1, FormulaForm::of_dimension},
});

/// A reduction without a trait would get neither exact nor telling data.
constexpr bool every_reduction_is_classified() {
  for (const FormulaFunction& function : kFormulaFunctions)
    if (function.reduces() && !function.has(kAdds | kSelects)) return false;
  return true;
}
static_assert(every_reduction_is_classified());

/// The function of that name, or null.
constexpr const FormulaFunction* find_formula_function(std::string_view name) {
  for (const FormulaFunction& function : kFormulaFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace assay
