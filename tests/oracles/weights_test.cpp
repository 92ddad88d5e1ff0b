// Exponential weights: online rescaling, hulls of weighted means, and sizes that only a reduction
// names (docs/judging/attention.md).
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::told;

/// One query: y = sum(w v) / sum(w), w = e^(s - max(s)).
Contract mean_contract(const std::string& accuracy, const std::string& score = "x",
                       const std::string& y = "sum(w * v, n) / sum(w, n)",
                       const std::string& range = "safe") {
  return parse_contract(R"toml(
name = "mean"
source = { cuda = "row_sum.cu", entry = "mean" }
sizes = { rows = { min = 0, max = 100 }, n = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "n"] },
  { name = "v", kind = "input", dtype = "f32", shape = ["rows", "n"] },
]
[formula]
s = ")toml" + score + R"toml("
w = "exp(s - max(s, n))"
y = ")toml" + y + R"toml("
[policy]
range = ")toml" + range +
                            R"toml("
[accuracy]
)toml" + accuracy,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/mean.toml");
}

Verdict judged(const Contract& contract, const std::vector<float>& x, const std::vector<float>& v,
               float got) {
  Experiment e(contract);
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes = {{"rows", 1}, {"n", n}};
  e.put("x", {1, n}, DType::f32, std::vector<double>(x.begin(), x.end()));
  e.put("v", {1, n}, DType::f32, std::vector<double>(v.begin(), v.end()));
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, f32_bits(got));
  return Judge(e.contract).judge(instance, run);
}

/// Shares w / sum(w) of one row, written as `got`.
Verdict judged_shares(const std::vector<float>& x, const std::vector<float>& got) {
  const Contract contract =
      parse_contract(R"toml(
name = "shares"
source = { cuda = "row_sum.cu", entry = "shares" }
sizes = { rows = { min = 0, max = 100 }, n = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "n"] },
]
[formula]
w = "exp(x - max(x, n))"
y = "w / sum(w, n)"
[policy]
range = "safe"
subnormals = "keep"
)toml",
                     std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/shares.toml");
  Experiment e(contract);
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes = {{"rows", 1}, {"n", n}};
  e.put("x", {1, n}, DType::f32, std::vector<double>(x.begin(), x.end()));
  const Instance instance = e.instance();
  FakeRun run(instance);
  for (size_t k = 0; k < got.size(); ++k) run.set("y", static_cast<int64_t>(k), f32_bits(got[k]));
  return Judge(e.contract).judge(instance, run);
}

TEST(Weights, SharesMayErrBothWays) {
  // e^0, e^1 and e^2 over their sum: an ulp to either side is within exp's published two.
  const std::vector<float> x{0, 1, 2};
  const double sum = 1 + std::exp(1.0) + std::exp(2.0);
  for (const float towards : {0.0f, 1.0f}) {
    std::vector<float> got;
    for (const float v : x) {
      const auto nearest = static_cast<float>(std::exp(static_cast<double>(v)) / sum);
      got.push_back(std::nextafter(nearest, towards));
    }
    const Verdict v = judged_shares(x, got);
    EXPECT_EQ(v.outcome, Outcome::pass) << told(v);
    EXPECT_EQ(v.widened, 0);
    got[1] *= 1 + 0x1p-16f;
    EXPECT_EQ(judged_shares(x, got).outcome, Outcome::mismatch);
  }
  // No share is negative, and none exceeds 1 by more than the sums' roundings.
  EXPECT_EQ(judged_shares({0, -200}, {1, 0}).outcome, Outcome::pass);
  EXPECT_EQ(judged_shares({0, -200}, {1, -0x1p-140f}).outcome, Outcome::mismatch);
  EXPECT_EQ(judged_shares({0, -200}, {1 + 0x1p-12f, 0}).outcome, Outcome::mismatch);
}

/// exp off by its published figure, up or down in turn.
float poor_exp(float x, bool up) {
  if (x == 0) return 1;
  const float nearest = static_cast<float>(std::exp(static_cast<double>(x)));
  const float step = up ? INFINITY : 0.0f;
  return std::nextafter(std::nextafter(nearest, step), step);
}

/// An online softmax over blocks in a given order; `skip` leaves the accumulator unscaled.
float online_mean(const std::vector<float>& x, const std::vector<float>& v, size_t block,
                  bool skip = false) {
  float largest = -INFINITY;
  float total = 0;
  float sum = 0;
  for (size_t first = 0; first < x.size(); first += block) {
    const size_t end = std::min(x.size(), first + block);
    float most = largest;
    for (size_t k = first; k < end; ++k) most = std::max(most, x[k]);
    const float factor =
        largest == -INFINITY ? 0 : poor_exp(largest - most, first / block % 2 == 0);
    if (!skip) sum *= factor;
    total *= factor;
    largest = most;
    for (size_t k = first; k < end; ++k) {
      const float w = poor_exp(x[k] - largest, k % 3 == 0);
      total += w;
      sum += w * v[k];
    }
  }
  return sum / total;
}

TEST(Weights, OnlineSoftmaxWithPoorExponentialsIsAccepted) {
  const Contract contract = mean_contract("online = 4\n");
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  for (const int n : {1, 3, 4, 5, 64, 257})
    for (const bool ascending : {false, true}) {
      std::vector<float> x(static_cast<size_t>(n));
      std::vector<float> v(x.size());
      for (float& a : x) a = 3 * normal(rng);
      for (float& a : v) a = normal(rng);
      if (ascending) std::sort(x.begin(), x.end());
      const Verdict good = judged(contract, x, v, online_mean(x, v, 4));
      EXPECT_EQ(good.outcome, Outcome::pass) << n << told(good);
      EXPECT_LE(good.share, 1);
      if (n > 5 && ascending) {
        EXPECT_EQ(judged(contract, x, v, online_mean(x, v, 4, true)).outcome, Outcome::mismatch);
      }
    }
}

TEST(Weights, EqualScoresNeedNoRescaling) {
  // No maximum is new after the first block, in any order: an average of integers, exactly.
  const Contract contract = mean_contract("online = 4\n");
  const std::vector<float> x(64, 2.5f);
  std::vector<float> v(64, 1.0f);
  v[13] = 2;
  const auto exact = static_cast<float>(65.0 / 64.0);
  EXPECT_EQ(judged(contract, x, v, exact).outcome, Outcome::pass);
  EXPECT_EQ(judged(contract, x, v, std::nextafter(exact, 2.0f)).outcome, Outcome::mismatch);
}

TEST(Weights, MeansStayWithinTheHull) {
  // Scores near 1e8 are rounded to multiples of 8: any weights, but an average of 1 and 3.
  const Contract contract = mean_contract("online = 4\n", "x * 1e8");
  const std::vector<float> x{1, 1 + 0x1p-23f, 1 + 0x1p-22f};
  const std::vector<float> v{1, 3, 2};
  for (const float got : {1.0f, 1.5f, 2.9f, 3.0f})
    EXPECT_EQ(judged(contract, x, v, got).outcome, Outcome::pass) << got;
  for (const float got : {0.99f, 3.01f, 10.0f})
    EXPECT_EQ(judged(contract, x, v, got).outcome, Outcome::mismatch) << got;
  // A masked element is not in the hull.
  const std::vector<float> masked{1, -INFINITY, 1 + 0x1p-22f};
  EXPECT_EQ(judged(contract, masked, v, 2.9f).outcome, Outcome::mismatch);
  EXPECT_EQ(judged(contract, masked, v, 1.9f).outcome, Outcome::pass);
}

// Scores whose rounding in double is larger than 1: of the weights nothing is known, to the first
// tier neither. Yet the mean lies in the hull, the exact one too, and a share in [0, 1].
TEST(Weights, TheHullHoldsWhereScoresAreNotKnown) {
  const std::vector<float> x{0x1.fffffep80f, 0x1.fffffcp80f, -3, 0x1.234566p80f};
  const std::vector<float> v{5, 7, 6, 5.5f};
  const std::string score = "x * 0.7071067811865476 + x * 0.333333333333";
  const Contract direct = mean_contract("", score);
  const Contract online = mean_contract("online = 2\n", score);
  for (const Contract* contract : {&direct, &online}) {
    for (const float got : {5.0f, 7.0f, 6.0f}) {
      const Verdict verdict = judged(*contract, x, v, got);
      EXPECT_EQ(verdict.outcome, Outcome::pass) << told(verdict);
      EXPECT_EQ(verdict.no_bound, 0);
      EXPECT_EQ(verdict.undecided, 0);
    }
    for (const float got : {2.5f, 0.0f, 9.5f, INFINITY, -INFINITY, NAN})
      EXPECT_EQ(judged(*contract, x, v, got).outcome, Outcome::mismatch) << got;
  }
  // x c - m c, each product rounded: the weight of the maximum itself may be 0 or infinite.
  const Contract prescaled = mean_contract("exp = \"prescaled\"\n", score);
  for (const float got : {5.0f, NAN}) EXPECT_EQ(judged(prescaled, x, v, got).no_bound, 1) << got;
  const Contract share = mean_contract("", score, "sum(w / sum(w, n) * v, n)");
  EXPECT_EQ(judged(share, x, v, 5.0f).outcome, Outcome::pass);
  EXPECT_EQ(judged(share, x, v, NAN).outcome, Outcome::mismatch);
}

TEST(Weights, PrescaledExponentsOfTheMaximumAreNotZero) {
  // exp2(fma(x, log2e, -fl(m log2e))) at x = m = 3e7 is off by up to 2: a weight of e^1.4 is
  // correct, and so is the average that it makes; of equal numbers it is that number.
  const Contract contract = mean_contract("exp = \"prescaled\"\nonline = 4\n");
  EXPECT_EQ(judged(contract, {3e7f, 3e7f}, {1, 3}, 2.5f).outcome, Outcome::pass);
  EXPECT_EQ(judged(contract, {3e7f, 3e7f}, {1, 3}, 3.5f).outcome, Outcome::mismatch);
  // Small scores leave little: each of 16 blocks a factor of 1, give or take some ulps.
  const std::vector<float> x(64, 1.5f);
  const std::vector<float> ones(64, 1.0f);
  EXPECT_EQ(judged(contract, x, ones, 1.0f + 0x1p-20f).outcome, Outcome::pass);
  EXPECT_EQ(judged(contract, x, ones, 1.001f).outcome, Outcome::mismatch);
}

TEST(Weights, ASizeThatALaterLineReducesOverIsAnIndexInEveryLine) {
  const Contract contract = parse_contract(
      R"toml(
name = "positions"
source = { cuda = "row_sum.cu", entry = "positions" }
sizes = { rows = { min = 0, max = 100 }, token = { min = 1, max = 100 } }
launch = { grid = ["rows"], block = ["32"] }
args = [ { name = "y", kind = "output", dtype = "i32", shape = ["rows"] } ]
[formula]
twice = "2 * token"
y = "sum(twice, token) + rows"
)toml",
      std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/positions.toml");
  Experiment e(contract);
  e.the_case.sizes = {{"rows", 2}, {"token", 5}};
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, 20);
  run.set("y", 1, 21);
  EXPECT_EQ(Judge(contract).judge(instance, run).outcome, Outcome::pass);
  run.set("y", 1, 51);
  EXPECT_EQ(Judge(contract).judge(instance, run).outcome, Outcome::mismatch);
}

TEST(Weights, AnOnlineSoftmaxAddsUnnormalisedWeightsWhateverTheSpelling) {
  // Both keys have weight 1 before the division: v + v overflows, although their mean does not.
  const float v = 0x1.8p127f;
  for (const char* y : {"sum(w * v, n) / sum(w, n)", "sum(w / sum(w, n) * v, n)"}) {
    const auto with = [&](const char* accuracy, const char* range, float got) {
      return judged(mean_contract(accuracy, "x", y, range), {1, 1}, {v, v}, got).outcome;
    };
    EXPECT_EQ(with("online = 1\n", "naive", v), Outcome::pass) << y;
    EXPECT_EQ(with("online = 1\n", "naive", INFINITY), Outcome::pass) << y;
    EXPECT_EQ(with("online = 1\n", "safe", INFINITY), Outcome::mismatch) << y;
  }
  const Contract normalised = mean_contract("", "x", "sum(w / sum(w, n) * v, n)", "naive");
  EXPECT_EQ(judged(normalised, {1, 1}, {v, v}, INFINITY).outcome, Outcome::mismatch);
}

}  // namespace
}  // namespace assay
