#include "oracles/accuracy_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels_under_test/formula_functions.hpp"
#include "oracles/functions.hpp"
#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

TEST(AccuracyTable, EveryRowHasASourceAndARange) {
  for (const AccuracyRow& row : accuracy_table()) {
    EXPECT_FALSE(row.source.empty()) << row.function;
    EXPECT_GE(row.base, 0) << row.function;
    // The two that are documented by their implementation hold nowhere.
    const bool nowhere =
        row.mode == MathMode::fast && (row.function == "pow" || row.function == "tan");
    EXPECT_EQ(row.low < row.high, !nowhere) << row.function;
  }
}

TEST(AccuracyTable, PublishedFigures) {
  const auto figure = [](const char* f, DType t, MathMode m) {
    return accuracy_rows(f, t, m).at(0);
  };
  EXPECT_EQ(figure("exp", DType::f32, MathMode::precise).base, 2);
  EXPECT_EQ(figure("pow", DType::f32, MathMode::precise).base, 4);
  EXPECT_EQ(figure("exp", DType::f64, MathMode::precise).base, 1);
  EXPECT_EQ(figure("exp", DType::f32, MathMode::fast).slope, 1.173);
  EXPECT_NEAR(figure("log", DType::f32, MathMode::fast).base, std::exp2(-21.41), 1e-9);
  EXPECT_NEAR(figure("cos", DType::f32, MathMode::fast).base, std::exp2(-21.19), 1e-9);
  EXPECT_NEAR(figure("rsqrt", DType::f32, MathMode::fast).base, std::exp2(-22.9), 1e-9);
  // Functions without an intrinsic keep their figure.
  EXPECT_EQ(figure("erf", DType::f32, MathMode::fast).base, 2);
}

TEST(AccuracyTable, WhatHasNoRangeHasAnImplementation) {
  for (const AccuracyRow& row : accuracy_table()) {
    const auto* how = documented_implementation(row.function, row.format, row.mode);
    EXPECT_EQ(how == nullptr, row.low < row.high) << row.function;
    EXPECT_TRUE(how == nullptr || !how->source.empty()) << row.function;
  }
}

/// A formula of x for each name that formulas may use, and for the operator.
std::vector<std::string> formulas_of_every_function() {
  std::vector<std::string> out = {"1 / x"};
  for (const FormulaFunction& f : kFormulaFunctions) {
    const std::string name(f.name);
    const bool of_integers = name.starts_with("div_") || name.starts_with("mod_");
    if (name == "where")
      out.push_back("where(x > 0, x, 1)");
    else if (f.form == FormulaForm::elementwise && !of_integers)
      out.push_back(name + (f.min_arguments == 2 ? "(x, 0.75)" : "(x)"));
    else if (f.form == FormulaForm::reduction_or_pair)
      out.push_back(name + "(x, 0.75)");
    else if (f.form == FormulaForm::scan)
      out.push_back(name + "(x, cols)");
    else if (f.form == FormulaForm::reduction && !name.starts_with("arg"))
      out.push_back("x + " + name + "(x, cols)");
  }
  return out;
}

// Whatever type the kernel computes in, a function is judged by a published accuracy, or the
// contract is refused with one message. Nothing is evaluated without a figure.
TEST(AccuracyTable, EveryFunctionInEveryTypeIsJudgedOrRefused) {
  int refused = 0;
  for (const std::string& formula : formulas_of_every_function())
    for (const std::string math : {"precise", "fast", "triton"})
      for (const std::string type : {"f32", "f64", "i32", "i64", "f16", "bf16"}) {
        const std::string what = formula + " in " + type + ", " + math;
        const bool half = type == "f16" || type == "bf16";
        const std::string type_of_truth = formula.starts_with("is_") ? "i32" : "f32";
        const Contract contract =
            testing::line_contract(type_of_truth, formula,
                                   "[accuracy]\naccumulate = \"" + type + "\"\nmath = \"" + math +
                                       "\"\n[policy]\nnan = \"propagate\"\n");
        try {
          testing::Line line(contract, {0.5F, 0.5F});
          const Verdict v = line({0, 0});
          EXPECT_EQ(v.judged, 2) << what;
          EXPECT_EQ(v.no_bound, 0) << what;
        } catch (const InputError& error) {
          EXPECT_TRUE(half) << what << ": " << error.what();
          EXPECT_NE(std::string(error.what()).find("no published accuracy of '"), std::string::npos)
              << what << ": " << error.what();
          ++refused;
        }
      }
  EXPECT_EQ(refused, 6 * 39);
}

TEST(AccuracyTable, WhatIsExactOrAddsIsJudgedInHalves) {
  for (const char* formula : {"floor(x)", "max(x, 0)", "x + sum(x, cols)", "mean(x, cols) - x"}) {
    testing::Line line(testing::line_contract("f32", formula, "[accuracy]\naccumulate = \"f16\"\n"),
                       {0.5F, 0.5F});
    EXPECT_EQ(line({0, 0}).judged, 2) << formula;
  }
}

TEST(Functions, NearestValuesAgreeWithTheLibrary) {
  for (const double x : {0.125, 0.75, 1.5, 3.0}) {
    const auto near = [x](const char* f, double expected) {
      EXPECT_NEAR(nearest_value(f, x, 0), expected, std::fabs(expected) * 1e-15) << f << " " << x;
    };
    near("exp", std::exp(x));
    near("exp2", std::exp2(x));
    near("expm1", std::expm1(x));
    near("log", std::log(x));
    near("log1p", std::log1p(x));
    near("sin", std::sin(x));
    near("tanh", std::tanh(x));
    near("erf", std::erf(x));
    near("erfc", std::erfc(x));
    near("normcdf", std::erfc(-x * std::sqrt(0.5)) / 2);
    near("rsqrt", 1 / std::sqrt(x));
  }
  EXPECT_EQ(nearest_value("rint", 2.5, 0), 2);
  EXPECT_EQ(nearest_value("rint", -1.5, 0), -2);
  EXPECT_EQ(nearest_value("exp", -INFINITY, 0), 0);
  EXPECT_TRUE(std::isnan(nearest_value("log", -1, 0)));
  EXPECT_TRUE(std::signbit(nearest_value("tanh", -0.0, 0)));
}

}  // namespace
}  // namespace assay
