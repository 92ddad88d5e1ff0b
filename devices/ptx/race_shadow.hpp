// Who wrote and read a few bytes of memory last: the shadow that the race checker keeps of shared
// memory and of the pages of global memory that kernels may write.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "devices/ptx/race_clock.hpp"

namespace assay::ptx {

/// One or several accesses: time 0, none.
struct RaceAccess {
  /// Readers that are not ordered among themselves: of one warp, of one block, of several.
  enum Many : uint32_t { one = 0, warp = 1, block = 2, blocks = 3 };

  RaceTime time = 0;      ///< of many: the latest
  RaceThread thread = 0;  ///< of many: one that is not the last
  uint32_t what = 0;      ///< site and the bits below

  static constexpr uint32_t kSite = (1u << 26) - 1;
  static constexpr uint32_t kStrong = 1u << 26;      ///< atomic, volatile or ordered
  static constexpr uint32_t kAtomic = 1u << 27;      ///< a read-modify-write
  static constexpr uint32_t kVolatile = 1u << 28;
  static constexpr uint32_t kCollective = 1u << 29;  ///< by all lanes of the warp together
  static constexpr int kManyShift = 30;

  Many many() const { return static_cast<Many>(what >> kManyShift); }
};

struct RaceCell {
  RaceAccess write;
  RaceAccess read;
};

/// Cells of a stretch of memory. They span four bytes until a smaller access is seen.
class RaceShadow {
 public:
  explicit RaceShadow(int64_t bytes = 0) { reset(bytes); }
  void reset(int64_t bytes) {
    shift_ = 2;
    bytes_ = bytes;
    cells_.assign(static_cast<size_t>((bytes + 3) >> 2), {});
  }
  int64_t bytes() const { return bytes_; }
  int shift() const { return shift_; }
  RaceCell* cells() { return cells_.data(); }
  size_t memory() const { return cells_.size() * sizeof(RaceCell); }

  /// Makes cells small enough for accesses of `bytes`.
  void refine(int bytes) {
    const int wanted = bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
    if (wanted >= shift_) return;
    const int by = shift_ - wanted;
    std::vector<RaceCell> finer(cells_.size() << by);
    for (size_t i = 0; i < finer.size(); ++i) finer[i] = cells_[i >> by];
    cells_ = std::move(finer);
    shift_ = wanted;
  }

 private:
  int shift_ = 2;
  int64_t bytes_ = 0;
  std::vector<RaceCell> cells_;
};

}  // namespace assay::ptx
