// Relations by name: right outputs pass in every order that is right, and planted faults do not.
#include "kernels_under_test/relations.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "generators/hash.hpp"
#include "oracles/relations/relation.hpp"
#include "oracles/verdict.hpp"
#include "tests/oracles/relation_cases.hpp"

namespace assay {
namespace {

using testing::contract_of;
using testing::f32_bits;
using testing::FakeRun;
using testing::kRankOutputs;
using testing::ranked;
using testing::Relation;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Relations, EveryOneThatContractsMayNameIsJudged) {
  for (const RelationForm& form : kRelationForms) EXPECT_NE(find_relation(form.name), nullptr);
}

// --- topk ----------------------------------------------------------------------------------------

struct TopK {
  Relation relation;
  std::vector<double> x;
  TopK(const std::vector<double>& values, int64_t k, const std::string& policy,
       const std::string& roles = "")
      : relation(
            contract_of("{ op = \"topk\", of = \"x\", along = \"n\", k = \"k\", values = \"v\", "
                        "indices = \"i\"" +
                            roles + " }",
                        kRankOutputs, "[policy]\n" + policy),
            static_cast<int64_t>(values.size()), k),
        x(values) {
    relation.experiment.put("x", {1, static_cast<int64_t>(x.size())}, DType::f32, x);
  }
  Verdict operator()(const std::vector<int64_t>& indices) const {
    std::vector<double> values;
    for (const int64_t i : indices)
      values.push_back(i >= 0 && i < static_cast<int64_t>(x.size()) ? x[static_cast<size_t>(i)]
                                                                    : 0);
    return (*this)(indices, values);
  }
  Verdict operator()(const std::vector<int64_t>& indices, const std::vector<double>& values) const {
    const Instance instance = relation.experiment.instance();
    FakeRun run(instance);
    for (size_t j = 0; j < indices.size(); ++j) {
      run.set("i", static_cast<int64_t>(j), static_cast<uint64_t>(indices[j]));
      run.set("v", static_cast<int64_t>(j), f32_bits(static_cast<float>(values[j])));
    }
    return relation.judge.judge(instance, run);
  }
};

TEST(TopK, TheLargestInDescendingOrder) {
  const TopK topk({1, 9, 3, 7, 5}, 3, "tie = \"free\"");
  EXPECT_EQ(topk({1, 3, 4}).outcome, Outcome::pass);
  EXPECT_EQ(topk({1, 3, 4}).judged, 6);
  EXPECT_EQ(topk({1, 3, 2}).rule, "R20");  // 5 was left out
  EXPECT_EQ(topk({3, 1, 4}).rule, "R20");  // order
  EXPECT_EQ(topk({1, 1, 3}).rule, "R20");  // twice
  EXPECT_EQ(topk({1, 3, 5}).rule, "R20");  // no index
  EXPECT_EQ(topk({1, 3, -1}).rule, "R20");
  EXPECT_EQ(topk({1, 3, 4}, {9, 7, 5.0000005}).first_output, "v");
  EXPECT_EQ(topk({1, 3, 4}, {9, 7, kNan}).outcome, Outcome::mismatch);
}

TEST(TopK, AnElementIsWrongOnce) {
  // 3 of rank 2 was taken for 7, and stands behind 1.
  const Verdict v = TopK({1, 9, 3, 7, 5}, 3, "tie = \"free\"")({1, 0, 2});
  EXPECT_EQ(v.wrong, 2);
  EXPECT_TRUE(v.message.starts_with("i: 2 of 3 elements wrong")) << v.message;
}

TEST(TopK, UnsortedAndSmallest) {
  const TopK any({1, 9, 3, 7, 5}, 3, "tie = \"free\"", ", sorted = false");
  EXPECT_EQ(any({4, 1, 3}).outcome, Outcome::pass);
  EXPECT_EQ(any({4, 1, 2}).outcome, Outcome::mismatch);
  const TopK least({1, 9, 3, 7, 5}, 2, "tie = \"free\"", ", largest = false");
  EXPECT_EQ(least({0, 2}).outcome, Outcome::pass);
  EXPECT_EQ(least({2, 0}).outcome, Outcome::mismatch);
  EXPECT_EQ(least({1, 3}).outcome, Outcome::mismatch);
}

TEST(TopK, TiesGoByThePolicy) {
  const std::vector<double> x = {2, 3, 2, 3, 2};  // k-th and inner ties
  const auto accepted = [&](const std::string& policy, const std::vector<int64_t>& indices) {
    return TopK(x, 3, policy)(indices).outcome == Outcome::pass;
  };
  EXPECT_TRUE(accepted("tie = \"first\"", {1, 3, 0}));
  EXPECT_FALSE(accepted("tie = \"first\"", {1, 3, 2}));
  EXPECT_FALSE(accepted("tie = \"first\"", {3, 1, 0}));
  EXPECT_TRUE(accepted("tie = \"last\"", {3, 1, 4}));
  EXPECT_FALSE(accepted("tie = \"last\"", {3, 1, 2}));
  EXPECT_FALSE(accepted("tie = \"last\"", {1, 3, 4}));
  EXPECT_TRUE(accepted("tie = \"free\"", {3, 1, 2}));
  EXPECT_TRUE(accepted("", {3, 1, 2}));
  EXPECT_EQ(TopK(x, 3, "")({3, 1, 2}).missing_policies.size(), 1u);
  EXPECT_FALSE(accepted("tie = \"free\"", {3, 2, 0}));
}

TEST(TopK, NanIsTheGreatestOrComesLastOrIsNotJudged) {
  const std::vector<double> x = {1, kNan, 2, 0};
  EXPECT_EQ(TopK(x, 2, "nan = \"propagate\"\ntie = \"free\"")({1, 2}).outcome, Outcome::pass);
  EXPECT_EQ(TopK(x, 2, "nan = \"propagate\"\ntie = \"free\"")({2, 0}).outcome, Outcome::mismatch);
  EXPECT_EQ(TopK(x, 2, "nan = \"ignore\"\ntie = \"free\"")({2, 0}).outcome, Outcome::pass);
  EXPECT_EQ(TopK(x, 2, "nan = \"ignore\"\ntie = \"free\"")({1, 2}).outcome, Outcome::mismatch);
  const Verdict v = TopK(x, 2, "tie = \"free\"")({1, 2});
  EXPECT_EQ(v.outcome, Outcome::skipped);
  EXPECT_EQ(v.no_bound, v.judged);
}

TEST(TopK, ScoresUnderErrorMayTrade) {
  // Two scores of exp that lie within their bounds of each other, one far below.
  Relation relation(
      contract_of("{ op = \"topk\", of = \"exp(x)\", along = \"n\", k = \"k\", indices = \"i\" }",
                  "{ name = \"i\", kind = \"output\", dtype = \"i64\", shape = [\"k\"] },"),
      3, 1);
  relation.experiment.put("x", {1, 3}, DType::f32, {1, 1.00000012, 0.9});
  const Instance instance = relation.experiment.instance();
  for (const uint64_t index : {0, 1, 2}) {
    FakeRun run(instance);
    run.set("i", 0, index);
    EXPECT_EQ(relation.judge.judge(instance, run).outcome,
              index == 2 ? Outcome::mismatch : Outcome::pass);
  }
}

// --- sort and permutation ------------------------------------------------------------------------

TEST(Sort, ValuesAlone) {
  const std::string oracle = "{ op = \"sort\", of = \"x\", along = \"n\", values = \"v\" }";
  const std::string policy = "nan = \"propagate\"\ntie = \"free\"";
  EXPECT_EQ(ranked(oracle, policy, {3, 1, 2, 1}, {1, 1, 2, 3}).outcome, Outcome::pass);
  EXPECT_EQ(ranked(oracle, policy, {3, 1, 2, 1}, {1, 2, 2, 3}).rule, "R20");
  EXPECT_EQ(ranked(oracle, policy, {3, 1, 2, 1}, {1, 2, 1, 3}).rule, "R20");
  EXPECT_EQ(ranked(oracle, policy, {3, kNan, 2, 1}, {1, 2, 3, kNan}).outcome, Outcome::pass);
  EXPECT_EQ(ranked(oracle, policy, {3, kNan, 2, 1}, {1, 2, 3, 3}).outcome, Outcome::mismatch);
}

TEST(Permutation, EachElementAsOftenAsBefore) {
  const std::string oracle = "{ op = \"permutation\", of = \"x\", along = \"n\", out = \"v\" }";
  EXPECT_EQ(ranked(oracle, "", {3, 1, 2, 1}, {2, 1, 3, 1}).outcome, Outcome::pass);
  const Verdict v = ranked(oracle, "", {3, 1, 2, 1}, {2, 1, 3, 3});
  EXPECT_EQ(v.rule, "R21");
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(ranked(oracle, "", {3, 1, 2, 1}, {2, 1, 3, 4}).rule, "R21");
}

// --- grouped -------------------------------------------------------------------------------------

struct Grouped {
  Relation relation;
  Grouped(const std::vector<double>& keys, const std::string& order)
      : relation(
            contract_of("{ op = \"grouped\", keys = \"key\", groups = 3, block = 4, fill = \"n\", "
                        "ids = \"ids\", group_of = \"groups\", count = \"count\", order = \"" +
                            order + "\" }",
                        "{ name = \"ids\", kind = \"output\", dtype = \"i32\", shape = [16] },\n"
                        "{ name = \"groups\", kind = \"output\", dtype = \"i32\", shape = [4] },\n"
                        "{ name = \"count\", kind = \"output\", dtype = \"i32\", shape = [1] },"),
            static_cast<int64_t>(keys.size()), 0) {
    relation.experiment.put("key", {static_cast<int64_t>(keys.size())}, DType::i32, keys);
  }
  Verdict operator()(const std::vector<int>& ids, const std::vector<int>& groups, int count) const {
    const Instance instance = relation.experiment.instance();
    FakeRun run(instance);
    for (size_t k = 0; k < ids.size(); ++k)
      run.set("ids", static_cast<int64_t>(k), static_cast<uint64_t>(ids[k]));
    for (size_t k = 0; k < groups.size(); ++k)
      run.set("groups", static_cast<int64_t>(k), static_cast<uint64_t>(groups[k]));
    run.set("count", 0, static_cast<uint64_t>(count));
    return relation.judge.judge(instance, run);
  }
};

TEST(GroupedIds, MembersInAnyOrderPaddedToWholeBlocks) {
  const Grouped grouped({2, 0, 2, 2, 0, 2, 2, 5}, "free");  // group 1 is empty, key 5 in none
  const std::vector<int> groups = {0, 2, 2};
  EXPECT_EQ(grouped({4, 1, 8, 8, 6, 0, 2, 3, 5, 8, 8, 8}, groups, 12).outcome, Outcome::pass);
  EXPECT_EQ(grouped({8, 1, 8, 4, 6, 0, 2, 3, 8, 8, 5, 8}, groups, 12).outcome, Outcome::pass);
  const auto rule = [&](const std::vector<int>& ids, const std::vector<int>& of, int count) {
    return grouped(ids, of, count).rule;
  };
  EXPECT_EQ(rule({4, 4, 8, 8, 6, 0, 2, 3, 5, 8, 8, 8}, groups, 12), "R22");  // twice
  EXPECT_EQ(rule({4, 8, 8, 8, 6, 0, 2, 3, 5, 8, 8, 8}, groups, 12), "R22");  // one is missing
  EXPECT_EQ(rule({4, 2, 8, 8, 6, 0, 1, 3, 5, 8, 8, 8}, groups, 12), "R22");  // of another group
  EXPECT_EQ(rule({4, 1, 7, 8, 6, 0, 2, 3, 5, 8, 8, 8}, groups, 12), "R22");  // of no group
  EXPECT_EQ(rule({4, 1, 8, 9, 6, 0, 2, 3, 5, 8, 8, 8}, groups, 12), "R22");  // another filler
  EXPECT_EQ(rule({4, 1, 8, 8, 6, 0, 2, 3, 5, 8, 8, 8}, {0, 1, 2}, 12), "R22");
  EXPECT_EQ(rule({4, 1, 8, 8, 6, 0, 2, 3, 5, 8, 8, 8}, groups, 9), "R22");
}

TEST(GroupedIds, StableOrderBinds) {
  const Grouped grouped({2, 0, 2, 2, 0}, "stable");
  EXPECT_EQ(grouped({1, 4, 5, 5, 0, 2, 3, 5}, {0, 2}, 8).outcome, Outcome::pass);
  EXPECT_EQ(grouped({4, 1, 5, 5, 0, 2, 3, 5}, {0, 2}, 8).rule, "R22");
  EXPECT_EQ(grouped({1, 4, 5, 5, 5, 0, 2, 3}, {0, 2}, 8).rule, "R22");
}

// --- bernoulli -----------------------------------------------------------------------------------

Verdict drawn(double p, int64_t n, const std::function<int(int64_t)>& draw) {
  Relation relation(
      contract_of("{ op = \"bernoulli\", mask = \"mask\", p = " + std::to_string(p) + " }",
                  "{ name = \"mask\", kind = \"output\", dtype = \"u8\", shape = [\"n\"] },"),
      n, 0);
  const Instance instance = relation.experiment.instance();
  FakeRun run(instance);
  for (int64_t k = 0; k < n; ++k) run.set("mask", k, static_cast<uint64_t>(draw(k)));
  return relation.judge.judge(instance, run);
}

double uniform(uint64_t key, int64_t k) {
  return static_cast<double>(counter_hash(key, static_cast<uint64_t>(k)) >> 11) * 0x1p-53;
}

TEST(Bernoulli, IndependentDrawsPass) {
  for (uint64_t key = 1; key <= 40; ++key)
    for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0})
      for (const int64_t n : {1, 2, 100, 20000})
        EXPECT_EQ(drawn(p, n, [&](int64_t k) { return uniform(key, k) < p ? 1 : 0; }).outcome,
                  Outcome::pass)
            << key << " " << p << " " << n;
}

TEST(Bernoulli, PlantedGeneratorsDoNot) {
  const auto rule = [](double p, const std::function<double(int64_t)>& u) {
    return drawn(p, 20000, [&](int64_t k) { return u(k) < p ? 1 : 0; }).rule;
  };
  EXPECT_EQ(rule(0.5, [](int64_t k) { return uniform(1, k / 4); }), "R23");     // one of four
  EXPECT_EQ(rule(0.9, [](int64_t k) { return uniform(1, k % 1024); }), "R23");  // every block alike
  EXPECT_EQ(rule(0.1, [](int64_t k) { return uniform(1, k % 8192); }), "R23");
  EXPECT_EQ(rule(0.1, [](int64_t k) { return 1 - uniform(1, k) * 0.5; }), "R23");
  EXPECT_EQ(rule(0.9, [](int64_t k) { return uniform(1, k) < 0.9 ? 1.0 : 0.0; }),
            "R23");  // p for 1 - p
  EXPECT_EQ(rule(0.9, [](int64_t k) { return k < 19000 ? uniform(1, k) : 0.0; }),
            "R23");  // tail kept
  // A period of 2^k in 1.9 x 2^k elements: only the largest lag sees it.
  EXPECT_EQ(drawn(0.5, 15564, [](int64_t k) { return uniform(1, k % 8192) < 0.5 ? 1 : 0; }).rule,
            "R23");
  EXPECT_EQ(drawn(0.5, 10, [](int64_t k) { return k == 3 ? 2 : 1; }).rule, "R23");
  EXPECT_EQ(drawn(1.0, 10, [](int64_t k) { return k == 3 ? 0 : 1; }).rule, "R23");
}

/// Two masks, the second declared independent of the first.
Verdict drawn_beside(double p, int64_t n, const std::function<int(int64_t)>& first,
                     const std::function<int(int64_t)>& second) {
  const std::string role = "{ op = \"bernoulli\", p = " + std::to_string(p) + ", mask = ";
  Relation relation(
      contract_of("[" + role + "\"a\" }, " + role + "\"b\", independent_of = \"given(a)\" }]",
                  "{ name = \"a\", kind = \"output\", dtype = \"u8\", shape = [\"n\"] },"
                  "{ name = \"b\", kind = \"output\", dtype = \"u8\", shape = [\"n\"] },"),
      n, 0);
  const Instance instance = relation.experiment.instance();
  FakeRun run(instance);
  for (int64_t k = 0; k < n; ++k) {
    run.set("a", k, static_cast<uint64_t>(first(k)));
    run.set("b", k, static_cast<uint64_t>(second(k)));
  }
  return relation.judge.judge(instance, run);
}

TEST(Bernoulli, IndependentMasksPass) {
  for (uint64_t key = 1; key <= 40; ++key)
    for (const double p : {0.0, 0.1, 0.5, 0.9, 1.0})
      for (const int64_t n : {0, 1, 2, 100, 20000}) {
        const auto draw = [&](uint64_t seed) {
          return [&, seed](int64_t k) { return uniform(seed, k) < p ? 1 : 0; };
        };
        const Verdict verdict = drawn_beside(p, n, draw(key), draw(1000 + key));
        EXPECT_EQ(verdict.wrong, 0) << key << " " << p << " " << n;
      }
}

TEST(Bernoulli, MasksThatShareTheirNumbersDoNot) {
  // How many elements of the second mask are drawn from the first one's numbers, `shift` on.
  const auto rule = [](double p, int64_t n, int64_t shift) {
    const auto draw = [p](int64_t k) { return uniform(1, k) < p ? 1 : 0; };
    return drawn_beside(p, n, draw, [&](int64_t k) { return draw(k + shift); }).rule;
  };
  EXPECT_EQ(rule(0.5, 100, 0), "R23");
  EXPECT_EQ(rule(0.9, 400, 0), "R23");
  EXPECT_EQ(rule(0.1, 400, 0), "R23");
  EXPECT_EQ(rule(0.5, 1000, 4), "R23");  // overlapping streams
  EXPECT_EQ(rule(0.5, 1000, 256), "R23");
  EXPECT_EQ(rule(0.5, 1000, 5000), "");
  // From these sizes on equal masks cannot be independent draws (docs/judging/relations.md).
  for (const auto& [p, n] : {std::pair{0.5, 49}, {0.9, 169}, {0.1, 169}}) {
    EXPECT_EQ(rule(p, n, 0), "R23") << p;
    EXPECT_EQ(rule(p, n - 1, 0), "") << p;
  }
  // A tail that ignores the seed: one in a hundred of all, all of some stretches.
  const auto with_tail = [&](int64_t n) {
    return drawn_beside(
        0.5, 16000, [](int64_t k) { return uniform(1, k) < 0.5 ? 1 : 0; },
        [n](int64_t k) { return uniform(k >= 16000 - n ? 1 : 2, k) < 0.5 ? 1 : 0; });
  };
  EXPECT_EQ(with_tail(250).rule, "R23");
  EXPECT_EQ(with_tail(20).rule, "");
  // The complement is as telling as the mask itself.
  EXPECT_EQ(drawn_beside(
                0.5, 100, [](int64_t k) { return uniform(1, k) < 0.5 ? 1 : 0; },
                [](int64_t k) { return uniform(1, k) < 0.5 ? 0 : 1; })
                .rule,
            "R23");
}

}  // namespace
}  // namespace assay
