// What types a kernel computes in: sums in `accumulate`, other operations in the coarser of it and
// f32, unless operands are f64; and exponents multiplied by log2 e.
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/graph.hpp"
#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::judge_row;
using testing::Line;
using testing::line_contract;
using testing::row_contract;
using testing::told;

const std::string kPolicy =
    "[policy]\nrange = \"safe\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

std::string accumulate(const std::string& type) {
  return "[accuracy]\naccumulate = \"" + type + "\"\n" + kPolicy;
}

/// Numbers of many magnitudes, the same for every run.
std::vector<float> spread(int n, unsigned seed) {
  std::vector<float> x;
  unsigned state = seed * 2654435761u + 1;
  for (int k = 0; k < n; ++k) {
    state = state * 1664525u + 1013904223u;
    const float unit = static_cast<float>(state >> 8) * 0x1p-24f + 0.5f;
    x.push_back(std::ldexp((state & 64) != 0 ? unit : -unit, static_cast<int>(state % 7) - 3));
  }
  return x;
}

double sum_of(const std::vector<float>& x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v);
  return sum;
}

double mean_square(const std::vector<float>& x) {
  double sum = 0;
  for (const float v : x) sum += static_cast<double>(v) * static_cast<double>(v);
  return sum / static_cast<double>(x.size());
}

/// (float)sum / n: the sum of two large numbers does not fit, their mean does.
TEST(ArithmeticTypes, ANarrowedSumMayOverflowBeforeItsDivision) {
  const std::string naive =
      "[accuracy]\naccumulate = \"f64\"\n[policy]\nrange = \"naive\"\n"
      "nan = \"propagate\"\nsubnormals = \"keep\"\n";
  for (const bool safe : {false, true}) {
    Line line(line_contract("f32", "mean(x, cols) + x * 0", safe ? accumulate("f64") : naive),
              {3e38f, 3e38f});
    EXPECT_EQ(line({3e38f, 3e38f}).outcome, Outcome::pass);
    EXPECT_EQ(line({INFINITY, INFINITY}).outcome, safe ? Outcome::mismatch : Outcome::pass);
    if (safe) {
      EXPECT_EQ(line({2e38f, 3e38f}).outcome, Outcome::mismatch);
    }
  }
}

/// Where the sum may overflow, only the infinity of its sign joins the set: the other end stays.
TEST(ArithmeticTypes, AMeanWhoseSumMayOverflowKeepsItsOtherEnd) {
  const std::string naive =
      "[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";
  for (const char* sums : {"f32", "f64"})
    for (const float sign : {1.0f, -1.0f}) {
      const std::string more = std::string("[accuracy]\naccumulate = \"") + sums + "\"\n" + naive;
      const Contract contract = row_contract("mean(x, cols)", more);
      // Division by two rounds nothing, by three it does, and may be by a reciprocal.
      for (const std::vector<float>& x :
           {std::vector<float>{3e38f, 3.25e38f}, std::vector<float>{3e38f, 3.25e38f, 3.125e38f}}) {
        std::vector<float> signed_x;
        for (const float v : x) signed_x.push_back(sign * v);
        const auto outcome = [&](float got) { return judge_row(contract, signed_x, got).outcome; };
        for (const float got : {sign * 3.125e38f, sign * INFINITY})
          EXPECT_EQ(outcome(got), Outcome::pass) << sums << " " << got;
        for (const float got : {sign * 3.1e38f, sign * 3e37f, 0.0f, -sign * INFINITY, NAN})
          EXPECT_EQ(outcome(got), Outcome::mismatch) << sums << " " << got;
      }
    }
}

TEST(ArithmeticTypes, SumsInDoubleMayGoOnInEither) {
  const char* formula = "x * rsqrt(mean(x * x, cols) + 0.00001)";
  const Contract contract = line_contract("f32", formula, accumulate("f64"));
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<float> x = spread(200, seed);
    const double mean = mean_square(x);
    Line line(contract, x);
    std::vector<float> in_double;
    std::vector<float> in_float;
    const float r = 1.0f / std::sqrt(static_cast<float>(mean) + 0.00001f);
    for (const float v : x) {
      in_double.push_back(static_cast<float>(static_cast<double>(v) / std::sqrt(mean + 0.00001)));
      in_float.push_back(v * r);
    }
    const Verdict as_double = line(in_double);
    EXPECT_EQ(as_double.outcome, Outcome::pass) << told(as_double);
    const Verdict as_float = line(in_float);
    EXPECT_EQ(as_float.outcome, Outcome::pass) << told(as_float);
    in_float[7] *= 1 + 0x1p-18f;
    EXPECT_EQ(line(in_float).outcome, Outcome::mismatch);
  }
}

TEST(ArithmeticTypes, WhatASumIsRoundedToCountsWhereItIsUsed) {
  // float(sum) * 3 and float(sum * 3) differ; the sum itself is judged as sharply as before.
  const Contract times = row_contract("sum(x, cols) * 3", accumulate("f64"));
  const Contract plain = row_contract("sum(x, cols)", accumulate("f64"));
  const Contract mean = row_contract("mean(x, cols) * 3", accumulate("f64"));
  int differ = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const std::vector<float> x = spread(37, seed);
    const double sum = sum_of(x);
    const auto narrowed = static_cast<float>(sum) * 3.0f;
    const auto once = static_cast<float>(sum * 3);
    differ += narrowed != once ? 1 : 0;
    for (const float got : {narrowed, once})
      EXPECT_EQ(judge_row(times, x, got).outcome, Outcome::pass) << seed;
    const float averaged = static_cast<float>(sum) * (1.0f / 37.0f) * 3.0f;
    EXPECT_EQ(judge_row(mean, x, averaged).outcome, Outcome::pass) << seed;
    EXPECT_EQ(judge_row(mean, x, static_cast<float>(sum / 37 * 3)).outcome, Outcome::pass) << seed;
    const auto rounded = static_cast<float>(sum);
    EXPECT_EQ(judge_row(plain, x, rounded).outcome, Outcome::pass) << seed;
    EXPECT_EQ(judge_row(plain, x, std::nextafter(rounded, 2 * rounded)).outcome, Outcome::mismatch);
  }
  EXPECT_GT(differ, 0);
}

TEST(ArithmeticTypes, ASumInSingleUnderDoubleIsFound) {
  const std::vector<float> x{0x1p30f, 1, -0x1p30f, 0.5f};
  EXPECT_EQ(judge_row(row_contract("sum(x, cols)", accumulate("f64")), x, 1.5f).outcome,
            Outcome::pass);
  EXPECT_EQ(judge_row(row_contract("sum(x, cols)", accumulate("f64")), x, 0.5f).outcome,
            Outcome::mismatch);
  EXPECT_EQ(judge_row(row_contract("sum(x, cols) * 2", accumulate("f64")), x, 1.0f).outcome,
            Outcome::mismatch);
  EXPECT_EQ(judge_row(row_contract("sum(x, cols)", accumulate("f32")), x, 0.5f).outcome,
            Outcome::pass);
}

TEST(ArithmeticTypes, VarianceFromDoubleSumsMayBeRoundedToSingle) {
  const std::string one_pass = "[accuracy]\naccumulate = \"f64\"\nvariance = \"one_pass\"\n";
  const Contract contract =
      row_contract("rsqrt(round(var(x, cols), f32) + 0.00001)", one_pass + kPolicy);
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<float> x = spread(100, seed);
    const double mean = sum_of(x) / 100;
    const double var = mean_square(x) - mean * mean;
    const float single = 1.0f / std::sqrt(static_cast<float>(var) + 0.00001f);
    const auto twice = static_cast<float>(1 / std::sqrt(var + 0.00001));
    for (const float got : {single, twice}) {
      const Verdict v = judge_row(contract, x, got);
      EXPECT_EQ(v.outcome, Outcome::pass) << told(v);
    }
    EXPECT_EQ(judge_row(contract, x, single * (1 + 0x1p-16f)).outcome, Outcome::mismatch);
  }
}

TEST(ArithmeticTypes, NarrowSumsKeepTheirOwnArithmetic) {
  // A product of f16 arithmetic is rounded to f16; in f32 it is not.
  const std::vector<float> x{1.0f + 0x1p-10f};
  const float narrow = 1.0f + 0x1p-9f;  // fl16(x x), then fl16 of it times x
  const auto of = [](const char* type) {
    return row_contract("sum(x * x, cols) + 0", accumulate(type));
  };
  EXPECT_EQ(judge_row(of("f16"), x, narrow).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(of("f32"), x, narrow).outcome, Outcome::mismatch);
  EXPECT_EQ(judge_row(of("f64"), x, narrow).outcome, Outcome::mismatch);
}

/// y[1] = dot scaled, of a[n] and b[n] in i8.
Contract scaled_dot(const std::string& type) {
  return parse_contract(R"toml(
name = "scaled_dot"
source = { cuda = "row_sum.cu", entry = "dot" }
sizes = { n = { min = 0, max = 100 } }
launch = { grid = [1], block = [32] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = [1] },
  { name = "a", kind = "input", dtype = "i8", shape = ["n"] },
  { name = "b", kind = "input", dtype = "i8", shape = ["n"] },
  { name = "s", kind = "input", dtype = "f32", shape = [1] },
]
[formula]
dot = "sum(a * b, n)"
y = "dot * s * 0.1"
)toml" + accumulate(type),
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/d.toml");
}

TEST(ArithmeticTypes, IntegerAccumulatorsSpeakOfIntegerSumsAlone) {
  for (const char* type : {"i32", "i64"}) {
    Experiment e(scaled_dot(type));
    e.the_case.sizes = {{"n", 3}};
    e.put("a", {3}, DType::i8, {127, -128, 5});
    e.put("b", {3}, DType::i8, {127, 127, -7});
    e.put("s", {1}, DType::f32, {static_cast<double>(0.3f)});
    const Instance instance = e.instance();
    const Judge judge(e.contract);
    const float dot = 127 * 127 - 128 * 127 - 35;
    FakeRun run(instance);
    run.set("y", 0, f32_bits(dot * 0.3f * 0.1f));
    EXPECT_EQ(judge.judge(instance, run).outcome, Outcome::pass) << type;
    run.set("y", 0, f32_bits((dot + 1) * 0.3f * 0.1f));
    EXPECT_EQ(judge.judge(instance, run).outcome, Outcome::mismatch) << type;
    // Sums of reals are in f32 beside it.
    const std::vector<float> x{0x1p24f, 1, 1, -0x1p24f};
    const Contract reals = row_contract("sum(x, cols)", accumulate(type));
    EXPECT_EQ(judge_row(reals, x, 2).outcome, Outcome::pass);
    EXPECT_EQ(judge_row(reals, x, 0).outcome, Outcome::pass);
    EXPECT_EQ(judge_row(reals, x, 16).outcome, Outcome::mismatch);
  }
}

TEST(ArithmeticTypes, PrescaledExponentsOfAnyForm) {
  constexpr float kLog2e = 1.44269504f;
  const std::string prescaled = "[accuracy]\nexp = \"prescaled\"\n" + kPolicy;
  struct Form {
    const char* formula;
    float (*exponent)(float);
  };
  const Form forms[] = {{"exp(x)", [](float x) { return x; }},
                        {"exp(-x)", [](float x) { return -x; }},
                        {"exp(x * 0.7)", [](float x) { return x * 0.7f; }},
                        {"exp(x + 3)", [](float x) { return x + 3; }}};
  for (const Form& form : forms) {
    const Contract with = line_contract("f32", form.formula, prescaled);
    const Contract without = line_contract("f32", form.formula, kPolicy);
    int direct_accepts = 0;
    for (int k = 0; k < 200; ++k) {
      const float x = static_cast<float>(k) * 0.37f - 37.0f;
      const float got = std::exp2(form.exponent(x) * kLog2e);
      Line line(with, {x});
      EXPECT_EQ(line({got}).outcome, Outcome::pass) << form.formula << " " << x;
      direct_accepts += Line(without, {x})({got}).outcome == Outcome::pass ? 1 : 0;
      EXPECT_EQ(line({got * (1 + 0x1p-15f)}).outcome, Outcome::mismatch) << form.formula << x;
    }
    // A factor of the formula's own rounds twice in either form, which hides log2 e here.
    if (form.formula != std::string("exp(x * 0.7)")) {
      EXPECT_LT(direct_accepts, 200) << form.formula;
    }
  }
  // e^0 is exact in either form.
  Line one(line_contract("f32", "exp(x)", prescaled), {0});
  EXPECT_EQ(one({1}).outcome, Outcome::pass);
}

/// y[cols] of x and what else `args` and `formula` declare.
Contract typed_contract(const std::string& x, const std::string& y, const std::string& args,
                        const std::string& formula, const std::string& more) {
  return parse_contract(R"(
name = "typed"
source = { cuda = "row_sum.cu", entry = "typed" }
sizes = { cols = { min = 0, max = 100000 } }
launch = { grid = [1], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = ")" +
                            y + R"(", shape = ["cols"] },
  { name = "x", kind = "input", dtype = ")" +
                            x + R"(", shape = ["cols"] },
)" + args + "]\n[formula]\n" +
                            formula + more,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/typed.toml");
}

/// A workspace, a total and an operand that no formula reads say nothing of how the rest is
/// computed; an operand that it reads does, unless the contract itself says `accumulate`.
TEST(ArithmeticTypes, OnlyF64OperandsThatAFormulaReadsMakeItF64) {
  const std::string workspace =
      "  { name = \"part\", kind = \"workspace\", dtype = \"f64\", shape = [64] },\n";
  const std::string total =
      "  { name = \"total\", kind = \"inout\", dtype = \"f64\", shape = [\"one: 1\"] },\n"
      "  { name = \"at\", kind = \"index\", dtype = \"i32\", shape = [\"cols\"], domain = \"0..0\" "
      "},\n";
  const std::string scale = "  { name = \"s\", kind = \"input\", dtype = \"f64\", shape = [1] },\n";
  const std::string line = "y = \"x * x\"\n";
  const std::string starts = line + "total = \"total.before + sum(x * x, cols)\"\n";
  const std::string adds = line + "\"total[one = at]\" = \"add(x * x)\"\n";
  struct Row {
    std::string x, y, args, formula, stated;
    DType sums, others;
  };
  const DType f64 = DType::f64, f32 = DType::f32;
  for (const Row& row : std::vector<Row>{
           {"f32", "f32", "", line, "", f32, f32},
           {"f32", "f32", "", line, "f64", f64, f32},
           {"f32", "f32", workspace, line, "", f32, f32},
           {"f32", "f32", workspace, line, "f64", f64, f32},
           {"f32", "f64", "", line, "", f32, f32},
           {"f32", "f32", total, adds, "f64", f64, f32},
           {"f32", "f32", total, starts, "f64", f64, f32},
           {"f32", "f32", total, line + "total = \"total.before * 2\"\n", "f64", f64, f64},
           {"f32", "f32", scale, line, "", f32, f32},
           {"f32", "f32", scale, "y = \"x * s[0]\"\n", "", f64, f64},
           {"f32", "f32", scale, "y = \"x * s[0]\"\n", "f64", f64, f64},
           {"f64", "f32", "", line, "", f64, f64},
           {"f64", "f64", "", line, "f64", f64, f64},
           {"f64", "f32", "", "y = \"cast(x, f32) * 3\"\n", "f32", f32, f32},
           {"f64", "f64", "", line, "i64", f64, f64},
       }) {
    const std::string more = row.stated.empty() ? kPolicy : accumulate(row.stated);
    const Contract contract = typed_contract(row.x, row.y, row.args, row.formula, more);
    const ArithmeticTypes types =
        arithmetic_types(contract, [](const OperandSpec& o) { return resolve_dtype(o, {}); });
    EXPECT_EQ(types.sums, row.sums) << row.args << row.formula << row.stated;
    EXPECT_EQ(types.others, row.others) << row.args << row.formula << row.stated;
  }
}

/// Root mean square norms in two launches hand a double sum on; the rest is f32 arithmetic.
TEST(ArithmeticTypes, ASplitNormWithADoubleWorkspaceGoesOnInFloat) {
  const std::string workspace =
      "  { name = \"part\", kind = \"workspace\", dtype = \"f64\", shape = [64] },\n";
  const Contract contract =
      typed_contract("f32", "f32", workspace, "y = \"x * rsqrt(mean(x * x, cols) + 0.00001)\"\n",
                     accumulate("f64"));
  for (unsigned seed = 0; seed < 40; ++seed) {
    const std::vector<float> x = spread(200, seed);
    Line line(contract, x);
    const float r = 1.0f / std::sqrt(static_cast<float>(mean_square(x)) + 0.00001f);
    std::vector<float> y;
    for (const float v : x) y.push_back(v * r);
    const Verdict verdict = line(y);
    EXPECT_EQ(verdict.outcome, Outcome::pass) << told(verdict);
    y[7] *= 1 + 0x1p-18f;
    EXPECT_EQ(line(y).outcome, Outcome::mismatch);
  }
}

}  // namespace
}  // namespace assay
