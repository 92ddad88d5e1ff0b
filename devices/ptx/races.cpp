// The shadow's side of the race checker: what each access is compared with. races_order.cpp has
// what orders threads.
#include "devices/ptx/races.hpp"

#include <algorithm>
#include <bit>

namespace assay::ptx {

namespace {

/// Shadows of global memory: what a launch may add, and what is kept for the next one.
constexpr size_t kMostPageMemory = size_t{256} << 20;
constexpr size_t kKeptPageMemory = size_t{32} << 20;
/// Where the clock starts anew, and where a launch goes unseen from: far below its overflow.
constexpr RaceTime kLateLaunch = RaceTime{1} << 31;
constexpr RaceTime kLast = ~RaceTime{0} - 4096;
constexpr size_t kMostPending = 4096;

bool same_warp(RaceThread a, RaceThread b) { return a >> 5 == b >> 5; }
bool same_block(RaceThread a, RaceThread b) { return a >> kBlockBits == b >> kBlockBits; }

uint64_t pending_key(bool shared, uint64_t address, RaceThread reader) {
  return ((address << 1 | static_cast<uint64_t>(shared)) * 0x9e3779b97f4a7c15ull) ^
         (uint64_t{reader} * 0xbf58476d1ce4e5b9ull);
}

}  // namespace

void Races::begin_launch() {
  if (time_ > kLateLaunch) {
    time_ = 1;
    ++generation_;
    pages_.clear();
    page_memory_ = 0;
  }
  if (page_memory_ > kKeptPageMemory) {
    pages_.clear();
    page_memory_ = 0;
  }
  cache_.fill({});
  launch_ = ++time_;
  linear_.clear();
  released_.clear();
  pending_.clear();
}

void Races::end_launch() {
  for (const auto& [key, race] : pending_) owner_.race_found(race);
  pending_.clear();
}

bool Races::start_block(RaceBlock& block, int64_t linear, int warps, int64_t shared_bytes) {
  if (linear_.size() >= kMostRaceBlocks) return false;
  block.first = static_cast<RaceThread>(linear_.size()) << kBlockBits;
  linear_.push_back(linear);
  block.ordered = ++time_;
  block.known = nullptr;
  block.fenced = nullptr;
  block.arrivals.fill(nullptr);
  // What another block left in the shadow is older than this one, and so is ordered.
  if (block.shared.bytes() != shared_bytes || block.generation != generation_) {
    block.shared.reset(shared_bytes);
    block.generation = generation_;
  }
  block.warps.resize(static_cast<size_t>(warps));
  for (int w = 0; w < warps; ++w) {
    RaceWarp& warp = block.warps[w];
    warp.first = block.first + static_cast<RaceThread>(w) * kRaceLanes;
    warp.ordered = block.ordered;
    if (warp.any_known) warp.known.fill(nullptr);
    warp.any_known = false;
    warp.part.clear();
    warp.fences.clear();
  }
  return true;
}

RaceShadow* Races::page_shadow(uint64_t page, int64_t bytes) {
  auto& [number, shadow] = cache_[page % cache_.size()];
  if (shadow != nullptr && number == page) return shadow;
  auto found = pages_.find(page);
  if (found == pages_.end()) {
    if (page_memory_ > kMostPageMemory) return nullptr;
    found = pages_.try_emplace(page, bytes).first;
    page_memory_ += found->second.memory();
  }
  number = page;
  shadow = &found->second;
  return shadow;
}

bool Races::ordered(const RaceBlock& block, const RaceWarp& warp, int lane,
                    const RaceAccess& a) const {
  if (a.time < launch_) return true;
  if (same_block(a.thread, block.first) && a.time < block.ordered) return true;
  if (same_warp(a.thread, warp.first)) {
    if (a.time < warp.ordered) return true;
    if (!warp.part.empty() && a.time < warp.part[lane][a.thread % kRaceLanes]) return true;
  }
  if (block.known != nullptr && block.known->knows(a.thread, a.time)) return true;
  const ClockPointer& known = warp.known[lane];
  return known != nullptr && known->knows(a.thread, a.time);
}

/// Of many readers it is not known who they were: whatever may have ordered them counts.
bool Races::ordered_many(const RaceBlock& block, const RaceWarp& warp, int lane,
                         const RaceAccess& a) const {
  if (a.time < launch_) return true;
  const RaceAccess::Many many = a.many();
  if (many != RaceAccess::blocks && same_block(a.thread, block.first) && a.time < block.ordered) {
    return true;
  }
  if (many == RaceAccess::warp && same_warp(a.thread, warp.first) &&
      (a.time < warp.ordered || !warp.part.empty())) {
    return true;
  }
  if (block.known != nullptr && a.time < block.known->latest()) return true;
  const ClockPointer& known = warp.known[lane];
  return known != nullptr && a.time < known->latest();
}

void Races::access(RaceBlock& block, int w, const RaceEvent& event, RaceShadow& shadow,
                   uint64_t offset) {
  if (time_ >= kLast) return;
  RaceWarp& warp = block.warps[w];
  shadow.refine(event.bytes);
  const int shift = shadow.shift();
  const RaceTime floor = event.shared ? block.ordered : launch_;
  RaceCell* const cells = shadow.cells();
  const uint64_t size = static_cast<uint64_t>(shadow.bytes());
  const uint64_t bytes = static_cast<uint64_t>(event.bytes);
  for (uint32_t left = event.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t at = event.addresses[lane] - offset;
    if (at >= size) continue;  // out of bounds: the access itself says so
    const uint64_t last = (std::min(at + bytes, size) - 1) >> shift;
    const RaceThread me = warp.first + static_cast<RaceThread>(lane);
    const RaceAccess mine{time_, me, event.what};
    for (uint64_t i = at >> shift; i <= last; ++i) {
      RaceCell& cell = cells[i];
      const bool after_write = cell.write.time < floor || cell.write.thread == me;
      const bool after_read = cell.read.time < floor ||
                              (cell.read.thread == me && cell.read.many() == RaceAccess::one);
      if (event.writes) {
        if (!after_write || !after_read) slow_write(block, warp, event, lane, cell);
        cell.write = mine;
        cell.read.time = 0;
      } else if (after_write && after_read) {
        cell.read = mine;
      } else {
        slow_read(block, warp, event, lane, cell);
      }
    }
  }
}

void Races::slow_read(RaceBlock& block, RaceWarp& warp, const RaceEvent& event, int lane,
                      RaceCell& cell) {
  const RaceThread me = warp.first + static_cast<RaceThread>(lane);
  const RaceAccess mine{time_, me, event.what};
  if (cell.write.thread != me && !ordered(block, warp, lane, cell.write)) {
    conflict(warp, event, lane, cell.write, true, cell);
  }
  RaceAccess& read = cell.read;
  const bool replaced = read.many() == RaceAccess::one
                            ? read.thread == me || ordered(block, warp, lane, read)
                            : ordered_many(block, warp, lane, read);
  if (replaced) {
    read = mine;
    return;
  }
  const RaceAccess::Many now = same_warp(read.thread, me)    ? RaceAccess::warp
                               : same_block(read.thread, me) ? RaceAccess::block
                                                             : RaceAccess::blocks;
  const uint32_t many = std::max<uint32_t>(read.many(), now);
  constexpr uint32_t kManyBits = 3u << RaceAccess::kManyShift;
  // Of a strong and a weak reader the weak one is remembered: it conflicts with more.
  const bool keep = (read.what & RaceAccess::kStrong) == 0 || (mine.what & RaceAccess::kStrong) != 0;
  if (!keep) read.thread = me;
  read.what = ((keep ? read.what : mine.what) & ~kManyBits) | many << RaceAccess::kManyShift;
  read.time = time_;
}

void Races::slow_write(RaceBlock& block, RaceWarp& warp, const RaceEvent& event, int lane,
                       RaceCell& cell) {
  const RaceThread me = warp.first + static_cast<RaceThread>(lane);
  if (cell.write.thread != me && !ordered(block, warp, lane, cell.write)) {
    conflict(warp, event, lane, cell.write, true, cell);
  }
  const RaceAccess& read = cell.read;
  const bool clear = read.many() == RaceAccess::one
                         ? read.thread == me || ordered(block, warp, lane, read)
                         : ordered_many(block, warp, lane, read);
  if (!clear) conflict(warp, event, lane, read, false, cell);
}

/// Two accesses that no order separates: is it a race?
void Races::conflict(const RaceWarp& warp, const RaceEvent& event, int lane,
                     const RaceAccess& earlier, bool earlier_writes, const RaceCell& cell) {
  const RaceThread me = warp.first + static_cast<RaceThread>(lane);
  const uint32_t both = earlier.what & event.what;
  Race race;
  race.earlier = earlier;
  race.earlier_writes = earlier_writes;
  race.thread = me;
  race.what = event.what;
  race.lane = lane;
  race.writes = event.writes;
  race.shared = event.shared;
  race.address = event.addresses[lane];
  race.bytes = event.bytes;
  if ((both & RaceAccess::kStrong) != 0) {
    race.volatiles = (both & RaceAccess::kVolatile) != 0 && same_warp(earlier.thread, me);
    if (race.volatiles) owner_.race_found(race);
    return;
  }
  // Lanes that load a matrix together have all arrived, and have loaded, before one goes on.
  if (!earlier_writes && same_warp(earlier.thread, me) &&
      (earlier.what & RaceAccess::kCollective) != 0) {
    return;
  }
  const bool same_site = (earlier.what & RaceAccess::kSite) == (event.what & RaceAccess::kSite);
  if (earlier_writes && event.writes && same_site) {
    const int other = static_cast<int>(earlier.thread % kRaceLanes);
    const bool together = same_warp(earlier.thread, me) && (event.mask >> other & 1) != 0 &&
                          event.addresses[other] == event.addresses[lane];
    if (together ? owner_.lanes_store_equal(event, other, lane)
                 : owner_.stores_what_is_there(event, lane)) {
      return;
    }
  }
  // A thread that has read the value of an atomic or volatile write, by such a read, comes after it.
  const bool observed = (cell.read.what & RaceAccess::kStrong) != 0 &&
                        cell.read.time >= earlier.time &&
                        (cell.read.thread == me || cell.read.many() != RaceAccess::one);
  if (earlier_writes && (earlier.what & RaceAccess::kStrong) != 0 && observed) return;
  const bool reads_beside_atomic = earlier_writes
                                       ? (earlier.what & RaceAccess::kAtomic) != 0 && !event.writes
                                       : (event.what & RaceAccess::kAtomic) != 0;
  if (reads_beside_atomic) {
    const RaceThread reader = earlier_writes ? me : earlier.thread;
    // Of many readers the one that is remembered may be this thread: the others are not known.
    if (earlier.thread != me && pending_.size() < kMostPending) {
      pending_.try_emplace(pending_key(event.shared, event.addresses[lane], reader), race);
    }
    return;
  }
  owner_.race_found(race);
}

void Races::strong_access(RaceBlock& block, int w, const RaceEvent& event, bool acquires) {
  RaceWarp& warp = block.warps[w];
  const bool atomic = (event.what & RaceAccess::kAtomic) != 0;
  for (uint32_t left = event.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t address = event.addresses[lane];
    if (atomic && !pending_.empty()) {
      const RaceThread me = warp.first + static_cast<RaceThread>(lane);
      pending_.erase(pending_key(event.shared, address, me));
    }
    if (acquires) acquire_from(block, w, lane, event.shared, address);
    if (event.writes) release_by_fence(block, warp, lane, event.shared, address, atomic);
  }
}

}  // namespace assay::ptx
