// zero_order = "signed": of zeros of both signs +0 is the maximum and -0 the minimum (rule R9).
#include "oracles/zero_signs.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::f32_bits;
using testing::pair_contract;
using testing::row_contract;

const char* const kSigned =
    "[policy]\nnan = \"ignore\"\nrange = \"safe\"\nzero_order = \"signed\"\n";
const char* const kEqual = "[policy]\nnan = \"ignore\"\nrange = \"safe\"\nzero_order = \"equal\"\n";
constexpr float kPlus = 0.0f, kMinus = -0.0f;

Verdict pair(const std::string& formula, float a, float b, float got,
             const char* policy = kSigned) {
  return testing::judge_pair(pair_contract("f32", formula, policy), DType::f32, f32_bits(a),
                             f32_bits(b), f32_bits(got));
}

/// The zeros that pass: "+", "-" or "+-".
std::string right(const std::string& formula, float a, float b, const char* policy = kSigned) {
  std::string signs;
  if (pair(formula, a, b, kPlus, policy).outcome == Outcome::pass) signs += "+";
  if (pair(formula, a, b, kMinus, policy).outcome == Outcome::pass) signs += "-";
  return signs;
}

TEST(ZeroSigns, OfTwoZerosTheLargerIsPlus) {
  for (const auto& [a, b] : {std::pair(kPlus, kMinus), std::pair(kMinus, kPlus)}) {
    EXPECT_EQ(right("max(a, b)", a, b), "+");
    EXPECT_EQ(right("min(a, b)", a, b), "-");
    EXPECT_EQ(right("max(a, b)", a, b, kEqual), "+-");
    EXPECT_EQ(right("min(a, b)", a, b, kEqual), "+-");
  }
  EXPECT_EQ(right("max(a, b)", kMinus, kMinus), "-");
  EXPECT_EQ(right("min(a, b)", kPlus, kPlus), "+");
  EXPECT_EQ(right("max(a, b)", kMinus, -1), "-") << "what is less takes no part";
  EXPECT_EQ(right("max(a, b)", kMinus, NAN), "-") << "nor does NaN that is ignored";
  EXPECT_EQ(right("min(a, b)", 0x1p-149f, kPlus), "+");
  EXPECT_EQ(right("max(a, 0)", kMinus, 1), "+");
  EXPECT_EQ(right("min(max(a, -1), b)", kMinus, 2), "-");
  EXPECT_EQ(right("max(abs(a), b)", kMinus, kMinus), "+");
}

TEST(ZeroSigns, ConditionsChooseAndArithmeticLeavesBothOpen) {
  EXPECT_EQ(right("max(where(b > 1, a, -1), -2)", kMinus, 2), "-");
  EXPECT_EQ(right("where(b > 1, max(a, -1), 5)", kMinus, 2), "-");
  EXPECT_EQ(right("where(b > 1, a, max(a, 1))", kMinus, 2), "+-") << "no extremum chose it";
  EXPECT_EQ(right("max(a * b, -1)", kMinus, 3), "+-");
  EXPECT_EQ(right("max(a + b, -1)", 1, -1), "+-");
  EXPECT_EQ(right("max(-a, -b)", kPlus, kPlus), "+-") << "0 - a is a usual form";
  EXPECT_EQ(right("max(a, -1) + 0", kMinus, 0), "+-");
  EXPECT_EQ(right("max(a + b, 0)", 1, -1), "+") << "one of them is +0 for sure";
  EXPECT_EQ(right("a", kMinus, 0, kSigned), "-") << "a copy, by its bits (R2)";
}

TEST(ZeroSigns, OfRowsAndConversions) {
  const auto row = [](const char* formula, const std::vector<float>& x) {
    std::string signs;
    for (const float got : {kPlus, kMinus}) {
      const Verdict v = testing::judge_row(row_contract(formula, kSigned), x, got);
      if (v.outcome == Outcome::pass) signs += std::signbit(got) ? "-" : "+";
    }
    return signs;
  };
  EXPECT_EQ(row("max(x, cols)", {-1, kMinus, -3, kMinus}), "-");
  EXPECT_EQ(row("max(x, cols)", {-1, kMinus, kPlus, kMinus}), "+");
  EXPECT_EQ(row("min(x, cols)", {1, kPlus, 7}), "+");
  EXPECT_EQ(row("min(x, cols)", {1, kPlus, kMinus}), "-");
  EXPECT_EQ(row("max(max(x, cols), 0)", {kMinus, -1}), "+");
  EXPECT_EQ(row("max(abs(x), cols)", {kMinus, kMinus}), "+");
  EXPECT_EQ(row("max(sum(x, cols), -1)", {kMinus, kMinus}), "+-");
  const Contract halves = pair_contract("f16", "max(a, b)", kSigned);
  EXPECT_EQ(testing::judge_pair(halves, DType::f16, 0x8000, 0, 0x8000).outcome, Outcome::mismatch);
  EXPECT_EQ(testing::judge_pair(halves, DType::f16, 0x8000, 0, 0).outcome, Outcome::pass);
}

TEST(ZeroSigns, AWrongSignIsToldByItsRule) {
  const Verdict v = pair("max(a, b)", kPlus, kMinus, kMinus);
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.rule, "R9");
  EXPECT_EQ(v.wrong, 1);
  testing::Experiment e(pair_contract("f32", "max(a, b)", kSigned));
  e.the_case.sizes["n"] = 1;
  e.put_bits("a", {1}, 0, DType::f32, f32_bits(kMinus));
  e.put_bits("b", {1}, 0, DType::f32, f32_bits(kPlus));
  const Instance instance = e.instance();
  testing::FakeRun run(instance);
  run.set("y", 0, f32_bits(kMinus));
  const ElementReport report = Judge(e.contract).explain(instance, run, "y", 0);
  EXPECT_EQ(report.accepted, "{+0}");
  EXPECT_EQ(report.exact, "+0");
  EXPECT_EQ(report.rule, "R9");
  EXPECT_EQ(report.error_text, "a zero of the other sign");
}

TEST(ZeroSigns, RelationsAndScatteredOutputsAreRefused) {
  const std::string text = R"toml(
name = "scattered"
source = { cuda = "vector_add.cu", entry = "scattered" }
sizes = { n = { min = 1, max = 100 }, m = { min = 1, max = 100 } }
launch = { grid = [1], block = [32] }
args = [
  { name = "y", kind = "inout", dtype = "f32", shape = ["m"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "at", kind = "index", dtype = "i32", shape = ["n"], domain = "0..m - 1" },
]
[formula]
"y[m = at]" = "max(x, 0)"
)toml";
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/s.toml";
  EXPECT_NO_THROW(Judge(parse_contract(text + kEqual, path)));
  try {
    Judge judge(parse_contract(text + kSigned, path));
    ADD_FAILURE() << "expected a refusal";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("zero_order = \"signed\" of relations and scattered"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace assay
