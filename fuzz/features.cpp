#include "fuzz/features.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {

namespace {

constexpr int kAccessBits = 5, kResultBits = 6;  // of AccessSeen and ResultSeen
constexpr size_t kShareCounters = 64;
constexpr size_t kOutcomeCounters = 16, kDiagnosticCounters = 64;

uint8_t level(uint32_t count) {
  static constexpr std::array<uint8_t, 8> kLevels{1, 2, 3, 4, 8, 16, 32, 128};
  return *(std::upper_bound(kLevels.begin(), kLevels.end(), count) - 1);
}

/// Which power of two the share lies in, from 2^-30 up; 0 is "exact".
uint32_t share_bucket(double share) {
  if (!(share > 0)) return 0;
  const double exponent = std::clamp(std::floor(std::log2(share)), -30.0, 30.0);
  return static_cast<uint32_t>(exponent + 31);
}

/// Appends features from `base` on.
class List {
 public:
  explicit List(std::vector<Feature>& features) : features_(features) {}

  void one(size_t counter, uint8_t level = 1) {
    features_.push_back({static_cast<uint32_t>(counter), level});
  }
  void counts(uint32_t base, const std::vector<uint32_t>& counts) {
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] != 0) one(base + i, level(counts[i]));
    }
  }
  void bits(uint32_t base, const std::vector<uint8_t>& seen, int width) {
    for (size_t i = 0; i < seen.size(); ++i) {
      for (int bit = 0; bit < width; ++bit) {
        if (seen[i] >> bit & 1) one(base + i * static_cast<size_t>(width) + static_cast<size_t>(bit));
      }
    }
  }

 private:
  std::vector<Feature>& features_;
};

}  // namespace

uint32_t Features::base_of(const std::string& what, size_t counters) {
  const auto [at, fresh] = bases_.emplace(what, next_);
  if (fresh) next_ += static_cast<uint32_t>(counters);
  return at->second;
}

std::vector<Feature> Features::of(const CheckResult& result) {
  std::vector<Feature> features;
  List list(features);
  const Verdict& verdict = result.verdict;
  const uint32_t outcomes = base_of("outcome", kOutcomeCounters);
  list.one(outcomes + static_cast<size_t>(result.outcome));
  if (verdict.unwritten > 0) list.one(outcomes + 8);
  if (verdict.weak > 0) list.one(outcomes + 9);
  if (verdict.widened > 0) list.one(outcomes + 10);
  if (verdict.no_bound > 0) list.one(outcomes + 11);
  const uint32_t diagnostics = base_of("diagnostic", kDiagnosticCounters);
  for (const Diagnostic& d : result.run.diagnostics) {
    list.one(diagnostics + 2 * static_cast<size_t>(d.kind) + (d.note ? 1 : 0));
  }
  for (const OutputCounts& output : verdict.outputs) {
    list.one(base_of("output " + output.output, kShareCounters) + share_bucket(output.share));
  }
  for (const Coverage& seen : result.run.coverage) {
    const size_t blocks = seen.blocks.size(), edges = seen.edges.size();
    const size_t accesses = seen.accesses.size() * kAccessBits;
    uint32_t base =
        base_of(seen.program, blocks + edges + accesses + seen.results.size() * kResultBits);
    list.counts(base, seen.blocks);
    list.counts(base += static_cast<uint32_t>(blocks), seen.edges);
    list.bits(base += static_cast<uint32_t>(edges), seen.accesses, kAccessBits);
    list.bits(base += static_cast<uint32_t>(accesses), seen.results, kResultBits);
  }
  return features;
}

void set_counters(const std::vector<Feature>& features, volatile uint8_t* counters) {
  for (const Feature& feature : features) {
    counters[feature.counter % kFeatureCounters] = feature.level;
  }
}

}  // namespace assay
