// What a command found, as data; and how it is printed.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/check_case.hpp"
#include "fuzz/options.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {

/// Counts over one kernel's cases.
struct KernelReport {
  std::string kernel;
  std::string contract;  ///< path of the contract file
  int64_t cases = 0;
  int64_t judged = 0;                       ///< elements
  std::set<std::string> variants;           ///< variants that ran, as text
  int64_t variants_total = 0;               ///< that the contract admits
  std::map<std::string, int64_t> skipped;   ///< cases that the device does not support, by reason
  std::map<std::string, int64_t> unjudged;  ///< cases that ran, without a judged element, by reason
  /// Judged elements of ordinary cases (every operand of a well-scaled class), and the weakly
  /// judged among them: the measure of JUDGING's 20 %.
  int64_t ordinary = 0;
  int64_t weak = 0;
  bool weak_is_explained = false;  ///< the contract's `weak_reason`
  std::set<std::string> notes;     ///< missing policies, "judged the sm_80 build"
  double seconds = 0;              ///< summed over workers

  int64_t skipped_cases() const;
  double weak_share() const { return ordinary > 0 ? double(weak) / double(ordinary) : 0; }
  void add(const Case& c, const CheckResult& result, double seconds);
  void add(const KernelReport& other);
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
  /// Why it has one cause, likely, with the one before it: "in the same case", "at the same line".
  std::string with_above;
};

/// One pair of `score`.
struct PairReport {
  std::string name;
  bool witness_fails = false;  ///< the witness case fails on the planted bug
  bool witness_passes_on_twin = false;
  bool found = false;  ///< by search from seeds, without the witness
  Finding finding;     ///< how, when found
  double seconds = 0;  ///< until found, or all that was spent
  int64_t cases = 0;
  int64_t twin_cases = 0;
  int64_t false_alarms = 0;  ///< distinct findings on the twin
  std::string problem;       ///< why the pair could not be scored
};

struct Report {
  Command command = Command::smoke;
  uint64_t seed = 0;
  double seconds = 0;
  int jobs = 1;  ///< workers, over which the kernels' seconds are summed
  std::vector<KernelReport> kernels;
  std::vector<FiledFinding> findings;
  std::vector<PairReport> pairs;  ///< score only

  int64_t cases() const;
  int64_t skipped_cases() const;
  int64_t variants_reached() const;
  int64_t variants_total() const;
  /// Whether a kernel had no judged element although the device skipped nothing.
  bool proves_nothing() const;
  int64_t new_findings() const;  ///< without the known ones
  int64_t causes() const;        ///< of them, those that are not `with_above`
  int64_t found_pairs() const;
  int64_t false_alarms() const;
  double median_seconds() const;  ///< over the pairs found
  Exit exit() const;
};

/// Puts each finding after the one that is likely to cause it: the one that its case showed first,
/// or for a checker's finding the one nearest to a cause at its line. Sets `with_above`.
void group_by_cause(std::vector<FiledFinding>& findings);

std::string text_report(const Report& report);    ///< table and one-line verdict
std::string json_report(const Report& report);    ///< one object
std::string github_report(const Report& report);  ///< workflow annotations
/// One annotation; `file` may be "", `level` is error, warning or notice.
std::string github_annotation(const std::string& level, const std::string& file, int line,
                              const std::string& title, const std::string& message);
std::string junit_report(const Report& report);   ///< XML, one suite a kernel

/// How to repeat a finding, to be typed in a shell.
std::string repro_command(const FiledFinding& filed);

}  // namespace assay
