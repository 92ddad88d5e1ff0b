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
Verdict line(const std::string& formula, float x, float got, const std::string& more = kSafe) {
  return Line(line_contract("f32", formula, more), {x})({got});
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
    judged(wide("sqrt(exp(a))", 1000, 0, got, kNaive), Outcome::pass, "f64 sqrt");
  for (const double got :
       {exact * 1.1, exact / 1.1, 1e250, 1.0, kLargest, -INFINITY * 1.0, std::nan("")})
    judged(wide("sqrt(exp(a))", 1000, 0, got), Outcome::mismatch, "f64 sqrt");
}

TEST(Vast, SoftplusAsUsersWriteIt) {
  for (const float x : {750.0f, 1000.0f, 1200.0f, 5000.0f, 12000.0f, 1e6f, 3e8f}) {
    for (const char* formula : {"log1p(exp(x))", "log(1 + exp(x))"}) {
      for (const float got : {x, INFINITY})
        judged(line(formula, x, got, kNaive), Outcome::pass, formula);
      for (const float got : {0.99f * x, 1.01f * x, 5.0f, kMax, -INFINITY, NAN})
        judged(line(formula, x, got), Outcome::mismatch, formula + std::to_string(x));
    }
    for (const float got : {-x, -INFINITY})
      judged(line("0 - log1p(exp(x))", x, got, kNaive), Outcome::pass, "logsigmoid");
    for (const float got : {-1.01f * x, -0.99f * x, INFINITY})
      judged(line("0 - log1p(exp(x))", x, got), Outcome::mismatch, "logsigmoid");
    for (const float got : {x, INFINITY})
      judged(line("x * tanh(log1p(exp(x)))", x, got == x ? x : x), Outcome::pass, "mish");
    judged(line("x * tanh(log1p(exp(x)))", x, 0.9f * x), Outcome::mismatch, "mish");
    judged(line("log1p(exp(x)) + 1", x, INFINITY, kNaive), Outcome::pass, "settled");
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
    judged(wide("exp(a) / b", 710, 3, got, kNaive), Outcome::pass, "quotient");
  for (const double got : {exact * 1.01, exact * 0.99, kLargest, 1e300})
    judged(wide("exp(a) / b", 710, 3, got), Outcome::mismatch, "quotient");
}

/// With `range = "safe"` nothing leaves the range: an infinity is right where the result is one.
TEST(Vast, SafeKernelsComeBackIntoRange) {
  const double big = std::exp(500.0);
  const auto pair = [](const std::string& formula, double a, double b, double right) {
    for (const std::string subnormals : {"keep", "flush"}) {
      const std::string policy =
          "[policy]\nrange = \"safe\"\nnan = \"propagate\"\nsubnormals = \"" + subnormals + "\"\n";
      judged(wide(formula, a, b, right, policy), Outcome::pass, formula);
      judged(wide(formula, a, b, std::copysign(INFINITY, right), policy), Outcome::mismatch,
             formula);
    }
  };
  pair("sqrt(exp(a))", 1000, 0, big);
  pair("exp(a) / b", 710, 3, std::exp(709.0) * (std::exp(1.0) / 3));
  pair("a * b * 1e-200", 1e200, 1e200, 1e200);
  pair("a * b * 1e-200", -1e200, 1e200, -1e200);
  pair("sqrt(a * a + b * b)", 3e200, 4e200, 5e200);
  pair("(a + b) * 0.5", 1.5e308, 1.5e308, 1.5e308);
  pair("log(a * b)", 1e200, 1e200, std::log(1e200) * 2);
  for (const float x : {750.0f, 5000.0f, 3e8f}) {
    judged(line("log1p(exp(x))", x, x), Outcome::pass, "softplus");
    judged(line("log1p(exp(x))", x, INFINITY), Outcome::mismatch, "softplus");
    judged(line("0 - log1p(exp(x))", x, -INFINITY), Outcome::mismatch, "logsigmoid");
  }
  // Where the exact value is beyond the type, or next to its end, or beyond the last tier.
  judged(wide("exp(a) / b", 711, 3, INFINITY), Outcome::pass, "beyond");
  judged(wide("a * b / a", 1e200, kLargest, INFINITY), Outcome::pass, "next to the end");
  judged(line("exp(x) / 3", 1000, INFINITY), Outcome::pass, "beyond f32");
  EXPECT_EQ(line("log1p(exp(x))", 3e9f, INFINITY).outcome, Outcome::pass);
  const std::vector<double> above{1.5e308, 1.5e308, 1e292};
  judged(wide_sum("mean(x, cols)", kSafe, above, 1e308), Outcome::pass, "mean");
  judged(wide_sum("mean(x, cols)", kSafe, above, INFINITY), Outcome::mismatch, "mean");
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

/// Of an output of another type than the sum: all of `right` pass, all of `wrong` do not.
void narrowed(const std::string& formula, const std::string& type, const std::string& policy,
              const std::vector<double>& x, const std::vector<double>& right,
              const std::vector<double>& wrong) {
  const DType out = *parse_dtype(type);
  const Contract contract = testing::wide_row(formula, policy, "[1]", type);
  const auto judge_as = [&](double got, Outcome expected) {
    const uint64_t bits = is_floating(out) ? round_to_bits(out, got)
                                           : static_cast<uint64_t>(static_cast<int64_t>(got));
    judged(testing::judge_wide_bits(contract, x, bits), expected,
           formula + " " + type + " " + std::to_string(got));
  };
  for (const double got : right) judge_as(got, Outcome::pass);
  for (const double got : wrong) judge_as(got, Outcome::mismatch);
}

/// The sum is finite, and no other type holds it. In some order a partial sum overflows first: that
/// infinity stays, or meets the other one and is NaN (range = "naive"). No order is finite.
TEST(Vast, SumsNextToDoublesEndAreNarrowed) {
  const double m = kLargest;
  for (const std::vector<double>& x :
       {std::vector<double>{m, m, -m, -m, -m}, {-2e-308, m, 1, m, -m, 0, -m, -m, -1}}) {
    for (const char* type : {"f32", "f16", "bf16"}) {
      narrowed("sum(x, cols)", type, kNaive, x, {-INFINITY, INFINITY, NAN}, {0, -3e4, 3e4});
      narrowed("sum(x, cols)", type, kSafe, x, {-INFINITY}, {INFINITY, NAN, 0, -3e4});
      narrowed("sum(x, cols) * 1e-260", type, kSafe, x, {-INFINITY}, {INFINITY, NAN, 0});
      narrowed("sum(x, cols) * 1e-306", type, kSafe, x, {-179.76931}, {INFINITY, NAN, 0, -190});
      narrowed("sum(x, cols) * 1e-306", type, kNaive, x, {-179.76931, INFINITY, -INFINITY, NAN},
               {0, -190, 179});
    }
    narrowed("sum(x, cols)", "f64", kSafe, x, {-m}, {INFINITY, NAN, -1.79e308});
    narrowed("sum(x, cols)", "f64", kNaive, x, {-m, INFINITY, -INFINITY, NAN}, {-1.79e308, m});
  }
  // +max alone overflows where two of it come first.
  for (const double got : {double{INFINITY}, double{NAN}})
    narrowed("sum(x, cols)", "f32", kNaive, {m, m, -m}, {INFINITY, got}, {0, 3e38, -3e38});
  narrowed("sum(x, cols)", "f32", kSafe, {m, m, -m}, {INFINITY}, {-INFINITY, NAN, 0, 3e38});
}

TEST(Vast, SumsNextToDoublesEndAreConvertedAndCompared) {
  const double m = kLargest;
  const std::string saturate = "cast_overflow = \"saturate\"\n";
  const std::vector<double> x{m, m, -m, -m, -m};
  narrowed("cast(sum(x, cols), i8)", "i8", kSafe + saturate, x, {-128}, {127, 0, -127});
  narrowed("cast(sum(x, cols), i8)", "i8", kNaive + saturate, x, {-128, 127}, {});
  narrowed("quant(sum(x, cols), i8)", "i8", kSafe, x, {-128}, {127, 0, -127});
  // A sum that rounds: its allowance and the value together leave double.
  const std::vector<double> rounds{m / 3, m / 3, m / 3, -1e300};
  narrowed("quant(sum(x, cols), i8)", "i8", kSafe, rounds, {127}, {-128, 0, 126});
  narrowed("where(sum(x, cols) > 0, 1.5, 2.5)", "f32", kSafe, x, {2.5}, {1.5, INFINITY});
  narrowed("where(sum(x, cols) > 0, 1.5, 2.5)", "f32", kNaive, x, {1.5, 2.5}, {3, INFINITY});
  narrowed("max(sum(x, cols), 0)", "f32", kSafe, x, {0}, {1e-30, INFINITY, NAN});
  narrowed("min(max(sum(x, cols), -448), 448)", "f32", kSafe, x, {-448}, {448, 0, NAN});
  // Of what 640 bits do not hold the sign is known.
  const std::vector<double> tiny{-2, -m, 2, 0, 1};
  narrowed("max(sum(x, cols), 0)", "f64", kSafe, tiny, {0}, {1, 1e-30, INFINITY});
  narrowed("min(sum(x, cols), 0)", "f64", kSafe, tiny, {-m}, {0, -1.79e308});
}

/// A factor or a term next to double's end: its size and its own error together leave double, which
/// is no reason to judge nothing.
TEST(Vast, WhatIsMadeOfSumsNextToDoublesEnd) {
  const double m = kLargest;
  const std::vector<double> x{m / 1.001, m / 3, m / 3, -m / 3, -m / 3, 1e300};
  const double sum = m / 1.001 + 1e300;
  narrowed("sum(x, cols) * 0.5", "f64", kSafe, x, {sum / 2}, {sum / 2 * 1.0001, INFINITY, NAN});
  narrowed("sum(x, cols) * 1e-300", "f64", kSafe, x, {sum * 1e-300}, {sum * 1.0001e-300, NAN});
  narrowed("0.25 * sum(x, cols)", "f32", kSafe, x, {INFINITY}, {0, -INFINITY, NAN});
  narrowed("sum(x, cols) / 3", "f64", kSafe, x, {sum / 3}, {sum / 3 * 1.0001, INFINITY, NAN});
  narrowed("sum(x, cols) / max(x, cols)", "f64", kSafe, x, {sum / (m / 1.001)},
           {1.0001, INFINITY, NAN});
  const std::vector<double> both{m, m / 3, -m, 1e300, m / 3};
  const double rest = 2 * (m / 3) + 1e300;
  for (const char* formula : {"sum(x, cols) + 3", "3 + sum(x, cols)"})
    narrowed(formula, "f64", kSafe, both, {rest}, {rest * 1.0001, INFINITY, -INFINITY, NAN});
  narrowed("3 - sum(x, cols)", "f64", kSafe, both, {-rest}, {-rest * 1.0001, INFINITY, NAN});
  narrowed("sum(x, cols) - max(x, cols)", "f64", kNaive, both, {rest - m, INFINITY, -INFINITY, NAN},
           {(rest - m) * 1.0001, 0, rest});
}

/// Scaled, a sum rounds as any other: what is made of it errs by that too. Its terms are exact in
/// any order where they are multiples of 2^-53 of their magnitude (rule R11).
TEST(Vast, SumsThatAreAddedScaledAreNoMoreExact) {
  const std::vector<double> x{-1.7196879185550897e+308, 8.6943300863089105e+307,
                              3.3824646801184572e+307, 1.1672768503973131e+308,
                              1.3803889877052538e+307};
  narrowed("exp(sum(x, cols) * -1e-307)", "f64", kNaive, x, {0.00035868246031133438, 0},
           {0.0003586824, 0.00036, INFINITY, NAN});
  const std::vector<double> exact{0x1p1023, 0x1p1023, -0x1p1023, -0x1.8p1022};
  narrowed("sum(x, cols)", "f64", kSafe, exact, {0x1p1021},
           {std::nextafter(0x1p1021, 0), std::nextafter(0x1p1021, kLargest), INFINITY});
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
