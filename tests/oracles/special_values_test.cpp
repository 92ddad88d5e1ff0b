// Infinities, NaN, overflow by order, singular points and signs of zero: what a correct kernel may
// give is accepted, the nearest wrong answer is not.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::f32_bits;
using testing::judge_pair;
using testing::judge_row;
using testing::Line;
using testing::line_contract;
using testing::pair_contract;
using testing::row_contract;

constexpr float kMax = 0x1.fffffep127f;
const char* const kNaive = "[policy]\nrange = \"naive\"\nnan = \"propagate\"\n";
const char* const kSafe =
    "[policy]\nrange = \"safe\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

Outcome row(const char* formula, const char* policy, const std::vector<float>& x, float got) {
  return judge_row(row_contract(formula, policy), x, got).outcome;
}

int64_t unbounded(const char* formula, const char* policy, const std::vector<float>& x, float got) {
  return judge_row(row_contract(formula, policy), x, got).no_bound;
}

// --- overflow that depends on the order of adding ---

TEST(SpecialValues, ExactSumsOverflowByOrder) {
  // Multiples of one power of two, exact in any order that stays in range: 2^127 + 2^127 overflows.
  const float big = 0x1p127f;
  const std::vector<float> x{big, big, -big};
  for (const float got : {big, INFINITY})
    EXPECT_EQ(row("sum(x, cols)", kNaive, x, got), Outcome::pass);
  EXPECT_EQ(row("sum(x, cols)", kSafe, x, big), Outcome::pass);
  EXPECT_EQ(row("sum(x, cols)", kSafe, x, INFINITY), Outcome::mismatch);
  EXPECT_EQ(row("sum(x, cols)", kSafe, x, std::nextafter(big, 0.0f)), Outcome::mismatch);
}

TEST(SpecialValues, SumsOfOneSignOverflowOneWay) {
  const std::vector<float> x{-kMax, -kMax};
  EXPECT_EQ(row("sum(x, cols)", kNaive, x, -INFINITY), Outcome::pass);
  for (const float got : {INFINITY, NAN, 0.0f})
    EXPECT_EQ(row("sum(x, cols)", kNaive, x, got), Outcome::mismatch) << got;
}

TEST(SpecialValues, InfiniteTotalsStayWithoutOverflowTheOtherWay) {
  const std::vector<float> x{-0x1p127f, -1.0f, INFINITY};
  EXPECT_EQ(row("sum(x, cols)", kNaive, x, INFINITY), Outcome::pass);
  EXPECT_EQ(row("sum(x, cols)", kNaive, x, kMax), Outcome::mismatch);
  EXPECT_EQ(row("sum(x, cols)", kNaive, {-1.0f, -1.0f, INFINITY}, NAN), Outcome::mismatch);
}

TEST(SpecialValues, OverflowThresholdIsExact) {
  // 2^128 - 2^103 lies half an ulp beyond the largest finite number: it rounds to infinity.
  const Contract single = pair_contract("f32", "a + b", kSafe);
  const uint64_t half_ulp = f32_bits(0x1p103f);
  const auto judged = [&](float got) {
    return judge_pair(single, DType::f32, f32_bits(kMax), half_ulp, f32_bits(got)).outcome;
  };
  EXPECT_EQ(judged(INFINITY), Outcome::pass);
  EXPECT_EQ(judged(kMax), Outcome::mismatch);
  const Contract add = pair_contract("f16", "a + b", kSafe);
  const uint64_t largest = 0x7bff;
  EXPECT_EQ(judge_pair(add, DType::f16, largest, 0x4c00, 0x7c00).outcome, Outcome::pass);  // + 16
  EXPECT_EQ(judge_pair(add, DType::f16, largest, 0x4c00, largest).outcome, Outcome::mismatch);
  EXPECT_EQ(judge_pair(add, DType::f16, largest, 0x4bff, largest).outcome, Outcome::pass);
  EXPECT_EQ(judge_pair(add, DType::f16, largest, 0x4bff, 0x7c00).outcome, Outcome::mismatch);
}

// --- infinity times something ---

TEST(SpecialValues, InfinityTimesWhatMayVanish) {
  // The mean of {1e8, -1e8, 1e-3} may be 0, or of either sign; that of {1, 2} may not.
  const std::vector<float> cancelling{1e8f, -1e8f, 1e-3f};
  for (const float got : {INFINITY, -INFINITY, NAN})
    EXPECT_EQ(row("sum(x, cols) * inf", kSafe, cancelling, got), Outcome::skipped) << got;
  EXPECT_EQ(row("sum(x, cols) * inf", kSafe, {1.0f, 0x1.1p-25f}, INFINITY), Outcome::pass);
  EXPECT_EQ(row("sum(x, cols) * inf", kSafe, {1.0f, 0x1.1p-25f}, NAN), Outcome::mismatch);
}

TEST(SpecialValues, ProductWithAnExactZeroIsExact) {
  const std::vector<float> x{0.0f, 1.0f / 3, 0.1f};
  EXPECT_EQ(row("min(x, cols) * sum(x, cols)", kSafe, x, 0.0f), Outcome::pass);
  EXPECT_EQ(row("min(x, cols) * sum(x, cols)", kSafe, x, 0x1p-149f), Outcome::mismatch);
  // A zero that a kernel only nearly finds is none: 1e8 + 1/3 - 1e8 - 1/3 may give 0.33.
  const std::vector<float> nearly{1e8f, 1.0f / 3, -1e8f, -1.0f / 3};
  EXPECT_EQ(row("sum(x, cols) * max(x, cols)", kSafe, nearly, 3e7f), Outcome::pass);
}

// --- singular points ---

TEST(SpecialValues, ReciprocalRootOfAVarianceThatMayNotVanish) {
  // Exactly 0, but a correct two-pass kernel sees 5.5e-4 (docs/judging.md, variance).
  const std::vector<float> x(1000, 100000.1f);
  for (const float got : {42.6f, INFINITY})
    EXPECT_EQ(row("rsqrt(var(x, cols))", kSafe, x, got), Outcome::skipped) << got;
  // With an exact mean the kernel's variance is 0 too.
  EXPECT_EQ(row("rsqrt(var(x, cols))", kSafe, {2.0f, 2.0f}, INFINITY), Outcome::pass);
  EXPECT_EQ(row("rsqrt(var(x, cols))", kSafe, {2.0f, 2.0f}, 42.6f), Outcome::mismatch);
}

TEST(SpecialValues, RootsOfWhatMayBeNegative) {
  const std::vector<float> below{1e8f, -1e8f, -1e-3f};  // exactly -1e-3, 0 in some order
  for (const char* formula : {"sqrt(sum(x, cols))", "log(sum(x, cols))", "rsqrt(sum(x, cols))"}) {
    EXPECT_EQ(unbounded(formula, kSafe, below, 0.0f), 1) << formula;
    EXPECT_EQ(row(formula, kSafe, {-1.0f, -0x1.1p-25f}, NAN), Outcome::pass) << formula;
    EXPECT_EQ(row(formula, kSafe, {-1.0f, -0x1.1p-25f}, 1.0f), Outcome::mismatch) << formula;
  }
}

TEST(SpecialValues, QuotientsByWhatMayVanish) {
  const std::vector<float> cancelling{1e8f, 0.3f, -1e8f, -0.3f};  // exactly 0
  for (const float got : {INFINITY, 1e7f})
    EXPECT_EQ(unbounded("max(x, cols) / sum(x, cols)", kSafe, cancelling, got), 1);
  EXPECT_EQ(row("max(x, cols) / sum(x, cols)", kSafe, {2.0f, -2.0f}, INFINITY), Outcome::skipped);
  EXPECT_EQ(row("max(x, cols) / sum(x, cols)", kSafe, {2.0f, 2.0f}, INFINITY), Outcome::mismatch);
}

TEST(SpecialValues, SignOfAComputedZeroIsFree) {
  const std::vector<float> zeros{-0.0f, -0.0f};  // a sum begun at +0 is +0, otherwise -0
  EXPECT_EQ(unbounded("rsqrt(sum(x, cols))", kSafe, zeros, -INFINITY), 1);
  EXPECT_EQ(unbounded("1 / sum(x, cols)", kSafe, zeros, -INFINITY), 1);
  // An input's zero has its own sign.
  const Contract contract = pair_contract("f32", "a / b", kSafe);
  const uint64_t one = f32_bits(1.0f);
  const uint64_t zero = f32_bits(-0.0f);
  EXPECT_EQ(judge_pair(contract, DType::f32, one, zero, f32_bits(-INFINITY)).outcome,
            Outcome::pass);
  EXPECT_EQ(judge_pair(contract, DType::f32, one, zero, f32_bits(INFINITY)).outcome,
            Outcome::mismatch);
}

TEST(SpecialValues, MaximaKeepMissingBounds) {
  // The second root may be NaN: so may the maximum.
  const Contract pair = pair_contract("f32", "max(a, sqrt(a * b - b * b))", kSafe);
  const float b = 1.1f;
  const float a = std::nextafter(b, 0.0f);
  EXPECT_EQ(judge_pair(pair, DType::f32, f32_bits(b), f32_bits(a), f32_bits(NAN)).no_bound, 1);
  const std::vector<float> x{1e8f, -1e8f, -1e-3f};
  EXPECT_EQ(unbounded("max(sqrt(x - x + sum(x, cols)), cols)", kSafe, x, NAN), 1);
  EXPECT_EQ(row("max(sqrt(abs(x)), cols)", kSafe, x, NAN), Outcome::mismatch);
}

TEST(SpecialValues, ChoiceBesideAnInfinity) {
  // 1e8 - 1e8 - 1e-3 > 0 may be decided either way.
  const std::vector<float> x{1e8f, -1e8f, -1e-3f};
  const char* formula = "where(sum(x, cols) > 0, max(x, cols), -inf)";
  for (const float got : {1e8f, -INFINITY}) EXPECT_EQ(unbounded(formula, kSafe, x, got), 1);
  EXPECT_EQ(row(formula, kSafe, {-1.0f, -2.0f}, -INFINITY), Outcome::pass);
  EXPECT_EQ(row(formula, kSafe, {-1.0f, -2.0f}, -1.0f), Outcome::mismatch);
}

TEST(SpecialValues, PrescaledExponentsOverflow) {
  // 3e38 log2(e) overflows although 3e38 does not: inf - inf.
  const std::string form = "[accuracy]\nexp = \"prescaled\"\n";
  const std::vector<float> x{3e38f, -INFINITY};
  const Contract naive = row_contract("min(exp(x - max(x, cols)), cols)", form + kNaive);
  const Contract safe = row_contract("min(exp(x - max(x, cols)), cols)", form + kSafe);
  EXPECT_EQ(judge_row(naive, x, NAN).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(safe, x, NAN).outcome, Outcome::mismatch);
  EXPECT_EQ(judge_row(naive, {100.0f, -INFINITY}, NAN).outcome, Outcome::mismatch);
}

TEST(SpecialValues, SubnormalResultsOfExponentialsAreNotWeak) {
  // e^-200 is below every float: three of the smallest subnormals, and nothing more.
  const Contract contract = row_contract("min(exp(x - max(x, cols)), cols)", kSafe);
  const Verdict v = judge_row(contract, {0.0f, -200.0f}, 0.0f);
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_EQ(v.weak, 0);
  EXPECT_EQ(judge_row(contract, {0.0f, -200.0f}, 0x1p-146f).outcome, Outcome::mismatch);
}

// --- logarithms of sums that are infinite or 0 ---

const float kPlus = INFINITY;
const float kMinus = -INFINITY;

TEST(SpecialValues, LogarithmsOfInfiniteSumsAreTheirLimits) {
  for (const char* formula : {"logsumexp(x, cols)", "logsumexp(x, cols) - 1"}) {
    for (const char* policy : {kSafe, kNaive}) {
      for (const float limit : {kPlus, kMinus}) {
        const std::vector<float> x = limit > 0 ? std::vector<float>{1, limit, 800, -2}
                                               : std::vector<float>{limit, limit, limit};
        for (const float got : {limit, NAN}) EXPECT_EQ(row(formula, policy, x, got), Outcome::pass);
        for (const float got : {-limit, 1.0f, 800.0f, -3e38f})
          EXPECT_EQ(row(formula, policy, x, got), Outcome::mismatch) << formula << limit << got;
      }
      // Where the formula is a number, or NaN by its inputs, nothing is added to it.
      for (const float got : {kPlus, kMinus, NAN}) {
        EXPECT_EQ(row(formula, policy, {1, kMinus, 2}, got), Outcome::mismatch) << got;
        const bool nan = std::isnan(got);
        EXPECT_EQ(row(formula, policy, {1, kPlus, NAN}, got),
                  nan ? Outcome::pass : Outcome::mismatch);
      }
    }
  }
}

TEST(SpecialValues, LogSoftmaxOfAnInfinityIsItsLimit) {
  const Contract contract = line_contract("f32", "log_softmax(x, cols)", kSafe);
  Line one(contract, {1, kPlus, kMinus});
  EXPECT_EQ(one({kMinus, NAN, NAN}).outcome, Outcome::pass);  // x - inf, inf - inf
  EXPECT_EQ(one({NAN, NAN, NAN}).outcome, Outcome::pass);
  EXPECT_EQ(one({kMinus, NAN, kMinus}).outcome, Outcome::pass);
  EXPECT_EQ(one({kPlus, NAN, NAN}).wrong, 1);
  EXPECT_EQ(one({kMinus, 0, NAN}).wrong, 1);
}

TEST(SpecialValues, LimitsAreSeenThroughNamedLinesAndReported) {
  const Contract contract =
      parse_contract(R"toml(
name = "cross_entropy"
source = { cuda = "row_sum.cu", entry = "line" }
sizes = { cols = { min = 0, max = 100000 } }
launch = { grid = [1], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["cols"] },
]
[formula]
lse = "logsumexp(x, cols)"
y = "lse - x"
[policy]
range = "safe"
nan = "propagate"
)toml",
                     std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/c.toml");
  Line loss(contract, {1, kPlus});
  EXPECT_EQ(loss({kPlus, NAN}).outcome, Outcome::pass);
  EXPECT_EQ(loss({NAN, NAN}).outcome, Outcome::pass);
  const Verdict v = loss({3, NAN});
  EXPECT_EQ(v.rule, "R5");
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(loss.explain(0).accepted, "NaN or inf");
  EXPECT_EQ(loss.explain(1).accepted, "NaN");
}

// Logits far from 0: x - logsumexp(x) rounds logsumexp, which the other form does not.
TEST(SpecialValues, LogSoftmaxHasTwoForms) {
  const std::vector<float> x = {1000.0f, 1000.25f, 999.5f};
  double sum = 0;
  for (const float v : x) sum += std::exp(static_cast<double>(v) - 1000.25);
  const float whole = static_cast<float>(1000.25 + std::log(sum));
  std::vector<float> shifted;
  std::vector<float> together;
  for (const float v : x) {
    shifted.push_back((v - 1000.25f) - static_cast<float>(std::log(sum)));
    together.push_back(v - whole);
  }
  const char* spelled = "(x - max(x, cols)) - log(sum(exp(x - max(x, cols)), cols))";
  EXPECT_EQ(Line(line_contract("f32", "log_softmax(x, cols)", kSafe), x)(shifted).outcome,
            Outcome::pass);
  EXPECT_EQ(Line(line_contract("f32", "log_softmax(x, cols)", kSafe), x)(together).outcome,
            Outcome::pass);
  EXPECT_EQ(Line(line_contract("f32", spelled, kSafe), x)(together).outcome, Outcome::mismatch);
  for (float& v : together) v -= 0.001f;
  EXPECT_EQ(Line(line_contract("f32", "log_softmax(x, cols)", kSafe), x)(together).outcome,
            Outcome::mismatch);
}

// --- exponentials beyond double's range ---

Verdict line(const char* formula, float x, float got) {
  return Line(line_contract("f32", formula, kSafe), {x})({got});
}

TEST(SpecialValues, DividedByAnOverflowingExponentialIsZero) {
  // x times a reciprocal that may round to the smallest subnormal: silu's other form.
  for (const auto& [formula, tiny] :
       {std::pair{"x / (1 + exp(-x))", 0x1p-140f}, std::pair{"sigmoid(x)", 0x1p-140f},
        std::pair{"silu(x)", 0x1p-40f}}) {
    for (const float x : {-709.5f, -1000.0f, -0x1p100f}) {
      for (const float got : {0.0f, -0.0f}) {
        const Verdict v = line(formula, x, got);
        EXPECT_EQ(v.outcome, Outcome::pass) << formula << x;
        EXPECT_EQ(v.no_bound, 0) << formula << x;
      }
      for (const float got : {1.0f, tiny, NAN, INFINITY})
        EXPECT_EQ(line(formula, x, got).outcome, Outcome::mismatch) << formula << x << got;
    }
  }
}

// A sum that overflows f16 to one infinity, times 0 (hardswish, below its bend): NaN, also behind
// what follows.
TEST(SpecialValues, AnOverflowTimesZeroStaysUnknownThroughAQuotient) {
  const auto outcome = [](const char* formula, const char* range, float x, float got) {
    const std::string policy = std::string("[policy]\nnan = \"propagate\"\nrange = \"");
    return Line(line_contract("f32", formula, policy + range + "\"\n"), {x})({got}).outcome;
  };
  const char* below = "round(round(x, f16) * max(x, 0), f16) / 6";
  const char* above = "round(min(x, 0) * round(x, f16), f16) / 6";
  EXPECT_EQ(outcome(below, "naive", -66000, NAN), Outcome::pass);
  EXPECT_EQ(outcome(above, "naive", 66000, NAN), Outcome::pass);
  EXPECT_EQ(outcome(below, "naive", -66000, -0.0f), Outcome::pass);
  EXPECT_EQ(outcome(below, "safe", -66000, NAN), Outcome::mismatch);
  EXPECT_EQ(outcome(below, "naive", -60000, NAN), Outcome::mismatch);
}

// An f32's exponential may be infinite, and what follows from it; nothing else is (R7).
TEST(SpecialValues, AnInfiniteDivisorWidensToZeroAlone) {
  const std::string naive = "[policy]\nnan = \"propagate\"\nrange = \"naive\"\n";
  const auto outcome = [&](const char* formula, float x, float got, const char* accuracy = "") {
    return Line(line_contract("f32", formula, accuracy + naive), {x})({got}).outcome;
  };
  const char* fast = "[accuracy]\nmath = \"fast\"\n";
  for (const float x : {-95.0f, -152.0f, -500.0f, -1000.0f}) {
    for (const char* formula : {"x / (1 + exp(-x))", "silu(x)"}) {
      for (const float got : {0.0f, -0.0f}) {
        EXPECT_EQ(outcome(formula, x, got), Outcome::pass) << formula << x;
        EXPECT_EQ(outcome(formula, x, got, fast), Outcome::pass) << formula << x;
      }
      for (const float got : {5.0f, -5.0f, 1e-20f, INFINITY, NAN}) {
        EXPECT_EQ(outcome(formula, x, got), Outcome::mismatch) << formula << x << got;
        EXPECT_EQ(outcome(formula, x, got, fast), Outcome::mismatch) << formula << x << got;
      }
    }
  }
  // e^89 is infinite in f32, although a third of it, or its logarithm, is not.
  EXPECT_EQ(outcome("exp(x) / 3", 89, INFINITY), Outcome::pass);
  EXPECT_EQ(outcome("exp(x) / 3", 89, 1.4e38f), Outcome::mismatch);
  EXPECT_EQ(outcome("log1p(exp(x))", 89, INFINITY), Outcome::pass);
  EXPECT_EQ(outcome("log1p(exp(x))", 89, 89), Outcome::pass);
  EXPECT_EQ(outcome("log1p(exp(x))", 89, 88), Outcome::mismatch);
}

TEST(SpecialValues, AnOverflowingExponentialIsInfinite) {
  EXPECT_EQ(line("exp(x)", 1000, INFINITY).outcome, Outcome::pass);
  EXPECT_EQ(line("exp(x)", 1000, INFINITY).no_bound, 0);
  EXPECT_EQ(line("exp(x)", 1000, kMax).outcome, Outcome::mismatch);
  EXPECT_EQ(line("1 - exp(x)", 1000, -INFINITY).outcome, Outcome::pass);
  for (const float x : {800.0f, 1000.0f, 5000.0f, 50000.0f, 0x1p100f}) {
    for (const float got : {INFINITY, NAN, 1.0f, -kMax, kMax}) {
      for (const char* formula : {"1 - exp(x)", "-exp(x)", "-(exp(x) + exp(x))"})
        EXPECT_EQ(line(formula, x, got).outcome, Outcome::mismatch) << formula << x << got;
      EXPECT_EQ(line("exp(x) - 1", x, -got).outcome, Outcome::mismatch) << x << -got;
    }
    EXPECT_EQ(line("exp(x) - 1", x, INFINITY).outcome, Outcome::pass) << x;
    EXPECT_EQ(line("1 - exp(x)", x, -INFINITY).outcome, Outcome::pass) << x;
  }
  // e4m3 has NaN for what is too large.
  for (const float x : {800.0f, 50000.0f}) {
    const auto narrow = [x](float got) {
      return Line(line_contract("e4m3", "exp(x)", kSafe), {x})({got}).outcome;
    };
    EXPECT_EQ(narrow(NAN), Outcome::pass) << x;
    EXPECT_EQ(narrow(448), Outcome::mismatch) << x;
  }
  // Products, quotients and maxima keep the limit.
  for (const char* formula : {"2 * exp(x)", "exp(x) * exp(x)", "exp(x) / 3", "exp(x) * 0.001",
                              "max(exp(x), 5)", "abs(-exp(x))", "exp2(x * 1.4426950408889634)"}) {
    EXPECT_EQ(line(formula, 5000, INFINITY).outcome, Outcome::pass) << formula;
    EXPECT_EQ(line(formula, 5000, INFINITY).no_bound, 0) << formula;
    for (const float got : {-INFINITY, NAN, 7.0f, kMax, -1.0f})
      EXPECT_EQ(line(formula, 5000, got).outcome, Outcome::mismatch) << formula << got;
  }
  EXPECT_EQ(line("exp(x) * (0 - 3)", 5000, -INFINITY).outcome, Outcome::pass);
  EXPECT_EQ(line("exp(x) * (0 - 3)", 5000, INFINITY).outcome, Outcome::mismatch);
  EXPECT_EQ(line("exp(x) * (x - x)", 5000, 0).no_bound, 1);
  // Its logarithm is finite, and a kernel that stays in range has no infinity.
  for (const float x : {750.0f, 1000.0f}) {
    EXPECT_EQ(line("log1p(exp(x))", x, x).outcome, Outcome::pass) << x;
    for (const float got : {5.0f, 0.99f * x, INFINITY, -INFINITY, NAN})
      EXPECT_EQ(line("log1p(exp(x))", x, got).outcome, Outcome::mismatch) << x << got;
  }
  EXPECT_EQ(line("log1p(exp(x))", 0x1p100f, 0x1p100f).no_bound, 1);  // beyond all tiers
  EXPECT_EQ(line("log1p(exp(x))", 0x1p100f, 5.0f).outcome, Outcome::mismatch);
  // A quotient of two of them is any number, or NaN.
  for (const float got : {NAN, 1.0f})
    EXPECT_EQ(line("exp(x) / (1 + exp(x))", 1000, got).no_bound, 1);
}

}  // namespace
}  // namespace assay
