// What the cases that open a run find in a kernel, without shrinking.
#pragma once

#include <string>
#include <vector>

#include "fuzz/find_kernels.hpp"
#include "fuzz/starting_cases.hpp"
#include "fuzz/workers.hpp"

namespace assay::testing {

/// Of the first case that fails; empty when none does.
inline std::vector<Finding> starting_findings(const std::string& contract_path) {
  const ContractPtr contract = load_kernels({contract_path}).front();
  Workbench bench("ptx");
  for (const Case& c : starting_cases(*contract)) {
    CheckResult result = bench.checker(*contract).check(c);
    if (!result.findings.empty()) return std::move(result.findings);
  }
  return {};
}

}  // namespace assay::testing
