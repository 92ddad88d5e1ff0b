// An output in an input's memory: judged by what the input held, stored or left alone.
#include <gtest/gtest.h>

#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"

namespace assay::testing {
namespace {

Contract contract(const std::string& formula, const std::string& more = "") {
  return parse_contract("name = \"k\"\nsource = { ptx = \"pool.cu\", entry = \"k\" }\n"
                        "sizes = { n = { min = 0, max = 9 } }\nlaunch = { grid = 1, block = 32 }\n"
                        "args = [\n"
                        "  { name = \"y\", kind = \"output\", dtype = \"i32\", shape = [\"n\"], "
                        "may_alias = [\"x\"]" + more + " },\n"
                        "  { name = \"x\", kind = \"input\", dtype = \"i32\", shape = [\"n\"] },\n"
                        "]\n[formula]\ny = \"" + formula + "\"\n",
                        std::string(ASSAY_SOURCE_DIR) + "/tests/data/contracts/k.toml");
}

Experiment four(Contract c, bool in_place) {
  Experiment e(std::move(c));
  e.the_case.sizes["n"] = 4;
  e.put("x", {4}, DType::i32, {-3, 5, -7, 9});
  if (in_place) e.the_case.aliases["y"] = "x";
  return e;
}

Verdict judged(const Experiment& e, const std::vector<int>& got, const std::vector<int64_t>& alone) {
  const Instance instance = e.instance();
  FakeRun run(instance);
  for (size_t k = 0; k < got.size(); ++k)
    run.set("y", static_cast<int64_t>(k), static_cast<uint32_t>(got[k]));
  for (const int64_t k : alone) run.unwrite("y", k);
  return Judge(e.contract).judge(instance, run);
}

TEST(InPlace, TheFormulaReadsWhatTheInputHeldBefore) {
  const Experiment e = four(contract("2 * x"), true);
  EXPECT_EQ(judged(e, {-6, 10, -14, 18}, {}).outcome, Outcome::pass);
  const Verdict v = judged(e, {-6, 10, -28, 18}, {});
  EXPECT_EQ(v.outcome, Outcome::mismatch) << "doubled twice: from what the kernel wrote";
  EXPECT_EQ(v.wrong, 1);
}

TEST(InPlace, WhatIsLeftAloneIsJudgedByTheInput) {
  const std::vector<int> relu{0, 5, 0, 9};
  const Experiment in_place = four(contract("max(x, 0)"), true);
  EXPECT_EQ(judged(in_place, relu, {1, 3}).outcome, Outcome::pass) << "R1: only what changes";
  const Verdict missed = judged(in_place, {0, 5, -7, 9}, {1, 2, 3});
  EXPECT_EQ(missed.outcome, Outcome::mismatch);
  EXPECT_EQ(missed.wrong, 1);
  EXPECT_EQ(missed.unwritten, 0);
  const Verdict apart = judged(four(contract("max(x, 0)"), false), relu, {1, 3});
  EXPECT_EQ(apart.outcome, Outcome::mismatch) << "in memory of its own it is unwritten";
  EXPECT_EQ(apart.unwritten, 2);
}

TEST(InPlace, OutsideOfValidTheInputStays) {
  const Experiment e = four(contract("2 * x", ", valid = \"[0:2]\""), true);
  EXPECT_EQ(judged(e, {-6, 10, -7, 9}, {2, 3}).outcome, Outcome::pass);
  const Verdict v = judged(e, {-6, 10, -7, 0}, {2});
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.rule, "R18");
}

}  // namespace
}  // namespace assay::testing
