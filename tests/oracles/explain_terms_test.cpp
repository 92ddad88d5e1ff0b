// The terms of an allowance: of every function that a formula may use, in every declared form, they
// have a name and a source and add up to the allowance.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels_under_test/formula_functions.hpp"
#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

using testing::f32_bits;
using testing::Line;

/// The function of x[cols]; a new form has to be added here.
std::vector<std::string> calls(const FormulaFunction& f) {
  const std::string name(f.name);
  switch (f.form) {
    case FormulaForm::elementwise:
      if (name.starts_with("div_") || name.starts_with("mod_")) return {name + "(cols + 7, 3)"};
      if (f.min_arguments == 1) return {name + "(x)"};
      if (f.min_arguments == 2) return {name + "(x, -x)"};
      return {name + "(x * x < 0.3, x * x, x / 3)"};
    case FormulaForm::reduction:
      return {name + "(x * 1.1, cols)"};
    case FormulaForm::reduction_or_pair:
      return {name + "(x * x, cols)", name + "(x * x, x * 0.4)"};
    case FormulaForm::scan:
      return {name + "(x, cols)", name + "(x * 1.1, cols)"};
    case FormulaForm::typed:
      return {name + (name == "round" ? "(x * x, bf16)" : "(x * 50, i8)")};
    case FormulaForm::of_type:
      return {name + "(e4m3)"};
    case FormulaForm::of_dimension:
      return {name + "(cols)"};
    case FormulaForm::of_output:
      return {name + "(s)"};
  }
  return {};
}

/// What a contract may say of how a kernel computes.
const char* const kDeclarations[] = {
    "",
    "[policy]\nsubnormals = \"flush\"\nrange = \"naive\"\n",
    "[policy]\nsubnormals = \"flush\"\n[accuracy]\nmath = \"fast\"\n",
    "[accuracy]\nexp = \"prescaled\"\nonline = 2\n",
    "[accuracy]\ndepth = 3\nvariance = \"one_pass\"\n",
    "[accuracy]\nvariance = \"welford\"\n",
};

/// y[cols] of the formula; s[cols] is what `given` may name.
Contract contract_of(const std::string& formula, const std::string& more) {
  return parse_contract(R"(
name = "terms"
source = { cuda = "row_sum.cu", entry = "terms" }
sizes = { cols = { min = 1, max = 1000 } }
launch = { grid = [1], block = [32] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["cols"] },
  { name = "s", kind = "output", dtype = "f32", shape = ["cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["cols"] },
]
[formula]
s = "x"
y = ")" + formula + "\"\n" + more,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/terms.toml");
}

struct Numbers {
  const char* name;
  std::vector<float> x;
};

/// The terms of each element, above and below; how many there were beside the output's rounding.
size_t check(const std::string& formula, const std::string& more, const Numbers& numbers) {
  SCOPED_TRACE(formula + " " + more + numbers.name);
  Line line(contract_of(formula, more), numbers.x);
  for (size_t k = 0; k < numbers.x.size(); ++k)
    line.run->set("s", static_cast<int64_t>(k), f32_bits(2.5f));
  size_t found = 0;
  for (const float got : {-1e3f, 1e3f}) {
    line(std::vector<float>(numbers.x.size(), got));
    for (size_t k = 0; k < numbers.x.size(); ++k) {
      const ElementReport r = line.explain(static_cast<int64_t>(k));
      if (!r.no_bound.empty()) continue;
      double total = 0;
      for (const AllowanceTerm& term : r.terms) {
        EXPECT_FALSE(term.name.empty());
        EXPECT_FALSE(term.source.empty()) << term.name;
        EXPECT_EQ(term.name.find("no published accuracy"), std::string::npos) << term.name;
        EXPECT_EQ(term.name.find("no operation of the formula"), std::string::npos) << term.name;
        EXPECT_GT(term.value, 0) << term.name;
        total += term.value;
      }
      EXPECT_NEAR(total, r.allowance, 1e-12 * r.allowance) << k;
      EXPECT_GE(r.terms.size(), 1u);  // the output's own rounding at least
      found += r.terms.size() - 1;
    }
  }
  return found;
}

const Numbers kOrdinary{"ordinary", {0.1f, 0.73f, 0.31f, 0.9f, 0.57f, 0.2f, 0.66f, 0.48f, 0.83f}};
const Numbers kAboveOne{"above 1", {1.1f, 1.73f, 2.31f, 1.9f, 1.57f, 1.2f, 3.66f, 1.48f, 1.83f}};
const Numbers kTiny{"tiny", {1e-39f, 0.5f, 2e-40f, 1e-38f, 0.25f}};

class Terms : public ::testing::TestWithParam<FormulaFunction> {};

TEST_P(Terms, OfEveryFunctionAddUpToTheAllowance) {
  const std::vector<std::string> all = calls(GetParam());
  ASSERT_FALSE(all.empty());
  const Numbers& ordinary = GetParam().name == "acosh" ? kAboveOne : kOrdinary;
  const Numbers& tiny = GetParam().name == "acosh" ? kAboveOne : kTiny;
  for (const std::string& call : all)
    for (const char* more : kDeclarations) {
      check(call + " * 1.0", more, ordinary);
      check(call + " * 1.0", more, tiny);
      const std::string formula = "(" + call + " + x * 1.3) * x * 0.37";
      EXPECT_GT(check(formula, more, ordinary), 0u) << formula << " " << more;
      check(formula, more, tiny);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Terms, ::testing::ValuesIn(kFormulaFunctions),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(ExplainTerms, OfWhatFormulasAreMadeOfAddUpToTheAllowance) {
  const char* const formulas[] = {
      "x + sum(x * 1.1, cols)",
      "0.3 * x + cumsum(x * 1.1, cols)",
      "x + cumsum_exclusive(x, cols)",
      "sum(x * x, cols) - cumsum_reversed(x, cols)",
      "sum(softmax(x, cols) * x, cols) + x",
      "sum(exp(x - max(x, cols)) * x, cols) / sum(exp(x - max(x, cols)), cols) * x",
      "(x - mean(x, cols)) * rsqrt(var(x, cols) + 0.01)",
      "mean((x - mean(x, cols)) * (x - mean(x, cols)), cols) * x",
      "x * rsqrt(mean(x * x, cols) + 0.01)",
      "x[cols = size(cols) - 1 - cols] * x * 0.37",
      "-abs(x) / 3 * x",
  };
  for (const char* formula : formulas)
    for (const char* more : kDeclarations)
      EXPECT_GT(check(formula, more, kOrdinary), 0u) << formula << " " << more;
}

// What a term is called says which operation it is of.
TEST(ExplainTerms, NameTheOperation) {
  const auto first = [](const std::string& formula, const std::string& more, const Numbers& x,
                        float got = -1e3f) {
    Line line(contract_of(formula, more), x.x);
    line(std::vector<float>(x.x.size(), got));
    const ElementReport r = line.explain(3);
    return r.terms.empty() ? std::string() : r.terms[0].name + " | " + r.terms[0].source;
  };
  EXPECT_EQ(first("cumsum(x, cols)", "", kOrdinary),
            "cumsum(x, cols): at most 8 u sum|terms|, of its own terms | Jeannerod & Rump 2013; "
            "docs/judging.md, cumulative sums");
  EXPECT_EQ(first("x * 2", "[policy]\nsubnormals = \"flush\"\n", {"", {0, 0, 0, 1e-39f}}),
            "x: a subnormal number may be flushed to 0 | R12");
  const std::string forms = first("softplus(x)", "", {"", {0, 0, 0, 21}});
  EXPECT_NE(forms.find(": by how far the forms in which kernels compute it differ | "
                       "docs/judging/elementwise.md, usual forms"),
            std::string::npos)
      << forms;
  EXPECT_EQ(first("0 - floor(x)", "[policy]\nsubnormals = \"flush\"\n", {"", {0, 0, 0, -1e-39f}}),
            "x: a subnormal number may be flushed to 0, across a step of floor(x) | R12");
  // A whole step is what the argument's rounding makes of it; the step itself rounds nothing.
  const std::string step = first("trunc(x * 0.7)", "", {"", {0, 0, 0, 10}});
  EXPECT_NE(step.find(": u, across a step of trunc("), std::string::npos) << step;
  EXPECT_EQ(step.find("flushed"), std::string::npos) << step;
}

}  // namespace
}  // namespace assay
