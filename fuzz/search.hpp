// A coverage-keeping search over the cases of one contract: the seeded engine.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "fuzz/features.hpp"
#include "generators/facts.hpp"
#include "generators/generate.hpp"

namespace assay {

/// Proposes cases and keeps those that showed a feature which none before did, or a higher rung of
/// a ladder. Deterministic in the seed and in what it is told.
class Search {
 public:
  /// Starts from the covering cases, then from `initial`.
  Search(const Contract& contract, Seed seed, std::vector<Case> initial = {});

  /// The next case to run: starting cases first, then fresh and mutated ones.
  Case next();

  /// Tells what case `c` showed, and what it cost in lane instructions. Returns true when the case
  /// is kept for a new feature; one that costs less than half replaces the case kept for a known
  /// one.
  bool learn(const Case& c, const std::vector<Feature>& features, int64_t cost = 0);
  /// Tells all the sizes that are known so far at which the kernel may change its way.
  void hint(const std::vector<int64_t>& sizes);

  size_t kept() const { return kept_.size(); }
  size_t features() const { return seen_.size(); }

 private:
  /// What a feature, or a ladder's highest rung, is known by.
  struct Seen {
    uint64_t cases = 0;    ///< that showed it; of a ladder not counted
    size_t kept = 0;       ///< the case that showed it first, or for less than half of the cost
    int64_t cost = 0;      ///< of that case
    uint64_t mutants = 0;  ///< of that case, for its sake
  };
  struct Ladder {
    uint8_t rung = 0;
    bool at_top = false;
    Seen seen;
  };
  using Kind = Feature::Kind;

  uint64_t draw();
  Seen* pick_rarest(Kind kind);
  Seen* pick_ladder(Kind kind);
  Seen* pick_climb(Kind& kind);
  Seen* pick_rare(Kind& kind);

  const Contract& contract_;
  const Facts facts_;
  uint64_t state_;
  std::vector<Case> starting_;
  size_t started_ = 0;
  std::vector<Case> kept_;
  std::unordered_map<uint64_t, Seen> seen_;  ///< by counter and level
  std::array<std::vector<uint64_t>, Feature::kKinds> keys_;  ///< of `seen_`, in order of appearance
  std::array<std::map<uint32_t, Ladder>, Feature::kKinds> ladders_;
  MutationHints hints_;
};

}  // namespace assay
