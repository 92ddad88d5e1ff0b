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

/// The CUDA version that the table's figures are of.
inline constexpr std::string_view kAccuracyCudaVersion = "13.0";

const std::vector<AccuracyRow>& accuracy_table();

/// Rows of a function, most special range first; empty when no figure is published. Division and
/// square root appear as "div" and "sqrt".
std::vector<AccuracyRow> accuracy_rows(std::string_view function, DType format, MathMode mode);

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
