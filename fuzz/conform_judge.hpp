// Whether a GPU's answer agrees with the emulator's: the same bits, both within the documented
// bound of an approximate instruction, or a difference that is known and has a reason.
#pragma once

#include <string>
#include <vector>

#include "fuzz/conform_kernels.hpp"

namespace assay {

/// One result of a lane: a packed pair is two of these.
struct ConformElement {
  const ptx::Instruction* instruction = nullptr;
  ptx::Type type{};                     ///< of the result; f16 for a half of f16x2
  std::vector<ptx::Type> source_types;  ///< likewise
  std::vector<uint64_t> sources;
  uint64_t emulator = 0;
  uint64_t hardware = 0;
};

/// A known difference. The rows are data with reasons: a new one needs hardware that shows it.
struct ConformDeviation {
  const char* name;
  const char* reason;
  bool (*admits)(const ConformElement&);
};
const std::vector<ConformDeviation>& conform_deviations();
/// The row of NaNs that differ in their payload.
inline constexpr size_t kNanPayload = 0;

/// Error of a result as a share of what the PTX ISA allows the instruction (section 9.7.3 and
/// 9.7.4, each instruction's page); 0 where it promises nothing, infinite for a wrong special and
/// for an error where the emulator and the judge take the result as exact (x / 1, 2^n).
/// Negative: the instruction is not approximate.
double share_of_bound(const ConformElement& element, uint64_t result);

struct ConformTally {
  int64_t tuples = 0, equal = 0, within = 0, different = 0;
  std::vector<int64_t> documented;                ///< by row of conform_deviations()
  double emulator_share = 0, hardware_share = 0;  ///< approximate ones: the largest
  std::vector<std::string> examples;              ///< of differences, the first few
  std::vector<std::string> documented_examples;   ///< by row, the first

  ConformTally();
  int64_t documented_total() const;
  /// Counts as a difference: one of the machines did not run it.
  void fail(const std::string& why);
};

/// Compares all answers to the tuples.
ConformTally judge_conform(const ConformKernel& kernel, const std::vector<ConformTuple>& tuples,
                           const std::vector<ConformAnswer>& emulator,
                           const std::vector<ConformAnswer>& hardware);

}  // namespace assay
