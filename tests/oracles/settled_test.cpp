// Elements that the first tier settles: where the argument's error reaches over a step, or over all
// of a bounded function's range, its value stands for the exact one in every tier.
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

constexpr Tier kTiers[] = {Tier::running_double, Tier::double_double, Tier::multiprecision};

// --- steps ---

/// -1810 x 0.7 is -1267 in float, and 1.1e-13 more as a double's product: floor's exact value is
/// -1267, trunc's -1266 or -1267 as 0.7 is a double or a float.
TEST(Settled, EitherSideOfAStep) {
  for (const auto& [formula, right] : {std::pair{"floor(x * 0.7)", std::vector<float>{-1267}},
                                       {"trunc(x * 0.7)", std::vector<float>{-1266, -1267}},
                                       {"ceil(x * 0.7)", std::vector<float>{-1266, -1267}}}) {
    Line line(line_contract("f32", formula, kSafe), {-1810});
    for (const float got : right) judged(line({got}), Outcome::pass, formula);
    for (const float got : {-1265.0f, -1269.0f}) judged(line({got}), Outcome::mismatch, formula);
  }
}

TEST(Settled, StepsOfProductsAsKernelsComputeThem) {
  std::mt19937_64 rng(1);
  std::vector<float> x;
  for (int k = 0; k < 4000; ++k) x.push_back(static_cast<float>(rng() % 40001) - 20000);
  const auto expect = [&](const std::string& formula, auto kernel) {
    Line line(line_contract("f32", formula, kSafe), x);
    std::vector<float> y;
    for (const float v : x) y.push_back(kernel(v));
    const Verdict v = line(y);
    EXPECT_EQ(v.wrong + v.undecided, 0) << formula << testing::told(v);
    for (float& one : y) one += 2;
    EXPECT_EQ(line(y).wrong, std::ssize(x)) << formula;
  };
  expect("floor(x * 0.7)", [](float v) { return std::floor(v * 0.7f); });
  expect("ceil(x * 0.7)", [](float v) { return std::ceil(v * 0.7f); });
  expect("trunc(x * 0.7)", [](float v) { return std::trunc(v * 0.7f); });
  expect("rint(x * 0.3)", [](float v) { return std::nearbyint(v * 0.3f); });
  expect("floor(x / 0.7)", [](float v) { return std::floor(v / 0.7f); });
  expect("rint(x / 0.3)", [](float v) { return std::nearbyint(v / 0.3f); });
}

TEST(Settled, StepsInDouble) {
  // 7 x 0.1 is 0.7000000000000001 as a product of doubles; / 0.1 it is 7, or next to it.
  std::mt19937_64 rng(2);
  const auto unit = [&] { return 1 + static_cast<double>(rng() >> 11) * 0x1p-53; };
  for (int trial = 0; trial < 400; ++trial) {
    const double b = unit();
    const double a = b * static_cast<double>(rng() % 100) * (trial % 3 == 0 ? unit() : 1);
    const double q = std::floor(a / b);
    judged(wide("floor(a / b) * b", a, b, q * b), Outcome::pass, "floor");
    judged(wide("floor(a / b) * b", a, b, (q + 2) * b), Outcome::mismatch, "floor");
    for (const double rest : {a - q * b, std::fma(-q, b, a)})
      judged(wide("a - floor(a / b) * b", a, b, rest), Outcome::pass, "remainder");
    judged(wide("a - floor(a / b) * b", a, b, a - (q + 2) * b), Outcome::mismatch, "remainder");
  }
}

/// x = -m / 2 lies on a tie of x / (m / 127), of which no tier knows more than that it is near.
TEST(Settled, FakeQuantisationAtATie) {
  const std::string formula = "rint(x / (max(abs(x), cols) / 127)) * (max(abs(x), cols) / 127)";
  std::mt19937_64 rng(4);
  for (int trial = 0; trial < 100; ++trial) {
    const float m = 1 + static_cast<float>(rng() >> 41) * 0x1p-23f;
    const float s = m / 127;
    for (const Tier first : kTiers) {
      JudgeOptions options;
      options.first_tier = first;
      Line line(line_contract("f32", formula, kSafe), {-m / 2, m});
      const auto outcome = [&](float code) {
        line.run->set("y", 0, testing::f32_bits(code * s));
        line.run->set("y", 1, testing::f32_bits(127 * s));
        const Verdict v = line.judge.judge(*line.instance, *line.run, options);
        EXPECT_EQ(v.undecided, 0);
        return v.wrong;
      };
      for (const float code : {-64.0f, -63.0f}) EXPECT_EQ(outcome(code), 0) << m;
      for (const float code : {-65.0f, -62.0f}) EXPECT_EQ(outcome(code), 1) << m;
    }
  }
}

/// Away from a step its value is exact, whatever is known of the argument: products with it are
/// decided at their ties, and integers of it add exactly (R11).
TEST(Settled, WhereNoStepIsNearTheStepIsExact) {
  const std::vector<float> x{0.9f, 1.7f, 2.4f, 3.3f};
  // 0.3 x: 0.27, 0.51, 0.72, 0.99; floors 0, and of 3 x: 2, 5, 7, 9.
  const Contract contract = row_contract("sum(floor(x * 3.001), cols) * 1024", kSafe);
  judged(judge_row(contract, x, 23 * 1024), Outcome::pass, "sum");
  for (const float got : {std::nextafter(23 * 1024.0f, 0.0f), std::nextafter(23 * 1024.0f, 1e9f)})
    judged(judge_row(contract, x, got), Outcome::mismatch, "sum");
}

/// A condition on a row's reduction, in the higher tiers of one element of the row.
TEST(Settled, ConditionsSeeTheWholeRow) {
  Line line(line_contract("f32", "where(x > mean(x, cols), x * 0.7, x * 0.3)", kSafe), {1, 2, 6});
  for (const Tier first : kTiers) {
    JudgeOptions options;
    options.first_tier = first;
    const auto wrong = [&](float a, float b, float c) {
      const float y[] = {a, b, c};
      for (int64_t k = 0; k < 3; ++k) line.run->set("y", k, testing::f32_bits(y[k]));
      return line.judge.judge(*line.instance, *line.run, options).wrong;
    };
    EXPECT_EQ(wrong(1 * 0.3f, 2 * 0.3f, 6 * 0.7f), 0);
    EXPECT_EQ(wrong(1 * 0.7f, 2 * 0.7f, 6 * 0.3f), 3);
  }
}

// --- bounded functions ---

/// The sum is known to 1e292 at best, in any order; 640 bits do not hold it either.
TEST(Settled, BoundedFunctionsOfHugeSums) {
  const std::vector<double> x{9e307, 3, -9e307, 1e-3, 8e307, -8e307};
  const std::string depth = "[accuracy]\ndepth = \"cols\"\n";
  struct Bounded {
    const char* formula;
    double least;
    double most;
  };
  for (const std::string& policy : {kSafe, kNaive})
    for (const Bounded& f :
         {Bounded{"tanh(sum(x, cols))", -1, 1}, Bounded{"erf(sum(x, cols))", -1, 1},
          Bounded{"erf(mean(x, cols))", -1, 1}, Bounded{"atan(sum(x, cols))", -M_PI_2, M_PI_2},
          Bounded{"erfc(sum(x, cols))", 0, 2}, Bounded{"normcdf(sum(x, cols))", 0, 1},
          Bounded{"sin(sum(x, cols))", -1, 1}, Bounded{"cos(sum(x, cols))", -1, 1}}) {
      const double middle = (f.least + f.most) / 2;
      for (const double got : {f.least, f.most, middle, std::tanh(3.0) / 2})
        judged(wide_sum(f.formula, policy + depth, x, got), Outcome::pass, f.formula);
      for (const double got : {f.least - 0.01, f.most + 0.01, -1e292, 1e300})
        judged(wide_sum(f.formula, policy + depth, x, got), Outcome::mismatch, f.formula);
    }
}

/// A row far to one side needs no such thing.
TEST(Settled, ABoundedFunctionAtItsEndIsSharp) {
  for (const double got : {1.0, -1.0, 0.0}) {
    const Outcome expected = got == 1 ? Outcome::pass : Outcome::mismatch;
    judged(wide_sum("tanh(sum(x, cols))", kSafe, {9e307, -8e307, 3}, got), expected, "tanh");
  }
}

// --- maxima of what surely loses ---

TEST(Settled, ASumThatSurelyLosesToZero) {
  const std::vector<float> x{3, -1.5f, 1e13f, 7};
  const std::string policy = "[policy]\nnan = \"ignore\"\nrange = \"naive\"\n";
  for (const char* far : {"1e20", "1e17"}) {
    const Contract contract =
        row_contract(std::string("max(sum(x, cols) - ") + far + ", 0)", policy);
    judged(judge_row(contract, x, 0), Outcome::pass, far);
    for (const float got : {-30.0f, -1e-20f, 1e-20f, 23.0f})
      judged(judge_row(contract, x, got), Outcome::mismatch, far);
  }
  // min mirrors it.
  const Contract least = row_contract("min(sum(x, cols) + 1e20, 1)", policy);
  judged(judge_row(least, x, 1), Outcome::pass, "min");
  judged(judge_row(least, x, 31), Outcome::mismatch, "min");
}

TEST(Settled, TermsOfDoubleThatSurelyLose) {
  const std::string policy = "[policy]\nnan = \"ignore\"\nrange = \"naive\"\n";
  std::mt19937_64 rng(5);
  const auto unit = [&] { return 1 + static_cast<double>(rng() >> 11) * 0x1p-53; };
  for (int trial = 0; trial < 300; ++trial) {
    const double a = unit();
    const double b = -unit();
    judged(wide("max(a * b - 1, 0)", a, b, 0, policy), Outcome::pass, "relu");
    judged(wide("max(a * b - 1, 0)", a, b, (a * b - 1) * 1e-17, policy), Outcome::mismatch, "relu");
  }
  // A sum of which 640 bits know nothing less than 1e100, far below the other operand.
  const std::vector<double> x{8e307, 3, -8e307, 1e-3, -1e294};
  for (const std::string& range : {policy, kSafe}) {
    judged(wide_sum("max(sum(x, cols), 1.5)", range, x, 1.5), Outcome::pass, "max");
    for (const double got : {std::nextafter(1.5, 2.0), 0.0, 1e292, -1e294})
      judged(wide_sum("max(sum(x, cols), 1.5)", range, x, got), Outcome::mismatch, "max");
  }
}

}  // namespace
}  // namespace assay
