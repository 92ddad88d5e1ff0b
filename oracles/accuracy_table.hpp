// Published accuracies of device functions: data with their source, keyed by CUDA version, math
// mode and format.
#pragma once

#include <string_view>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

enum class ErrorMeasure {
  ulp,       ///< of the correctly rounded result: |got - exact| <= (k + 1/2) ulp of the result
  absolute,  ///< |got - exact| <= k
  relative,  ///< |got - exact| <= k |exact|
};

/// One published figure. It holds for arguments with low <= |argument| <= high.
struct AccuracyRow {
  std::string_view function;
  DType format = DType::f32;
  MathMode mode = MathMode::precise;
  ErrorMeasure measure = ErrorMeasure::ulp;
  double base = 0;  ///< k = base + floor(slope |argument|)
  double slope = 0;
  double low = 0;
  double high = 0;  ///< infinity: the whole range
  std::string_view source;
};

/// Which figures hold: the contract's mode, and what a compiler flag alone makes approximate. Such
/// a flag changes one operation of f32 and nothing else: -use_fast_math alone means `fast`.
struct MathFigures {
  MathMode mode = MathMode::precise;
  bool full_division = false;     ///< -prec-div=false: `/` is div.full
  bool approximate_root = false;  ///< -prec-sqrt=false: sqrt is sqrt.approx

  MathFigures() = default;
  MathFigures(MathMode m) : mode(m) {}  // NOLINT(google-explicit-constructor): a mode's own figures
};
MathFigures math_figures(const Contract& contract);

/// The CUDA version that the table's figures are of.
inline constexpr std::string_view kAccuracyCudaVersion = "13.0";

const std::vector<AccuracyRow>& accuracy_table();

/// Rows of a function, most special range first; empty when no figure is published. Division and
/// square root appear as "div" and "sqrt".
std::vector<AccuracyRow> accuracy_rows(std::string_view function, DType format,
                                       const MathFigures& math);

/// A function that the guide documents by its implementation alone: its accuracy is composed of its
/// parts'.
struct DocumentedImplementation {
  std::string_view function;
  DType format = DType::f32;
  MathMode mode = MathMode::fast;
  std::vector<std::string_view> parameters;
  std::string_view text;  ///< a formula of them
  std::string_view source;
};
/// Null for a function that has a figure of its own.
const DocumentedImplementation* documented_implementation(std::string_view function, DType format,
                                                          MathMode mode);

}  // namespace assay
