// Reads a contract critically: what is there and does nothing, what is never reached, what is
// missing. Each remark says where.
#pragma once

#include <string>
#include <vector>

#include "generators/case.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

struct Lint {
  SourceLocation where;
  /// question, unused, unreachable, no_case, error, compile, unsupported, signature, run, launch,
  /// fails, unjudged, weak, policy
  std::string kind;
  std::string message;
};

/// Lines "# ? ..." of a contract's text: what `assay init` asks for.
std::vector<Lint> questions_in(const std::string& text, const std::string& path);

/// Operands, sizes, derived values, types, flags, knobs and `owns` that nothing uses, but operands of lines
/// "# unread: x, why". A knob, flag or type
/// that no entry names is a macro of the source: it is used when the source has the word.
std::vector<Lint> unused_parts(const Contract& contract);

/// Sizes that `require` alone keeps from their listed values, or from all that are near their least
/// or their largest.
std::vector<Lint> unreachable_sizes(const Contract& contract);

/// Variants whose source does not compile, of those that show every pair of choices.
std::vector<Lint> variants_that_fail(const Contract& contract);

/// Instructions that the emulator lacks, at the source lines that need them.
std::vector<Lint> unsupported_instructions(const Contract& contract);

/// Operands whose dtype is not that of the kernel's parameter, and vectors without `align`
/// (fuzz/lint_signature.cpp).
std::vector<Lint> signature_conflicts(const Contract& contract);

// What the contract's cases show (fuzz/lint_runs.cpp).

/// The covering cases of a contract, at least three where it admits as many; or why there is none.
struct Admitted {
  std::vector<Case> cases;
  std::vector<Lint> lints;
};
Admitted admitted_cases(const Contract& contract);

/// Small sizes that no relation forbids and with which a derived value, shape or launch is an
/// error: such cases are never made.
std::vector<Lint> sizes_with_errors(const Contract& contract, const std::vector<Case>& cases);

/// Memories that an operand may lie in and, by `cases`, never does: its strides or its alignment
/// forbid it.
std::vector<Lint> aliases_never_made(const Contract& contract, const std::vector<Case>& cases);

struct Runs {
  /// Cases that cannot run, launches that break a limit, failures that more than half of the cases
  /// show, nothing that was judged or most of it weakly, policies that matter and are missing.
  std::vector<Lint> lints;
  int64_t cases = 0;       ///< that ran and have elements
  int64_t failing = 0;     ///< of them
  std::string most_often;  ///< the failure that most of those show: "mismatch: y: ..."
};
/// Runs the cases on the emulator.
Runs failing_runs(const Contract& contract, const std::vector<Case>& cases);

/// What each case does on the emulator: "passes", "fails: mismatch: ...", "is not judged: ...".
std::vector<std::string> outcomes_of(const Contract& contract, const std::vector<Case>& cases);

}  // namespace assay
