// From a checked case to what it showed, one number a feature: what an engine is steered by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fuzz/check_case.hpp"

namespace assay {

/// One thing that a case showed. Counts have the eight levels that libFuzzer tells apart (1, 2, 3,
/// 4-7, 8-15, 16-31, 32-127, 128 and more), each given by its least number; all else has level 1.
struct Feature {
  uint32_t counter = 0;
  uint8_t level = 1;
  bool operator==(const Feature&) const = default;
};

/// Numbers the features of the programs and outputs that it meets. Keep one a process (or search):
/// numbers are given in the order in which things are met.
class Features {
 public:
  /// What the case showed: of each program the blocks and edges by how often they ran, what each
  /// memory instruction touched and each floating one computed; of each output the share of the
  /// allowance that was used, by powers of two; outcome, findings and notes by kind.
  std::vector<Feature> of(const CheckResult& result);

 private:
  uint32_t base_of(const std::string& what, size_t counters);

  std::map<std::string, uint32_t> bases_;
  uint32_t next_ = 0;
};

/// Size of the array of counters that libFuzzer reads. One program has some hundred features; beyond
/// the size they share counters, which costs guidance, not correctness.
inline constexpr size_t kFeatureCounters = size_t{1} << 15;

/// Sets the counters of the features; the others stay as they are: clear the array before. Volatile,
/// because libFuzzer reads it behind the compiler's back.
void set_counters(const std::vector<Feature>& features, volatile uint8_t* counters);

}  // namespace assay
