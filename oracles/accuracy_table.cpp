// CUDA C++ Programming Guide 13.0, "Mathematical Functions" appendix (compute capability 5.2 and
// later), and PTX ISA 9.0 for the approximate instructions that fast math and Triton emit.
#include "oracles/accuracy_table.hpp"

#include <limits>

#include "kernels_under_test/compiler_flags.hpp"

namespace assay {
namespace {

constexpr double kAll = std::numeric_limits<double>::infinity();
constexpr std::string_view kGuide = "CUDA C++ Programming Guide 13.0, standard functions";
constexpr std::string_view kIntrinsics = "CUDA C++ Programming Guide 13.0, intrinsic functions";
constexpr std::string_view kPtx = "PTX ISA 9.0, floating-point instructions";
constexpr auto kUlp = ErrorMeasure::ulp;
constexpr auto kAbs = ErrorMeasure::absolute;
constexpr auto kRel = ErrorMeasure::relative;
constexpr auto kPrecise = MathMode::precise;
constexpr auto kFast = MathMode::fast;
constexpr auto kTriton = MathMode::triton;

AccuracyRow single(std::string_view f, double ulps) {
  return {f, DType::f32, kPrecise, kUlp, ulps, 0, 0, kAll, kGuide};
}
AccuracyRow twice(std::string_view f, double ulps) {
  return {f, DType::f64, kPrecise, kUlp, ulps, 0, 0, kAll, kGuide};
}

std::vector<AccuracyRow> precise_rows() {
  return {
      single("div", 0),     single("sqrt", 0),   single("fmod", 0),  single("exp", 2),
      single("exp2", 2),    single("exp10", 2),  single("expm1", 1), single("log", 1),
      single("log2", 1),    single("log10", 2),  single("log1p", 1), single("sin", 2),
      single("cos", 2),     single("tan", 4),    single("asin", 2),  single("acos", 2),
      single("atan", 2),    single("atan2", 3),  single("sinh", 3),  single("cosh", 2),
      single("tanh", 2),    single("asinh", 3),  single("acosh", 4), single("atanh", 3),
      single("pow", 4),     single("erf", 2),    single("erfc", 4),  single("rsqrt", 2),
      single("cbrt", 1),    single("hypot", 3),  twice("div", 0),    twice("sqrt", 0),
      twice("fmod", 0),     twice("exp", 1),     twice("exp2", 1),   twice("exp10", 1),
      twice("expm1", 1),    twice("log", 1),     twice("log2", 1),   twice("log10", 1),
      twice("log1p", 1),    twice("sin", 2),     twice("cos", 2),    twice("tan", 2),
      twice("asin", 2),     twice("acos", 2),    twice("atan", 2),   twice("atan2", 2),
      twice("sinh", 2),     twice("cosh", 1),    twice("tanh", 1),   twice("asinh", 3),
      twice("acosh", 3),    twice("atanh", 2),   twice("pow", 2),    twice("erf", 2),
      twice("erfc", 5),     twice("rsqrt", 1),   twice("cbrt", 1),   twice("hypot", 2),
      single("normcdf", 5), twice("normcdf", 5),
  };
}

// -use_fast_math maps these onto intrinsics; the other functions keep their figures, with flushing.
// Constants that are no short numbers are rounded outward.
std::vector<AccuracyRow> fast_rows() {
  const double pi = 3.1415927410125732;  // float(pi), the guide's interval
  return {
      {"div", DType::f32, kFast, kUlp, 2, 0, 0x1p-126, 0x1p126, kIntrinsics},
      {"sqrt", DType::f32, kFast, kRel, 0x1p-23, 0, 0, kAll, kPtx},
      {"exp", DType::f32, kFast, kUlp, 2, 1.173, 0, kAll, kIntrinsics},
      {"exp10", DType::f32, kFast, kUlp, 2, 2.97, 0, kAll, kIntrinsics},
      {"log", DType::f32, kFast, kAbs, 0x1.82p-22, 0, 0.5, 2, kIntrinsics},  // 2^-21.41
      {"log", DType::f32, kFast, kUlp, 3, 0, 0, kAll, kIntrinsics},
      {"log2", DType::f32, kFast, kAbs, 0x1p-22, 0, 0.5, 2, kIntrinsics},
      {"log2", DType::f32, kFast, kUlp, 2, 0, 0, kAll, kIntrinsics},
      {"log10", DType::f32, kFast, kAbs, 0x1p-24, 0, 0.5, 2, kIntrinsics},
      {"log10", DType::f32, kFast, kUlp, 3, 0, 0, kAll, kIntrinsics},
      {"sin", DType::f32, kFast, kAbs, 0x1.82p-22, 0, 0, pi, kIntrinsics},  // 2^-21.41
      {"cos", DType::f32, kFast, kAbs, 0x1.c1p-22, 0, 0, pi, kIntrinsics},  // 2^-21.19
      {"rsqrt", DType::f32, kFast, kRel, 0x1.13p-23, 0, 0, kAll, kPtx},     // 2^-22.9
      {"tanh", DType::f32, kFast, kRel, 0x1p-11, 0, 0, kAll, kPtx},
      // Documented by their implementation alone (below): no range.
      {"pow", DType::f32, kFast, kUlp, 0, 0, kAll, 0, kIntrinsics},
      {"tan", DType::f32, kFast, kUlp, 0, 0, kAll, 0, kIntrinsics},
  };
}

// tl.exp is a multiply by log2 e, then ex2.approx: the bound of __expf. `/` is div.full.
std::vector<AccuracyRow> triton_rows() {
  return {
      {"div", DType::f32, kTriton, kUlp, 2, 0, 0, kAll, kPtx},
      {"sqrt", DType::f32, kTriton, kRel, 0x1p-23, 0, 0, kAll, kPtx},
      {"exp", DType::f32, kTriton, kUlp, 2, 1.173, 0, kAll, kIntrinsics},
      {"exp2", DType::f32, kTriton, kUlp, 2, 0, 0, kAll, kPtx},
      {"rsqrt", DType::f32, kTriton, kRel, 0x1.13p-23, 0, 0, kAll, kPtx},
  };
}

}  // namespace

const std::vector<AccuracyRow>& accuracy_table() {
  static const std::vector<AccuracyRow> table = [] {
    std::vector<AccuracyRow> rows = precise_rows();
    for (const auto& more : {fast_rows(), triton_rows()})
      rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  }();
  return table;
}

namespace {

/// The guide's table of standard functions: x / y has 2 ulp over the full range without
/// -prec-div=true (div.full.f32; 0 to 2^-126 and beyond 2^126 too), unlike __fdividef. sqrtf is
/// sqrt.approx.f32 without -prec-sqrt=true.
std::vector<AccuracyRow> flag_rows(std::string_view function, DType format,
                                   const MathFigures& math) {
  if (math.mode != MathMode::precise || format != DType::f32) return {};
  if (function == "div" && math.full_division)
    return {{"div", DType::f32, kPrecise, kUlp, 2, 0, 0, kAll,
             "CUDA C++ Programming Guide 13.0, standard functions, -prec-div=false"}};
  if (function == "sqrt" && math.approximate_root)
    return {{"sqrt", DType::f32, kPrecise, kRel, 0x1p-23, 0, 0, kAll, kPtx}};
  return {};
}

}  // namespace

MathFigures math_figures(const Contract& contract) {
  MathFigures math(contract.accuracy.math);
  math.full_division = has_flag(contract.source, "-prec-div=false");
  math.approximate_root = has_flag(contract.source, "-prec-sqrt=false");
  return math;
}

std::vector<AccuracyRow> accuracy_rows(std::string_view function, DType format,
                                       const MathFigures& math) {
  if (auto by_flag = flag_rows(function, format, math); !by_flag.empty()) return by_flag;
  std::vector<AccuracyRow> found;
  for (const AccuracyRow& row : accuracy_table())
    if (row.function == function && row.format == format && row.mode == math.mode)
      found.push_back(row);
  if (!found.empty() || math.mode == MathMode::precise) return found;
  return accuracy_rows(function, format, MathMode::precise);
}

const DocumentedImplementation* documented_implementation(std::string_view function, DType format,
                                                          MathMode mode) {
  static const std::vector<DocumentedImplementation> table = {
      {"pow", DType::f32, kFast, {"x", "y"}, "exp2(y * log2(x))", kIntrinsics},
      {"tan", DType::f32, kFast, {"x"}, "sin(x) * (1 / cos(x))", kIntrinsics},
  };
  for (const DocumentedImplementation& row : table)
    if (row.function == function && row.format == format && row.mode == mode) return &row;
  return nullptr;
}

}  // namespace assay
