// The race checker: two accesses to one byte, at least one of them a store, by threads that nothing
// orders. Order is that of PTX's memory model as far as kernels can rely on it: block barriers,
// bar.warp.sync, mbarriers, and release to acquire (a fence, cumulative over barriers, before an
// atomic or volatile write that an atomic or volatile read observes). Shuffles, votes and volatile
// accesses alone order nothing.
//
// It sees one run, yet its answer does not depend on how that run was interleaved, for it compares
// clocks, not moments. It may miss a race (a cell remembers the last writer and one or "many"
// readers; clocks that outgrow their room know everything), and is built not to invent one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/ptx/lanes.hpp"
#include "devices/ptx/race_clock.hpp"
#include "devices/ptx/race_rows.hpp"
#include "devices/ptx/race_shadow.hpp"

namespace assay::ptx {

inline constexpr int kRaceLanes = 32;

/// Which threads a fence speaks to.
enum class FenceScope : uint8_t { block, device };

/// What a lane knew at its last fence.
struct RaceFence {
  RaceTime own = 0, warp = 0, block = 0;  ///< bounds on its own accesses, its warp's, its block's
  ClockPointer known;
};

struct RaceWarp {
  RaceThread first = 0;      ///< the thread of lane 0
  RaceTime ordered = 0;      ///< all lanes' accesses before it are ordered for all lanes
  bool any_known = false;    ///< some lane has acquired something since the last block barrier
  std::array<ClockPointer, kRaceLanes> known;
  /// Bounds [reader][other] that bar.warp.sync of a part of the warp set; empty: none did.
  std::vector<std::array<RaceTime, kRaceLanes>> part;
  std::vector<std::array<RaceFence, 2>> fences;  ///< by lane, by FenceScope; empty: no fence yet
};

/// The checker's state of a resident block.
struct RaceBlock {
  RaceThread first = 0;  ///< its ordinal << kBlockBits
  RaceTime ordered = 0;  ///< what its threads did before is ordered for all of them
  ClockPointer known;    ///< what all its threads know of others
  ClockPointer fenced;   ///< what threads fenced before a block barrier: any thread passes it on
  std::vector<RaceWarp> warps;
  std::array<ClockPointer, 16> arrivals;  ///< at each barrier, by bar.arrive
  uint32_t generation = 0;                ///< of the clock that the shadow was made with
  RaceShadow shared;
};

/// An access of some lanes of a warp, as the checker wants it.
struct RaceEvent {
  const uint64_t* addresses = nullptr;  ///< by lane; shared memory: from the block's first byte
  uint32_t mask = 0;
  int bytes = 0;
  bool shared = false;
  bool reads = false, writes = false;
  LaneRun run;           ///< of lanes without gaps: those that access; count 0: of others
  int period = 0;  ///< so many lanes of `run` lie side by side, the others repeat them; 0: all do
  uint32_t what = 0;  ///< RaceAccess::what: site and bits
};

/// Two accesses that nothing orders.
struct Race {
  RaceAccess earlier;
  bool earlier_writes = false;
  RaceThread thread = 0;  ///< of the later access
  uint32_t what = 0;
  int lane = 0;
  bool writes = false;
  bool shared = false;
  uint64_t address = 0;  ///< of the first byte that both access
  int bytes = 0;         ///< of the later access from there on
  /// What the earlier access loaded or stored there, what the later one did; empty: not known.
  std::string earlier_value, value;
  bool volatiles = false;  ///< both volatile, in one warp: what older code relies on
};

/// What the checker asks of its owner.
class RaceOwner {
 public:
  virtual ~RaceOwner() = default;
  virtual void race_found(const Race& race) = 0;
  /// Sets both values of a race of the current access.
  virtual void add_values(Race& race, const RaceEvent& event) = 0;
  /// Whether the lane of the current store writes the bytes that are there.
  virtual bool stores_what_is_there(const RaceEvent& event, int lane) = 0;
  /// Whether two sites come from one line of the source, as copies of an unrolled loop do.
  virtual bool same_line(uint32_t site, uint32_t other) = 0;
  /// Two blocks have stored to the element of the lane, in no order.
  virtual void stored_by_two_blocks(const RaceEvent& event, int lane) = 0;
  /// Whether both lanes of the current store write the same bytes to one address.
  virtual bool lanes_store_equal(const RaceEvent& event, int a, int b) = 0;
};

class Races {
 public:
  explicit Races(RaceOwner& owner, bool avx2) : owner_(owner), rows_(race_rows(avx2)) {}

  void begin_launch();
  /// Reports what had to wait until the end.
  void end_launch();
  /// A block begins; false: more blocks than the checker numbers, this one goes unseen.
  bool start_block(RaceBlock& block, int64_t linear, int warps, int64_t shared_bytes);
  int64_t linear_block(RaceThread thread) const { return linear_[thread >> kBlockBits]; }

  /// `page` names the page of a global access; null shadow: no room left.
  RaceShadow* page_shadow(uint64_t page, int64_t bytes);
  /// The last store of this launch to any of the bytes at an offset in `shadow`.
  std::optional<RaceAccess> stored_in_launch(RaceShadow& shadow, int64_t offset, int bytes) const;
  /// `offset`: what addresses are less, in `shadow`.
  void access(RaceBlock& block, int warp, const RaceEvent& event, RaceShadow& shadow,
              uint64_t offset);
  /// The part of an atomic, volatile or ordered access that passes on what is known.
  void strong_access(RaceBlock& block, int warp, const RaceEvent& event, bool acquires);
  /// After an atomic was checked: what its lanes read there before is no race.
  void goes_on_to_atomic(const RaceBlock& block, int warp, const RaceEvent& event);

  // ---- what orders ----
  void barrier(RaceBlock& block);
  /// A barrier of a part of the block: masks of the lanes that wait, by warp.
  void partial_barrier(RaceBlock& block, int number, const std::vector<uint32_t>& masks);
  void arrive(RaceBlock& block, int warp, uint32_t mask, int number);
  void sync_warp(RaceBlock& block, int warp, uint32_t mask, bool whole);
  void fence(RaceBlock& block, int warp, uint32_t mask, FenceScope scope);
  /// What the lane did is released to, or acquired from, an object at an address.
  void release_to(RaceBlock& block, int warp, int lane, bool shared, uint64_t address);
  void acquire_from(RaceBlock& block, int warp, int lane, bool shared, uint64_t address);

 private:
  /// What was released by writes to one address.
  struct Released {
    ClockPointer to_device;
    ClockPointer to_block;     ///< by fences or writes of the scope of a block,
    RaceThread block_first = 0;  ///< of this block
  };
  RaceTime floor_of(const RaceBlock& block, const RaceEvent& event) const;
  bool ordered(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event, int lane,
               const RaceAccess& a) const;
  bool ordered_many(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event, int lane,
                    const RaceAccess& a) const;
  bool wide_access(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event,
                   RaceShadow& shadow, uint64_t at);
  bool repeated_read(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event,
                     RaceShadow& shadow, uint64_t at);
  void slow_read(RaceBlock& block, RaceWarp& warp, const RaceEvent& event, int lane,
                 RaceCell& cell);
  void slow_write(RaceBlock& block, RaceWarp& warp, const RaceEvent& event, int lane,
                  const RaceCell& cell);
  void conflict(const RaceWarp& warp, const RaceEvent& event, int lane, const RaceAccess& earlier,
                bool earlier_writes, const RaceCell& cell);
  void pass_fences(RaceBlock& block);
  void acquire(RaceWarp& warp, int lane, const ClockPointer& clock);
  void release_by_fence(RaceBlock& block, RaceWarp& warp, int lane, const RaceEvent& event);
  ClockPointer knowledge(const RaceBlock& block, const RaceWarp& warp, int lane,
                         const RaceFence& at) const;
  RaceFence here(const RaceBlock& block, const RaceWarp& warp, int lane) const;
  ClockPointer all_of(const RaceWarp& warp, uint32_t mask, RaceTime bound,
                      ClockPointer clock) const;

  RaceOwner& owner_;
  const RaceRows& rows_;
  RaceTime time_ = 1;
  RaceTime launch_ = 1;  ///< accesses before it belong to earlier launches
  uint32_t generation_ = 0;  ///< of the clock: it starts anew before it overflows
  std::vector<int64_t> linear_;
  std::unordered_map<uint64_t, Released> released_;
  /// Plain reads beside an atomic, by reader and place: no race when the same thread goes on to an
  /// atomic there, for a loop around compare-and-swap begins so.
  std::unordered_map<uint64_t, Race> pending_;
  std::unordered_map<uint64_t, RaceShadow> pages_;
  size_t page_memory_ = 0;
  std::array<std::pair<uint64_t, RaceShadow*>, 64> cache_{};
};

}  // namespace assay::ptx
