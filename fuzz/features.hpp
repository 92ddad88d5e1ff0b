// From a checked case to small counters, one a feature: what an engine is steered by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "fuzz/check_case.hpp"

namespace assay {

/// Size of the counter array. The program of one variant has some hundred features; beyond the size
/// they wrap around and share counters, which costs guidance, not correctness.
inline constexpr size_t kFeatureCounters = size_t{1} << 14;

/// Numbers the features of the programs that it meets. Keep one a process (or search): numbers are
/// given in the order of the programs.
class Features {
 public:
  /// Sets the counters of what the case showed: PTX blocks by how often they ran, mask states of
  /// each memory access, the share of the allowance that was used, findings and notes by kind. The
  /// others stay as they are: clear the array before. Volatile, because libFuzzer reads the array
  /// behind the compiler's back.
  void collect(const CheckResult& result, volatile uint8_t* counters);

 private:
  size_t base_of(const std::string& program, size_t features);

  std::map<std::string, size_t> bases_;
  size_t next_ = kFixed;

  static constexpr size_t kFixed = 256;  ///< counters that belong to no program
};

}  // namespace assay
