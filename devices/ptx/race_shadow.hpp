// Who wrote and read a few bytes of memory last: the shadow that the race checker keeps of shared
// memory and of the pages of global memory that kernels may write.
#pragma once

#include <cstddef>
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

  static constexpr uint32_t kSite = (1u << 25) - 1;
  static constexpr uint32_t kBlockScope = 1u << 25;  ///< strong, for threads of the block only
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
  RaceThread other_reader = 0;  ///< of many: one that is as far from `read` as `many` says
  uint64_t address = 0;         ///< of its first byte that is accessed now
};

/// Cells of a stretch of memory, a column for each of their parts, so that a warp's access to a row
/// of them is a loop over numbers. They span four bytes until a smaller access is seen.
class RaceShadow {
 public:
  enum Column {
    write_time,
    write_thread,
    write_what,
    read_time,
    read_thread,
    read_what,
    other_reader,
    columns
  };

  explicit RaceShadow(int64_t bytes = 0) { reset(bytes); }
  void reset(int64_t bytes) {
    shift_ = 2;
    bytes_ = bytes;
    count_ = static_cast<size_t>((bytes + 3) >> 2);
    parts_.assign(columns * count_, 0);
  }
  int64_t bytes() const { return bytes_; }
  int shift() const { return shift_; }
  uint32_t* column(Column which) { return parts_.data() + which * count_; }
  size_t memory() const { return parts_.size() * sizeof(uint32_t); }

  RaceCell cell(size_t i, uint64_t address) const {
    const auto part = [&](Column which) { return parts_[which * count_ + i]; };
    return {{part(write_time), part(write_thread), part(write_what)},
            {part(read_time), part(read_thread), part(read_what)},
            part(other_reader),
            address};
  }
  void set_write(size_t i, const RaceAccess& a) { set(i, write_time, a); }
  void set_read(size_t i, const RaceAccess& a) { set(i, read_time, a); }
  void set_readers(size_t i, const RaceCell& cell) {
    set(i, read_time, cell.read);
    parts_[other_reader * count_ + i] = cell.other_reader;
  }

  /// Makes cells small enough for accesses of `bytes`.
  void refine(int bytes) {
    const int wanted = bytes >= 4 ? 2 : bytes >= 2 ? 1 : 0;
    if (wanted >= shift_) return;
    const int by = shift_ - wanted;
    std::vector<uint32_t> finer(parts_.size() << by);
    for (size_t i = 0; i < finer.size(); ++i) finer[i] = parts_[i >> by];
    parts_ = std::move(finer);
    count_ <<= by;
    shift_ = wanted;
  }

 private:
  void set(size_t i, Column first, const RaceAccess& a) {
    parts_[first * count_ + i] = a.time;
    parts_[(first + 1) * count_ + i] = a.thread;
    parts_[(first + 2) * count_ + i] = a.what;
  }

  int shift_ = 2;
  int64_t bytes_ = 0;
  size_t count_ = 0;
  std::vector<uint32_t> parts_;  ///< column after column
};

}  // namespace assay::ptx
