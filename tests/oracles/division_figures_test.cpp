// What division may err by where it is not correctly rounded: in quotients, means and variances,
// under each of the flags that say so.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "oracles/accuracy_table.hpp"
#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

using testing::Line;
using testing::line_contract;

constexpr const char* kSafe = "[policy]\nnan = \"propagate\"\nrange = \"safe\"\n";
constexpr const char* kFast = ", flags = [\"-use_fast_math\"]";
constexpr const char* kFullDivision = ", flags = [\"-prec-div=false\"]";
constexpr const char* kApproximateRoot = ", flags = [\"--prec-sqrt=false\"]";

/// `x` moved by k of its last places, away from 0 for k > 0.
float places(float x, int k) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) + static_cast<uint32_t>(k));
}

Outcome outcome(const std::string& formula, const std::string& flags, const std::vector<float>& x,
                float got, const std::string& more = kSafe) {
  const std::string shape = formula.find("cols)") == std::string::npos ? "[\"cols\"]" : "[1]";
  Line line(line_contract("f32", formula, more, shape, flags), x);
  return line({got}).outcome;
}

// The sum is exact: what is left is the division, of 2 ulp, or a product with the reciprocal.
TEST(DivisionFigures, MeansCountThem) {
  const std::string triton = std::string("[accuracy]\nmath = \"triton\"\n") + kSafe;
  for (const std::vector<float>& x : {std::vector<float>{1, 2, 4}, {1, 2, 4, 8}}) {
    float sum = 0;
    for (const float each : x) sum += each;
    const float mean = sum / static_cast<float>(x.size());
    for (const int k : {-2, -1, 0, 1, 2}) {
      EXPECT_EQ(outcome("mean(x, cols)", kFast, x, places(mean, k)), Outcome::pass) << k;
      EXPECT_EQ(outcome("mean(x, cols)", kFullDivision, x, places(mean, k)), Outcome::pass) << k;
      EXPECT_EQ(outcome("mean(x, cols)", "", x, places(mean, k), triton), Outcome::pass) << k;
    }
    for (const int k : {-9, 9})
      EXPECT_EQ(outcome("mean(x, cols)", kFast, x, places(mean, k)), Outcome::mismatch) << k;
    for (const int k : {-2, 2})
      EXPECT_EQ(outcome("mean(x, cols)", "", x, places(mean, k)), Outcome::mismatch) << k;
  }
  // x / 1 is exact.
  EXPECT_EQ(outcome("mean(x, cols)", kFast, {3}, 3), Outcome::pass);
  EXPECT_EQ(outcome("mean(x, cols)", kFast, {3}, places(3, 1)), Outcome::mismatch);
}

// 8/3: 1.5 u is one of its last places. Precise: (2 + 5) u of it; with div.full (2 + 10) u.
TEST(DivisionFigures, VariancesCountThem) {
  const float var = 8.0F / 3.0F;
  for (const int k : {-6, 0, 6}) {
    const Outcome precise = k == 0 ? Outcome::pass : Outcome::mismatch;
    EXPECT_EQ(outcome("var(x, cols)", "", {0, 2, 4}, places(var, k)), precise) << k;
    EXPECT_EQ(outcome("var(x, cols)", kFullDivision, {0, 2, 4}, places(var, k)), Outcome::pass)
        << k;
  }
  for (const int k : {-11, 11})
    EXPECT_EQ(outcome("var(x, cols)", kFullDivision, {0, 2, 4}, places(var, k)), Outcome::mismatch)
        << k;
}

// __fdividef gives 0 for a divisor beyond 2^126; div.full has 2 ulp there too (CUDA C++ Programming
// Guide 13.0, standard functions: x / y without -prec-div=true, full range).
TEST(DivisionFigures, AFlagAloneKeepsTheRange) {
  const std::string formula = "0x1p127 / x";
  const float x = 0x1.8p126F;
  const float quotient = 0x1p127F / x;
  EXPECT_EQ(outcome(formula, kFast, {x}, 0), Outcome::pass);
  EXPECT_EQ(outcome(formula, kFullDivision, {x}, 0), Outcome::mismatch);
  for (const int k : {-2, 0, 2})
    EXPECT_EQ(outcome(formula, kFullDivision, {x}, places(quotient, k)), Outcome::pass) << k;
  for (const int k : {-5, 5})
    EXPECT_EQ(outcome(formula, kFullDivision, {x}, places(quotient, k)), Outcome::mismatch) << k;
  EXPECT_EQ(outcome(formula, "", {x}, places(quotient, 1)), Outcome::mismatch);
}

// A flag changes its own operation: other functions have their figures, and nothing is flushed.
TEST(DivisionFigures, AFlagAloneChangesNothingElse) {
  const auto e20 = static_cast<float>(std::exp(20.0));
  EXPECT_EQ(outcome("exp(x)", kFast, {20}, places(e20, 12)), Outcome::pass);
  EXPECT_EQ(outcome("exp(x)", kFullDivision, {20}, places(e20, 12)), Outcome::mismatch);
  const float root = std::sqrt(2.0F);
  EXPECT_EQ(outcome("sqrt(x)", kApproximateRoot, {2}, places(root, 1)), Outcome::pass);
  EXPECT_EQ(outcome("sqrt(x)", kApproximateRoot, {2}, places(root, 4)), Outcome::mismatch);
  EXPECT_EQ(outcome("sqrt(x)", kFullDivision, {2}, places(root, 1)), Outcome::mismatch);
  EXPECT_EQ(outcome("1 / x", kApproximateRoot, {3}, places(1.0F / 3, 1)), Outcome::mismatch);
  const std::string keep = std::string(kSafe) + "subnormals = \"keep\"\n";
  const float least = 0x1.8p-126F;
  EXPECT_EQ(outcome("x / 4", kFullDivision, {least}, least / 4, keep), Outcome::pass);
  Line line(line_contract("f32", "x * 0.5", kSafe, "[\"cols\"]", kFullDivision), {least});
  EXPECT_TRUE(testing::asks_for(line({0}), "subnormals"));
}

TEST(DivisionFigures, ConstantsAreRoundedOutward) {
  const auto figure = [](const char* f) {
    return accuracy_rows(f, DType::f32, MathMode::fast).at(0).base;
  };
  const auto holds = [](double constant, double exact) {
    return constant >= exact && constant <= exact * 1.004;
  };
  EXPECT_TRUE(holds(figure("log"), std::exp2(-21.41)));
  EXPECT_TRUE(holds(figure("sin"), std::exp2(-21.41)));
  EXPECT_TRUE(holds(figure("cos"), std::exp2(-21.19)));
  EXPECT_TRUE(holds(figure("rsqrt"), std::exp2(-22.9)));
}

}  // namespace
}  // namespace assay
