// Sums with a starting value, and sums that share an accumulator: every order of adding all of
// their terms is right (rule R11; docs/judging.md, "Sums with a starting value").
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::kOrders;
using testing::Order;
using testing::summed;
using testing::told;

constexpr float kMax = 0x1.fffffep127f;

Contract started_contract(const std::string& formula, const std::string& range = "safe") {
  return parse_contract(R"toml(
name = "started"
source = { cuda = "row_sum.cu", entry = "started" }
sizes = { rows = { min = 0, max = 100 }, cols = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "start", kind = "input", dtype = "f32", shape = ["rows"] },
  { name = "other", kind = "input", dtype = "f32", shape = ["rows"] },
]
[formula]
)toml" + formula + "\n[policy]\nnan = \"propagate\"\nsubnormals = \"keep\"\nrange = \"" +
                            range + "\"\n",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/started.toml");
}

Verdict judged(const Contract& contract, const std::vector<float>& x, float start, float got,
               float other = 0) {
  Experiment e(contract);
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes = {{"rows", 1}, {"cols", n}};
  e.put("x", {1, n}, DType::f32, std::vector<double>(x.begin(), x.end()));
  e.put_bits("start", {1}, 0, DType::f32, f32_bits(start));
  e.put_bits("other", {1}, 0, DType::f32, f32_bits(other));
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, f32_bits(got));
  return Judge(e.contract).judge(instance, run);
}

const char* const kStarted = "y = \"sum(x, cols) + start\"";

/// The accumulator begins with `start`: it is the first of the terms.
float from_start(const std::vector<float>& x, float start, Order order) {
  std::vector<float> terms{start};
  terms.insert(terms.end(), x.begin(), x.end());
  return summed(terms, order);
}

std::vector<float> integers(std::mt19937& rng, size_t n) {
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(static_cast<int>(rng() % 2001) - 1000);
  return x;
}

TEST(Totals, AnAccumulatorMayBeginWithTheStart) {
  std::mt19937 rng(1);
  int differ = 0;
  for (const char* formula : {kStarted, "y = \"start + sum(x, cols)\""}) {
    const Contract contract = started_contract(formula);
    for (int trial = 0; trial < 60; ++trial) {
      const std::vector<float> x = integers(rng, 1 + rng() % 300);
      const float start = static_cast<float>(rng() % 1000) * 0.001f + 0.1f;
      for (const Order order : kOrders) {
        const float got = from_start(x, start, order);
        const Verdict v = judged(contract, x, start, got);
        ASSERT_EQ(v.outcome, Outcome::pass) << told(v) << " trial " << trial;
        differ += got != summed(x, order) + start ? 1 : 0;
      }
      // The integers' sum is exact: a dropped one shows next to what the start's bits may lose.
      std::vector<float> dropped = x;
      dropped.back() += dropped.back() == 0 ? 1 : -dropped.back();
      ASSERT_EQ(judged(contract, x, start, from_start(dropped, start, Order::lanes)).outcome,
                Outcome::mismatch);
    }
  }
  EXPECT_GT(differ, 20) << "no row told a start from an addition at the end";
}

TEST(Totals, ExactTermsAndAnExactStartAllowNothing) {
  std::mt19937 rng(2);
  const Contract contract = started_contract(kStarted);
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<float> x = integers(rng, 200);
    const float start = 7 + static_cast<float>(rng() % 1000);
    const float exact = summed(x, Order::sequential) + start;
    ASSERT_EQ(judged(contract, x, start, exact).outcome, Outcome::pass);
    for (const float to : {-INFINITY, INFINITY})
      ASSERT_EQ(judged(contract, x, start, std::nextafter(exact, to)).outcome, Outcome::mismatch);
  }
}

TEST(Totals, SeveralStartsAndSubtraction) {
  std::mt19937 rng(3);
  const Contract three = started_contract("y = \"sum(x, cols) + start + other\"");
  const Contract late = started_contract("y = \"start + other + sum(x, cols)\"");
  const Contract less = started_contract("y = \"start - sum(x, cols)\"");
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<float> x = integers(rng, 100);
    const float start = 0.1f * static_cast<float>(rng() % 77);
    const float other = -start;
    std::vector<float> both{other, start};
    both.insert(both.end(), x.begin(), x.end());
    std::vector<float> apart{start};
    apart.insert(apart.end(), x.begin(), x.end());
    apart.push_back(other);
    for (const std::vector<float>& terms : {both, apart})
      for (const Contract* contract : {&three, &late}) {
        const Verdict v = judged(*contract, x, start, summed(terms, Order::sequential), other);
        ASSERT_EQ(v.outcome, Outcome::pass) << told(v);
      }
    float rest = start;
    for (const float v : x) rest -= v;
    ASSERT_EQ(judged(less, x, start, rest).outcome, Outcome::pass);
    ASSERT_EQ(judged(less, x, start, -rest + 2 * start + 3).outcome, Outcome::mismatch);
  }
}

TEST(Totals, TwoSumsShareAnAccumulator) {
  std::mt19937 rng(4);
  const Contract contract = started_contract("y = \"sum(x * start, cols) + sum(x * other, cols)\"");
  int differ = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const std::vector<float> x = integers(rng, 60);
    const float start = 3;
    const float other = 0.37f;
    float all = 0;
    for (const float v : x) all = std::fmaf(v, start, all);
    for (const float v : x) all = std::fmaf(v, other, all);
    ASSERT_EQ(judged(contract, x, start, all, other).outcome, Outcome::pass);
    ASSERT_EQ(judged(contract, x, start, all + 4, other).outcome, Outcome::mismatch);
    ++differ;
  }
  EXPECT_EQ(differ, 40);
}

TEST(Totals, WhatIsMadeOfTheSumCannotBeItsStart) {
  const Contract contract = started_contract("s = \"sum(x, cols)\"\ny = \"s + 0.1 * s\"");
  const std::vector<float> x{1e6f, -1e6f, 3.0f};
  EXPECT_EQ(judged(contract, x, 0, 3.3f).outcome, Outcome::pass);
  EXPECT_EQ(judged(contract, x, 0, 3.3001f).outcome, Outcome::mismatch);
}

TEST(Totals, AStartMayOverflowThePartialSums) {
  const float big = 0x1p127f;
  const std::vector<float> x{big, -big};
  const Contract naive = started_contract(kStarted, "naive");
  const Contract safe = started_contract(kStarted);
  for (const float got : {big, INFINITY})
    EXPECT_EQ(judged(naive, x, big, got).outcome, Outcome::pass) << got;
  EXPECT_EQ(judged(safe, x, big, big).outcome, Outcome::pass);
  EXPECT_EQ(judged(safe, x, big, INFINITY).outcome, Outcome::mismatch);
  EXPECT_EQ(judged(naive, {1, 2}, 3, INFINITY).outcome, Outcome::mismatch);
  // -max - max is -inf before the infinity comes: NaN.
  for (const float got : {INFINITY, NAN})
    EXPECT_EQ(judged(naive, {-kMax, INFINITY}, -kMax, got).outcome, Outcome::pass) << got;
  EXPECT_EQ(judged(naive, {-1, INFINITY}, -1, NAN).outcome, Outcome::mismatch);
}

TEST(Totals, NoTermsLeaveTheStart) {
  const Contract contract = started_contract(kStarted);
  EXPECT_EQ(judged(contract, {}, 0.1f, 0.1f).outcome, Outcome::pass);
  EXPECT_EQ(judged(contract, {}, 0.1f, std::nextafter(0.1f, 1.0f)).outcome, Outcome::mismatch);
}

}  // namespace
}  // namespace assay
