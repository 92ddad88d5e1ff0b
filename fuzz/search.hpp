// A coverage-keeping search over the cases of one contract: the seeded engine.
#pragma once

#include <cstdint>
#include <unordered_set>
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

  /// The next case to run: starting cases first, then fresh and mutated ones.
  Case next();

  /// Tells what case `c` showed. Returns true when the case is kept for a new feature.
  bool learn(const Case& c, const std::vector<Feature>& features);

  size_t kept() const { return kept_.size(); }
  size_t features() const { return seen_.size(); }

 private:
  uint64_t draw();

  const Contract& contract_;
  uint64_t state_;
  std::vector<Case> starting_;
  size_t started_ = 0;
  std::vector<Case> kept_;
  std::unordered_set<uint64_t> seen_;  ///< a counter and level
};

}  // namespace assay
