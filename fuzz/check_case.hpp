// The pipeline on one screen: instantiate, compile, run, judge, report.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "generators/instance.hpp"
#include "oracles/verdict.hpp"

namespace assay {

/// One distinct failure. Findings with equal identity() are the same bug.
struct Finding {
  std::string kernel;
  std::string kind;  ///< mismatch, unwritten, undecided, or a diagnostic's kind
  std::string rule;  ///< R-number, or the checker's name
  std::string file;  ///< source file, "" when not known
  int line = 0;
  std::string message;
  Case the_case;
  std::string identity() const;  ///< kernel|kind|rule|file:line
};

struct CheckResult {
  Outcome outcome = Outcome::pass;
  std::vector<Finding> findings;
  std::string skipped;  ///< reason, for Outcome::skipped
  Verdict verdict;
  Run run;
  std::vector<Program> programs;
};

/// A contract with what it takes to check its cases; keep one a thread and kernel.
class Checker {
 public:
  Checker(const Contract& contract, Device& device);
  CheckResult check(const Case& c, const RunOptions& options = {});
  const Contract& contract() const { return contract_; }
  const Judge& judge() const { return judge_; }

 private:
  const Contract& contract_;
  Device& device_;
  Judge judge_;
};

}  // namespace assay
