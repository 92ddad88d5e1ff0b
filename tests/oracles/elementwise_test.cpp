#include "oracles/elementwise.hpp"

#include <gtest/gtest.h>

#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::vector<int> operands_of(const std::string& toml) {
  const Contract contract = parsed(toml.c_str());
  return elementwise_operands(contract, {{{"T", DType::f16}}, {{"BLOCK", 64}}, {}});
}

std::string refusal_of(const std::string& toml) {
  try {
    operands_of(toml);
  } catch (const InputError& error) {
    EXPECT_GT(error.where().line, 0);
    return error.what();
  }
  return "";
}

TEST(Elementwise, TakesOneOperandOrTwo) {
  EXPECT_EQ(operands_of(kVectorAdd), (std::vector<int>{0, 1}));
  const std::string one = with(kVectorAdd, "x + y", "exp(y) * y");
  EXPECT_EQ(operands_of(one), (std::vector<int>{1}));
}

TEST(Elementwise, SaysWhyNot) {
  EXPECT_NE(refusal_of(kSoftmax).find("reduces over 'cols'"), std::string::npos);
  EXPECT_NE(refusal_of(kGather), "");
  EXPECT_NE(refusal_of(kTranspose), "");
  EXPECT_NE(refusal_of(with(kVectorAdd, "x + y", "n < 7 ? x : y")).find("index along 'n'"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
