// The pipeline on one screen: instantiate, compile, run, judge, report.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "devices/device.hpp"
#include "fuzz/properties.hpp"
#include "generators/instance.hpp"
#include "oracles/verdict.hpp"

namespace assay {

/// One distinct failure. Findings with equal cause() are the same bug.
struct Finding {
  std::string kernel;
  std::string kind;  ///< mismatch, unwritten, undecided, property, or a diagnostic's kind
  std::string rule;  ///< R-number, the property's or the checker's name
  std::string file;  ///< source file, "" when not known
  int line = 0;
  std::string message;
  Case the_case;
  /// Of a mismatch: the line that stored the worst wrong element, when `Checker::locate` found it.
  /// No part of the identity: it may differ between the cases of one bug (vector body and tail).
  std::string stored_file;
  int stored_line = 0;
  /// Of a mismatch: no thread stored to any wrong element of its first output, as `locate` found.
  bool unstored = false;
  std::vector<Step> steps;  ///< what led there, first things first
  /// Of an uninitialised value: "sum.cu:34", where it was first read. Its uses are one bug.
  std::string origin;
  std::string identity() const;  ///< kernel|kind|rule|file:line, `file` by its base name
  std::string cause() const;     ///< identity(), but of the origin where there is one
  const std::string& shown_file() const { return stored_line > 0 ? stored_file : file; }
  int shown_line() const { return stored_line > 0 ? stored_line : line; }
};

/// What the message of such a mismatch says of the wrong elements.
inline constexpr const char* kNoneStored = ", none of them stored";

using Programs = std::shared_ptr<const std::vector<Program>>;

struct CheckResult {
  Outcome outcome = Outcome::pass;
  std::vector<Finding> findings;
  std::string skipped;  ///< reason, for Outcome::skipped
  Verdict verdict;
  std::unique_ptr<Instance> instance;  ///< what ran; `run.outputs` may refer to it
  Run run;
  Programs programs;  ///< one a launch of the instance
  std::optional<PropertyOutcome> property;  ///< of a case that has one, when its run completed
};

/// Warp instructions that a launch may take before it counts as a hang when it may wait for other
/// threads; the most for any launch.
inline constexpr int64_t kWaitingBudget = int64_t{1} << 28;
/// The same for launches that do not wait: 2^22, and 4,096 for each unit of the case's work
/// estimate (an honest kernel takes a few). The same everywhere, so that a case fails alike in
/// smoke, fuzz and repro; a loop that never ends costs a fraction of a second a case.
int64_t case_budget(const Instance& instance);
/// Options for any case: the budget is set by `Checker::check`.
RunOptions case_options();

/// A contract with what it takes to check its cases; keep one a thread and kernel. `contract` and
/// `device` must outlive it.
class Checker {
 public:
  Checker(const Contract& contract, Device& device);

  /// Runs and judges one case. Findings are data. Throws InputError for a case that does not fit
  /// the contract, for a source that does not compile and for PTX that does not parse, and
  /// MissingDependency when there is no compiler.
  CheckResult check(const Case& c, const RunOptions& options = case_options(),
                    const JudgeOptions& judging = {});

  /// The last store to an element of an output. Runs the case of `result` again, watching.
  std::optional<LastStore> last_store(const CheckResult& result, const std::string& output,
                                      int64_t logical);

  /// The exceptional arithmetic that `store`, the last one to an element, stored the result of:
  /// nothing where all of it was ordinary. Runs the case of `result` once more, slowly.
  std::optional<Step> exceptional(const CheckResult& result, const std::string& output,
                                  int64_t logical, const LastStore& store);

  /// Adds to a mismatch of `result` where its worst element was stored, or that no wrong one was;
  /// to a property's finding where the first that differs was. Runs the case again.
  void locate(const CheckResult& result, Finding& finding);

  const Contract& contract() const { return contract_; }
  const Judge& judge() const { return judge_; }

 private:
  Programs programs_for(const Instance& instance);
  Finding judged_finding(const CheckResult& result);
  std::string left_alone(const CheckResult& result);
  void check_property(CheckResult& result);
  bool differs_by_itself(const CheckResult& result);
  bool none_stored(const CheckResult& result);
  ComparedRun check_variation(const Variation& variation, CheckResult& result);

  const Contract& contract_;
  Device& device_;
  Judge judge_;
  int entry_line_ = 0;  ///< where a wrong result is reported: the entry's line in the source
  std::map<std::pair<Variant, std::vector<int>>, Programs> programs_;
};

/// Line of the source on which the entry's name is defined; 0 when it is not found.
int find_entry_line(const std::string& source_path, const std::string& entry);

/// The kinds that checkers give, causes first.
const std::vector<std::string>& checker_kinds();

/// Causes come first: what a wrapped offset or an undefined value leads to is found after it. Lower
/// is nearer to the cause.
int cause_rank(const std::string& kind);

/// Identity of the first finding of a case where that is another than `finding`; or "".
std::string first_cause(const CheckResult& result, const Finding& finding);

/// "skipped: ...", which the device does not support, or "not judged: ...".
std::string skipped_text(const CheckResult& result);

/// The element of a mismatch that is shown: output and logical index.
std::pair<std::string, int64_t> shown_element(const Verdict& verdict);

/// The first element in which the runs of a property differ; -1 when none does.
std::pair<std::string, int64_t> differing_element(const CheckResult& result);

/// "y[3, 17]".
std::string element_name(const Instance& instance, const std::string& output, int64_t logical);

/// What a case file records about a failure: kind, rule, place, compiler and program digest.
Recorded recorded_of(const Finding& finding, const CheckResult& result);

/// The finding of `result` that a case file records: of its kind and rule, at its place. Where the
/// program is the recorded one, instruction by instruction, the lines may have moved with an edit
/// elsewhere in the source. nullptr: it does not show.
const Finding* recorded_finding(const Recorded& recorded, const CheckResult& result);

}  // namespace assay
