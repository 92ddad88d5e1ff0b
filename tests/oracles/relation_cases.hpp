// Contracts of one relation over a line of numbers, or of keys.
#pragma once

#include <string>
#include <vector>

#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"

namespace assay::testing {

inline Contract contract_of(const std::string& oracle, const std::string& outputs,
                            const std::string& tail = "") {
  return parse_contract(R"(
name = "relation"
source = { cuda = "row_sum.cu", entry = "relation" }
sizes = { n = { min = 0, max = 100000 }, k = { min = 0, max = 100 } }
launch = { grid = ["n"], block = ["32"] }
oracle = )" + oracle + R"(
args = [
)" + outputs + R"(
  { name = "x", kind = "input", dtype = "f32", shape = [1, "n"] },
  { name = "key", kind = "input", dtype = "i32", shape = ["n"] },
]
)" + tail + "\n",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/r.toml");
}

struct Relation {
  Experiment experiment;
  Judge judge;
  Relation(const Contract& contract, int64_t n, int64_t k)
      : experiment(contract), judge(experiment.contract) {
    experiment.the_case.sizes = {{"n", n}, {"k", k}};
  }
};

inline constexpr const char* kRankOutputs =
    "{ name = \"v\", kind = \"output\", dtype = \"f32\", shape = [\"k\"] },\n"
    "{ name = \"i\", kind = \"output\", dtype = \"i64\", shape = [\"k\"] },";

/// A relation of x[n] to v[n], which holds `got`.
inline Verdict ranked(const std::string& oracle, const std::string& policy,
                      const std::vector<double>& x, const std::vector<double>& got) {
  Relation relation(
      contract_of(oracle,
                  "{ name = \"v\", kind = \"output\", dtype = \"f32\", shape = [\"m: n\"] },",
                  "[policy]\n" + policy),
      static_cast<int64_t>(x.size()), 0);
  relation.experiment.put("x", {1, static_cast<int64_t>(x.size())}, DType::f32, x);
  const Instance instance = relation.experiment.instance();
  FakeRun run(instance);
  for (size_t j = 0; j < got.size(); ++j)
    run.set("v", static_cast<int64_t>(j), f32_bits(static_cast<float>(got[j])));
  return relation.judge.judge(instance, run);
}

}  // namespace assay::testing
