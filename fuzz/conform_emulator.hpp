// The emulator's side of `assay conform`.
#pragma once

#include <string>
#include <vector>

#include "devices/ptx/machine.hpp"
#include "fuzz/conform_kernels.hpp"

namespace assay {

/// Threads of a block of a conform kernel; tuples come in whole blocks.
inline constexpr int64_t kConformThreads = 128;

/// A launch over whole blocks: bytes in, as many bytes out as it says.
struct ConformLaunch {
  std::string title, entry;
  const uint8_t* in = nullptr;
  int64_t in_bytes = 0, out_bytes = 0, blocks = 0;
  bool has_bytes = false;  ///< 64 bytes that count up follow the addresses among the parameters
};

/// The launch that applies a kernel to tuples, which must outlive it.
ConformLaunch tuples_launch(const ConformKernel& kernel, const std::vector<ConformTuple>& tuples);

/// The parameter space of a conform kernel: where its input and output lie.
std::vector<uint8_t> conform_parameters(uint64_t in, uint64_t out, bool has_bytes);

class ConformEmulator {
 public:
  /// Decodes a module of conform kernels. Throws InputError.
  void load(const std::string& text);
  /// Runs one of its kernels; throws InputError when it does not run to its end.
  std::vector<ConformAnswer> run(const ConformKernel& kernel,
                                 const std::vector<ConformTuple>& tuples);
  std::vector<uint8_t> run(const ConformLaunch& launch);

 private:
  ptx::Machine machine_{ptx::use_avx2()};
  ptx::Module module_;
};

}  // namespace assay
