// What follows from an overflow is right (rule R7), and not all that lies between the exact value
// and infinity: docs/judging/overflow.md.
#include "oracles/overflow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::floats;
using testing::judge_pair;
using testing::judge_row;
using testing::kOrders;
using testing::Line;
using testing::line_contract;
using testing::Order;
using testing::pair_contract;
using testing::row_contract;
using testing::summed;
using testing::told;

constexpr float kMax = 0x1.fffffep127f;
const std::string kNaive =
    "[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

Outcome line(const std::string& formula, float x, float got, const std::string& more = kNaive,
             const std::string& type = "f32") {
  return Line(line_contract(type, formula, more), {x})({got}).outcome;
}

Outcome row(const std::string& formula, const std::vector<float>& x, float got,
            const std::string& more = kNaive) {
  return judge_row(row_contract(formula, more), x, got).outcome;
}

float third(float x) { return static_cast<float>(std::exp(static_cast<double>(x)) / 3); }

// --- plus infinity, minus infinity ---

TEST(Overflow, AFunctionOfAnOverflowIsInfiniteOrExact) {
  for (const float x : {88.8f, 89.0f, 89.4f}) {
    for (const float got : {third(x), INFINITY})
      EXPECT_EQ(line("exp(x) / 3", x, got), Outcome::pass) << x << got;
    for (const float got : {third(x) * 1.01f, third(x) * 0.99f, kMax, -INFINITY, NAN, 0.0f})
      EXPECT_EQ(line("exp(x) / 3", x, got), Outcome::mismatch) << x << got;
    for (const float got : {-third(x), -INFINITY})
      EXPECT_EQ(line("0 - exp(x) / 3", x, got), Outcome::pass) << x << got;
    for (const float got : {-third(x) * 1.01f, -kMax, INFINITY, NAN})
      EXPECT_EQ(line("0 - exp(x) / 3", x, got), Outcome::mismatch) << x << got;
  }
  // With `range = "safe"` the infinity is wrong too, and without a policy it is asked for.
  const std::string safe = "[policy]\nrange = \"safe\"\n";
  EXPECT_EQ(line("exp(x) / 3", 89, INFINITY, safe), Outcome::mismatch);
  const Verdict v = Line(line_contract("f32", "exp(x) / 3", ""), {89})({INFINITY});
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_EQ(v.widened, 1);
  EXPECT_FALSE(v.missing_policies.empty());
}

TEST(Overflow, AQuotientOfTwoOverflowsIsNan) {
  const std::string tanh = "(exp(x) - exp(-x)) / (exp(x) + exp(-x))";
  for (const float got : {1.0f, NAN}) EXPECT_EQ(line(tanh, 262, got), Outcome::pass) << got;
  for (const float got : {0.5f, -1.0f}) EXPECT_EQ(line(tanh, 262, got), Outcome::mismatch) << got;
  EXPECT_EQ(line(tanh, 40, NAN), Outcome::mismatch);
  const std::string safe = "[policy]\nrange = \"safe\"\n";
  EXPECT_EQ(line(tanh, 262, NAN, safe), Outcome::mismatch);
}

TEST(Overflow, OutputsThatShareNoNodeAreLookedAtEachForItself) {
  // y is judged first and its nodes come last: z's are no part of it, over the same elements.
  const Contract contract = parse_contract(
      R"toml(
name = "two"
source = { cuda = "vector_add.cu", entry = "two" }
sizes = { n = { min = 0, max = 100000 } }
launch = { grid = ["ceil_div(n, 32)"], block = ["32"] }
args = [
{ name = "y", kind = "output", dtype = "f32", shape = ["n"] },
{ name = "z", kind = "output", dtype = "f32", shape = ["n"] },
{ name = "a", kind = "input", dtype = "f32", shape = ["n"] },
{ name = "b", kind = "input", dtype = "f32", shape = ["n"] },
]
[formula]
z = "exp(a) / 3"
y = "exp(b) / 4"
)toml" + kNaive,
      std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/pair.toml");
  Experiment e(contract);
  e.the_case.sizes["n"] = 1;
  e.put("a", {1}, DType::f32, {89});
  e.put("b", {1}, DType::f32, {89});
  const Instance instance = e.instance();
  const auto outcome = [&](float y, float z) {
    FakeRun run(instance);
    run.set("y", 0, f32_bits(y));
    run.set("z", 0, f32_bits(z));
    return Judge(contract).judge(instance, run).outcome;
  };
  EXPECT_EQ(outcome(INFINITY, INFINITY), Outcome::pass);
  EXPECT_EQ(outcome(INFINITY, kMax), Outcome::mismatch);
  EXPECT_EQ(outcome(kMax, INFINITY), Outcome::mismatch);
}

TEST(Overflow, AFiniteLimitOfAFunctionIsReached) {
  EXPECT_EQ(line("log(exp(x))", 89, 89), Outcome::pass);
  EXPECT_EQ(line("log(exp(x))", 89, INFINITY), Outcome::pass);
  for (const float got : {90.0f, 1e30f, kMax, 88.0f, -INFINITY, NAN})
    EXPECT_EQ(line("log(exp(x))", 89, got), Outcome::mismatch) << got;
  // 2 / (1 + inf) - 1 is -1, and so is the exact value.
  EXPECT_EQ(line("2 / (1 + exp(x)) - 1", 89, -1), Outcome::pass);
  EXPECT_EQ(line("2 / (1 + exp(x)) - 1", 89, -0.999f), Outcome::mismatch);
}

TEST(Overflow, AReportNamesWhatFollows) {
  const auto accepted = [](const std::string& formula, float x, float got) {
    Line one(line_contract("f32", formula, kNaive), {x});
    one({got});
    return one.explain().accepted;
  };
  EXPECT_TRUE(accepted("exp(x) / 3", 89, 3e38f).ends_with("] or inf after an overflow (R7)"))
      << accepted("exp(x) / 3", 89, 3e38f);
  EXPECT_TRUE(accepted("1e30 / exp(x)", 89, 1).ends_with("] or {0} after an overflow (R7)"))
      << accepted("1e30 / exp(x)", 89, 1);
  EXPECT_EQ(accepted("exp(x) / 3", 8, 1).find("overflow"), std::string::npos);
}

// --- zero ---

TEST(Overflow, DividedByAnOverflowIsZeroOrExact) {
  const float exact = static_cast<float>(1e30 / std::exp(89.0));  // 2.2e-9
  for (const float got : {exact, 0.0f, -0.0f})
    EXPECT_EQ(line("1e30 / exp(x)", 89, got), Outcome::pass) << got;
  for (const float got : {exact / 2, exact * 0.99f, exact * 1.01f, 1e-30f, -exact, INFINITY, NAN})
    EXPECT_EQ(line("1e30 / exp(x)", 89, got), Outcome::mismatch) << got;
  // What follows from that 0, and nothing on the way to it.
  for (const float got : {5 + exact * 1e8f, 5.0f})
    EXPECT_EQ(line("5 + 1e38 / exp(x)", 89, got), Outcome::pass) << got;
  for (const float got : {5.1f, 4.9f, 5.3f, INFINITY})
    EXPECT_EQ(line("5 + 1e38 / exp(x)", 89, got), Outcome::mismatch) << got;
}

TEST(Overflow, ANormOfSquaresThatOverflow) {
  // x / sqrt(sum x^2): 0 where the squares overflow, or the unit vector's element.
  const std::vector<float> x{3e19f, 4e19f};
  for (const float got : {0.8f, 0.0f})
    EXPECT_EQ(row("max(x, cols) / sqrt(sum(x * x, cols))", x, got), Outcome::pass) << got;
  for (const float got : {0.4f, 0.79f, 0.81f, 1.0f, INFINITY, NAN})
    EXPECT_EQ(row("max(x, cols) / sqrt(sum(x * x, cols))", x, got), Outcome::mismatch) << got;
}

// --- NaN ---

TEST(Overflow, SumsThatOverflowBothWaysAreExactOrNotFinite) {
  const float big = 0x1.8p127f;
  const std::vector<float> x{big, -big, big, -big, 5.0f, 0.25f};
  std::map<bool, int> kinds;
  for (const Order order : kOrders) {
    const float got = summed(x, order);
    ++kinds[std::isfinite(got)];
    EXPECT_EQ(row("sum(x, cols)", x, got), Outcome::pass) << got;
  }
  for (const float got : {5.25f, INFINITY, -INFINITY, NAN})
    EXPECT_EQ(row("sum(x, cols)", x, got), Outcome::pass) << got;
  // The order may lose the small ones beside the large ones, and no more than that.
  EXPECT_EQ(row("sum(x, cols)", x, 0.0f), Outcome::pass);
  for (const float got : {big, -big, kMax, 0x1p110f})
    EXPECT_EQ(row("sum(x, cols)", x, got), Outcome::mismatch) << got;
  // Exact data: no order rounds.
  const std::vector<float> exact{big, -big, big, 0x1p107f, -big};
  for (const float got : {0x1p107f, INFINITY, -INFINITY, NAN})
    EXPECT_EQ(row("sum(x, cols)", exact, got), Outcome::pass) << got;
  for (const float got : {0.0f, 0x1p108f, big})
    EXPECT_EQ(row("sum(x, cols)", exact, got), Outcome::mismatch) << got;
}

TEST(Overflow, WhatFollowsFromNaN) {
  const float big = 0x1.8p127f;
  const std::vector<float> x{big, -big, big, -big};
  for (const float got : {1.0f, INFINITY, 0.0f, NAN})
    EXPECT_EQ(row("exp(sum(x, cols) * 1e-38)", x, got), Outcome::pass) << got;
  for (const float got : {0.5f, 2.0f, kMax, -1.0f, -INFINITY})
    EXPECT_EQ(row("exp(sum(x, cols) * 1e-38)", x, got), Outcome::mismatch) << got;
}

// --- choices, maxima, forms ---

TEST(Overflow, ChoicesAndMaxima) {
  // An infinity exceeds 2e38, e^89 / 3 does not. Both branches, and what lies between them.
  EXPECT_EQ(line("where(exp(x) / 3 > 2e38, 1.5, 2.5)", 89, 2.5f), Outcome::pass);
  EXPECT_EQ(line("where(exp(x) / 3 > 2e38, 1.5, 2.5)", 89, 1.5f), Outcome::pass);
  EXPECT_EQ(line("where(exp(x) / 3 > 2e38, 1.5, 2.5)", 89, 3), Outcome::mismatch);
  EXPECT_EQ(line("max(exp(x) / 3, 1)", 89, INFINITY), Outcome::pass);
  EXPECT_EQ(line("max(exp(x) / 3, 1)", 89, 2e38f), Outcome::mismatch);
  EXPECT_EQ(line("min(exp(x) / 3, 1e38)", 89, 1e38f), Outcome::pass);
  EXPECT_EQ(line("min(exp(x) / 3, 1e38)", 89, INFINITY), Outcome::mismatch);
  const std::vector<float> x{1.0f, 89.0f};
  const float exact = third(89);
  for (const float got : {exact, INFINITY})
    EXPECT_EQ(row("max(exp(x) / 3, cols)", x, got), Outcome::pass) << got;
  for (const float got : {2e38f, third(1), 0.0f})
    EXPECT_EQ(row("max(exp(x) / 3, cols)", x, got), Outcome::mismatch) << got;
  for (const float got : {-exact, -INFINITY})
    EXPECT_EQ(row("min(0 - exp(x) / 3, cols)", x, got), Outcome::pass) << got;
  EXPECT_EQ(row("min(0 - exp(x) / 3, cols)", x, -2e38f), Outcome::mismatch);
}

TEST(Overflow, SumsOfWhatHasOverflowed) {
  const std::vector<float> x{1.0f, 89.0f};
  const auto sum = static_cast<float>((std::exp(1.0) + std::exp(89.0)) / 3);
  for (const float got : {sum, INFINITY})
    EXPECT_EQ(row("sum(exp(x) / 3, cols)", x, got), Outcome::pass) << got;
  for (const float got : {2e38f, 0.9f, -INFINITY, NAN})
    EXPECT_EQ(row("sum(exp(x) / 3, cols)", x, got), Outcome::mismatch) << got;
  // Each term is 0 or as it is: all sums of some of them, within the hull.
  const std::vector<float> two{89.0f, 89.5f};
  const double a = 1e38 / std::exp(89.0);
  const double b = 1e38 / std::exp(89.5);
  for (const double got : {a + b, a, b, 0.0})
    EXPECT_EQ(row("sum(1e38 / exp(x), cols)", two, static_cast<float>(got)), Outcome::pass) << got;
  EXPECT_EQ(row("sum(1e38 / exp(x), cols)", two, static_cast<float>((a + b) * 1.01)),
            Outcome::mismatch);
  EXPECT_EQ(row("sum(1e38 / exp(x), cols)", two, INFINITY), Outcome::mismatch);
}

TEST(Overflow, MeansAndStarts) {
  const std::vector<float> x{0x1p127f, 0x1p127f, 0x1p126f};
  const auto mean = static_cast<float>((2 * 0x1p127 + 0x1p126) / 3);
  for (const float got : {mean, INFINITY})
    EXPECT_EQ(row("mean(x, cols)", x, got), Outcome::pass) << got;
  for (const float got : {mean * 1.001f, kMax, 0.0f, NAN, -INFINITY})
    EXPECT_EQ(row("mean(x, cols)", x, got), Outcome::mismatch) << got;
  // A start in the same accumulator: 2^127 + 2^127 - 2^127.
  for (const float got : {0x1p127f, INFINITY})
    EXPECT_EQ(row("sum(x, cols) - 0x1p127", {0x1p127f, 0x1p127f}, got), Outcome::pass) << got;
  for (const float got : {0x1.8p127f, 0x1p126f, -INFINITY})
    EXPECT_EQ(row("sum(x, cols) - 0x1p127", {0x1p127f, 0x1p127f}, got), Outcome::mismatch) << got;
}

// The mean is infinite, so that a term that is no infinity differs from it by one, and one that is
// by inf - inf; one pass has inf - inf in the end.
TEST(Overflow, AVarianceOfTermsThatOverflow) {
  const std::string safe = "[policy]\nrange = \"safe\"\nnan = \"propagate\"\n";
  for (const char* form : {"var(exp(x), cols)",
                           "mean((exp(x) - mean(exp(x), cols)) * (exp(x) - mean(exp(x), cols)), "
                           "cols)"}) {
    for (const float got : {NAN, INFINITY})
      EXPECT_EQ(row(form, {0, 260}, got), Outcome::pass) << form << got;
    for (const float got : {0.0f, 1.0f, 1e38f, -INFINITY})
      EXPECT_EQ(row(form, {0, 260}, got), Outcome::mismatch) << form << got;
    // Squares alone overflow.
    EXPECT_EQ(row(form, {0, 80}, INFINITY), Outcome::pass) << form;
    EXPECT_EQ(row(form, {0, 80}, NAN), Outcome::mismatch) << form;
    EXPECT_EQ(row(form, {0, 260}, NAN, safe), Outcome::mismatch) << form;
  }
}

TEST(Overflow, UsualFormsOverflowEachForItself) {
  // 1 / (1 + e^x) underflows to 0 or a subnormal; x e^-x is the exact value of silu(-x).
  for (const std::string formula : {"silu(x)", "x / (1 + exp(-x))"}) {
    const float x = -88.8f;
    const auto exact =
        static_cast<float>(static_cast<double>(x) / (1 + std::exp(static_cast<double>(-x))));
    for (const float got : {exact, 0.0f, -0.0f})
      EXPECT_EQ(line(formula, x, got), Outcome::pass) << formula << got;
    for (const float got : {exact * 2, -1.0f, INFINITY, NAN})
      EXPECT_EQ(line(formula, x, got), Outcome::mismatch) << formula << got;
  }
}

// --- codes ---

TEST(Overflow, CodesOfWhatHasOverflowed) {
  const auto code = [](const char* formula, double x, int got) {
    const Contract contract = parse_contract(std::string(R"toml(
name = "code"
source = { cuda = "row_sum.cu", entry = "code" }
sizes = { n = { min = 0, max = 100000 } }
launch = { grid = [1], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "i8", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
]
[formula]
y = ")toml") + formula + "\"\n" + kNaive,
                                             std::string(ASSAY_SOURCE_DIR) +
                                                 "/kernels_under_test/kernels/code.toml");
    testing::Experiment e(contract);
    e.the_case.sizes["n"] = 1;
    e.put("x", {1}, DType::f32, {x});
    const Instance instance = e.instance();
    testing::FakeRun run(instance);
    run.set("y", 0, static_cast<uint64_t>(got) & 0xff);
    return Judge(contract).judge(instance, run).outcome;
  };
  // e^89 / 1e37 is 45: the code, or what infinity saturates to.
  for (const int got : {45, 127})
    EXPECT_EQ(code("quant(exp(x) / 1e37, i8)", 89, got), Outcome::pass) << got;
  for (const int got : {44, 46, 100, 126, -128, 0})
    EXPECT_EQ(code("quant(exp(x) / 1e37, i8)", 89, got), Outcome::mismatch) << got;
}

// --- honest kernels, many ---

/// Every operation rounds to f32: what the declared form gives, in every order of its sums.
TEST(Overflow, HonestPathsPass) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> exponent(60, 128);
  int overflowed = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<float> x(3 + trial % 7);
    for (float& v : x) v = std::ldexp(random() % 2 ? 1.0f : -1.0f, 0) * std::exp2(exponent(random));
    for (const Order order : kOrders) {
      const float s = summed(x, order);
      std::vector<float> squares;
      for (const float v : x) squares.push_back(v * v);
      const float norm = std::sqrt(summed(squares, order));
      const float most = *std::max_element(x.begin(), x.end());
      overflowed += !std::isfinite(s) || !std::isfinite(norm);
      EXPECT_EQ(row("sum(x, cols) * 0.125", x, s * 0.125f), Outcome::pass) << s;
      EXPECT_EQ(row("1 / (1 + abs(sum(x, cols)))", x, 1 / (1 + std::fabs(s))), Outcome::pass) << s;
      EXPECT_EQ(row("max(x, cols) / sqrt(sum(x * x, cols))", x, most / norm), Outcome::pass)
          << most << " " << norm;
    }
  }
  EXPECT_GT(overflowed, 100);
}

}  // namespace
}  // namespace assay
