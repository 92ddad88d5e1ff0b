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

/// Whether several readers, remembered by `what` and one `thread`, include the weak reader `mine`.
bool among(uint32_t what, RaceThread thread, const RaceAccess& mine) {
  const uint32_t many = what >> RaceAccess::kManyShift;
  const uint32_t apart = thread ^ mine.thread;
  const uint32_t needed = apart >> 5 == 0            ? RaceAccess::warp
                          : apart >> kBlockBits == 0 ? RaceAccess::block
                                                     : RaceAccess::blocks;
  return many >= needed && (what & RaceAccess::kStrong) == 0;
}

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

std::optional<RaceAccess> Races::stored_in_launch(RaceShadow& shadow, int64_t offset,
                                                  int bytes) const {
  shadow.refine(bytes);
  const auto last = static_cast<size_t>(offset + bytes - 1) >> shadow.shift();
  for (size_t i = static_cast<size_t>(offset) >> shadow.shift(); i <= last; ++i) {
    const RaceCell cell = shadow.cell(i, 0);
    if (cell.write.time >= launch_) return cell.write;
  }
  return std::nullopt;
}

/// Accesses before it are ordered for all threads that may come upon them. In shared memory those
/// are the block's own: what is older there may be of a block that had the room before.
RaceTime Races::floor_of(const RaceBlock& block, const RaceEvent& event) const {
  return event.shared ? block.ordered : launch_;
}

bool Races::ordered(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event, int lane,
                    const RaceAccess& a) const {
  if (a.time < floor_of(block, event)) return true;
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
bool Races::ordered_many(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event,
                         int lane, const RaceAccess& a) const {
  if (a.time < floor_of(block, event)) return true;
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
  const bool strong = (event.what & RaceAccess::kStrong) != 0;
  if (event.run.count != 0 && !strong) {
    const uint64_t at = event.addresses[event.run.first] - offset;
    const bool done = event.period == 0
                          ? wide_access(block, warp, event, shadow, at)
                          : !event.writes && repeated_read(block, warp, event, shadow, at);
    if (done) return;
  }
  const int shift = shadow.shift();
  const RaceTime floor = floor_of(block, event);
  const uint64_t size = static_cast<uint64_t>(shadow.bytes());
  const uint64_t bytes = static_cast<uint64_t>(event.bytes);
  const RaceTime* const write_times = shadow.column(RaceShadow::write_time);
  const RaceThread* const writers = shadow.column(RaceShadow::write_thread);
  const uint32_t* const write_whats = shadow.column(RaceShadow::write_what);
  RaceTime* const read_times = shadow.column(RaceShadow::read_time);
  const RaceThread* const readers = shadow.column(RaceShadow::read_thread);
  const uint32_t* const read_whats = shadow.column(RaceShadow::read_what);
  const auto address_of = [&](uint64_t i, int lane) {
    return std::max(event.addresses[lane], offset + (i << shift));
  };
  int in_turn = 0;  // lanes, one behind the other, that add nothing to what is known
  for (uint32_t left = event.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t at = event.addresses[lane] - offset;
    if (at >= size) continue;  // out of bounds: the access itself says so
    const uint64_t last = (std::min(at + bytes, size) - 1) >> shift;
    const RaceThread me = warp.first + static_cast<RaceThread>(lane);
    const RaceAccess mine{time_, me, event.what};
    bool among_all = !event.writes;  // of each cell it is known that lanes of this warp read it
    for (uint64_t i = at >> shift; i <= last; ++i) {
      const bool after_write = write_times[i] < floor || writers[i] == me;
      // Of a thread that reads again, or of several since nothing ordered them, all is known.
      const bool after_read = read_times[i] < floor ||
                              (readers[i] == me && read_whats[i] >> RaceAccess::kManyShift == 0);
      const bool known = after_write && !after_read && read_times[i] == time_ &&
                         among(read_whats[i], readers[i], mine);
      among_all &= known && write_times[i] < floor;
      if (event.writes) {
        if (!after_write || !after_read) {
          slow_write(block, warp, event, lane, shadow.cell(i, address_of(i, lane)));
        }
        // A plain store of the block stays in sight behind its atomics: for other blocks it is as
        // unordered as before.
        const bool stays = strong && !event.shared && write_times[i] >= launch_ &&
                           same_block(writers[i], me) &&
                           (write_whats[i] & RaceAccess::kStrong) == 0;
        if (!stays) shadow.set_write(i, mine);
        read_times[i] = 0;
      } else if (after_write && after_read) {
        shadow.set_read(i, mine);
      } else if (!known) {
        RaceCell cell = shadow.cell(i, address_of(i, lane));
        slow_read(block, warp, event, lane, cell);
        shadow.set_readers(i, cell);
      }
    }
    // What is known of these lanes' reads is known of the same reads by the lanes behind them.
    in_turn = among_all ? in_turn + 1 : 0;
    if (in_turn != 0 && in_turn == event.period) return;
  }
}

/// Lanes side by side. False: not known to be in order, and nothing was recorded.
bool Races::wide_access(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event,
                        RaceShadow& shadow, uint64_t at) {
  const int shift = shadow.shift();
  const uint64_t bytes = static_cast<uint64_t>(event.bytes);
  const uint64_t cells = bytes >> shift;
  if (!std::has_single_bit(cells) || (at & ((uint64_t{1} << shift) - 1)) != 0) return false;
  const int lanes = event.run.count;
  if (at + bytes * static_cast<uint64_t>(lanes) > static_cast<uint64_t>(shadow.bytes()))
    return false;
  const RaceFloors floors{floor_of(block, event), block.ordered, warp.ordered};
  const auto record = event.writes ? rows_.write : rows_.read;
  const RaceThread first = warp.first + static_cast<RaceThread>(event.run.first);
  return record(shadow, at >> shift, std::countr_zero(cells), lanes, floors,
                {time_, first, event.what});
}

/// Reads of a few places side by side, each by several lanes, in memory that nothing was written to
/// since it was last ordered. Records what one lane after the other would: the first reader of each
/// place, the second as the other one, and that lanes of a warp read it. False: nothing was
/// recorded.
bool Races::repeated_read(const RaceBlock& block, const RaceWarp& warp, const RaceEvent& event,
                          RaceShadow& shadow, uint64_t at) {
  const int shift = shadow.shift();
  const uint64_t bytes = static_cast<uint64_t>(event.bytes);
  const uint64_t cells = bytes >> shift;
  if (cells == 0 || (at & ((uint64_t{1} << shift) - 1)) != 0) return false;
  const uint64_t places = static_cast<uint64_t>(event.period);
  if (at + bytes * places > static_cast<uint64_t>(shadow.bytes())) return false;
  if (event.run.count < 2 * event.period) return false;
  const RaceTime floor = floor_of(block, event);
  const RaceThread first = warp.first + static_cast<RaceThread>(event.run.first);
  const RaceAccess mine{time_, first, event.what};
  const size_t begin = at >> shift, end = begin + cells * places;
  const RaceTime* const write_times = shadow.column(RaceShadow::write_time);
  const RaceTime* const read_times = shadow.column(RaceShadow::read_time);
  const RaceThread* const readers = shadow.column(RaceShadow::read_thread);
  const uint32_t* const read_whats = shadow.column(RaceShadow::read_what);
  for (size_t i = begin; i < end; ++i) {
    const bool known = read_times[i] == time_ && among(read_whats[i], readers[i], mine);
    if (write_times[i] >= floor || (read_times[i] >= floor && !known)) return false;
  }
  RaceCell cell;
  cell.read = mine;
  cell.read.what |= uint32_t{RaceAccess::warp} << RaceAccess::kManyShift;
  for (size_t i = begin; i < end; ++i) {
    if (read_times[i] >= floor) continue;
    cell.read.thread = first + static_cast<RaceThread>((i - begin) / cells);
    cell.other_reader = cell.read.thread + static_cast<RaceThread>(places);
    shadow.set_readers(i, cell);
  }
  return true;
}

void Races::slow_read(RaceBlock& block, RaceWarp& warp, const RaceEvent& event, int lane,
                      RaceCell& cell) {
  const RaceThread me = warp.first + static_cast<RaceThread>(lane);
  const RaceAccess mine{time_, me, event.what};
  if (cell.write.thread != me && !ordered(block, warp, event, lane, cell.write)) {
    conflict(warp, event, lane, cell.write, true, cell);
  }
  RaceAccess& read = cell.read;
  const bool replaced = read.many() == RaceAccess::one
                            ? read.thread == me || ordered(block, warp, event, lane, read)
                            : ordered_many(block, warp, event, lane, read);
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
  const bool keep =
      (read.what & RaceAccess::kStrong) == 0 || (mine.what & RaceAccess::kStrong) != 0;
  if (now > read.many()) cell.other_reader = keep ? me : read.thread;
  if (!keep) read.thread = me;
  read.what = ((keep ? read.what : mine.what) & ~kManyBits) | many << RaceAccess::kManyShift;
  read.time = time_;
}

void Races::slow_write(RaceBlock& block, RaceWarp& warp, const RaceEvent& event, int lane,
                       const RaceCell& cell) {
  const RaceThread me = warp.first + static_cast<RaceThread>(lane);
  if (cell.write.thread != me && !ordered(block, warp, event, lane, cell.write)) {
    conflict(warp, event, lane, cell.write, true, cell);
  }
  const RaceAccess& read = cell.read;
  const bool clear = read.many() == RaceAccess::one
                         ? read.thread == me || ordered(block, warp, event, lane, read)
                         : ordered_many(block, warp, event, lane, read);
  if (!clear) conflict(warp, event, lane, read, false, cell);
}

/// Two accesses that no order separates: is it a race?
void Races::conflict(const RaceWarp& warp, const RaceEvent& event, int lane,
                     const RaceAccess& earlier, bool earlier_writes, const RaceCell& cell) {
  const RaceThread me = warp.first + static_cast<RaceThread>(lane);
  const uint32_t both = earlier.what & event.what;
  Race race;
  race.earlier = earlier;
  // Of many readers the one that is remembered may be this thread, or be ordered before it.
  const RaceAccess::Many many = earlier_writes ? RaceAccess::one : earlier.many();
  const bool names_other = (many == RaceAccess::warp && earlier.thread == me) ||
                           (many == RaceAccess::block && same_warp(earlier.thread, me)) ||
                           (many == RaceAccess::blocks && same_block(earlier.thread, me));
  if (names_other) race.earlier.thread = cell.other_reader;
  race.earlier_writes = earlier_writes;
  race.thread = me;
  race.what = event.what;
  race.lane = lane;
  race.writes = event.writes;
  race.shared = event.shared;
  race.address = cell.address;
  race.bytes = static_cast<int>(event.bytes - (cell.address - event.addresses[lane]));
  const bool in_scope =
      same_block(race.earlier.thread, me) ||
      ((earlier.what | event.what) & RaceAccess::kBlockScope) == 0;
  if ((both & RaceAccess::kStrong) != 0 && in_scope) {
    race.volatiles = (both & RaceAccess::kVolatile) != 0 && same_warp(earlier.thread, me);
    if (!race.volatiles) return;
    owner_.add_values(race, event);
    owner_.race_found(race);
    return;
  }
  // Lanes that load a matrix together have all arrived, and have loaded, before one goes on.
  if (!earlier_writes && same_warp(earlier.thread, me) &&
      (earlier.what & RaceAccess::kCollective) != 0) {
    return;
  }
  if (earlier_writes && event.writes && earlier.thread >> kBlockBits != me >> kBlockBits) {
    owner_.stored_by_two_blocks(event, lane);
  }
  const uint32_t earlier_site = earlier.what & RaceAccess::kSite;
  const uint32_t site = event.what & RaceAccess::kSite;
  if (earlier_writes && event.writes &&
      (earlier_site == site || owner_.same_line(earlier_site, site))) {
    const int other = static_cast<int>(earlier.thread % kRaceLanes);
    const bool together = earlier_site == site && same_warp(earlier.thread, me) &&
                          (event.mask >> other & 1) != 0 &&
                          event.addresses[other] == event.addresses[lane];
    if (together ? owner_.lanes_store_equal(event, other, lane)
                 : owner_.stores_what_is_there(event, lane)) {
      return;
    }
  }
  // A thread that has read the value of an atomic or volatile write, by such a read, comes after
  // it.
  const bool observed = (cell.read.what & RaceAccess::kStrong) != 0 &&
                        cell.read.time >= earlier.time &&
                        (cell.read.thread == me || cell.read.many() != RaceAccess::one);
  if (earlier_writes && (earlier.what & RaceAccess::kStrong) != 0 && observed) return;
  const bool reads_beside_atomic = earlier_writes
                                       ? (earlier.what & RaceAccess::kAtomic) != 0 && !event.writes
                                       : (event.what & RaceAccess::kAtomic) != 0;
  if (reads_beside_atomic) {
    const RaceThread reader = earlier_writes ? me : race.earlier.thread;
    if (pending_.size() < kMostPending) {
      owner_.add_values(race, event);
      pending_.try_emplace(pending_key(event.shared, event.addresses[lane], reader), race);
    }
    return;
  }
  owner_.add_values(race, event);
  owner_.race_found(race);
}

void Races::strong_access(RaceBlock& block, int w, const RaceEvent& event, bool acquires) {
  RaceWarp& warp = block.warps[w];
  for (uint32_t left = event.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const uint64_t address = event.addresses[lane];
    if (acquires) acquire_from(block, w, lane, event.shared, address);
    if (event.writes) release_by_fence(block, warp, lane, event);
  }
}

void Races::goes_on_to_atomic(const RaceBlock& block, int w, const RaceEvent& event) {
  if (pending_.empty()) return;
  for (uint32_t left = event.mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const RaceThread me = block.warps[w].first + static_cast<RaceThread>(lane);
    pending_.erase(pending_key(event.shared, event.addresses[lane], me));
  }
}

}  // namespace assay::ptx
