// Contracts of one formula over rows or pairs of numbers, and kernels simulated in float32.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/oracles/fake_run.hpp"

namespace assay::testing {

enum class Order { sequential, pairwise, lanes };
constexpr Order kOrders[] = {Order::sequential, Order::pairwise, Order::lanes};

/// Sums in float32 (or in T) in one of several orders that kernels use.
inline float summed(const std::vector<float>& x, Order order) {
  if (x.empty()) return 0;
  if (order == Order::pairwise) {
    std::vector<float> level = x;
    while (level.size() > 1) {
      std::vector<float> next;
      for (size_t k = 0; k + 1 < level.size(); k += 2) next.push_back(level[k] + level[k + 1]);
      if (level.size() % 2 == 1) next.push_back(level.back());
      level = next;
    }
    return level[0];
  }
  const size_t lanes = order == Order::lanes ? 32 : 1;
  std::vector<float> lane(lanes, 0.0f);
  for (size_t k = 0; k < x.size(); ++k) lane[k % lanes] += x[k];
  for (size_t step = lanes / 2; step > 0; step /= 2)
    for (size_t k = 0; k < step; ++k) lane[k] += lane[k + step];
  return lane[0];
}

inline std::vector<float> floats(const std::vector<double>& x) { return {x.begin(), x.end()}; }

inline std::string told(const Verdict& v) {
  return std::string(name(v.outcome)) + " " + v.rule + " " + v.message;
}

inline Contract row_contract(const std::string& formula, const std::string& more = "") {
  return parse_contract(R"(
name = "row"
source = { cuda = "row_sum.cu", entry = "row" }
sizes = { rows = { min = 0, max = 100000 }, cols = { min = 0, max = 2000000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
]
[formula]
y = ")" + formula + "\"\n" + more,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/row.toml");
}

inline Contract pair_contract(const std::string& type, const std::string& formula,
                              const std::string& more = "") {
  const std::string head = R"toml(
name = "pair"
source = { cuda = "vector_add.cu", entry = "pair" }
sizes = { n = { min = 0, max = 100000 } }
launch = { grid = ["ceil_div(n, 32)"], block = ["32"] }
)toml";
  const auto operand = [&type](const char* name, const char* kind) {
    return std::string("{ name = \"") + name + "\", kind = \"" + kind + "\", dtype = \"" + type +
           "\", shape = [\"n\"] },\n";
  };
  return parse_contract(head + "args = [\n" + operand("y", "output") + operand("a", "input") +
                            operand("b", "input") + "]\n[formula]\ny = \"" + formula + "\"\n" +
                            more,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/pair.toml");
}

/// Judges one row reduced to `got`.
inline Verdict judge_row(const Contract& contract, const std::vector<float>& row, float got,
                         const JudgeOptions& options = {}) {
  Experiment e(contract);
  e.the_case.sizes["rows"] = 1;
  e.the_case.sizes["cols"] = static_cast<int64_t>(row.size());
  e.put("x", {1, static_cast<int64_t>(row.size())}, DType::f32,
        std::vector<double>(row.begin(), row.end()));
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, f32_bits(got));
  return Judge(contract).judge(instance, run, options);
}

inline Verdict judge_pair(const Contract& contract, DType type, uint64_t a, uint64_t b,
                          uint64_t got, const JudgeOptions& options = {}) {
  Experiment e(contract);
  e.the_case.sizes["n"] = 1;
  e.put_bits("a", {1}, 0, type, a);
  e.put_bits("b", {1}, 0, type, b);
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, got);
  return Judge(contract).judge(instance, run, options);
}

}  // namespace assay::testing
