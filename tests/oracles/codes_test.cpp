// Indices, codes, cumulative sums and given(): what is accepted at the limit, and what is not.
#include "oracles/codes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// y over `shape`, x[rows, cols] f32, s[rows] an f32 output that formulas may read back.
Contract contract_of(const std::string& type, const std::string& shape, const std::string& formula,
                     const std::string& policy) {
  return parse_contract(R"(
name = "codes"
source = { cuda = "row_sum.cu", entry = "codes" }
sizes = { rows = { min = 0, max = 1000 }, cols = { min = 0, max = 1000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = ")" +
                            type + R"(", shape = )" + shape + R"( },
  { name = "s", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
]
[formula]
s = "max(x, cols) / 7"
y = ")" + formula + R"("
[policy]
)" + policy + "\n",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/codes.toml");
}

struct Judged {
  Experiment experiment;
  Judge judge;
  Judged(const std::string& type, const std::string& shape, const std::string& formula,
         const std::string& policy, const std::vector<double>& x)
      : experiment(contract_of(type, shape, formula, policy)), judge(experiment.contract) {
    const auto cols = static_cast<int64_t>(x.size());
    experiment.the_case.sizes = {{"rows", 1}, {"cols", cols}};
    experiment.put("x", {1, cols}, DType::f32, x);
    float top = -INFINITY;
    for (const double v : x) top = std::fmax(top, static_cast<float>(v));
    const bool nan = std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
    scale = nan && policy.find("propagate") != std::string::npos ? NAN : top / 7;
  }
  /// Verdict on y with these bits, s correct.
  Verdict operator()(const std::vector<uint64_t>& y) const {
    const Instance instance = experiment.instance();
    FakeRun run(instance);
    run.set("s", 0, f32_bits(scale));
    for (size_t k = 0; k < y.size(); ++k) run.set("y", static_cast<int64_t>(k), y[k]);
    return judge.judge(instance, run);
  }
  float scale = 0;
};

constexpr const char* kRow = "[\"rows\"]";
constexpr const char* kAll = "[\"rows\", \"cols\"]";

std::vector<int> accepted_indices(const Judged& judged, int n) {
  std::vector<int> out;
  for (int k = -1; k <= n; ++k) {
    const Verdict v = judged({static_cast<uint64_t>(static_cast<int64_t>(k))});
    if (v.outcome == Outcome::pass)
      out.push_back(k);
    else
      EXPECT_EQ(v.rule, "R14");
  }
  return out;
}

TEST(Indices, TiesOfExactScoresFollowThePolicy) {
  const std::vector<double> x = {1, 5, 2, 5, 5, 0};
  using Found = std::vector<int>;
  const std::string nan = "nan = \"propagate\"\n";
  const auto found = [&](const std::string& tie, const std::string& formula) {
    return accepted_indices(Judged("i64", kRow, formula, nan + tie, x), 6);
  };
  EXPECT_EQ(found("tie = \"first\"", "argmax(x, cols)"), Found({1}));
  EXPECT_EQ(found("tie = \"last\"", "argmax(x, cols)"), Found({4}));
  EXPECT_EQ(found("tie = \"free\"", "argmax(x, cols)"), Found({1, 3, 4}));
  EXPECT_EQ(found("tie = \"first\"", "argmin(x, cols)"), Found({5}));
}

TEST(Indices, AMissingTiePolicyIsAskedFor) {
  const Judged judged("i32", kRow, "argmax(x, cols)", "nan = \"propagate\"", {3, 3});
  const Verdict v = judged({1});
  EXPECT_EQ(v.outcome, Outcome::pass);
  ASSERT_EQ(v.missing_policies.size(), 1u);
  EXPECT_NE(v.missing_policies[0].find("tie"), std::string::npos);
}

TEST(Indices, NanByPolicy) {
  const std::vector<double> x = {1, kNan, 7, kNan};
  const std::string tie = "tie = \"first\"\n";
  EXPECT_EQ(
      accepted_indices(Judged("i64", kRow, "argmax(x, cols)", tie + "nan = \"propagate\"", x), 4),
      std::vector<int>({1}));
  EXPECT_EQ(
      accepted_indices(Judged("i64", kRow, "argmax(x, cols)", tie + "nan = \"ignore\"", x), 4),
      std::vector<int>({2}));
}

// x * x rounds: 1 + 2^-23 and 1 + 2^-22 differ by far more than that, their squares plus 2^24 do
// not.
TEST(Indices, InexactScoresThatMeetAreAllAccepted) {
  const std::vector<double> x = {1, 1 + 0x1p-23, 0.5, 1 + 0x1p-22};
  const std::string policy = "nan = \"propagate\"\ntie = \"first\"";
  EXPECT_EQ(accepted_indices(Judged("i64", kRow, "argmax(x * x + 16777216.0, cols)", policy, x), 4),
            std::vector<int>({0, 1, 2, 3}));
  EXPECT_EQ(accepted_indices(Judged("i64", kRow, "argmax(x, cols)", policy, x), 4),
            std::vector<int>({3}));
}

std::vector<int> accepted_codes_of(const Judged& judged) {
  std::vector<int> out;
  for (int k = -128; k < 128; ++k)
    if (judged({static_cast<uint64_t>(static_cast<uint8_t>(k))}).outcome == Outcome::pass)
      out.push_back(k);
  return out;
}

TEST(Codes, NearestTruncatedAndSaturated) {
  using Found = std::vector<int>;
  const std::string nan = "nan = \"propagate\"\n";
  const auto found = [&](const std::string& formula, double x, const std::string& policy = "") {
    return accepted_codes_of(Judged("i8", kAll, formula, nan + policy, {x}));
  };
  EXPECT_EQ(found("quant(x, i8)", 2.5), Found({2}));  // a tie of an exact value: to even
  EXPECT_EQ(found("quant(x, i8)", 3.5), Found({4}));
  EXPECT_EQ(found("quant(x, i8)", -300), Found({-128}));
  EXPECT_EQ(found("quant(x, i8)", INFINITY), Found({127}));
  EXPECT_EQ(found("cast(x, i8)", -2.9), Found({-2}));
  EXPECT_EQ(found("cast(x, i8)", 300, "cast_overflow = \"saturate\""), Found({127}));
  EXPECT_EQ(found("cast(x, i8)", 300, "cast_overflow = \"wrap\""), Found({44}));
  EXPECT_EQ(found("quant(x * 1.5, i8)", 1.6666667), Found({2, 3}));  // 2.5 within a rounding
}

TEST(Codes, OutsideTheTypeNothingIsDocumented) {
  const Judged judged("i8", kAll, "cast(x, i8)", "nan = \"propagate\"", {300});
  const Verdict v = judged({44});
  EXPECT_EQ(v.no_bound, 1);
  ASSERT_FALSE(v.missing_policies.empty());
  EXPECT_NE(v.missing_policies[0].find("cast_overflow"), std::string::npos);
}

// The code is judged against the scale that was written.
TEST(Codes, GivenScaleIsTheWrittenOne) {
  Judged judged("i8", kAll, "quant(x / given(s), i8)", "nan = \"propagate\"", {7, 3.5});
  EXPECT_EQ(judged({7, static_cast<uint64_t>(4)}).outcome, Outcome::pass);
  EXPECT_EQ(judged({7, 3}).rule, "R15");  // 7 / 7 is exact: 3.5 is a tie, to even
  EXPECT_EQ(judged({7, 5}).rule, "R15");
  EXPECT_EQ(judged({6, 4}).rule, "R15");
  judged.scale = 0.5f;  // a wrong scale is R4 at s; y = x / 0.5 alone is right for it
  const Verdict v = judged({14, 7});
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(v.first_output, "s");
}

TEST(Codes, Float8SaturatesWithQuant) {
  const auto outcome = [](double x, double got) {
    const Judged judged("e4m3", kAll, "quant(x, e4m3)", "nan = \"propagate\"", {x});
    return judged({round_to_bits(DType::e4m3, got)}).outcome;
  };
  EXPECT_EQ(outcome(448, 448), Outcome::pass);
  EXPECT_EQ(outcome(1e6, 448), Outcome::pass);
  EXPECT_EQ(outcome(INFINITY, 448), Outcome::pass);
  EXPECT_EQ(outcome(-1e6, 448), Outcome::mismatch);
  EXPECT_EQ(outcome(300, 448), Outcome::mismatch);
  EXPECT_EQ(outcome(1.06, 1.0), Outcome::pass);  // spacing 1/8: 1.0625 is the tie
  EXPECT_EQ(outcome(1.07, 1.0), Outcome::mismatch);
}

TEST(CumulativeSums, ExactPrefixesBindAndRoundingIsAllowed) {
  const auto verdict = [](const std::vector<double>& x, const std::vector<double>& y) {
    const Judged judged("f32", kAll, "cumsum(x, cols)", "nan = \"propagate\"\nrange = \"naive\"",
                        x);
    std::vector<uint64_t> bits;
    for (const double v : y) bits.push_back(f32_bits(static_cast<float>(v)));
    return judged(bits);
  };
  EXPECT_EQ(verdict({1, 2, 3, -4}, {1, 3, 6, 2}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({1, 2, 3, -4}, {1, 3, 6, 2 + 0x1p-22}).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict({1, 2, 3, -4}, {1, 3, 2, 2}).wrong, 1);
  // 16777216 + 1 rounds; a later prefix may carry that, the first two elements may not.
  EXPECT_EQ(verdict({0x1p24, 1, 1}, {0x1p24, 0x1p24, 0x1p24}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({0x1p24, 1, 1}, {0x1p24 + 2, 0x1p24, 0x1p24 + 2}).wrong, 1);
  EXPECT_EQ(verdict({1, kNan, 3}, {1, kNan, kNan}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({1, INFINITY, -INFINITY}, {1, INFINITY, kNan}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({1, INFINITY, 3}, {1, INFINITY, 4}).wrong, 1);
}

// The higher tiers find the same prefixes.
TEST(CumulativeSums, TiersAgree) {
  std::vector<double> x;
  for (int k = 0; k < 37; ++k) x.push_back(static_cast<double>(static_cast<float>(std::sin(k))));
  const Judged judged("f32", kAll, "cumsum(x, cols)", "nan = \"propagate\"\nrange = \"safe\"", x);
  const Instance instance = judged.experiment.instance();
  for (const double off : {0.0, 1e-4}) {
    FakeRun run(instance);
    run.set("s", 0, f32_bits(judged.scale));
    double sum = 0;
    for (size_t k = 0; k < x.size(); ++k) {
      sum += x[k];
      run.set("y", static_cast<int64_t>(k),
              f32_bits(static_cast<float>(sum + (k == 20 ? off : 0))));
    }
    for (const Tier tier : {Tier::running_double, Tier::double_double, Tier::multiprecision}) {
      JudgeOptions options;
      options.first_tier = tier;
      EXPECT_EQ(judged.judge.judge(instance, run, options).wrong, off == 0 ? 0 : 1);
    }
  }
}

}  // namespace
}  // namespace assay
