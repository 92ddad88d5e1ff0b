// The block of a starter contract's launch: what the source says of it, the compiled kernel's
// limits, or a usual one.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "compilers/signature.hpp"
#include "devices/ptx/module.hpp"

namespace assay {

/// What a compiled kernel says of its blocks; 0: nothing.
struct BlockLimits {
  std::array<int32_t, 3> required{};  ///< .reqntid
  int64_t most_threads = 0;           ///< product of .maxntid
  bool are_stated() const { return most_threads > 0 || required[0] > 0; }
};
BlockLimits block_limits(const ptx::Function& function);

/// Whether a template parameter is a number that the contract chooses, and its value there: its
/// default, or what its name or its use in the source stands for.
bool is_knob(const KernelTemplateParameter& parameter);
std::string knob_text(const KernelSignature& kernel, const KernelTemplateParameter& parameter);

/// Threads along x, as an expression of the contract: "WARPS * 32", "BLOCK", "256".
std::string block_text(const KernelSignature& kernel, const BlockLimits& limits);
/// The entries of the launch's `block`: three where the kernel requires more than a row.
std::string block_list(const KernelSignature& kernel, const BlockLimits& limits);

}  // namespace assay
