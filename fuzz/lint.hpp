// Reads a contract critically: what is there and does nothing, what is never reached, what is
// missing. Each remark says where.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "generators/case.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

struct Lint {
  SourceLocation where;
  /// question, unused, unreachable, no_case, error, compile, unsupported, signature, run, launch,
  /// fails, unjudged, weak, no_bound, policy, formula, accuracy
  std::string kind;
  std::string message;
};

/// Lines "# ? ..." of a contract's text: what `assay init` asks for.
std::vector<Lint> questions_in(const std::string& text, const std::string& path);

/// Operands of comments such as "# unread: x, why", `mark` being "# unread: ".
std::set<std::string> marked_operands(const Contract& contract, const std::string& mark);

/// Words of the source and of the headers that it includes; empty when there is no source text.
std::set<std::string> source_words(const Contract& contract);

/// Operands, sizes, derived values, types, flags, knobs and `owns` that nothing uses, but operands
/// of lines
/// "# unread: x, why". A knob, flag or type
/// that no entry names is a macro of the source: it is used when the source has the word.
std::vector<Lint> unused_parts(const Contract& contract);

/// Facts of [accuracy] that speak of nothing in the formula, in any variant: they allow for nothing
/// (fuzz/lint_accuracy.cpp).
std::vector<Lint> idle_facts(const Contract& contract);

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

// What the formula says before any case runs (fuzz/lint_formula.cpp).

/// Lines to paste under [policy], for policies that the formula makes matter and that are missing:
/// `nan` for extrema of what may be NaN, `tie` for their places, `range` for exponentials that an
/// intermediate may overflow in, `cast_overflow` for conversions that are not clamped.
std::vector<std::string> open_policies(const Contract& contract);

/// A dimension's name that stands for its extent and is its index, and quotients of integers that
/// are 0.
std::vector<Lint> formula_slips(const Contract& contract);

// How the outputs are judged (fuzz/lint_judging.cpp).

/// Where the compiled kernel has approximate instructions and all `failing` cases pass by the table
/// of accuracies of math = "fast".
std::vector<Lint> fast_math_meant(const Contract& contract, const std::vector<Case>& failing);

/// Outputs that the formula makes NaN where all inputs are 0, or all are 1, but those of lines
/// "# nan: y, why". Runs the smaller of `cases` so: what is given may be what the kernel wrote.
std::vector<Lint> nan_of_finite_inputs(const Contract& contract, const std::vector<Case>& cases);

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
  /// show, nothing that was judged or much of it weakly or without a bound, policies that matter
  /// and are missing.
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
