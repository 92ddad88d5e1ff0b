// Both machines of `assay conform`, for one thread.
#pragma once

#include <string>
#include <vector>

#include "devices/cuda/process.hpp"
#include "fuzz/conform_emulator.hpp"

namespace assay {

class ConformBench {
 public:
  const cuda::Card& card() const { return gpu_.card(); }

  /// Throws CudaError when the driver does not take the text.
  void load(const std::string& text);
  std::vector<uint8_t> on_gpu(const ConformLaunch& launch);
  std::vector<uint8_t> emulated(const ConformLaunch& launch) { return emulator_.run(launch); }

  std::vector<ConformAnswer> on_gpu(const ConformKernel& kernel,
                                    const std::vector<ConformTuple>& tuples);
  std::vector<ConformAnswer> emulated(const ConformKernel& kernel,
                                      const std::vector<ConformTuple>& tuples) {
    return emulator_.run(kernel, tuples);
  }

 private:
  cuda::Process gpu_;
  ConformEmulator emulator_;
  uint64_t gpu_module_ = 0;
};

}  // namespace assay
