// Reads a contract critically: what is there and does nothing, what is never reached, what is
// missing. Each remark says where.
#pragma once

#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

struct Lint {
  SourceLocation where;
  std::string kind;  ///< question, unused, unreachable, compile, policy
  std::string message;
};

/// Lines "# ? ..." of a contract's text: what `assay init` asks for.
std::vector<Lint> questions_in(const std::string& text, const std::string& path);

/// Operands, sizes, derived values, types, flags and knobs that nothing uses. A knob, flag or type
/// that no entry names is a macro of the source: it is used when the source has the word.
std::vector<Lint> unused_parts(const Contract& contract);

/// Sizes that `require` alone keeps from their listed values, or from all that are near their least
/// or their largest.
std::vector<Lint> unreachable_sizes(const Contract& contract);

/// Variants whose source does not compile, of those that show every pair of choices.
std::vector<Lint> variants_that_fail(const Contract& contract);

/// Policies that matter for the formula and are not stated: asked for when covering cases run on
/// the emulator, at most `cases` of them.
std::vector<Lint> missing_policies(const Contract& contract, size_t cases);

}  // namespace assay
