// The contract's checks accept every function of the table as the table says, and nothing else.
#include "kernels_under_test/formula_functions.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels_under_test/contract.hpp"

namespace assay {
namespace {

std::string error_of(const std::string& formula) {
  const std::string toml =
      "name = \"k\"\nsource = { cuda = \"pool.cu\", entry = \"k\" }\n"
      "types = { T = [\"f32\", \"f16\"] }\n"
      "sizes = { rows = { max = 9 }, cols = { max = 9 }, free = { max = 9 } }\n"
      "launch = { grid = \"rows\", block = 32 }\nargs = [\n"
      "{ name = \"y\", kind = \"output\", dtype = \"T\", shape = [\"rows\", \"cols\"] },\n"
      "{ name = \"s\", kind = \"output\", dtype = \"T\", shape = [\"rows\", \"cols\"] },\n"
      "{ name = \"x\", kind = \"input\", dtype = \"T\", shape = [\"rows\", \"cols\"] },\n]\n"
      "[formula]\ns = \"x\"\ny = \"" +
      formula + "\"\n";
  try {
    parse_contract(toml, std::string(ASSAY_SOURCE_DIR) + "/tests/data/contracts/k.toml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// A call with `count` arguments of the kind that the form asks for.
std::string call(const FormulaFunction& function, int count) {
  static const char* const kDimensions[] = {"rows", "cols", "free"};
  std::string out = std::string(function.name) + "(";
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ", ";
    switch (function.form) {
      case FormulaForm::elementwise:
        out += "x";
        break;
      case FormulaForm::reduction:
      case FormulaForm::scan:
      case FormulaForm::reduction_or_pair:
        out += i == 0 ? "x" : kDimensions[(i - 1) % 3];
        break;
      case FormulaForm::typed:
        out += i == count - 1 && count > 1 ? "T" : "x";
        break;
      case FormulaForm::of_type:
        out += "bf16";
        break;
      case FormulaForm::of_output:
        out += "s";
        break;
      case FormulaForm::of_dimension:
        out += "cols";
        break;
    }
  }
  return out + ")";
}

TEST(FormulaFunctions, NamesAreDistinctAndFound) {
  std::set<std::string_view> names;
  for (const FormulaFunction& function : kFormulaFunctions) {
    EXPECT_TRUE(names.insert(function.name).second) << function.name;
    EXPECT_EQ(find_formula_function(function.name), &function);
    EXPECT_LE(function.min_arguments, function.max_arguments);
  }
  EXPECT_EQ(find_formula_function("expo"), nullptr);
}

TEST(FormulaFunctions, TheTablesArgumentCountsHold) {
  for (const FormulaFunction& function : kFormulaFunctions) {
    EXPECT_EQ(error_of(call(function, function.min_arguments)), "") << function.name;
    for (const int wrong : {0, function.min_arguments - 1, function.max_arguments + 1})
      EXPECT_NE(error_of(call(function, wrong)).find("argument"), std::string::npos)
          << call(function, wrong);
  }
}

TEST(FormulaFunctions, ReductionsTakeSeveralDimensions) {
  EXPECT_EQ(error_of("sum(x, rows, cols, free)"), "");
  EXPECT_EQ(error_of("max(x, rows, cols)"), "");
  EXPECT_EQ(error_of("max(x, 0)"), "");
  EXPECT_EQ(error_of("max(x, x * 2)"), "");
  EXPECT_NE(error_of("argmax(x, rows, cols)"), "");
  EXPECT_NE(error_of("sum(x, cols, cols)").find("stands twice"), std::string::npos);
  EXPECT_NE(error_of("sum(x, 3)").find("unknown dimension '3'"), std::string::npos);
  EXPECT_NE(error_of("max(x, rows, x)").find("unknown dimension 'x'"), std::string::npos);
}

}  // namespace
}  // namespace assay
