// One f64 output of a formula over two numbers, or over a row.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/oracles/row_cases.hpp"

namespace assay::testing {

inline const std::string kSafe =
    "[policy]\nrange = \"safe\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";
inline const std::string kNaive =
    "[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

/// One element of f64: y = formula of a and b.
inline Verdict wide(const std::string& formula, double a, double b, double got,
                    const std::string& more = kSafe) {
  return judge_pair(pair_contract("f64", formula, more), DType::f64, round_to_bits(DType::f64, a),
                    round_to_bits(DType::f64, b), round_to_bits(DType::f64, got));
}

/// y of `shape` and `type`, of a formula over x[cols] in f64.
inline Contract wide_row(const std::string& formula, const std::string& policy,
                         const std::string& shape = "[1]", const std::string& type = "f64") {
  return parse_contract(R"toml(
name = "row"
source = { cuda = "row_sum.cu", entry = "row" }
sizes = { cols = { min = 0, max = 100000 } }
launch = { grid = [1], block = ["32"] }
args = [
  { name = "x", kind = "input", dtype = "f64", shape = ["cols"] },
  { name = "y", kind = "output", dtype = ")toml" +
                            type + "\", shape = " + shape + " },\n]\n[formula]\ny = \"" + formula +
                            "\"\n" + policy,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/row.toml");
}

inline Contract wide_line(const std::string& formula, const std::string& policy) {
  return wide_row(formula, policy, "[\"cols\"]");
}

inline Verdict judge_wide_line(const Contract& contract, const std::vector<double>& x,
                               const std::vector<double>& got) {
  Experiment e(contract);
  const auto cols = static_cast<int64_t>(x.size());
  e.the_case.sizes["cols"] = cols;
  e.put("x", {cols}, DType::f64, x);
  const Instance instance = e.instance();
  FakeRun run(instance);
  for (size_t k = 0; k < got.size(); ++k)
    run.set("y", static_cast<int64_t>(k), round_to_bits(DType::f64, got[k]));
  return Judge(contract).judge(instance, run);
}

/// One element of `type`, whatever it is, that holds these bits: y = formula of x[cols].
inline Verdict judge_wide_bits(const Contract& contract, const std::vector<double>& x,
                               uint64_t got) {
  Experiment e(contract);
  const auto cols = static_cast<int64_t>(x.size());
  e.the_case.sizes["cols"] = cols;
  e.put("x", {cols}, DType::f64, x);
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, got);
  return Judge(contract).judge(instance, run);
}

/// One element of f64: y = formula of x[cols].
inline Verdict wide_sum(const std::string& formula, const std::string& policy,
                        const std::vector<double>& x, double got) {
  return judge_wide_line(wide_row(formula, policy), x, {got});
}

inline void judged(const Verdict& v, Outcome expected, const std::string& what) {
  EXPECT_EQ(v.outcome, expected) << what;
  EXPECT_EQ(v.no_bound, 0) << what;
}

}  // namespace assay::testing
