// What a thread knows to have happened: bounds on the times of others' accesses.
//
// A launch has one clock, which ticks at every event that orders (barriers, fences, arrivals). An
// access carries the time at which it was made. A bound says that every access of some thread, warp
// or block made before it is ordered; a clock is a set of bounds.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace assay::ptx {

/// A thread of a launch: ordinal of its block among those that ran, times 1024, plus its number.
using RaceThread = uint32_t;
using RaceTime = uint32_t;
inline constexpr int kBlockBits = 10;  ///< of the thread's number: a block has at most 1,024
inline constexpr RaceThread kMostRaceBlocks = 1u << (32 - kBlockBits);

class RaceClock {
 public:
  /// Whether an access of `thread` at `time` is ordered.
  bool knows(RaceThread thread, RaceTime time) const;
  /// The greatest bound.
  RaceTime latest() const { return latest_; }

  void add_thread(RaceThread thread, RaceTime bound) { add(0, thread, bound); }
  void add_warp(RaceThread of, RaceTime bound) { add(1, of >> 5, bound); }
  void add_block(RaceThread of, RaceTime bound) { add(2, of >> kBlockBits, bound); }
  /// Bounds of both. `now`: where a clock outgrows its room, all that happened before now counts as
  /// known, so that races are missed rather than invented.
  void join(const RaceClock& other, RaceTime now);

 private:
  void add(uint64_t kind, uint32_t id, RaceTime bound);

  RaceTime all_ = 0;
  RaceTime latest_ = 0;
  std::vector<std::pair<uint64_t, RaceTime>> bounds_;  ///< (kind << 32 | id, bound), sorted
};

/// Null: nothing known.
using ClockPointer = std::shared_ptr<const RaceClock>;
ClockPointer join(const ClockPointer& a, const ClockPointer& b, RaceTime now);

}  // namespace assay::ptx
