// Which instructions of a contract's kernels the emulator lacks, with the source lines that need
// them.
#pragma once

#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// One thing that the emulator does not support, at one place.
struct Unsupported {
  std::string what;   ///< "discard.global.L2 (unknown instruction discard)"
  std::string file;   ///< source file, from the line table; "" without one
  int line = 0;       ///< 0: not known
  int ptx_line = 0;   ///< of the variant that was looked at first; 0: no instruction's
  int variants = 0;   ///< of those looked at, how many have it
  std::string place() const;  ///< "k.cu:4: ", "line 38 of the PTX: " or ""
};

/// What was looked at: variants that show every pair of choices, not their product.
struct EmulatorSupport {
  int variants = 0;
  std::vector<Unsupported> lacking;         ///< by place and name
  std::vector<std::string> not_looked_at;   ///< variants that do not compile, a missing compiler
};

/// Compiles and decodes each variant; runs nothing. Throws InputError for PTX that does not parse.
EmulatorSupport emulator_support(const Contract& contract);

}  // namespace assay
