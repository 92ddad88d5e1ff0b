// Rankings of scores that a formula computes: what overflows or is flushed on the way ties, or
// changes places (rules R7, R12, R20).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/relation_cases.hpp"

namespace assay {
namespace {

using testing::contract_of;
using testing::f32_bits;
using testing::FakeRun;
using testing::kRankOutputs;
using testing::ranked;
using testing::Relation;

/// topk over a formula, with values and indices.
Verdict chosen(const std::string& of, const std::string& policy, const std::vector<double>& x,
               const std::vector<int64_t>& indices, const std::vector<float>& values) {
  Relation relation(contract_of("{ op = \"topk\", of = \"" + of +
                                    "\", along = \"n\", k = \"k\", values = \"v\", indices = "
                                    "\"i\" }",
                                kRankOutputs, "[policy]\n" + policy),
                    static_cast<int64_t>(x.size()), static_cast<int64_t>(indices.size()));
  relation.experiment.put("x", {1, static_cast<int64_t>(x.size())}, DType::f32, x);
  const Instance instance = relation.experiment.instance();
  FakeRun run(instance);
  for (size_t j = 0; j < indices.size(); ++j) {
    run.set("i", static_cast<int64_t>(j), static_cast<uint64_t>(indices[j]));
    run.set("v", static_cast<int64_t>(j), f32_bits(values[j]));
  }
  return relation.judge.judge(instance, run);
}

const std::string kFirst = "subnormals = \"keep\"\ntie = \"first\"\nnan = \"exclude\"\n";
const std::string kNaiveFirst = kFirst + "range = \"naive\"\n";
const std::string kSafeFirst = kFirst + "range = \"safe\"\n";

// 1 / (1 + e^95) is 5.5e-42; a kernel whose e^95 is infinite has 0 for it, as for 1 / (1 + e^508).
TEST(TopK, ScoresThatAnOverflowMakesEqual) {
  const std::vector<double> x = {-508, -95};
  for (const char* of : {"sigmoid(x)", "1 / (1 + exp(-x))"}) {
    const auto with = [&](const std::string& policy, int64_t index, float value) {
      return chosen(of, policy, x, {index}, {value});
    };
    EXPECT_EQ(with(kNaiveFirst, 0, 0).outcome, Outcome::pass);
    EXPECT_EQ(with(kNaiveFirst, 0, 0).widened, 1);
    EXPECT_EQ(with(kNaiveFirst, 1, 0).outcome, Outcome::pass);
    EXPECT_EQ(with(kNaiveFirst, 1, 5.5211e-42f).outcome, Outcome::pass);
    EXPECT_EQ(with(kNaiveFirst, 1, 5.5211e-42f).widened, 0);
    EXPECT_EQ(with(kNaiveFirst, 1, 1e-3f).first_output, "v");
    EXPECT_EQ(with(kNaiveFirst, 0, 5.5211e-42f).first_output, "v");
    EXPECT_EQ(with(kSafeFirst, 0, 0).rule, "R20");
    EXPECT_EQ(with(kSafeFirst, 1, 0).rule, "R20");
    // Without the policy it is read as naive, and asked for.
    const Verdict asks = with(kFirst, 0, 0);
    EXPECT_EQ(asks.outcome, Outcome::pass);
    EXPECT_EQ(asks.missing_policies.size(), 1u);
    // A score that no overflow touches is greater than those.
    EXPECT_EQ(chosen(of, kNaiveFirst, {-508, -95, -3}, {0}, {0}).rule, "R20");
    EXPECT_EQ(chosen(of, kNaiveFirst, {-508, -95, -3}, {2, 0}, {0.0474258736f, 0}).outcome,
              Outcome::pass);
    EXPECT_EQ(chosen(of, kNaiveFirst, {-508, -95, -3}, {0, 2}, {0, 0.0474258736f}).rule, "R20");
  }
}

TEST(TopK, ScoresThatAreInfinite) {
  const auto with = [&](const std::string& policy, const std::vector<int64_t>& i,
                        const std::vector<float>& v) {
    return chosen("exp(x)", policy, {89, 100, 1000, 2}, i, v).outcome;
  };
  const float inf = INFINITY;
  EXPECT_EQ(with(kNaiveFirst, {0, 1, 2}, {inf, inf, inf}), Outcome::pass);
  EXPECT_EQ(with(kNaiveFirst, {2, 1, 0}, {inf, inf, inf}), Outcome::pass);
  EXPECT_EQ(with(kNaiveFirst, {0, 1, 2}, {3e38f, inf, inf}), Outcome::mismatch);
  EXPECT_EQ(with(kNaiveFirst, {0, 1, 3}, {inf, inf, 7.38905621f}), Outcome::mismatch);
  EXPECT_EQ(with(kNaiveFirst, {3, 1, 2}, {7.38905621f, inf, inf}), Outcome::mismatch);
  EXPECT_EQ(with(kSafeFirst, {0, 1, 2}, {inf, inf, inf}), Outcome::mismatch);
}

// A limit alone is known of e^1000, and that no other score reaches it.
TEST(TopK, ScoresBeyondDouble) {
  for (const std::string& policy : {kSafeFirst, kNaiveFirst}) {
    EXPECT_EQ(chosen("exp(x)", policy, {1000, 2}, {0}, {INFINITY}).outcome, Outcome::pass);
    EXPECT_EQ(chosen("exp(x)", policy, {1000, 2}, {1}, {7.38905621f}).rule, "R20");
    EXPECT_EQ(chosen("-exp(x)", policy, {1000, 2}, {0}, {-INFINITY}).rule, "R20");
    const Contract index =
        testing::line_contract("i32", "argmax(exp(x), cols)", "[policy]\n" + policy, "[1]");
    testing::Line line(index, {2, 1000, 3});
    EXPECT_EQ(line({1}).outcome, Outcome::pass);
    EXPECT_EQ(line({0}).rule, "R14");
  }
}

TEST(TopK, ScoresThatAreFlushed) {
  const std::vector<double> x = {2e-39, 3e-39};
  const std::string tie = "tie = \"first\"\nrange = \"safe\"\n";
  const auto with = [&](const std::string& policy, float value) {
    return chosen("x * 0.5", tie + policy, x, {0}, {value});
  };
  EXPECT_EQ(with("", 0).outcome, Outcome::pass);
  EXPECT_EQ(with("", 0).missing_policies.size(), 1u);
  EXPECT_EQ(with("subnormals = \"flush\"", 0).outcome, Outcome::pass);
  EXPECT_EQ(with("subnormals = \"keep\"", 0).outcome, Outcome::mismatch);
  EXPECT_EQ(with("", 1e-3f).outcome, Outcome::mismatch);
}

TEST(Sort, ScoresThatAreNanAfterAnOverflow) {
  const std::string oracle =
      "{ op = \"sort\", of = \"max(exp(x) - exp(x), 0)\", along = \"n\", values = \"v\" }";
  const std::string policy = "subnormals = \"keep\"\ntie = \"first\"\nnan = \"propagate\"\n";
  const auto sorted = [&](const char* range, const std::vector<double>& x, double last) {
    return ranked(oracle, policy + "range = \"" + range + "\"\n", x, {0, last}).outcome;
  };
  EXPECT_EQ(sorted("naive", {100, 1}, 0), Outcome::pass);
  EXPECT_EQ(sorted("naive", {100, 1}, NAN), Outcome::pass);
  EXPECT_NE(sorted("safe", {100, 1}, NAN), Outcome::pass);
  EXPECT_NE(sorted("naive", {2, 1}, NAN), Outcome::pass);
}

TEST(Sort, ScoresThatAreInfinite) {
  const std::string oracle = "{ op = \"sort\", of = \"exp(x)\", along = \"n\", values = \"v\" }";
  const float e2 = 7.38905621f;
  const double inf = HUGE_VAL;
  EXPECT_EQ(ranked(oracle, kNaiveFirst, {100, 2, 89}, {e2, inf, inf}).outcome, Outcome::pass);
  EXPECT_EQ(ranked(oracle, kNaiveFirst, {100, 2, 89}, {inf, e2, inf}).rule, "R20");
  EXPECT_EQ(ranked(oracle, kNaiveFirst, {100, 2, 89}, {e2, 3e38, inf}).rule, "R20");
  EXPECT_EQ(ranked(oracle, kSafeFirst, {100, 2, 89}, {e2, e2, inf}).rule, "R20");
}

// Bits are moved: no reading of a policy makes another element of one.
TEST(Permutation, IsTheSameInEveryReading) {
  const std::string oracle = "{ op = \"permutation\", of = \"x\", along = \"n\", out = \"v\" }";
  EXPECT_EQ(ranked(oracle, "", {1e-40, 2}, {2, 1e-40}).outcome, Outcome::pass);
  EXPECT_EQ(ranked(oracle, "", {1e-40, 2}, {2, 0}).rule, "R21");
}

}  // namespace
}  // namespace assay
