// A coverage-keeping search over the cases of one contract: the seeded engine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/features.hpp"
#include "generators/generate.hpp"

namespace assay {

/// Proposes cases and keeps those that showed a feature which none before did. Deterministic in the
/// seed and in what it is told.
class Search {
 public:
  /// Starts from the covering cases, then from `initial`.
  Search(const Contract& contract, Seed seed, std::vector<Case> initial = {});

  /// The next case to run: starting cases first, then fresh, mutated and crossed ones.
  Case next();

  /// Tells which features case `c` showed (kFeatureCounters counters). Returns true when the case
  /// is kept for a new one.
  bool learn(const Case& c, const volatile uint8_t* counters);

  const std::vector<Case>& kept() const { return kept_; }
  int64_t features() const { return features_; }

 private:
  uint64_t draw();
  const Case& pick();

  const Contract& contract_;
  uint64_t state_;
  std::vector<Case> starting_;
  size_t started_ = 0;
  std::vector<Case> kept_;
  std::vector<uint8_t> levels_seen_;  ///< a counter: bit set of the levels seen
  int64_t features_ = 0;
};

}  // namespace assay
