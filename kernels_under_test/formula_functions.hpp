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

struct FormulaFunction {
  std::string_view name;
  int min_arguments;
  int max_arguments;
  FormulaForm form;
};

/// Most dimensions that a reduction may name at once.
inline constexpr int kMaxReducedDimensions = 8;

inline constexpr std::array kFormulaFunctions = std::to_array<FormulaFunction>({
    {"where", 3, 3, FormulaForm::elementwise},
    {"abs", 1, 1, FormulaForm::elementwise},
    {"exp", 1, 1, FormulaForm::elementwise},
    {"exp2", 1, 1, FormulaForm::elementwise},
    {"exp10", 1, 1, FormulaForm::elementwise},
    {"expm1", 1, 1, FormulaForm::elementwise},
    {"log", 1, 1, FormulaForm::elementwise},
    {"log2", 1, 1, FormulaForm::elementwise},
    {"log10", 1, 1, FormulaForm::elementwise},
    {"log1p", 1, 1, FormulaForm::elementwise},
    {"sqrt", 1, 1, FormulaForm::elementwise},
    {"rsqrt", 1, 1, FormulaForm::elementwise},
    {"cbrt", 1, 1, FormulaForm::elementwise},
    {"sin", 1, 1, FormulaForm::elementwise},
    {"cos", 1, 1, FormulaForm::elementwise},
    {"tan", 1, 1, FormulaForm::elementwise},
    {"asin", 1, 1, FormulaForm::elementwise},
    {"acos", 1, 1, FormulaForm::elementwise},
    {"atan", 1, 1, FormulaForm::elementwise},
    {"sinh", 1, 1, FormulaForm::elementwise},
    {"cosh", 1, 1, FormulaForm::elementwise},
    {"tanh", 1, 1, FormulaForm::elementwise},
    {"asinh", 1, 1, FormulaForm::elementwise},
    {"acosh", 1, 1, FormulaForm::elementwise},
    {"atanh", 1, 1, FormulaForm::elementwise},
    {"erf", 1, 1, FormulaForm::elementwise},
    {"erfc", 1, 1, FormulaForm::elementwise},
    {"normcdf", 1, 1, FormulaForm::elementwise},
    {"sigmoid", 1, 1, FormulaForm::elementwise},
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
    {"max", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction_or_pair},
    {"min", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction_or_pair},
    {"sum", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction},
    {"mean", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction},
    {"amax", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction},
    {"amin", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction},
    {"var", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction},
    {"logsumexp", 2, 1 + kMaxReducedDimensions, FormulaForm::reduction},
    {"argmax", 2, 2, FormulaForm::reduction},
    {"argmin", 2, 2, FormulaForm::reduction},
    {"cumsum", 2, 2, FormulaForm::scan},
    {"cumsum_exclusive", 2, 2, FormulaForm::scan},
    {"cumsum_reversed", 2, 2, FormulaForm::scan},
    {"softmax", 2, 1 + kMaxReducedDimensions, FormulaForm::scan},
    {"log_softmax", 2, 1 + kMaxReducedDimensions, FormulaForm::scan},
    {"round", 2, 2, FormulaForm::typed},
    {"quant", 2, 2, FormulaForm::typed},
    {"cast", 2, 2, FormulaForm::typed},
    {"qmax", 1, 1, FormulaForm::of_type},
    {"given", 1, 1, FormulaForm::of_output},
    {"size", 1, 1, FormulaForm::of_dimension},
});

/// The function of that name, or null.
constexpr const FormulaFunction* find_formula_function(std::string_view name) {
  for (const FormulaFunction& function : kFormulaFunctions)
    if (function.name == name) return &function;
  return nullptr;
}

}  // namespace assay
