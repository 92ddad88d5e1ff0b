// One line y[cols] of a formula over x[cols], judged and explained.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/oracles/fake_run.hpp"

namespace assay::testing {

/// y of `type` over `shape` (["cols"] or [1]), x[cols] in f32.
inline Contract line_contract(const std::string& type, const std::string& formula,
                              const std::string& more, const std::string& shape = "[\"cols\"]",
                              const std::string& source = "") {
  return parse_contract(R"(
name = "line"
source = { cuda = "row_sum.cu", entry = "line")" +
                            source + R"( }
sizes = { cols = { min = 0, max = 100000 } }
launch = { grid = [1], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = ")" +
                            type + "\", shape = " + shape + R"( },
  { name = "x", kind = "input", dtype = "f32", shape = ["cols"] },
]
[formula]
y = ")" + formula + "\"\n" + more,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/line.toml");
}

struct Line {
  Experiment experiment;
  Judge judge;
  std::unique_ptr<Instance> instance;
  std::unique_ptr<FakeRun> run;

  Line(const Contract& contract, const std::vector<float>& x)
      : experiment(contract), judge(experiment.contract) {
    const auto cols = static_cast<int64_t>(x.size());
    experiment.the_case.sizes = {{"cols", cols}};
    for (size_t k = 0; k < x.size(); ++k)
      experiment.put_bits("x", {cols}, static_cast<int64_t>(k), DType::f32, f32_bits(x[k]));
    instance = std::make_unique<Instance>(experiment.instance());
    run = std::make_unique<FakeRun>(*instance);
  }

  Verdict operator()(const std::vector<float>& y) {
    const DType type = instance->find("y")->dtype;
    for (size_t k = 0; k < y.size(); ++k)
      run->set("y", static_cast<int64_t>(k),
               is_floating(type) ? round_to_bits(type, as_double(y[k]))
                                 : static_cast<uint64_t>(static_cast<int64_t>(y[k])));
    return judge.judge(*instance, *run);
  }
  ElementReport explain(int64_t k = 0) { return judge.explain(*instance, *run, "y", k); }
};

inline bool asks_for(const Verdict& v, const std::string& policy) {
  for (const std::string& line : v.missing_policies)
    if (line.starts_with(policy + " = ")) return true;
  return false;
}

}  // namespace assay::testing
