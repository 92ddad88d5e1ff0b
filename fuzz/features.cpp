#include "fuzz/features.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>

namespace assay {

namespace {

using Kind = Feature::Kind;

constexpr int kAccessBits = 5, kResultBits = 6;  // of AccessSeen and ResultSeen
constexpr int kOutcomeBits = 2;                  // of CompareSeen
constexpr size_t kOutcomeCounters = 16, kDiagnosticCounters = 64;
// Counters of a ladder: its rungs, and rung 0, which is none.
constexpr uint8_t kShareRungs = 255, kTurnRungs = 63;

uint8_t level(uint32_t count) {
  static constexpr std::array<uint8_t, 8> kLevels{1, 2, 3, 4, 8, 16, 32, 128};
  return *(std::upper_bound(kLevels.begin(), kLevels.end(), count) - 1);
}

/// Which quarter of a power of two the share lies in, from 2^-30 up; 0 is "exact".
uint8_t share_rung(double share) {
  if (!(share > 0)) return 0;
  return static_cast<uint8_t>(std::clamp(std::floor(4 * std::log2(share)) + 121, 1.0,
                                         static_cast<double>(kShareRungs)));
}

/// One by one up to 16, then by quarters of powers of two.
uint8_t turn_rung(uint32_t turns) {
  if (turns <= 16) return static_cast<uint8_t>(turns);
  const int exponent = std::bit_width(turns) - 1;
  const auto quarter = static_cast<int>(turns >> (exponent - 2)) & 3;
  return static_cast<uint8_t>(std::min<int>(16 + 4 * (exponent - 4) + quarter, kTurnRungs));
}

/// The highest where the two were equal, one less for each doubling of their distance.
uint8_t near_rung(uint64_t distance) {
  return static_cast<uint8_t>(kNearRungs - std::min<int>(std::bit_width(distance), kNearRungs - 1));
}

/// Appends features from `base` on.
class List {
 public:
  explicit List(std::vector<Feature>& features) : features_(features) {}

  void one(Kind kind, size_t counter, uint8_t level = 1) {
    features_.push_back({static_cast<uint32_t>(counter), level, kind});
  }
  void counts(Kind kind, uint32_t base, const std::vector<uint32_t>& counts) {
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != 0) one(kind, base + i, level(counts[i]));
    }
  }
  void bits(Kind kind, size_t base, uint8_t seen, int width) {
    for (int bit = 0; bit < width; ++bit) {
      if (seen >> bit & 1) one(kind, base + static_cast<size_t>(bit));
    }
  }
  void bits(Kind kind, uint32_t base, const std::vector<uint8_t>& seen, int width) {
    for (size_t i = 0; i < seen.size(); ++i) {
      bits(kind, base + i * static_cast<size_t>(width), seen[i], width);
    }
  }
  /// A ladder has a counter for rung 0 too, which is none.
  void rung(Kind kind, size_t ladder, uint8_t rung) {
    if (rung > 0) features_.push_back({static_cast<uint32_t>(ladder + rung), 1, kind, rung});
  }

 private:
  std::vector<Feature>& features_;
};

/// What the share of the allowance is compared within: a program, and runs whose longest loop took
/// about as many turns. One regime may use its allowance up by rights, as a rounding of a few terms
/// does that goes either way, and hide what grows with the number of terms in another.
std::string regime_of(const CheckResult& result) {
  uint32_t most = 0;
  for (const Coverage& seen : result.run.coverage) {
    for (const uint32_t turns : seen.turns) most = std::max(most, turns);
  }
  return " " + result.run.program_digest + " " + std::to_string(std::bit_width(most));
}

/// What one of two runs of a program showed and the other did not.
class PathDifference {
 public:
  PathDifference(const Coverage& a, const Coverage& b) : a_(a), b_(b) {}

  static size_t counters(const Coverage& seen) {
    return seen.edges.size() + seen.compares.size() * kOutcomeBits;
  }
  void list(List& list, uint32_t base) const {
    for (size_t i = 0; i < std::min(a_.edges.size(), b_.edges.size()); ++i) {
      if ((a_.edges[i] == 0) != (b_.edges[i] == 0)) list.one(Kind::property, base + i);
    }
    for (size_t i = 0; i < std::min(a_.compares.size(), b_.compares.size()); ++i) {
      const auto differing =
          static_cast<uint8_t>(a_.compares[i].outcomes ^ b_.compares[i].outcomes);
      list.bits(Kind::property, base + a_.edges.size() + i * kOutcomeBits, differing, kOutcomeBits);
    }
  }

 private:
  const Coverage& a_;
  const Coverage& b_;
};

}  // namespace

uint32_t Features::base_of(const std::string& what, size_t counters) {
  const auto [at, fresh] = bases_.emplace(what, next_);
  if (fresh) next_ += static_cast<uint32_t>(counters);
  return at->second;
}

void Features::collect_sizes(const Coverage& seen) {
  if (!seen.constants || bases_.contains(seen.program)) return;
  std::vector<int64_t> all;
  std::set_union(sizes_.begin(), sizes_.end(), seen.constants->begin(), seen.constants->end(),
                 std::back_inserter(all));
  sizes_ = std::move(all);
}

void Features::add_program(const Coverage& seen, std::vector<Feature>& features) {
  collect_sizes(seen);
  List list(features);
  const size_t blocks = seen.blocks.size(), edges = seen.edges.size();
  const size_t accesses = seen.accesses.size() * kAccessBits;
  const size_t results = seen.results.size() * kResultBits;
  const size_t outcomes = seen.compares.size() * kOutcomeBits;
  const size_t nears = seen.compares.size() * (kNearRungs + 1u);
  const size_t turns = seen.turns.size() * (kTurnRungs + 1u);
  size_t base =
      base_of(seen.program, blocks + edges + accesses + results + outcomes + nears + turns);
  const auto next = [&](size_t counters) {
    const size_t at = base;
    base += counters;
    return static_cast<uint32_t>(at);
  };
  list.counts(Kind::flow, next(blocks), seen.blocks);
  list.counts(Kind::flow, next(edges), seen.edges);
  list.bits(Kind::access, next(accesses), seen.accesses, kAccessBits);
  list.bits(Kind::result, next(results), seen.results, kResultBits);
  const size_t outcome_base = next(outcomes), near_base = next(nears), turn_base = next(turns);
  for (size_t i = 0; i < seen.compares.size(); ++i) {
    const CompareSeen& compare = seen.compares[i];
    if (compare.outcomes == 0) continue;
    list.bits(Kind::flow, outcome_base + i * kOutcomeBits, compare.outcomes, kOutcomeBits);
    list.rung(Kind::compare, near_base + i * (kNearRungs + 1u), near_rung(compare.nearest));
  }
  for (size_t i = 0; i < seen.turns.size(); ++i) {
    list.rung(Kind::turns, turn_base + i * (kTurnRungs + 1u), turn_rung(seen.turns[i]));
  }
}

std::vector<Feature> Features::of(const CheckResult& result) {
  std::vector<Feature> features;
  List list(features);
  const Verdict& verdict = result.verdict;
  const uint32_t outcomes = base_of("outcome", kOutcomeCounters);
  list.one(Kind::outcome, outcomes + static_cast<size_t>(result.outcome));
  if (verdict.unwritten > 0) list.one(Kind::outcome, outcomes + 8);
  if (verdict.weak > 0) list.one(Kind::outcome, outcomes + 9);
  if (verdict.widened > 0) list.one(Kind::outcome, outcomes + 10);
  if (verdict.no_bound > 0) list.one(Kind::outcome, outcomes + 11);
  const uint32_t diagnostics = base_of("diagnostic", kDiagnosticCounters);
  for (const Diagnostic& d : result.run.diagnostics) {
    list.one(Kind::outcome, diagnostics + 2 * static_cast<size_t>(d.kind) + (d.note ? 1 : 0));
  }
  const std::string regime = regime_of(result);
  for (const OutputCounts& output : verdict.outputs) {
    list.rung(Kind::share, base_of("output " + output.output + regime, kShareRungs + 1u),
              share_rung(output.share));
  }
  for (const Coverage& seen : result.run.coverage) add_program(seen, features);
  if (!result.property) return features;
  for (const ComparedRun& run : result.property->runs) {
    for (size_t i = 0; i < std::min(run.coverage.size(), result.run.coverage.size()); ++i) {
      const Coverage& own = result.run.coverage[i];
      // Another knob or type is another program, whose numbers are others.
      if (own.program != run.coverage[i].program) continue;
      const std::string what = result.property->property + " " + own.program;
      PathDifference(own, run.coverage[i])
          .list(list, base_of(what, PathDifference::counters(own)));
    }
  }
  return features;
}

void set_counters(const std::vector<Feature>& features, volatile uint8_t* counters) {
  for (const Feature& feature : features) {
    counters[feature.counter % kFeatureCounters] = feature.level;
  }
}

}  // namespace assay
