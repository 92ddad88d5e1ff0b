#include "oracles/accuracy_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/functions.hpp"

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
