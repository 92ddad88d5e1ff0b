// A planted pair as data: a folder with a planted bug, its correct twin, a witness case, and
// `fault.pair`, which says what the fault is and how it should be seen.
#pragma once

#include <string>
#include <vector>

#include "fuzz/check_case.hpp"
#include "fuzz/find_kernels.hpp"

namespace assay {

/// Classes of faults are numbered from 1 to this, as the field reports are.
inline constexpr int kFaultClasses = 13;
/// "int32 offsets" for 1, and so on.
const char* fault_class_name(int fault_class);

/// A finding that the fault should give.
struct ExpectedFinding {
  std::string check;  ///< a checker's name (Finding::kind), or a rule of the judge (Finding::rule)
  std::string file;   ///< base name
  int line = 0;
};

/// What `fault.pair` states.
struct PlantedFault {
  int fault_class = 0;
  // Where it comes from, one of three:
  std::vector<std::string> reports;  ///< "owner/repository#number", the first is the model
  std::string mutation_of;           ///< a kernel or a helper of ours
  std::string form;                  ///< a known form of code
  std::string text;                  ///< what is wrong, in a few words
  std::vector<ExpectedFinding> expected;

  /// "owner/repository#number", "mutation of softmax", "form of a ticket".
  std::string origin() const;
  /// "wrap, R1": the checks that should see it, each once.
  std::string checks() const;
  /// Whether one of those checks gave the finding.
  bool expects_check(const Finding& finding) const;
  /// The same, and at a line that is expected of that check.
  bool expects(const Finding& finding) const;
};

struct PlantedPair {
  std::string name;  ///< of the folder
  PlantedFault fault;
  ContractPtr bug, twin;
  Case witness;
};

/// Folders with a twin.toml, sorted. Throws InputError when there are none.
std::vector<std::string> pair_folders(const std::string& root);

/// Reads a pair strictly: `twin.toml`, one other contract, `witness.case` and `fault.pair`. Throws
/// InputError with the place, for an expected line that does not stand in the source too.
PlantedPair load_pair(const std::string& folder);

}  // namespace assay
