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
  /// What kind of thing it is: kinds differ in number by orders, and a search that takes features
  /// alike would follow the most numerous one.
  enum class Kind : uint8_t { outcome, flow, access, result, share, turns, compare, property };
  static constexpr size_t kKinds = 8;

  uint32_t counter = 0;
  uint8_t level = 1;
  Kind kind = Kind::outcome;
  /// Not 0: a rung of a ladder, one counter each; the ladder's number is counter - rung. The higher
  /// the nearer to something that was not seen yet.
  uint8_t rung = 0;
  bool operator==(const Feature&) const = default;
};

/// Rungs of a comparison's ladder: its two numbers were equal at the top.
inline constexpr uint8_t kNearRungs = 33;

/// Numbers the features of the programs and outputs that it meets. Keep one a process (or search):
/// numbers are given in the order in which things are met.
class Features {
 public:
  /// What the case showed: of each program the blocks and edges by how often they ran, what each
  /// memory instruction touched and each floating one computed, whether each comparison held; where
  /// the other run of a property went another way; outcome, findings and notes by kind. On ladders:
  /// of each output the share of the allowance that was used, by quarters of powers of two, among
  /// runs whose loops took as many turns; of each loop the turns in a row; of each comparison how
  /// near its numbers came, by powers of two.
  std::vector<Feature> of(const CheckResult& result);
  /// Sizes at which the programs that were met may change their way, ascending.
  const std::vector<int64_t>& sizes() const { return sizes_; }

 private:
  void collect_sizes(const Coverage& seen);
  uint32_t base_of(const std::string& what, size_t counters);
  void add_program(const Coverage& seen, std::vector<Feature>& features);

  std::map<std::string, uint32_t> bases_;
  uint32_t next_ = 0;
  std::vector<int64_t> sizes_;
};

/// Size of the array of counters that libFuzzer reads. One program has some thousand counters, few
/// of which are ever set; beyond the size they share counters, which costs guidance, not
/// correctness.
inline constexpr size_t kFeatureCounters = size_t{1} << 15;

/// Sets the counters of the features; the others stay as they are: clear the array before.
/// Volatile, because libFuzzer reads it behind the compiler's back.
void set_counters(const std::vector<Feature>& features, volatile uint8_t* counters);

}  // namespace assay
