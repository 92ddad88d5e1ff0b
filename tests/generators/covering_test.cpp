// What the first cases of a run show, they show of outputs that have elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "generators/generate.hpp"
#include "generators/pairwise.hpp"
#include "tests/generators/pairs.hpp"

namespace assay {
namespace {

/// Operands and value classes that a case shows: those of operands with elements.
std::set<std::string> classes_of(const Instance& instance) {
  std::set<std::string> classes;
  for (const auto& [operand, recipe] : instance.the_case.values) {
    const Tensor& tensor = *instance.find(operand);
    if (tensor.present && tensor.elements() > 0) classes.insert(operand + " " + recipe.name);
  }
  return classes;
}

class CoveringCases : public ::testing::TestWithParam<std::string> {};

TEST_P(CoveringCases, ShowEveryPairAndClassWhereSomethingIsComputed) {
  const Contract contract = load_contract(std::string(ASSAY_SOURCE_DIR) +
                                          "/kernels_under_test/kernels/" + GetParam() + ".toml");
  std::vector<Variant> computed;
  std::set<std::string> seen, drawn;
  for (const Case& c : covering_cases(contract)) {
    const Instance instance = instantiate(contract, c);
    for (const auto& [operand, recipe] : c.values) drawn.insert(operand + " " + recipe.name);
    if (!instance.has_output()) continue;
    computed.push_back(c.variant());
    seen.merge(classes_of(instance));
  }
  EXPECT_EQ(pairs_of(computed), pairs_of(pairwise_variants(contract)));
  EXPECT_EQ(seen, drawn);
}

std::vector<std::string> shipped_kernels() {
  std::vector<std::string> names;
  const std::string folder = std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".toml") names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Shipped, CoveringCases, ::testing::ValuesIn(shipped_kernels()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace assay
