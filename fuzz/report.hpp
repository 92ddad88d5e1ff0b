// What a command found, as data; and how it is printed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/check_case.hpp"
#include "fuzz/emulator_support.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/options.hpp"
#include "fuzz/planted_pair.hpp"
#include "fuzz/sensitivity.hpp"
#include "kernels_under_test/input_error.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {

/// What `assay list` says of a contract.
struct ListedKernel {
  struct Size {
    int64_t min = 0, max = 0;
    std::vector<int64_t> in;
  };
  std::map<std::string, std::vector<std::string>> types;
  std::map<std::string, Size> sizes;
  std::map<std::string, std::vector<int64_t>> knobs;
  std::vector<std::string> flags;
  std::map<std::string, std::vector<std::string>> may_alias;  ///< inputs, by what may lie in them
  std::vector<std::string> not_yet;  ///< keys that are read but not used yet
  std::vector<std::string>
      policies_open;  ///< that the formula may need and the contract leaves out
  std::vector<std::string> notes;
  std::optional<EmulatorSupport> emulator;  ///< of kernels that are named
};

/// How much of the internal allowance (Verdict::share) a kernel's runs use.
struct AllowanceUse {
  double largest = 0;
  double sum = 0;  ///< of each run's largest share
  int64_t runs = 0;
  void add(double share);
  void add(const AllowanceUse& other);
  double mean() const { return runs > 0 ? sum / double(runs) : 0; }
};

/// What `assay calibrate` counts of a kernel.
struct CalibratedKernel {
  int64_t runs = 0;  ///< of its cases, over all settings
  AllowanceUse honest, adversarial;
  SensitivityTable sensitivity;
};

/// Above this share of weakly judged elements, and of those without a documented bound, a contract
/// says why (`weak_reason`).
inline constexpr double kMostWeak = 0.2;

/// A case whose every operand is of a well-scaled class (generators/values.hpp), without overrides:
/// the measure of weakly judged elements and of those without a bound.
bool is_ordinary(const Case& c);

/// Counts over one kernel's cases.
struct KernelReport {
  std::string kernel;
  std::string contract;  ///< path of the contract file
  int64_t cases = 0;
  int64_t judged = 0;              ///< elements, without those that have no documented bound
  int64_t wrong_memory = 0;        ///< cases with accesses out of place or of undefined values
  int64_t mismatches = 0;          ///< cases with wrong elements
  std::set<std::string> variants;  ///< variants that ran, as text
  int64_t variants_total = 0;      ///< that the contract admits
  std::map<std::string, int64_t> skipped;   ///< cases that the device does not support, by reason
  std::map<std::string, int64_t> unjudged;  ///< cases that ran, without a judged element, by reason
  /// Elements of ordinary cases (every operand of a well-scaled class) that a formula speaks of,
  /// the weakly judged among them, the measure of JUDGING's 20 %, and those without a documented
  /// bound (R10), which nothing judges.
  int64_t ordinary = 0;
  int64_t weak = 0;
  int64_t no_bound = 0;
  bool weak_is_explained = false;                   ///< the contract's `weak_reason`
  std::set<std::string> notes;                      ///< missing policies, "judged the sm_80 build"
  /// Cases that were compared with another run, by property: "rows_independent(rows)".
  std::map<std::string, int64_t> properties;
  std::map<std::string, int64_t> largest_sizes;     ///< that ran, by size
  std::map<std::string, int64_t> largest_operands;  ///< elements that ran, by operand
  double seconds = 0;                               ///< summed over workers
  /// Why it could not be run, or not to the end: its contract or its source has an error.
  std::optional<InputError> error;

  std::optional<ListedKernel> listed;          ///< `assay list` only
  std::optional<CalibratedKernel> calibrated;  ///< `assay calibrate` only

  int64_t skipped_cases() const;
  int64_t unjudged_cases() const;
  /// Cases ran, and none had a judged element.
  bool nothing_judged() const { return judged == 0 && !unjudged.empty(); }
  /// Some were judged, but more than half of those that ran were not.
  bool mostly_unjudged() const {
    return judged > 0 && 2 * unjudged_cases() > cases - skipped_cases();
  }
  std::string why_unjudged() const;  ///< the reason of most of `unjudged`; "" without any
  int64_t compared_cases() const;    ///< sum of `properties`
  double weak_share() const { return ordinary > 0 ? double(weak) / double(ordinary) : 0; }
  double no_bound_share() const { return ordinary > 0 ? double(no_bound) / double(ordinary) : 0; }
  /// Bounds prove too little, or there is none, and the contract does not say why.
  bool too_weak() const { return weak_share() > kMostWeak && !weak_is_explained; }
  bool too_unbounded() const { return no_bound_share() > kMostWeak && !weak_is_explained; }
  void add(const Case& c, const CheckResult& result, double seconds);
  void add_reached(const Case& c, const Instance& instance);
  void add(const KernelReport& other);
  /// A kernel that is wrong whatever is flushed is not asked for the policy on subnormals.
  void withdraw_subnormals();
  /// Counts and notes as lines of text, for a parent process; `read_tally` adds them to a report.
  std::string tally() const;
  void read_tally(const std::string& text);
};

/// A distinct failure, shrunk and written to a file.
struct FiledFinding {
  Finding finding;
  std::string case_file;  ///< "" when it was not written
  std::string contract;   ///< path of the contract file
  int64_t seen = 1;       ///< how often it was met
  bool known = false;     ///< an entry of corpus/KERNEL/open says so: listed, no failure
  bool shrunk = true;     ///< no simpler case fails in the same way; false: a limit came first
  std::string cause;      ///< identity of the first cause in its case when that is another; or ""
  /// Why it has one cause, likely, with the one before it: "in the same case", "at the same line",
  /// "stored at the same line", "not stored either", "of the same origin".
  std::string with_above;
  std::string flags;  ///< that `repro` needs to show it, " --fmad off"; usually ""
  std::string device = "ptx";  ///< on which it showed: what repeats it runs there too
};

/// One pair of `score`.
struct PairReport {
  std::string name;
  PlantedFault fault;
  bool witness_fails = false;  ///< the witness case fails on the planted bug
  bool witness_passes_on_twin = false;
  bool found = false;  ///< by search from seeds, without the witness
  Finding finding;     ///< how, when found
  double seconds = 0;  ///< until found, or all that was spent
  int64_t cases = 0;
  int64_t twin_cases = 0;
  int64_t false_alarms = 0;  ///< distinct findings on the twin
  std::string problem;       ///< why the pair could not be scored
  bool by_expected_check() const { return found && fault.expects_check(finding); }
  bool as_expected() const { return found && fault.expects(finding); }  ///< its line too
};

/// Counts over pairs; medians and worst ones over those found.
struct ScoreTotals {
  int64_t pairs = 0, found = 0;
  int64_t by_expected_check = 0;
  int64_t as_expected = 0;  ///< by the expected check at the expected line
  int64_t false_alarms = 0;
  double median_seconds = 0, worst_seconds = 0;
  double median_cases = 0;
  int64_t worst_cases = 0;
  /// At least 95 % of those found: what a score asks for.
  bool enough_as_expected() const { return 100 * as_expected >= 95 * found; }
};
/// "wrap row_offset.cu:15", "mismatch R4 tail.cu:40", "missed", or the problem.
std::string how_found(const PairReport& pair);
/// "yes", "-" when it was not found, or "NO: wrap :15", what was expected in place of that.
std::string whether_expected(const PairReport& pair);
ScoreTotals score_totals(const std::vector<PairReport>& pairs);
/// One for each class that occurs.
std::map<int, ScoreTotals> score_by_class(const std::vector<PairReport>& pairs);

struct Report {
  Command command = Command::smoke;
  uint64_t seed = 0;
  double seconds = 0;
  double shrinking_seconds = 0;  ///< of them, after the cases ran: findings made smaller and filed
  int jobs = 1;                  ///< workers, over which the kernels' seconds are summed
  std::vector<KernelReport> kernels;
  std::vector<FiledFinding> findings;
  std::vector<PairReport> pairs;  ///< score only
  int64_t pairs_left_out = 0;     ///< score only: not scored, when it was interrupted
  bool interrupted = false;       ///< ended by a signal before it was done
  std::optional<InputError> not_written;  ///< why a finding could not be filed, or be compared with
                                          ///< those that are known

  int64_t cases() const;
  int64_t skipped_cases() const;
  int64_t compared_cases() const;
  int64_t variants_reached() const;
  int64_t variants_total() const;
  /// Whether a kernel had no element to judge although the device skipped nothing.
  bool proves_nothing() const;
  int64_t new_findings() const;  ///< without the known ones
  int64_t causes() const;        ///< of them, those that are not `with_above`
  std::vector<InputError> errors() const;  ///< of kernels, and of what could not be written
  Exit exit() const;
};

/// Puts each finding after the one that is likely to cause it: the one of the same origin, the one
/// that its case showed first, or for a checker's finding the one nearest to a cause at its line.
/// Sets `with_above`.
void group_by_cause(std::vector<FiledFinding>& findings);

/// A row for a contract that has an error: what every format shows of it.
KernelReport unread_report(const UnreadContract& unread);

std::string text_report(const Report& report);    ///< table and one-line verdict
std::string score_text(const Report& report);     ///< the same of a score
std::string json_report(const Report& report);    ///< one object
std::string github_report(const Report& report);  ///< workflow annotations
/// One annotation; `file` may be "", `level` is error, warning or notice.
std::string github_annotation(const std::string& level, const std::string& file, int line,
                              const std::string& title, const std::string& message);
std::string junit_report(const Report& report);  ///< XML, one suite a kernel

/// Notes which sizes no case can have and which were never run, and why: a wrapped offset shows
/// only where cases reach (fuzz/reach_notes.cpp).
void note_reach(const Contract& contract, KernelReport& kernel);

/// Asks to compare `args` with the kernel's parameters when nearly every case touches memory
/// wrongly (fuzz/argument_notes.cpp).
void note_arguments(const Contract& contract, KernelReport& kernel);

/// Names the properties of the contract that no case was compared by.
void note_properties(const Contract& contract, KernelReport& kernel);

/// The kernels of which no case had an element to judge, and none was skipped as unsupported: of
/// them nothing is proven. Without those that have an error.
std::vector<std::string> unproven(const Report& report);

/// " --device cuda"; "" for the emulator, which commands take when none is named.
std::string device_flag(const std::string& device);

/// How to repeat a finding, and how to make its case smaller, to be typed in a shell: on the device
/// that showed it.
std::string repro_command(const FiledFinding& filed);
std::string shrink_command(const FiledFinding& filed);

}  // namespace assay
