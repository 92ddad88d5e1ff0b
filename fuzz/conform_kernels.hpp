// The instruction table as kernels: for each spelling that computes, PTX that applies it to tuples
// of operands in memory. The emulator and a GPU run the same text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay {

/// Operands of one application, as a kernel reads them: low bytes count; of a predicate, bit 0.
struct ConformTuple {
  uint64_t source[4]{};
  uint64_t carry = 0;  ///< CC.CF before (addc, subc, madc), bit 0
};

/// Results, as a kernel writes them; what an instruction lacks is 0.
struct ConformAnswer {
  uint64_t d = 0;
  uint32_t p = 0;  ///< predicate result; of .cc forms, what addc or subc of 0 makes of the carry
  uint32_t q = 0;  ///< second predicate
  bool operator==(const ConformAnswer&) const = default;
};

struct ConformKernel {
  std::string title;  ///< the spelling; of lop3, with its table
  ptx::Instruction instruction;
  std::vector<ptx::Type> sources;  ///< in the order of the text
  std::string entry;
  std::string text;  ///< the .entry: parameters in, out (arrays of the structures above)
};

/// One kernel for each spelling of the table that computes, and for lop3 one a table. Only those
/// that start with one of `prefixes`, when there are any.
std::vector<ConformKernel> conform_kernels(const std::vector<std::string>& prefixes);

/// A module of these kernels; `capability` 90 for sm_90, `cuda_version` 13000 for 13.0.
std::string conform_module(const std::vector<const ConformKernel*>& kernels, int capability,
                           int cuda_version);

/// Specials crossed, then random bits of several shapes. A pure function of its arguments.
std::vector<ConformTuple> conform_tuples(const ConformKernel& kernel, int64_t count, uint64_t seed);

}  // namespace assay
