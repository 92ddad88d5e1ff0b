// What an explanation says: numbers that can be told apart, an error beside its allowance, the
// worst of all wrong elements.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels_under_test/contract.hpp"
#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::FakeRun;

Contract contract_of(const std::string& type, const std::string& formula,
                     const std::string& more = "") {
  const std::string text =
      "name = \"t\"\nsource = { ptx = \"warp.ptx\", entry = \"t\" }\n"
      "sizes = { n = { min = 1, max = 20000 } }\n"
      "launch = { grid = [1], block = [32] }\n"
      "args = [ { name = \"y\", kind = \"output\", dtype = \"" +
      type + "\", shape = [\"n\"] }, { name = \"x\", kind = \"input\", dtype = \"" + type +
      "\", shape = [\"n\"] } ]\n[formula]\ny = \"" + formula +
      "\"\n[policy]\nnan = \"propagate\"\n" + more;
  return parse_contract(text, std::string(ASSAY_SOURCE_DIR) + "/tests/data/hard_cases/t.toml");
}

/// Elements of x, each with what the kernel stored for it.
struct Outputs {
  Experiment e;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<FakeRun> run;
  Judge judge;

  Outputs(const Contract& contract, DType type, const std::vector<std::pair<double, double>>& all)
      : e(contract), judge(e.contract) {
    const auto n = static_cast<int64_t>(all.size());
    e.the_case.sizes["n"] = n;
    std::vector<double> x;
    for (const auto& [in, out] : all) x.push_back(in);
    e.put("x", {n}, type, x);
    instance = std::make_unique<Instance>(e.instance());
    run = std::make_unique<FakeRun>(*instance);
    for (int64_t k = 0; k < n; ++k) {
      const double out = all[static_cast<size_t>(k)].second;
      run->set("y", k,
               is_floating(type) ? round_to_bits(type, out)
                                 : static_cast<uint64_t>(static_cast<int64_t>(out)));
    }
  }
  Verdict verdict() { return judge.judge(*instance, *run); }
  ElementReport explain(int64_t k) { return judge.explain(*instance, *run, "y", k); }
};

TEST(Explain, AMarginalMismatchDoesNotReadLikeAFalseAlarm) {
  // The next f16 above the right one.
  const double x = 1 + 0x1p-10;  // 1 + 2^-9 + 2^-20: rounds down to 1 + 2^-9
  Outputs o(contract_of("f16", "x * x"), DType::f16, {{x, 1 + 3 * 0x1p-10}});
  ASSERT_EQ(o.verdict().outcome, Outcome::mismatch);
  const ElementReport r = o.explain(0);
  EXPECT_EQ(r.got, "1.0029296875");
  EXPECT_EQ(r.accepted, "{1.001953125}");
  EXPECT_EQ(r.exact.substr(0, 16), "1.00195407867431");
  EXPECT_GT(r.times_allowed, 1);
  EXPECT_NE(r.error_text.find(" ulps, absolute 0.00097"), std::string::npos) << r.error_text;
  EXPECT_NE(r.error_text.find("times what is allowed"), std::string::npos) << r.error_text;
  EXPECT_EQ(r.error_text.find(": 1 times"), std::string::npos) << r.error_text;
  EXPECT_NE(r.allowance_text.find(" ulps, absolute "), std::string::npos) << r.allowance_text;
}

TEST(Explain, NanAgainstANumberIsNotComparable) {
  Outputs o(contract_of("f32", "x + x"), DType::f32, {{NAN, -0.0}, {1, NAN}, {1, INFINITY}});
  EXPECT_EQ(o.verdict().wrong, 3);
  EXPECT_EQ(o.explain(0).error_text, "not comparable: NaN expected");
  EXPECT_EQ(o.explain(0).allowance_text, "");
  EXPECT_EQ(o.explain(1).error_text, "not comparable: got NaN");
  EXPECT_EQ(o.explain(2).error_text, "not comparable: got infinity");
}

TEST(Explain, IntegersSayHowFarOff) {
  Outputs o(contract_of("i32", "x + x"), DType::i32, {{5, 7}});
  const ElementReport r = o.explain(0);
  EXPECT_EQ(r.error_text, "off by -3");
  EXPECT_EQ(r.got, "7");
}

TEST(Explain, InputsOfFewDigitsArePrintedPlainly) {
  Outputs o(contract_of("f32", "x + x"), DType::f32, {{-10, 0}});
  ASSERT_FALSE(o.explain(0).inputs.empty());
  EXPECT_EQ(o.explain(0).inputs[0].text.substr(0, 10), "x[0] = -10");
}

TEST(Explain, GatheredInputsHaveAllTheirIndices) {
  Experiment e(testing::row_contract("max(x[rows = rows / 2], cols)"));
  e.the_case.sizes = {{"rows", 2}, {"cols", 3}};
  e.put("x", {2, 3}, DType::f32, {1, 2, 4, 0, 0, 0});
  const Instance instance = e.instance();
  const FakeRun run(instance);
  const ElementReport r = Judge(e.contract).explain(instance, run, "y", 1);
  ASSERT_EQ(r.inputs.size(), 3u);
  std::vector<std::string> places;
  for (const auto& input : r.inputs) places.push_back(input.text.substr(0, input.text.find(" (")));
  EXPECT_EQ(places, (std::vector<std::string>{"x[rows=0,cols=0] = 1", "x[rows=0,cols=2] = 4",
                                              "x[rows=0,cols=1] = 2"}));
}

TEST(Explain, TheWorstOfAllWrongElementsIsNamed) {
  std::vector<std::pair<double, double>> all(6000, {1, 2.001});
  all[5500] = {1, 900};
  all[5700] = {1, 800};
  Outputs o(contract_of("f32", "x + x"), DType::f32, all);
  const Verdict v = o.verdict();
  EXPECT_EQ(v.wrong, 6000);
  EXPECT_EQ(v.worst_output, "y");
  EXPECT_EQ(v.worst_element, 5500);
  EXPECT_NEAR(v.worst_times * 0x1p-23, 898, 1e-3);  // half an ulp of 2 is allowed
  EXPECT_NEAR(o.explain(5500).times_allowed, v.worst_times, 1e-9 * v.worst_times);
}

TEST(Explain, UnwrittenElementsNameTheirOutputHoweverMany) {
  Outputs o(contract_of("f32", "x + x"), DType::f32,
            std::vector<std::pair<double, double>>(9000, {1, 2}));
  for (int64_t k = 0; k < 9000; ++k) o.run->unwrite("y", k);
  const Verdict v = o.verdict();
  EXPECT_EQ(v.message, "y: all 9000 elements unwritten");
  EXPECT_EQ(v.first_output, "y");
  ASSERT_FALSE(v.wrong_elements.empty());
  EXPECT_EQ(v.wrong_elements[0], 0);
}

TEST(Explain, AMissingAccuracySaysForWhichTypeAndWhatToDo) {
  const Contract contract = contract_of("f32", "rsqrt(x)", "[accuracy]\naccumulate = \"f16\"\n");
  try {
    const Judge judge(contract);
    FAIL() << "f16 has a published rsqrt";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'rsqrt' in f16"), std::string::npos) << text;
    EXPECT_NE(text.find("accumulate"), std::string::npos) << text;
  }
}

TEST(Explain, NoBoundNamesItsRule) {
  Outputs o(contract_of("f32", "1 / x"), DType::f32, {{0, 5}});
  const Verdict v = o.verdict();
  if (v.outcome == Outcome::skipped) {
    EXPECT_NE(v.message.find("(R10)"), std::string::npos) << v.message;
  } else {
    EXPECT_EQ(v.outcome, Outcome::mismatch);
  }
}

}  // namespace
}  // namespace assay
