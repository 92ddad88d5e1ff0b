// The emulator's side of `assay conform`.
#pragma once

#include <string>
#include <vector>

#include "devices/ptx/machine.hpp"
#include "fuzz/conform_kernels.hpp"

namespace assay {

/// Threads of a block of a conform kernel; tuples come in whole blocks.
inline constexpr int64_t kConformThreads = 128;

/// The parameter space of a conform kernel: where tuples and answers lie.
std::vector<uint8_t> conform_parameters(uint64_t tuples, uint64_t answers);

class ConformEmulator {
 public:
  /// Decodes a module of conform kernels. Throws InputError.
  void load(const std::string& text);
  /// Runs one of its kernels; throws InputError when it does not run to its end.
  std::vector<ConformAnswer> run(const ConformKernel& kernel,
                                 const std::vector<ConformTuple>& tuples);

 private:
  ptx::Machine machine_{ptx::use_avx2()};
  ptx::Module module_;
};

}  // namespace assay
