// Functions of inexact arguments that are neither monotonic nor of bounded slope: what lies over
// the box of the arguments is accepted, and nothing else.
#include "oracles/function_range.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "oracles/functions.hpp"
#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kPi = 3.141592653589793;

std::optional<Ends> range(const std::string& name, const Ends& x, const Ends& y = {}) {
  return range_over_box(name, x, y,
                        [&](int n, const double* p, const double* q, double* v, double* e) {
                          for (int k = 0; k < n; ++k) {
                            v[k] = nearest_value(name, p[k], q[k]);
                            e[k] = std::fabs(v[k]) * 0x1p-53;
                          }
                        });
}

void expect_range(const std::optional<Ends>& found, double low, double high) {
  ASSERT_TRUE(found.has_value());
  const auto near = [](double a, double b) {
    return a == b || std::fabs(a - b) <= 1e-14 * std::fabs(b);
  };
  EXPECT_TRUE(near(found->low, low)) << found->low << ", not " << low;
  EXPECT_TRUE(near(found->high, high)) << found->high << ", not " << high;
}

TEST(FunctionRange, EvenFunctionsTurnAtZero) {
  expect_range(range("cosh", {-3.5, 2.5}), 1, std::cosh(3.5));
  expect_range(range("cosh", {-3.5, -2.5}), std::cosh(2.5), std::cosh(3.5));
  expect_range(range("hypot", {-3, 1}, {4, 4}), 4, 5);
  expect_range(range("hypot", {-3, 1}, {-4, 2}), 0, 5);
  expect_range(range("pow", {-3, 2}, {2, 2}), 0, 9);
  expect_range(range("pow", {-3, 2}, {-2, -2}), 1.0 / 9, kInfinity);
}

TEST(FunctionRange, TangentsHavePoles) {
  expect_range(range("tan", {-1, 1.5}), std::tan(-1), std::tan(1.5));
  expect_range(range("tan", {2, 4}), std::tan(2), std::tan(4));
  EXPECT_FALSE(range("tan", {1.5, 1.6}).has_value());
  EXPECT_FALSE(range("tan", {1, 4.5}).has_value());
}

TEST(FunctionRange, AnglesJumpBehindTheOrigin) {
  expect_range(range("atan2", {-1, 1}, {1, 2}), -kPi / 4, kPi / 4);
  expect_range(range("atan2", {1, 2}, {-1, 1}), kPi / 4, 3 * kPi / 4);
  expect_range(range("atan2", {-1, 1}, {-2, -1}), -kPi, kPi);
  expect_range(range("atan2", {-1, 1}, {-1, 1}), -kPi, kPi);
  expect_range(range("atan2", {0, 0}, {-2, -1}), kPi, kPi);  // an operand's own 0 keeps its sign
}

TEST(FunctionRange, PowersOfWhatMayBeZero) {
  expect_range(range("pow", {0, 1e-39}, {-0.5, -0.5}), std::pow(1e-39, -0.5), kInfinity);
  expect_range(range("pow", {0, 2}, {3, 3}), 0, 8);
  expect_range(range("pow", {-2, 1}, {3, 3}), -8, 1);
  expect_range(range("pow", {2, 3}, {-1, 2}), 1.0 / 3, 9);
  EXPECT_FALSE(range("pow", {0, 1}, {-3, -3}).has_value());  // (-0)^-3 is -inf
  EXPECT_FALSE(range("pow", {-1, 1}, {-1, -1}).has_value());
  EXPECT_FALSE(range("pow", {-1, 1}, {0.5, 0.5}).has_value());
  EXPECT_FALSE(range("pow", {-2, -1}, {2, 3}).has_value());
}

TEST(FunctionRange, RemaindersAndSigns) {
  expect_range(range("fmod", {7.25, 7.5}, {2, 2}), 1.25, 1.5);
  expect_range(range("fmod", {-0.5, 0.25}, {2, 2}), -0.5, 0.25);
  expect_range(range("fmod", {7.5, 8.5}, {2, 2}), 0, 2);
  expect_range(range("fmod", {-8.5, -7.5}, {-2, -2}), -2, 0);
  expect_range(range("fmod", {7.25, 7.5}, {2, 2.125}), 7.25 - 6.375, 1.5);
  EXPECT_FALSE(range("fmod", {1, 2}, {-1, 1}).has_value());
  expect_range(range("copysign", {-3, 1}, {2, 2}), 0, 3);
  expect_range(range("copysign", {2, 3}, {-2, -1}), -3, -2);
  expect_range(range("copysign", {2, 3}, {-1, 1}), -3, 3);
}

// Whatever the box, what lies in it has its value in the range.
TEST(FunctionRange, HoldsEveryPoint) {
  std::mt19937 random(7);
  std::normal_distribution<double> draw(0, 3);
  std::uniform_real_distribution<double> share(0, 1);
  int bounded = 0;
  for (int trial = 0; trial < 120; ++trial) {
    const Ends x{draw(random), 0};
    const Ends y{draw(random), 0};
    const bool known_y = trial % 3 == 0;
    const Ends a{x.low, x.low + std::fabs(draw(random))};
    const double whole = std::rint(y.low);
    const Ends b = known_y ? Ends{whole, whole} : Ends{y.low, y.low + std::fabs(draw(random))};
    for (const char* name : {"cosh", "tan", "atan2", "hypot", "fmod", "copysign", "pow"}) {
      const auto found = range(name, a, b);
      if (!found) continue;
      ++bounded;
      for (int point = 0; point < 8; ++point) {
        const double p = a.low + (a.high - a.low) * share(random);
        const double q = known_y ? b.low : b.low + (b.high - b.low) * share(random);
        const double v = nearest_value(name, p, q);
        const double slack = std::fabs(v) * 1e-15;
        EXPECT_TRUE(v >= found->low - slack && v <= found->high + slack)
            << name << "(" << p << ", " << q << ") = " << v << " over [" << a.low << ", " << a.high
            << "] x [" << b.low << ", " << b.high << "]: " << found->low << ", " << found->high;
      }
    }
  }
  EXPECT_GT(bounded, 450);
}

// A condition that may go either way leaves -3.5 or 2.5: one value beside the other is no error of
// one side, and nothing below cosh 0 is a value at all.
TEST(FunctionRange, OneSidedDeviationsAreJudgedOnBothSides) {
  testing::Line line(testing::line_contract(
                         "f32", "cosh(where(x * 0.7 >= 0.49, -3.5, 2.5))",
                         "[policy]\nnan = \"exclude\"\nrange = \"safe\"\nsubnormals = \"keep\"\n"),
                     {0.7F});
  const auto one = static_cast<float>(std::cosh(3.5));
  const auto other = static_cast<float>(std::cosh(2.5));
  EXPECT_EQ(line({one}).outcome, Outcome::pass);
  EXPECT_EQ(line({other}).outcome, Outcome::pass);
  for (const float got : {-6.0F, 0.0F, 0.9F, 17.0F, -INFINITY, INFINITY, NAN})
    EXPECT_EQ(line({got}).outcome, Outcome::mismatch) << got;
}

// pow(1e-39, -0.5) is 3.16e19, or infinity where 1e-39 was flushed.
TEST(FunctionRange, AFlushedBase) {
  const char* const policy =
      "[policy]\nnan = \"exclude\"\nrange = \"safe\"\nsubnormals = \"flush\"\n";
  testing::Line line(testing::line_contract("f32", "pow(x, -0.5)", policy), {1e-39F});
  const auto exact = static_cast<float>(std::pow(static_cast<double>(1e-39F), -0.5));
  EXPECT_EQ(line({exact}).outcome, Outcome::pass);
  EXPECT_EQ(line({INFINITY}).outcome, Outcome::pass);
  for (const float got : {-INFINITY, 0.0F, -1.0F, 1e19F, NAN})
    EXPECT_EQ(line({got}).outcome, Outcome::mismatch) << got;
}

}  // namespace
}  // namespace assay
