// Walks a buffer's storage as runs: neighbouring elements, or padding.
#pragma once

#include <array>
#include <cstdint>

#include "generators/instance.hpp"

namespace assay {

/// A run of storage positions that are all padding, or elements logical, logical + logical_step,
/// ...
struct StorageRun {
  bool padding = true;
  int64_t length = 0;
  int64_t logical = 0;
  int64_t logical_step = 1;
};

/// The layout of a tensor, prepared for look-ups. Dimensions of stride 0 stand at coordinate 0.
class StorageMap {
 public:
  static constexpr int kMostDims = 8;
  static constexpr int64_t kEndless = int64_t{1} << 62;

  explicit StorageMap(const Tensor& tensor);
  /// The run that starts at storage position `position` (elements from the buffer's start).
  StorageRun run_at(int64_t position) const;

 private:
  struct Level {
    int64_t stride;
    int64_t extent;
    int64_t logical_step;
    int64_t span;  ///< of this level and all smaller ones, in elements
  };
  std::array<Level, kMostDims> levels_{};
  int count_ = 0;
  int64_t offset_ = 0;
  bool empty_ = false;
};

}  // namespace assay
