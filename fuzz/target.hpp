// The body of the fuzz target, shared by all engines (fuzz/fuzz_target.cpp gives it libFuzzer's
// names).
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/report.hpp"
#include "fuzz/search.hpp"
#include "fuzz/worker_slot.hpp"
#include "fuzz/workers.hpp"

namespace assay {

struct TargetSettings {
  std::string kernel;    ///< name or contract path
  std::string findings;  ///< folder for distinct findings; "": they are only counted and printed
  std::string device = "ptx";
  std::string slot;              ///< file of the parent's WorkerSlot; "": none
  int64_t most_cases = 0;        ///< cases after which the process ends; 0: the engine decides
  uint64_t shrink_checks = 300;  ///< for each new finding
};

/// Takes `--kernel=`, `--findings=`, `--slot=`, `--device=` and `--most=` out of the arguments; the
/// kernel defaults to that of the program's name (`fuzz_softmax`, `fuzz_softmax-seeded`), then to
/// the environment's ASSAY_KERNEL.
TargetSettings take_target_settings(std::vector<std::string>& arguments);

class Target {
 public:
  explicit Target(const TargetSettings& settings);

  /// Runs one case text, sets the counters of what it shows. -1: no case of this kernel, rejected.
  int run(const uint8_t* data, size_t size, volatile uint8_t* counters);

  /// A changed case in place of `data`; a fresh one when `data` is no case of this kernel. Returns
  /// its size, at most `max_size`.
  size_t mutate(uint8_t* data, size_t size, size_t max_size, unsigned seed);
  size_t cross(const std::string& first, const std::string& second, uint8_t* out, size_t max_size,
               unsigned seed);

  /// Whether as many cases ran as the settings ask for.
  bool is_done() const { return settings_.most_cases > 0 && executions_ >= settings_.most_cases; }

  const Contract& contract() const { return *contract_; }
  const FindingSet& findings() const { return findings_; }
  /// What the last case showed.
  const std::vector<Feature>& features() const { return features_; }
  int64_t cost() const { return cost_; }  ///< of the last case, in lane instructions
  /// Sizes at which the kernel may change its way, as far as cases showed its programs.
  const std::vector<int64_t>& sizes() const { return numbers_.sizes(); }

 private:
  bool parse(const uint8_t* data, size_t size, Case& c) const;
  void file(const Finding& finding, const CheckResult& result);
  void publish(const Case& c, const CheckResult& result);

  TargetSettings settings_;
  ContractPtr contract_;
  Workbench bench_;
  Checker& checker_;
  Features numbers_;
  std::vector<Feature> features_;
  int64_t cost_ = 0;
  FindingSet findings_;
  std::unique_ptr<WorkerSlot> slot_;
  int64_t executions_ = 0;
  KernelReport tally_;
  size_t told_ = 0;  ///< distinct notes, reasons and variants that the parent knows
  std::chrono::steady_clock::time_point published_{};
};

}  // namespace assay
