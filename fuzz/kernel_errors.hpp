// Kernels that an error ends, in a run over several: the others go on.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "fuzz/report.hpp"
#include "fuzz/smoke_cases.hpp"

namespace assay {

/// Used by all workers of a run at once.
class KernelErrors {
 public:
  /// Those without a case have ended already.
  KernelErrors(size_t kernels, const SmokeCases& cases);

  void add(size_t kernel, int64_t order, const InputError& error);
  bool has_ended(size_t kernel) const;
  bool all_ended() const;
  /// Writes the error of the first case that had one into each kernel's report.
  void report(std::vector<KernelReport>& kernels) const;

 private:
  mutable std::mutex mutex_;
  size_t kernels_;
  std::map<size_t, std::pair<int64_t, InputError>> errors_;
};

}  // namespace assay
