// Finite doubles whose product, quotient, sum or power no double holds: the exact value is a
// number, not an infinity (docs/judging/overflow.md, "Numbers beyond double"). Honest kernels are
// computed here as a GPU does, with and without contraction.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/wide_cases.hpp"

namespace assay {
namespace {

using testing::judged;
using testing::kNaive;
using testing::kSafe;
using testing::Line;
using testing::line_contract;
using testing::wide;
using testing::wide_sum;

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Of y = formula of a and b: all of `right` pass, all of `wrong` do not.
void pair(const std::string& formula, double a, double b, const std::vector<double>& right,
          const std::vector<double>& wrong, const std::string& policy = kNaive) {
  for (const double got : right)
    judged(wide(formula, a, b, got, policy), Outcome::pass, formula + " " + std::to_string(got));
  for (const double got : wrong)
    judged(wide(formula, a, b, got, policy), Outcome::mismatch,
           formula + " " + std::to_string(got));
}

void row(const std::string& formula, const std::vector<double>& x, const std::vector<double>& right,
         const std::vector<double>& wrong) {
  for (const double got : right)
    judged(wide_sum(formula, kNaive, x, got), Outcome::pass, formula + " " + std::to_string(got));
  for (const double got : wrong)
    judged(wide_sum(formula, kNaive, x, got), Outcome::mismatch,
           formula + " " + std::to_string(got));
}

TEST(BeyondDouble, OneOperationGivesItsInfinity) {
  const std::vector<double> wrong{kLargest, 1e300, 1, 0, -kInfinity, kNan};
  for (const std::string& policy : {kSafe, kNaive}) {
    pair("a * b", 1e160, 1e160, {kInfinity}, wrong, policy);
    pair("a * b", kLargest, 1.001, {kInfinity}, wrong, policy);
    pair("a / b", 1e300, 1e-300, {kInfinity}, wrong, policy);
    pair("a + b", 1.5e308, 1.5e308, {kInfinity}, wrong, policy);
    pair("a - b", 1.5e308, -1.5e308, {kInfinity}, wrong, policy);
    pair("pow(a, b)", 1e100, 4, {kInfinity}, wrong, policy);
    pair("hypot(a, b)", 1.7e308, 1.7e308, {kInfinity}, wrong, policy);
    pair("exp2(a) + b", 1030, 1, {kInfinity}, wrong, policy);
    pair("expm1(a) + b", 800, 1, {kInfinity}, wrong, policy);
    pair("a * b", -1e160, 1e160, {-kInfinity}, {-kLargest, -1, 0, kInfinity, kNan}, policy);
    pair("0 - a - b", 1.5e308, 1.5e308, {-kInfinity}, {-kLargest, 0, kInfinity, kNan}, policy);
    pair("pow(a, b)", -1e103, 3, {-kInfinity}, {-kLargest, kInfinity, kNan}, policy);
  }
  // Poles are no overflow.
  pair("a / b", 1, 0.0, {kInfinity}, {kLargest, -kInfinity, kNan});
  pair("log(a)", 0, 0, {-kInfinity}, {-745, kInfinity});
  pair("pow(a, b)", 0, -2, {kInfinity}, {kLargest, 1});
}

TEST(BeyondDouble, WhatStaysInRangeIsNoOverflow) {
  for (const std::string& policy : {kSafe, kNaive}) {
    pair("a * b", 1.3e154, 1.3e154, {1.3e154 * 1.3e154}, {kInfinity, kNan, 1.7e308}, policy);
    pair("a * b * 1e-10", 1e153, 1e154, {1e153 * 1e154 * 1e-10}, {kInfinity, kNan}, policy);
    pair("sqrt(a * a + b * b)", 3e153, 4e153, {5e153}, {kInfinity, kNan, 5.001e153}, policy);
    pair("a / b", 1e300, 1e-7, {1e300 / 1e-7}, {kInfinity, kNan}, policy);
    pair("(a + b) * 0.5", 8e307, 8e307, {8e307}, {kInfinity, kNan}, policy);
    pair("pow(a, 2) / b", 1e150, 1e10, {1e290}, {kInfinity, kNan}, policy);
  }
}

TEST(BeyondDouble, WhatComesBackIsNearOrFollowsTheInfinity) {
  pair("a * b * 1e-200", 1e200, 1e200, {1e200, kInfinity},
       {1.0001e200, 0.9999e200, 1, kLargest, -kInfinity, kNan});
  pair("a * b * 1e-200", -1e200, 1e200, {-1e200, -kInfinity}, {-1.0001e200, 1e200, kInfinity});
  pair("a / b * 1e-300", 1e300, 1e-300, {1e300, kInfinity}, {1.0001e300, 1e299, kNan});
  pair("(a + b) * 0.5", 1.5e308, 1.5e308, {1.5e308, kInfinity}, {1.5001e308, 1.4e308, kNan});
  pair("pow(a, 2) / b", 1e160, 1e20, {1e300, kInfinity}, {1.0001e300, 1e20, kNan});
  pair("hypot(a, b) * 0.25", 1.6e308, 1.2e308, {5e307, kInfinity}, {5.0001e307, 0, kNan});
  pair("exp2(a) / b", 1030, 0x1p100, {0x1p930, kInfinity}, {0x1p931, 0x1.001p930, kNan});
  pair("sqrt(a * a + b * b)", 3e200, 4e200, {5e200, kInfinity},
       {5.0001e200, 4.9999e200, 1e155, 0, kNan});
  pair("cbrt(a * b)", 1e300, 1e30, {1e110, kInfinity}, {1.0001e110, 1e103, kNan});
  pair("log(a * b)", 1e200, 1e200, {std::log(1e200) * 2, kInfinity}, {921.04, 920, 709, kNan});
}

TEST(BeyondDouble, WhatIsDividedByItIsNextToZero) {
  pair("1 / (a * b)", 1e200, 1e200, {0, -0.0}, {1e-300, 1, kInfinity, kNan});
  pair("a / (b * b)", 1, 1e155, {0, 1e-310}, {1e-300, kInfinity, kNan});
  pair("rsqrt(a * a + b * b)", 3e200, 4e200, {0, 2e-201}, {1e-100, kInfinity, kNan});
  pair("exp(0 - a * b)", 1e200, 1e200, {0}, {1e-200, 1, kInfinity, kNan});
  pair("tanh(a * a * a)", 1e150, 0, {1}, {0.99, -1, 0, kInfinity, kNan});
  pair("tanh(a * b)", -1e200, 1e200, {-1}, {1, kNan});
  pair("min(max(a * b, -1e10), 1e10)", 1e200, 1e200, {1e10}, {-1e10, kInfinity, kNan});
}

TEST(BeyondDouble, ContractionMayKeepItInRange) {
  const double a = 1.4e154;
  const double b = 1e308;
  const double kept = std::fma(a, a, -b);  // 9.6e307
  ASSERT_TRUE(std::isinf(a * a) && std::isfinite(kept));
  pair("a * a - b", a, b, {kept, kInfinity},
       {kept * 1.0001, kept * 0.9999, b, 0, kLargest, -kInfinity, kNan});
  pair("b - a * a", a, b, {-kept, -kInfinity}, {-kept * 1.0001, kept, kInfinity, kNan});
  // The sum of the products is within range, or an infinity of the first.
  const std::vector<double> x{-5.6e102, 6e102};
  const double cubes = std::fma(x[1] * x[1], x[1], x[0] * x[0] * x[0]);
  ASSERT_TRUE(std::isinf(x[1] * x[1] * x[1]) && std::isfinite(cubes));
  row("sum(x * x * x, cols)", x, {cubes, kInfinity},
      {cubes * 1.001, 0, kLargest, -kInfinity, kNan});
}

TEST(BeyondDouble, RowsOfOneSign) {
  const std::vector<double> cubes{4e140, 7e147, 8e253, -3};
  row("sum(x * x * x, cols)", cubes, {kInfinity}, {kLargest, 0, -kInfinity, kNan});
  row("tanh(sum(x * x * x, cols))", cubes, {1}, {0.5, 0, -1, kNan});
  row("sqrt(sum(x * x, cols))", {3e200, -4e200}, {5e200, kInfinity},
      {5.0001e200, 4.9999e200, 1e155, 0, kNan});
  row("mean(x * x, cols)", {1e200, -1e200}, {kInfinity}, {kLargest, 1e200, kNan});
  row("mean(x * x, cols)", {1.4e154, 1, 1, 1}, {4.9e307, kInfinity}, {4.91e307, 1, kNan});
  row("max(x * x, cols)", {1e200, -2, 1e308}, {kInfinity}, {kLargest, 4, kNan});
  row("log(sum(exp2(x), cols))", {2000, 3, 2000}, {2001 * std::log(2.0), kInfinity},
      {2000 * std::log(2.0), 709, kNan});
}

/// Each term is beyond double, of either sign: fma(-4e140^2, 4e140, 0) = -inf keeps a finite
/// product of the next from making NaN of it, and the order decides.
TEST(BeyondDouble, RowsOfBothSignsHaveNoBound) {
  const std::vector<double> x{-4e140, 7e147, -8e253};
  for (const double got : {-1.0, 1.0, kNan})
    EXPECT_EQ(wide_sum("tanh(sum(x * x * x, cols))", kNaive, x, got).no_bound, 1) << got;
  for (const double got : {0.0, kInfinity, -kInfinity, kNan})
    EXPECT_EQ(wide("a * a - b * b", 1e200, 1e201, got, kNaive).no_bound, 1) << got;
}

/// Finite terms whose sum no double holds, beside an infinity of the other sign: the exact sum is
/// that infinity, and NaN where a kernel's own partial sum overflows first.
TEST(BeyondDouble, PartialSumsBesideAnInfinity) {
  const std::vector<double> x{1.7e308, -kInfinity, 0, 0, 1.7e308};
  for (const char* formula : {"sum(x, cols)", "mean(x, cols)"}) {
    judged(wide_sum(formula, kSafe, x, -kInfinity), Outcome::pass, formula);
    for (const double got : {kInfinity, kNan, 0.0})
      judged(wide_sum(formula, kSafe, x, got), Outcome::mismatch, formula);
    for (const double got : {-kInfinity, kNan})
      EXPECT_EQ(wide_sum(formula, kNaive, x, got).outcome, Outcome::pass) << formula << got;
  }
  const Contract running = testing::wide_line("cumsum(x, cols)", kSafe);
  const std::vector<double> line{1.7e308, 1.7e308, -kInfinity, 1};
  EXPECT_EQ(
      testing::judge_wide_line(running, line, {1.7e308, kInfinity, -kInfinity, -kInfinity}).outcome,
      Outcome::pass);
  EXPECT_EQ(testing::judge_wide_line(running, line, {1.7e308, kInfinity, kNan, -kInfinity}).outcome,
            Outcome::mismatch);
}

TEST(BeyondDouble, ConditionsOnThem) {
  pair("where(a * a > b, 1, 2)", 1e200, 5, {1}, {2});
  pair("where(is_inf(a * b), a, 2 * a)", 1e200, 1e200, {1e200, 2e200}, {0, 3e200});
  pair("where(is_nan(a * b), a, b)", 1e200, 1e201, {1e201}, {1e200});
  // inf - inf of an honest kernel is NaN, and of another a number.
  for (const double got : {1e200, 1e201})
    EXPECT_EQ(wide("where(is_nan(a * a - b * b), a, b)", 1e200, 1e201, got, kNaive).no_bound, 1);
}

/// f32: what is beyond double is beyond f32 in every order.
TEST(BeyondDouble, FormulasOfF32) {
  const auto line = [](const std::string& formula, float x, float got) {
    return Line(line_contract("f32", formula, kNaive), {x})({got});
  };
  std::string product = "x";
  for (int k = 1; k < 20; ++k) product += " * x";
  for (const std::string& formula :
       {product, std::string("pow(x, 20)"), "0 - (0 - " + product + ")"}) {
    judged(line(formula, 1e38f, INFINITY), Outcome::pass, formula);
    for (const float got : {3.4e38f, 1.0f, -INFINITY, NAN})
      judged(line(formula, 1e38f, got), Outcome::mismatch, formula + std::to_string(got));
    judged(line("1 / (" + formula + ")", 1e38f, 0), Outcome::pass, formula);
    for (const float got : {1e-30f, INFINITY, NAN})
      judged(line("1 / (" + formula + ")", 1e38f, got), Outcome::mismatch, formula);
  }
  judged(line("exp(x) * exp(x)", 400, INFINITY), Outcome::pass, "exp");
  for (const float got : {3.4e38f, 0.0f, NAN})
    judged(line("exp(x) * exp(x)", 400, got), Outcome::mismatch, "exp");
  judged(line("exp2(x) * exp2(x)", 600, INFINITY), Outcome::pass, "exp2");
  for (const float got : {3.4e38f, 0.0f, NAN})
    judged(line("exp2(x) * exp2(x)", 600, got), Outcome::mismatch, "exp2");
}

/// Kernels as compilers make them, for numbers around double's end.
struct Honest {
  const char* formula;
  std::vector<std::function<double(double, double)>> kernels;
};

TEST(BeyondDouble, HonestKernelsPass) {
  const std::vector<Honest> all{
      {"a * a - b",
       {[](double a, double b) { return a * a - b; },
        [](double a, double b) { return std::fma(a, a, -b); }}},
      {"a * a - b * b",
       {[](double a, double b) { return a * a - b * b; },
        [](double a, double b) { return std::fma(a, a, -(b * b)); },
        [](double a, double b) { return std::fma(-b, b, a * a); }}},
      {"(a * a + b) * a + b",
       {[](double a, double b) { return (a * a + b) * a + b; },
        [](double a, double b) { return std::fma(std::fma(a, a, b), a, b); }}},
      {"a * a * a + b",
       {[](double a, double b) { return a * a * a + b; },
        [](double a, double b) { return std::fma(a * a, a, b); },
        [](double a, double b) { return a * (a * a) + b; }}},
      {"sqrt(a * a + b * b)",
       {[](double a, double b) { return std::sqrt(a * a + b * b); },
        [](double a, double b) { return std::sqrt(std::fma(a, a, b * b)); },
        [](double a, double b) { return std::hypot(a, b); }}},
      {"a * b / (a + b)", {[](double a, double b) { return a * b / (a + b); }}},
      {"a / b / b", {[](double a, double b) { return a / b / b; }}},
      {"1 / (1 + a * b)",
       {[](double a, double b) { return 1 / (1 + a * b); },
        [](double a, double b) { return 1 / std::fma(a, b, 1); }}},
      {"(a + b) * 0.5 - a",
       {[](double a, double b) { return (a + b) * 0.5 - a; },
        [](double a, double b) { return std::fma(a + b, 0.5, -a); }}},
      {"max(a * b, a) - b", {[](double a, double b) {
         const double p = a * b;
         return (p > a || std::isnan(p) ? p : a) - b;
       }}},
  };
  std::mt19937_64 random(7);
  const double centres[] = {340, 341.3, 511, 512, 513, 700, 1022, 1023};
  std::uniform_real_distribution<double> beside(-1.5, 0.99);
  int overflowed = 0;
  for (const Honest& honest : all) {
    const Contract contract = testing::pair_contract("f64", honest.formula, kNaive);
    for (int trial = 0; trial < 60; ++trial) {
      const auto draw = [&] {
        const double sign = random() % 3 == 0 ? -1 : 1;
        return sign * std::exp2(centres[random() % 8] + beside(random));
      };
      const double a = draw();
      const double b = random() % 4 == 0 ? 1 / draw() : draw();
      for (const auto& kernel : honest.kernels) {
        const double got = kernel(a, b);
        overflowed += !std::isfinite(got);
        const Verdict v =
            testing::judge_pair(contract, DType::f64, round_to_bits(DType::f64, a),
                                round_to_bits(DType::f64, b), round_to_bits(DType::f64, got));
        EXPECT_TRUE(v.outcome == Outcome::pass || v.no_bound == 1)
            << honest.formula << " a=" << a << " b=" << b << " got=" << got;
      }
    }
  }
  EXPECT_GT(overflowed, 300);
}

TEST(BeyondDouble, HonestOrdersOfRowsPass) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> beside(-1.5, 0.99);
  for (int trial = 0; trial < 150; ++trial) {
    std::vector<double> x(1 + static_cast<size_t>(trial % 7));
    for (double& v : x)
      v = (random() % 3 == 0 ? -1 : 1) * std::exp2((trial % 2 == 0 ? 341.3 : 512) + beside(random));
    double squares[3] = {0, 0, 0};  // contracted, not, and in the other order
    double cubes[3] = {0, 0, 0};
    for (size_t k = 0; k < x.size(); ++k) {
      const double v = x[k];
      const double w = x[x.size() - 1 - k];
      squares[0] = std::fma(v, v, squares[0]);
      squares[1] += v * v;
      squares[2] = std::fma(w, w, squares[2]);
      cubes[0] = std::fma(v * v, v, cubes[0]);
      cubes[1] += v * (v * v);
      cubes[2] = std::fma(w, w * w, cubes[2]);
    }
    const auto passes = [&](const std::string& formula, double got) {
      const Verdict v = wide_sum(formula, kNaive, x, got);
      EXPECT_TRUE(v.outcome == Outcome::pass || v.no_bound == 1) << formula << " " << got;
    };
    for (int k = 0; k < 3; ++k) {
      passes("sum(x * x, cols)", squares[k]);
      passes("sqrt(sum(x * x, cols))", std::sqrt(squares[k]));
      passes("sum(x * x * x, cols)", cubes[k]);
      passes("tanh(sum(x * x * x, cols))", std::tanh(cubes[k]));
      passes("1 / sqrt(mean(x * x, cols) + 1e-5)",
             1 / std::sqrt(squares[k] / static_cast<double>(x.size()) + 1e-5));
    }
  }
}

}  // namespace
}  // namespace assay
