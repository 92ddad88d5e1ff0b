// Every reduction of the formula language gets exact and witness data, and so does every shipped
// kernel that reduces.
#include "generators/reductions.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "generators/facts.hpp"
#include "generators/generate.hpp"
#include "kernels_under_test/formula_functions.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

Contract contract_with(const std::string& formula) {
  return parsed(R"toml(
name = "reducing"
source = { cuda = "kernel.cu", entry = "k" }
types = { T = ["f32", "f16"] }
sizes = { rows = { min = 0, max = 5000 }, cols = { min = 1, max = 5000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "cols"] },
]
[formula]
y = ")toml" + formula + "\"\n");
}

Contract shipped(const std::string& kernel) {
  return load_contract(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/" + kernel +
                       ".toml");
}

/// The names of all shipped kernels.
std::set<std::string> shipped_kernels() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels")) {
    if (entry.path().extension() == ".toml") names.insert(entry.path().stem());
  }
  return names;
}

/// What a case's floating operands hold together.
struct Data {
  bool floating = false;  ///< there are floating operands
  bool exact = false;     ///< all of them exact data, witness data with it
  bool witness = false;   ///< one of them is a witness
};

Data data_of(const Contract& contract, const Case& c) {
  static const std::set<std::string> kExact{"exact", "exact_logits", "equal_rows", "witness"};
  Data data;
  bool all = true, any = false;
  for (const OperandSpec& operand : contract.args) {
    const bool is_value = operand.kind == OperandKind::input || operand.kind == OperandKind::inout;
    const auto recipe = c.values.find(operand.name);
    if (!is_value || !is_floating(resolve_dtype(operand, c.variant()))) continue;
    data.floating = true;
    if (recipe == c.values.end()) continue;  // in another's memory
    const bool exact = kExact.contains(recipe->second.name);
    any |= exact;
    all &= exact || recipe->second.name == "equal";  // a factor of ones or zeros
    data.witness |= recipe->second.name == "witness";
  }
  data.exact = all && any;
  return data;
}

struct Shares {
  double exact = 0, witness = 0;  ///< of the cases with floating operands
};

Shares measured(const Contract& contract) {
  constexpr int kCases = 400;
  int floating = 0, exact = 0, witness = 0;
  for (int seed = 1; seed <= kCases; ++seed) {
    const Data data = data_of(contract, generate_case(contract, Seed(seed), 1 << 12));
    floating += data.floating;
    exact += data.exact;
    witness += data.witness;
  }
  if (floating == 0) return {1, 1};
  return {double(exact) / floating, double(witness) / floating};
}

TEST(Reductions, EveryOneOfTheTableIsSeen) {
  int seen = 0;
  for (const FormulaFunction& function : kFormulaFunctions) {
    if (!function.reduces()) continue;
    ++seen;
    const Contract contract = contract_with(std::string(function.name) + "(x, cols)");
    EXPECT_EQ(reduced_dimensions(contract), std::vector<std::string>{"cols"}) << function.name;
    EXPECT_EQ(reduced_operands(contract), std::vector<std::string>{"x"}) << function.name;
    const Facts facts(contract);
    EXPECT_TRUE(facts.reducing) << function.name;
    EXPECT_EQ(facts.exponential, function.has(kExponential)) << function.name;
    EXPECT_EQ(facts.selecting, function.has(kSelects)) << function.name;
    EXPECT_EQ(facts.ranking, function.has(kRanks)) << function.name;
    const Shares shares = measured(contract);
    EXPECT_GE(shares.exact, 0.25) << function.name;
    EXPECT_GE(shares.witness, facts.exponential ? 0 : 0.05) << function.name;
  }
  EXPECT_EQ(seen, 15);
  EXPECT_TRUE(reduced_dimensions(contract_with("exp(x) + abs(x)")).empty());
}

// JUDGING.md, Power: at least a quarter of the cases of a reducing kernel hold exact data.
TEST(Reductions, EveryShippedKernelThatReducesGetsExactData) {
  int reducing = 0;
  for (const std::string& name : shipped_kernels()) {
    const Contract contract = shipped(name);
    const Facts facts(contract);
    if (!facts.reducing) continue;
    ++reducing;
    const Shares shares = measured(contract);
    EXPECT_GE(shares.exact, 0.25) << name;
    EXPECT_GE(shares.witness, facts.exponential ? 0 : 0.05) << name;
  }
  EXPECT_GE(reducing, 25);
}

TEST(Reductions, OperandsAreSeenThroughOtherLines) {
  EXPECT_EQ(reduced_operands(shipped("attention_prefill")),
            (std::vector<std::string>{"q", "k", "v"}));
  EXPECT_EQ(reduced_operands(shipped("embedding_bag")),
            (std::vector<std::string>{"weights", "table"}));
  EXPECT_EQ(reduced_operands(shipped("rms_norm")).front(), "x");
}

TEST(Reductions, ALengthenedCaseIsLongAndSmall) {
  constexpr int64_t kWork = 1 << 19;
  for (const char* name : {"row_sum", "matmul", "matmul_int4", "matmul_mma", "matmul_wmma",
                           "matmul_split_k", "cross_entropy_mean", "attention_prefill", "softmax"}) {
    const Contract contract = shipped(name);
    int longer = 0;
    for (int seed = 1; seed <= 40; ++seed) {
      const Case c = generate_case(contract, Seed(seed), 1 << 12);
      const std::optional<Case> made = lengthened(contract, c, 1600, 1024, kWork);
      if (!made) continue;
      ++longer;
      const Instance instance = instantiate(contract, *made);
      EXPECT_GT(reduced_extent(instance), 1024) << name;
      EXPECT_LE(work_estimate(instance), kWork) << name;
      EXPECT_EQ(made->types, c.types);
      EXPECT_EQ(made->values, c.values);
    }
    EXPECT_GE(longer, 20) << name;
  }
  const Contract pool = shipped("pool2d");
  EXPECT_FALSE(lengthened(pool, generate_case(pool, Seed{1}), 1600, 1024, kWork))
      << "its windows are listed sizes";
}

}  // namespace
}  // namespace assay
