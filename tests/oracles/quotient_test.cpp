// Reciprocals that a kernel takes once (rule R16): accepted where the divisor is constant along a
// dimension of the result, and nowhere else.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::f32_bits;
using testing::judge_pair;
using testing::Line;
using testing::line_contract;
using testing::pair_contract;

const char* const kNaive =
    "[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";
const char* const kSafe =
    "[policy]\nrange = \"safe\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

/// Steps of one ulp towards 0.
float less(float x, int ulps) {
  for (int k = 0; k < ulps; ++k) x = std::nextafter(x, 0.0f);
  return x;
}

TEST(Quotient, ByAnInfinityIsExactlyZero) {
  for (const float x : {1.0f, -3.5f, 0.0f, 0x1p-149f, 3e38f}) {
    for (const float by : {INFINITY, -INFINITY}) {
      const auto judged = [&](const char* formula, float got) {
        return judge_pair(pair_contract("f32", formula, kNaive), DType::f32, f32_bits(x),
                          f32_bits(by), f32_bits(got));
      };
      for (const char* formula : {"floor(a / b)", "ceil(a / b)", "trunc(a / b)", "a / b * 3"}) {
        for (const float zero : {0.0f, -0.0f}) {
          const Verdict v = judged(formula, zero);
          EXPECT_EQ(v.outcome, Outcome::pass) << formula << x << by;
          EXPECT_EQ(v.weak, 0) << formula << x << by;
        }
        for (const float got : {-1.0f, 1.0f, 0x1p-149f, -0x1p-149f})
          EXPECT_EQ(judged(formula, got).outcome, Outcome::mismatch) << formula << x << by << got;
      }
      JudgeOptions last;  // the higher tiers know it too
      last.first_tier = Tier::double_double;
      EXPECT_EQ(judge_pair(pair_contract("f32", "floor(a / b)", kNaive), DType::f32, f32_bits(x),
                           f32_bits(by), f32_bits(0), last)
                    .outcome,
                Outcome::pass);
    }
  }
}

TEST(HoistedReciprocal, TheDivisorOfALineMayBeInverted) {
  const Contract contract = line_contract("f32", "x / sum(x, cols)", kSafe);
  int below_one = 0;
  for (int n = 1; n < 400; ++n) {
    const auto x = static_cast<float>(n);
    const float got = x * (1.0f / x);
    below_one += got != 1.0f ? 1 : 0;
    Line line(contract, {x});
    ASSERT_EQ(line({got}).outcome, Outcome::pass) << n;
    ASSERT_EQ(line({less(got, 3)}).outcome, Outcome::mismatch) << n;
  }
  EXPECT_GT(below_one, 0) << "no quotient told the two ways apart";
}

TEST(HoistedReciprocal, OneOverAPowerOfTwoIsExact) {
  Line line(line_contract("f32", "x / sum(x, cols)", kSafe), {33, 31});
  EXPECT_EQ(line({33 / 64.0f, 31 / 64.0f}).outcome, Outcome::pass);
  EXPECT_EQ(line({less(33 / 64.0f, 1), 31 / 64.0f}).outcome, Outcome::mismatch);
}

TEST(HoistedReciprocal, AnElementsOwnDivisorIsDividedBy) {
  const Contract contract = pair_contract("f32", "a / b", kSafe);
  const float got = 41.0f * (1.0f / 41.0f);
  ASSERT_NE(got, 1.0f);
  const uint64_t bits = f32_bits(41.0f);
  EXPECT_EQ(judge_pair(contract, DType::f32, bits, bits, f32_bits(1)).outcome, Outcome::pass);
  EXPECT_EQ(judge_pair(contract, DType::f32, bits, bits, f32_bits(got)).outcome, Outcome::mismatch);
}

TEST(HoistedReciprocal, OneReciprocalServesSeveralQuotients) {
  // The row's mean is divided by the same sum as its elements.
  const Contract contract =
      line_contract("f32", "x / sum(x, cols) + max(x, cols) / sum(x, cols)", kSafe);
  const Contract pair = pair_contract("f32", "a / b + 1 / b", kSafe);
  int differ = 0;
  for (int n = 3; n < 300; n += 2) {
    const auto x = static_cast<float>(n);
    const float inverse = 1.0f / (x + 1024.0f);
    const float got = 1024.0f * inverse + 1024.0f * inverse;
    Line line(contract, {x, 1024.0f});
    ASSERT_EQ(line({x * inverse + 1024.0f * inverse, got}).outcome, Outcome::pass) << n;
    const float by = 1.0f / x;
    const float both = 41.0f * by + by;
    ASSERT_EQ(judge_pair(pair, DType::f32, f32_bits(41), f32_bits(x), f32_bits(both)).outcome,
              Outcome::pass)
        << n;
    ASSERT_EQ(
        judge_pair(pair, DType::f32, f32_bits(41), f32_bits(x), f32_bits(less(both, 8))).outcome,
        Outcome::mismatch);
    differ += both != 41.0f / x + 1.0f / x ? 1 : 0;
  }
  EXPECT_GT(differ, 0) << "no quotient told the two ways apart";
}

TEST(HoistedReciprocal, OfASquareRootMayBeRsqrt) {
  // rsqrtf errs by up to 2 ulps of the rounded result (CUDA's table).
  const std::vector<float> x = {1.3f, 0.7f};
  const double squares = double{x[0]} * x[0] + double{x[1]} * x[1];
  const auto with = [&](float root) { return std::vector<float>{x[0] * root, x[1] * root}; };
  const auto right = static_cast<float>(1 / std::sqrt(squares));
  Line by_root(line_contract("f32", "x / sqrt(sum(x * x, cols))", kSafe), x);
  EXPECT_EQ(by_root(with(less(right, 2))).outcome, Outcome::pass);
  EXPECT_EQ(by_root(with(less(right, 12))).outcome, Outcome::mismatch);
  // Outside a root the reciprocal is one rounded division.
  Line plain(line_contract("f32", "x / sum(x * x, cols)", kSafe), x);
  const auto inverse = static_cast<float>(1 / squares);
  EXPECT_EQ(plain(with(inverse)).outcome, Outcome::pass);
  EXPECT_EQ(plain(with(less(inverse, 8))).outcome, Outcome::mismatch);
}

TEST(HoistedReciprocal, OfLargeDivisorsIsSubnormal) {
  const std::vector<float> x = {0x1.9p127f, 0x1.23456p126f};
  const float inverse = 1.0f / x[0];
  ASSERT_LT(inverse, 0x1p-126f);
  Line line(line_contract("f32", "x / max(x, cols)", kSafe), x);
  EXPECT_EQ(line({x[0] * inverse, x[1] * inverse}).outcome, Outcome::pass);
  EXPECT_EQ(line({0, x[1] * inverse}).outcome, Outcome::mismatch);
}

TEST(HoistedReciprocal, OfSubnormalDivisorsOverflowsByPolicy) {
  const std::vector<float> x = {0x1p-130f, 0x1p-131f};
  for (const auto& [policy, outcome] :
       {std::pair{kNaive, Outcome::pass}, std::pair{kSafe, Outcome::mismatch}}) {
    Line line(line_contract("f32", "x / max(x, cols)", policy), x);
    EXPECT_EQ(line({1, 0.5f}).outcome, Outcome::pass);
    EXPECT_EQ(line({INFINITY, INFINITY}).outcome, outcome) << policy;
    EXPECT_EQ(line({-INFINITY, 0.5f}).outcome, Outcome::mismatch);
  }
}

/// The residue that tells an exact quotient or root from a rounded one underflows next to 0: the
/// quotient of two subnormal doubles rounds as any other.
TEST(Quotient, OfSubnormalDoublesRounds) {
  std::mt19937_64 random(3);
  const auto judged = [](const char* formula, double a, double b, double got) {
    return judge_pair(pair_contract("f64", formula, kSafe), DType::f64,
                      round_to_bits(DType::f64, a), round_to_bits(DType::f64, b),
                      round_to_bits(DType::f64, got))
        .outcome;
  };
  for (int trial = 0; trial < 200; ++trial) {
    const double a = std::ldexp(static_cast<double>(random() >> 13), -1074);
    const double b = std::ldexp(static_cast<double>(random() >> 14 | 1), -1074);
    const double quotient = a / b / 1383;
    EXPECT_EQ(judged("a / b / 1383", a, b, quotient), Outcome::pass) << a << " " << b;
    EXPECT_EQ(judged("a / b / 1383", a, b, quotient * (1 + 0x1p-50)), Outcome::mismatch);
    const double root = std::sqrt(a) * 3;
    EXPECT_EQ(judged("sqrt(a) * 3", a, b, root), Outcome::pass) << a;
    EXPECT_EQ(judged("sqrt(a) * 3", a, b, root * (1 + 0x1p-50)), Outcome::mismatch) << a;
    // Squares that vanish: the root of 0, where the exact one is a.
    EXPECT_EQ(judged("sqrt(a * a)", a, b, 0), Outcome::pass) << a;
    EXPECT_EQ(judged("sqrt(a * a)", a, b, 1e-150), Outcome::mismatch) << a;
    EXPECT_EQ(judged("sqrt(a * a + b * b)", a, b, 0), Outcome::pass) << a << " " << b;
  }
}

/// Bounds below the smallest subnormal number are rounded, too, and outwards: an honest kernel's
/// results next to f64's own smallest numbers.
TEST(Quotient, NextToTheSmallestDoublesBoundsDoNotVanish) {
  std::mt19937_64 random(4);
  const auto judged = [](const char* formula, double a, double b, double got) {
    return judge_pair(pair_contract("f64", formula, kSafe), DType::f64,
                      round_to_bits(DType::f64, a), round_to_bits(DType::f64, b),
                      round_to_bits(DType::f64, got))
        .outcome;
  };
  const auto draw = [&](int exponent) {
    return std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53, exponent);
  };
  const double a = 0x1.360c51da1763dp1022;  // a / b is off by 0.49 ulp, its third by as much
  const double b = 0x1.2d01fdfec4c73p1022;
  EXPECT_EQ(judged("a / b / 1.5461531721675222e+307", a, b, 0x1.7f3bfd178a81dp-1021),
            Outcome::pass);
  EXPECT_EQ(judged("a / b / 1.5461531721675222e+307", a, b, 0x1.7f3bfd178a830p-1021),
            Outcome::mismatch);
  for (int trial = 0; trial < 300; ++trial) {
    const int step = trial % 5;
    const double a = draw(1021);
    const double b = draw(1021);
    EXPECT_EQ(judged("a / b / b", a, b, a / b / b), Outcome::pass) << a << " " << b;
    const double c = draw(-1022 + step);
    const double d = draw(-3);
    EXPECT_EQ(judged("a / (b * b * 1.1)", c, d, c / (d * d * 1.1)), Outcome::pass) << c << " " << d;
    EXPECT_EQ(judged("a * b * 1.1 * b", c, d, c * d * 1.1 * d), Outcome::pass) << c << " " << d;
    EXPECT_EQ(judged("(a * 3 / b) / b", c, d, c * 3 / d / d), Outcome::pass) << c << " " << d;
    EXPECT_EQ(judged("a / b / b", a, b, a / b / b * (1 + 0x1p-40)), Outcome::mismatch) << a;
  }
}

TEST(HoistedReciprocal, TheReportNamesTheRule) {
  Line line(line_contract("f32", "x / sum(x, cols)", kSafe), {3, 4});
  ASSERT_EQ(line({0.5f, 4 / 7.0f}).outcome, Outcome::mismatch);
  std::string all;
  for (const AllowanceTerm& term : line.explain().terms) all += term.name + "\n";
  EXPECT_NE(all.find("reciprocal of the divisor taken once: 5.96046e-08 relative (R16)"),
            std::string::npos)
      << all;
}

// -use_fast_math divides a sum by n approximately, to 2 ulp, or multiplies by 1 / n to 2 ulp; exact
// sums as well, and by powers of two.
TEST(Quotient, MeansAndVariancesAreDividedAsTheMathModeSays) {
  const std::string policy = "[policy]\nrange = \"safe\"\nnan = \"propagate\"\n";
  const auto judged = [&](const char* formula, const char* math, const std::vector<float>& x,
                          float got) {
    const std::string accuracy = std::string("[accuracy]\nmath = \"") + math + "\"\n";
    return testing::judge_row(testing::row_contract(formula, accuracy + policy), x, got).outcome;
  };
  // Both signs; 8 / 4 = 2 at the lower end of a binade, where an ulp counts most.
  for (const auto& [x, mean] : std::vector<std::pair<std::vector<float>, float>>{
           {{1, 2, 6}, 3}, {{1, 2, 2, 3}, 2}, {{-1, -2, -2, -3}, -2}}) {
    const float above = std::nextafter(std::nextafter(mean, 2 * mean), 2 * mean);
    for (const float got : {mean, above, less(mean, 2)})
      EXPECT_EQ(judged("mean(x, cols)", "fast", x, got), Outcome::pass) << mean << got;
    for (const float off : {mean * (1 + 0x1p-20f), mean * (1 - 0x1p-20f)})
      EXPECT_EQ(judged("mean(x, cols)", "fast", x, off), Outcome::mismatch) << mean << off;
    EXPECT_EQ(judged("mean(x, cols)", "precise", x, above), Outcome::mismatch) << mean;
  }
  // x / 1 is x (docs/judging/welford.md).
  EXPECT_EQ(judged("mean(x, cols)", "fast", {4}, 4), Outcome::pass);
  EXPECT_EQ(judged("mean(x, cols)", "fast", {4}, std::nextafter(4.0f, 8.0f)), Outcome::mismatch);
  EXPECT_EQ(judged("mean(x, cols)", "fast", {1, -1, 0}, 0x1p-100f), Outcome::mismatch);
  EXPECT_EQ(judged("mean(x, cols)", "fast", {1, -1, 0}, 0), Outcome::pass);
  // {1, 3}: 1, one addition, two roundings of a difference, one of its square; then the division by
  // 5 u and the product's rounding, or two roundings.
  const auto off = [](int u) { return static_cast<float>(1 + u * 0x1p-24); };
  for (const char* formula :
       {"var(x, cols)", "mean((x - mean(x, cols)) * (x - mean(x, cols)), cols)"}) {
    EXPECT_EQ(judged(formula, "fast", {1, 3}, off(10)), Outcome::pass);
    EXPECT_EQ(judged(formula, "fast", {1, 3}, off(14)), Outcome::mismatch);
    EXPECT_EQ(judged(formula, "precise", {1, 3}, off(6)), Outcome::pass);
    EXPECT_EQ(judged(formula, "precise", {1, 3}, off(10)), Outcome::mismatch);
  }
}

}  // namespace
}  // namespace assay
