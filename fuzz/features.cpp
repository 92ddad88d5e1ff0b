#include "fuzz/features.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace assay {

namespace {

// Layout of the fixed counters.
constexpr size_t kShareFeatures = 64;  // [0, 64): log2 buckets of Verdict::share
constexpr size_t kOutcomeAt = 64;      // [64, 80): outcome, unwritten, weak, widened
constexpr size_t kDiagnosticAt = 96;   // [96, 160): kinds of findings and of notes

/// libFuzzer tells counters apart by these levels (1, 2, 3, 4-7, 8-15, 16-31, 32-127, 128-255).
uint8_t level(uint8_t log2_bucket) {
  static constexpr std::array<uint8_t, 9> kLevels{0, 1, 2, 3, 4, 8, 16, 32, 128};
  return kLevels[std::min<size_t>(log2_bucket, kLevels.size() - 1)];
}

void set(volatile uint8_t* counters, size_t at, uint8_t value) {
  counters[at % kFeatureCounters] = value;
}

/// Which power of two the share lies in, from 2^-30 up; nullopt-like 0 is "exact".
size_t share_bucket(double share) {
  if (!(share > 0)) return 0;
  const double exponent = std::clamp(std::floor(std::log2(share)), -30.0, 30.0);
  return static_cast<size_t>(exponent + 31);
}

}  // namespace

size_t Features::base_of(const std::string& program, size_t features) {
  const auto [at, fresh] = bases_.emplace(program, next_);
  if (fresh) next_ += features;
  return at->second;
}

void Features::collect(const CheckResult& result, volatile uint8_t* counters) {
  const Coverage& coverage = result.run.coverage;
  const size_t blocks = coverage.block_hits.size();
  const size_t base = base_of(result.run.program_digest, blocks + 3 * coverage.mask_states.size());
  for (size_t i = 0; i < blocks; ++i) {
    if (coverage.block_hits[i]) set(counters, base + i, level(coverage.block_hits[i]));
  }
  for (size_t i = 0; i < coverage.mask_states.size(); ++i) {
    for (size_t bit = 0; bit < 3; ++bit) {
      if (coverage.mask_states[i] >> bit & 1) set(counters, base + blocks + 3 * i + bit, 1);
    }
  }
  const Verdict& verdict = result.verdict;
  set(counters, std::min(share_bucket(verdict.share), kShareFeatures - 1), 1);
  set(counters, kOutcomeAt + static_cast<size_t>(result.outcome), 1);
  if (verdict.unwritten > 0) set(counters, kOutcomeAt + 8, 1);
  if (verdict.weak > 0) set(counters, kOutcomeAt + 9, 1);
  if (verdict.widened > 0) set(counters, kOutcomeAt + 10, 1);
  if (verdict.no_bound > 0) set(counters, kOutcomeAt + 11, 1);
  for (const Diagnostic& d : result.run.diagnostics) {
    set(counters, kDiagnosticAt + 2 * static_cast<size_t>(d.kind) + (d.note ? 1 : 0), 1);
  }
}

}  // namespace assay
