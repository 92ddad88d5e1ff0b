// Numbers beyond double: judged by their limit, and near their exact value where the last tier
// knows it (docs/judging/overflow.md, "Numbers beyond double").
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/wide_cases.hpp"

namespace assay {
namespace {

using testing::judge_row;
using testing::judged;
using testing::kNaive;
using testing::kSafe;
using testing::Line;
using testing::line_contract;
using testing::row_contract;
using testing::wide;
using testing::wide_sum;

constexpr float kMax = 0x1.fffffep127f;
constexpr double kLargest = std::numeric_limits<double>::max();
Verdict line(const std::string& formula, float x, float got) {
  return Line(line_contract("f32", formula, kSafe), {x})({got});
}

// --- sums of any count ---

TEST(Vast, SumsOfManyOfThem) {
  for (const size_t n : {2, 100, 300, 5000}) {
    std::vector<float> x(n, 1000.0f);
    x[0] = -3.0f;
    for (const char* formula : {"sum(exp(x), cols)", "mean(exp(x), cols)", "sum(exp(x), cols) + 3",
                                "sum(exp(x) - 1e30, cols)", "max(exp(x), cols)"}) {
      const Contract contract = row_contract(formula, kSafe);
      judged(judge_row(contract, x, INFINITY), Outcome::pass, formula);
      for (const float got : {kMax, 1.0f, -INFINITY, NAN})
        judged(judge_row(contract, x, got), Outcome::mismatch, formula + std::to_string(got));
    }
    const Contract negative = row_contract("sum(1 - exp(x), cols)", kSafe);
    judged(judge_row(negative, x, -INFINITY), Outcome::pass, "negative");
    judged(judge_row(negative, x, INFINITY), Outcome::mismatch, "negative");
    const Contract least = row_contract("min(exp(x), cols)", kSafe);
    judged(judge_row(least, x, std::exp(-3.0f)), Outcome::pass, "least");
    judged(judge_row(least, x, INFINITY), Outcome::mismatch, "least");
  }
}

TEST(Vast, NanAmongThemStaysNan) {
  for (const std::vector<float>& x : std::vector<std::vector<float>>{{1000, NAN}, {NAN, 1, 1000}}) {
    for (const char* formula : {"sum(exp(x), cols)", "mean(exp(x), cols)", "log(sum(exp(x), cols))",
                                "max(exp(x), cols)"}) {
      const Contract contract = row_contract(formula, kNaive);
      judged(judge_row(contract, x, NAN), Outcome::pass, formula);
      for (const float got : {INFINITY, 1000.0f})
        judged(judge_row(contract, x, got), Outcome::mismatch, formula + std::to_string(got));
    }
  }
}

TEST(Vast, SumsOfBothSignsHaveNoBound) {
  const std::vector<float> x{1000, -1000, 3};
  const Contract contract =
      row_contract("sum(where(x > 0, exp(abs(x)), 0 - exp(abs(x))), cols)", kSafe);
  for (const float got : {INFINITY, -INFINITY, NAN, 20.0f})
    EXPECT_EQ(judge_row(contract, x, got).no_bound, 1) << got;
}

// --- what comes back into range ---

TEST(Vast, RootsOfThem) {
  judged(line("sqrt(exp(x))", 1000, INFINITY), Outcome::pass, "f32");
  for (const float got : {kMax, 1e30f, -INFINITY, NAN})
    judged(line("sqrt(exp(x))", 1000, got), Outcome::mismatch, "f32");
  for (const float got : {0.0f, -0.0f})
    judged(line("rsqrt(exp(x))", 1000, got), Outcome::pass, "rsqrt");
  for (const float got : {1e-20f, 1.0f, INFINITY, NAN})
    judged(line("rsqrt(exp(x))", 1000, got), Outcome::mismatch, "rsqrt");
  // f64: e^500 = 1.4e217 is a number again.
  const double exact = std::exp(500.0);
  for (const double got : {exact, INFINITY * 1.0})
    judged(wide("sqrt(exp(a))", 1000, 0, got), Outcome::pass, "f64 sqrt");
  for (const double got :
       {exact * 1.1, exact / 1.1, 1e250, 1.0, kLargest, -INFINITY * 1.0, std::nan("")})
    judged(wide("sqrt(exp(a))", 1000, 0, got), Outcome::mismatch, "f64 sqrt");
}

TEST(Vast, SoftplusAsUsersWriteIt) {
  for (const float x : {750.0f, 1000.0f, 1200.0f, 5000.0f, 12000.0f, 1e6f, 3e8f}) {
    for (const char* formula : {"log1p(exp(x))", "log(1 + exp(x))"}) {
      for (const float got : {x, INFINITY}) judged(line(formula, x, got), Outcome::pass, formula);
      for (const float got : {0.99f * x, 1.01f * x, 5.0f, kMax, -INFINITY, NAN})
        judged(line(formula, x, got), Outcome::mismatch, formula + std::to_string(x));
    }
    for (const float got : {-x, -INFINITY})
      judged(line("0 - log1p(exp(x))", x, got), Outcome::pass, "logsigmoid");
    for (const float got : {-1.01f * x, -0.99f * x, INFINITY})
      judged(line("0 - log1p(exp(x))", x, got), Outcome::mismatch, "logsigmoid");
    for (const float got : {x, INFINITY})
      judged(line("x * tanh(log1p(exp(x)))", x, got == x ? x : x), Outcome::pass, "mish");
    judged(line("x * tanh(log1p(exp(x)))", x, 0.9f * x), Outcome::mismatch, "mish");
    judged(line("log1p(exp(x)) + 1", x, INFINITY), Outcome::pass, "settled");
    judged(line("log1p(exp(x)) + 1", x, x + 1), Outcome::pass, "settled");
    judged(line("log1p(exp(x)) + 1", x, 0.98f * x), Outcome::mismatch, "settled");
  }
}

TEST(Vast, ExponentialsAndComparisonsOfThem) {
  for (const float got : {0.0f, -0.0f})
    judged(line("exp(0 - exp(x))", 1000, got), Outcome::pass, "");
  for (const float got : {1e-30f, 1.0f, INFINITY, NAN})
    judged(line("exp(0 - exp(x))", 1000, got), Outcome::mismatch, "");
  judged(line("exp(exp(x))", 1000, INFINITY), Outcome::pass, "");
  judged(line("exp(exp(x))", 1000, 0), Outcome::mismatch, "");
  judged(line("where(exp(x) > 5, 1, 2)", 1000, 1), Outcome::pass, "");
  judged(line("where(exp(x) > 5, 1, 2)", 1000, 2), Outcome::mismatch, "");
  judged(line("max(exp(x), exp(2 * x))", 1000, INFINITY), Outcome::pass, "");
  judged(line("max(0 - exp(x), 0 - exp(2 * x))", 1000, -INFINITY), Outcome::pass, "");
  judged(line("max(0 - exp(x), 0 - exp(2 * x))", 1000, INFINITY), Outcome::mismatch, "");
}

TEST(Vast, FiniteNumbersBeyondTheExactValueAreWrong) {
  // e^710 / 3 = 7.4e307.
  const double exact = std::exp(709.0) * (std::exp(1.0) / 3);
  for (const double got : {exact, INFINITY * 1.0})
    judged(wide("exp(a) / b", 710, 3, got), Outcome::pass, "quotient");
  for (const double got : {exact * 1.01, exact * 0.99, kLargest, 1e300})
    judged(wide("exp(a) / b", 710, 3, got), Outcome::mismatch, "quotient");
}

// --- sums of finite doubles that no double holds ---

TEST(Vast, SumsOfDoublesBeyondDouble) {
  const double infinity = INFINITY;
  const std::vector<double> above{1.5e308, 1.5e308, 1e292};
  for (const std::string& policy : {kSafe, kNaive}) {
    judged(wide_sum("sum(x, cols)", policy, above, infinity), Outcome::pass, policy);
    for (const double got : {kLargest, 1.5e308, 1e292, -infinity, std::nan("")})
      judged(wide_sum("sum(x, cols)", policy, above, got), Outcome::mismatch, policy);
  }
  // The total is a number, and with `range = "naive"` the order may say otherwise.
  const std::vector<double> inside{1.5e308, 1.5e308, -1.5e308, -1e308};
  judged(wide_sum("sum(x, cols)", kSafe, inside, 5e307), Outcome::pass, "inside");
  for (const double got : {infinity, 6e307, 4e307, std::nan("")})
    judged(wide_sum("sum(x, cols)", kSafe, inside, got), Outcome::mismatch, "inside");
  for (const double got : {5e307, infinity, -infinity, std::nan("")})
    judged(wide_sum("sum(x, cols)", kNaive, inside, got), Outcome::pass, "naive");
  judged(wide_sum("sum(x, cols)", kNaive, inside, 6e307), Outcome::mismatch, "naive");
  judged(wide_sum("mean(x, cols)", kNaive, above, infinity), Outcome::pass, "mean");
  judged(wide_sum("mean(x, cols)", kNaive, above, 1e308), Outcome::pass, "mean");
  for (const double got : {1.1e308, 0.9e308, 1.0, -infinity, std::nan("")})
    judged(wide_sum("mean(x, cols)", kNaive, above, got), Outcome::mismatch, "mean");
}

/// Double-double knows no e^x so far from 0, and what it makes of it is no infinity.
TEST(Vast, WhatIsNextToZeroIsLeftToTheLastTier) {
  judged(wide("exp(a) * b", -1e207, 1e207, 0, kNaive), Outcome::pass, "product");
  judged(wide("exp(a) * b", -1e207, -1e207, -0.0, kNaive), Outcome::pass, "product");
  judged(wide("exp(a) + exp(b)", -1.7e308, -9e307, 0, kNaive), Outcome::pass, "sum");
  judged(wide("exp(a) * b", -1e207, 1e207, 1, kNaive), Outcome::mismatch, "product");
  judged(wide("exp(a) + exp(b)", -1.7e308, -9e307, 1e-300, kNaive), Outcome::mismatch, "sum");
}

TEST(Vast, HonestOrdersOfDoublesPass) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> exponent(1020, 1023.99);
  int overflowed = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> x(2 + static_cast<size_t>(trial % 9));
    for (double& v : x) v = (random() % 3 == 0 ? -1 : 1) * std::exp2(exponent(random));
    double forwards = 0;
    for (const double v : x) forwards += v;
    double backwards = 0;
    for (size_t k = x.size(); k-- > 0;) backwards += x[k];
    for (const double got : {forwards, backwards}) {
      overflowed += !std::isfinite(got);
      EXPECT_EQ(wide_sum("sum(x, cols)", kNaive, x, got).outcome, Outcome::pass) << got;
    }
  }
  EXPECT_GT(overflowed, 50);
}

}  // namespace
}  // namespace assay
