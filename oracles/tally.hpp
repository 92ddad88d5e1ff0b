// Counts what a case's judging finds, and remembers where.
#pragma once

#include <string>

#include "oracles/verdict.hpp"

namespace assay {

/// Lines to paste for policies that matter and are missing.
inline constexpr const char* kAskNan = "nan = \"propagate\"  # or \"ignore\", \"exclude\"";
inline constexpr const char* kAskSubnormals = "subnormals = \"maybe\"  # or \"keep\", \"flush\"";
inline constexpr const char* kAskRange = "range = \"naive\"  # or \"safe\"";
inline constexpr const char* kAskEmpty = "empty = \"nan\"  # or \"zero\"";
inline constexpr const char* kAskTie = "tie = \"free\"  # or \"first\", \"last\"";
inline constexpr const char* kAskCast = "cast_overflow = \"wrap\"  # or \"saturate\"";

/// Why one element is wrong where no formula over the output's own dimensions says so.
struct ElementNote {
  std::string rule;      ///< "" when nothing was noted
  std::string accepted;  ///< "one of {1, 2}", "the bits 0x7f: no index names it"
  std::string error;     ///< what is wrong with what was written
};

class Tally {
 public:
  Verdict verdict;

  void ask(const char* line);
  void judged(const Tensor& output, int64_t count);
  /// `share`: the largest part of the allowance that an element of the output used.
  void used(const Tensor& output, double share);
  /// Stored to although it had to keep the bits that it held before the run.
  void disturbed(const Tensor& output, int64_t logical, const char* rule);
  /// `times`: its distance from the exact value as a multiple of what is allowed.
  void wrong(const Tensor& output, int64_t logical, const char* rule, double times);
  void unwritten(const Tensor& output, int64_t logical);
  void undecided(const Tensor& output, int64_t logical);
  /// Nothing is documented of what the element may hold.
  void without_bound(const Tensor& output, int64_t logical);

  /// The one element to take a note of, for an explanation.
  void watch(const Tensor& output, int64_t logical) {
    watched_ = &output;
    watched_element_ = logical;
  }
  bool watched(const Tensor& output, int64_t logical) const {
    return &output == watched_ && logical == watched_element_;
  }
  ElementNote note;

 private:
  OutputCounts& of(const Tensor& output);
  void list(const Tensor& output, int64_t logical);
  void add_wrong(const Tensor& output, int64_t logical, const char* rule, double times);
  const Tensor* watched_ = nullptr;
  int64_t watched_element_ = -1;
};

}  // namespace assay
