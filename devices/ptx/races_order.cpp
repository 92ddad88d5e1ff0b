// What orders threads, for the race checker: barriers, fences with what they release, and acquires.
#include <algorithm>
#include <bit>

#include "devices/ptx/lanes.hpp"
#include "devices/ptx/races.hpp"

namespace assay::ptx {

namespace {

uint64_t key_of(const RaceBlock& block, bool shared, uint64_t address) {
  if (!shared) return address;
  return uint64_t{1} << 63 | uint64_t{block.first} << 30 | address;
}

}  // namespace

// ---- barriers ----

/// A store, a fence by its thread, a block barrier, then another thread's atomic: CUDA code relies
/// on the atomic to pass the store on.
void Races::pass_fences(RaceBlock& block) {
  for (const RaceWarp& warp : block.warps) {
    RaceClock clock;
    uint32_t fenced = 0;
    RaceTime least = ~RaceTime{0};
    for (int lane = 0; lane < static_cast<int>(warp.fences.size()); ++lane) {
      const RaceFence& fence = warp.fences[lane][static_cast<size_t>(FenceScope::device)];
      if (fence.own <= block.ordered) continue;
      fenced |= 1u << lane;
      least = std::min(least, fence.own);
      clock.add_thread(warp.first + static_cast<RaceThread>(lane), fence.own);
      if (fence.known != nullptr) block.fenced = join(block.fenced, fence.known, time_);
    }
    if (fenced == 0) continue;
    if (fenced == ~0u) {
      clock = {};
      clock.add_warp(warp.first, least);
    }
    clock.add_block(block.first, block.ordered);
    block.fenced = join(block.fenced, std::make_shared<const RaceClock>(std::move(clock)), time_);
  }
}

void Races::barrier(RaceBlock& block) {
  pass_fences(block);
  block.ordered = ++time_;
  const RaceClock* last = nullptr;
  for (RaceWarp& warp : block.warps) {
    warp.ordered = block.ordered;
    warp.part.clear();
    if (!warp.any_known) continue;
    for (ClockPointer& known : warp.known) {
      if (known != nullptr && known.get() != last) block.known = join(block.known, known, time_);
      last = known.get();
    }
  }
  for (RaceWarp& warp : block.warps) {
    if (!warp.any_known) continue;
    warp.known.fill(nullptr);
    warp.any_known = false;
  }
}

/// `clock`, and all that lanes of the warp did before `bound` or have acquired.
ClockPointer Races::all_of(const RaceWarp& warp, uint32_t mask,
                           RaceTime bound, ClockPointer clock) const {
  RaceClock own;
  if (mask == ~0u) {
    own.add_warp(warp.first, bound);
  } else {
    for_lanes(mask, [&](int lane) {
      own.add_thread(warp.first + static_cast<RaceThread>(lane), bound);
    });
  }
  if (warp.ordered > 0) own.add_warp(warp.first, mask == ~0u ? bound : warp.ordered);
  clock = join(clock, std::make_shared<const RaceClock>(std::move(own)), time_);
  const RaceClock* last = nullptr;
  for_lanes(warp.any_known ? mask : 0, [&](int lane) {
    const ClockPointer& known = warp.known[lane];
    if (known != nullptr && known.get() != last) clock = join(clock, known, time_);
    last = known.get();
  });
  return clock;
}

void Races::partial_barrier(RaceBlock& block, int number, const std::vector<uint32_t>& masks) {
  const RaceTime bound = ++time_;
  ClockPointer clock = block.arrivals[number];
  block.arrivals[number] = nullptr;
  for (size_t w = 0; w < masks.size(); ++w) {
    if (masks[w] != 0) clock = all_of(block.warps[w], masks[w], bound, clock);
  }
  if (clock == nullptr) return;
  for (size_t w = 0; w < masks.size(); ++w) {
    RaceWarp& warp = block.warps[w];
    for_lanes(masks[w], [&](int lane) { warp.known[lane] = clock; });
    if (masks[w] != 0) warp.any_known = true;
    if (masks[w] == ~0u) warp.ordered = bound;
  }
}

void Races::arrive(RaceBlock& block, int w, uint32_t mask, int number) {
  const RaceTime bound = ++time_;
  block.arrivals[number] = all_of(block.warps[w], mask, bound, block.arrivals[number]);
}

void Races::sync_warp(RaceBlock& block, int w, uint32_t mask, bool whole) {
  RaceWarp& warp = block.warps[w];
  const RaceTime bound = ++time_;
  if (whole) {
    warp.ordered = bound;
    warp.part.clear();
  } else {
    if (warp.part.empty()) warp.part.resize(kRaceLanes);
    std::array<RaceTime, kRaceLanes> joined{};
    for_lanes(mask, [&](int lane) {
      for (int other = 0; other < kRaceLanes; ++other) {
        joined[other] = std::max(joined[other], warp.part[lane][other]);
      }
    });
    for_lanes(mask, [&](int lane) { joined[lane] = bound; });
    for_lanes(mask, [&](int lane) { warp.part[lane] = joined; });
  }
  if (!warp.any_known) return;
  ClockPointer clock;
  for_lanes(mask, [&](int lane) { clock = join(clock, warp.known[lane], time_); });
  for_lanes(mask, [&](int lane) { warp.known[lane] = clock; });
}

// ---- release and acquire ----

/// What the lane knows now; its own accesses count up to the present.
RaceFence Races::here(const RaceBlock& block, const RaceWarp& warp, int lane) const {
  return {time_, warp.ordered, block.ordered, join(block.known, warp.known[lane], time_)};
}

void Races::fence(RaceBlock& block, int w, uint32_t mask, FenceScope scope) {
  RaceWarp& warp = block.warps[w];
  ++time_;
  if (warp.fences.empty()) warp.fences.resize(kRaceLanes);
  for_lanes(mask, [&](int lane) {
    auto& fences = warp.fences[lane];
    fences[static_cast<size_t>(FenceScope::block)] = here(block, warp, lane);
    if (scope == FenceScope::device) fences[1] = fences[0];
  });
}

ClockPointer Races::knowledge(const RaceBlock& block, const RaceWarp& warp, int lane,
                              const RaceFence& at) const {
  auto clock = at.known == nullptr ? std::make_shared<RaceClock>()
                                   : std::make_shared<RaceClock>(*at.known);
  clock->add_thread(warp.first + static_cast<RaceThread>(lane), at.own);
  clock->add_warp(warp.first, at.warp);
  clock->add_block(block.first, at.block);
  for (int other = 0; other < kRaceLanes && !warp.part.empty(); ++other) {
    const RaceTime bound = warp.part[lane][other];
    if (bound > at.warp && bound <= at.own) {
      clock->add_thread(warp.first + static_cast<RaceThread>(other), bound);
    }
  }
  return clock;
}

/// A write that others may observe passes on what its thread knew at its last fence. A
/// read-modify-write leaves in force what was released before it.
void Races::release_by_fence(RaceBlock& block, RaceWarp& warp, int lane, const RaceEvent& event) {
  const bool atomic = (event.what & RaceAccess::kAtomic) != 0;
  const uint64_t key = key_of(block, event.shared, event.addresses[lane]);
  const bool fenced = !warp.fences.empty() && warp.fences[lane][0].own != 0;
  if (!fenced && block.fenced == nullptr) {
    if (!atomic && !released_.empty()) released_.erase(key);
    return;
  }
  Released& released = released_[key];
  if (!atomic) released = {};
  ClockPointer to_device = block.fenced, to_block;
  if (fenced) {
    const auto& [of_block, of_device] = warp.fences[lane];
    if (of_device.own != 0) {
      to_device = join(to_device, knowledge(block, warp, lane, of_device), time_);
    }
    if (of_block.own != of_device.own) to_block = knowledge(block, warp, lane, of_block);
  }
  if ((event.what & RaceAccess::kBlockScope) != 0) {  // no other block observes this write
    to_block = join(to_block, to_device, time_);
    to_device = nullptr;
  }
  released.to_device = join(released.to_device, to_device, time_);
  if (to_block == nullptr) return;
  if (released.block_first != block.first) released.to_block = nullptr;
  released.block_first = block.first;
  released.to_block = join(released.to_block, to_block, time_);
}

void Races::release_to(RaceBlock& block, int w, int lane, bool shared, uint64_t address) {
  RaceWarp& warp = block.warps[w];
  ++time_;
  Released& released = released_[key_of(block, shared, address)];
  released.to_device =
      join(released.to_device, knowledge(block, warp, lane, here(block, warp, lane)), time_);
}

void Races::acquire(RaceWarp& warp, int lane, const ClockPointer& clock) {
  ClockPointer& known = warp.known[lane];
  if (clock == nullptr || known == clock) return;
  known = join(known, clock, time_);
  warp.any_known = true;
}

void Races::acquire_from(RaceBlock& block, int w, int lane, bool shared, uint64_t address) {
  if (released_.empty()) return;
  const auto found = released_.find(key_of(block, shared, address));
  if (found == released_.end()) return;
  RaceWarp& warp = block.warps[w];
  acquire(warp, lane, found->second.to_device);
  if (found->second.block_first == block.first) acquire(warp, lane, found->second.to_block);
}

}  // namespace assay::ptx
