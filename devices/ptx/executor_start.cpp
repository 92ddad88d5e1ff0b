// Makes blocks and their warps ready to run: registers, constants, memory of their own, shadows.
#include <algorithm>
#include <cstring>

#include "devices/ptx/executor.hpp"
#include "generators/hash.hpp"

namespace assay::ptx {

namespace {

void broadcast32(uint8_t* row, uint32_t value) {
  for (int i = 0; i < kLanes; ++i) std::memcpy(row + 4 * i, &value, 4);
}

/// Of the blocks that another program's launch left, so many are kept, and so many bytes.
constexpr size_t kKeptBlocks = 4;
constexpr size_t kKeptBytes = size_t{16} << 20;

size_t storage_bytes(const BlockState& block) {
  size_t bytes = 0;
  for (const auto& warp : block.warps) bytes += warp->storage.size();
  return bytes;
}

/// %warpid: the warp's place on the multiprocessor, which need not be its number in the block (PTX
/// ISA, "Special Registers: %warpid": %tid and %ctaid are to be used for that). With a seed the
/// block's warps lie in other places, none of them twice.
void fill_warp_place(WarpState& warp, uint64_t seed, int64_t block, int32_t index) {
  constexpr uint32_t kPlaces = 64;  // warps of a multiprocessor, compute capability 8.0
  uint32_t place = static_cast<uint32_t>(index);
  if (seed != 0) {
    const uint64_t hash = counter_hash(seed, static_cast<uint64_t>(block));
    const auto step = static_cast<uint32_t>(hash | 1), first = static_cast<uint32_t>(hash >> 32);
    place = (first + place * step) % kPlaces;
  }
  auto* const row = reinterpret_cast<uint32_t*>(warp.constants) + 4 * kLanes;
  std::fill(row, row + kLanes, place);
}

/// tid, lane and mask rows depend only on the block's shape; recycled blocks keep them.
void fill_warp_constants(WarpState& warp, const LaunchConfig& config, int32_t index) {
  auto* rows = reinterpret_cast<uint32_t*>(warp.constants);
  const int64_t threads = config.block[0] * config.block[1] * config.block[2];
  int64_t x = int64_t{index} * kLanes % config.block[0];
  int64_t y = int64_t{index} * kLanes / config.block[0] % config.block[1];
  int64_t z = int64_t{index} * kLanes / (config.block[0] * config.block[1]);
  for (int i = 0; i < kLanes; ++i) {
    rows[0 * kLanes + i] = static_cast<uint32_t>(x);
    rows[1 * kLanes + i] = static_cast<uint32_t>(y);
    rows[2 * kLanes + i] = static_cast<uint32_t>(z);
    if (++x == config.block[0]) {
      x = 0;
      if (++y == config.block[1]) {
        y = 0;
        ++z;
      }
    }
    rows[3 * kLanes + i] = static_cast<uint32_t>(i);
    const uint32_t bit = 1u << i;
    rows[5 * kLanes + i] = bit;
    rows[6 * kLanes + i] = bit - 1;
    rows[7 * kLanes + i] = bit | (bit - 1);
    rows[8 * kLanes + i] = ~(bit | (bit - 1));
    rows[9 * kLanes + i] = ~(bit - 1);
  }
  const int64_t left = threads - int64_t{index} * kLanes;
  warp.live = left >= kLanes ? ~0u : (1u << left) - 1;
  if (config.only_thread) {
    const auto& at = *config.only_thread;
    const int lane = static_cast<int>(at[0] % kLanes);
    for (int axis = 0; axis < 3; ++axis) {
      rows[axis * kLanes + lane] = static_cast<uint32_t>(at[static_cast<size_t>(axis)]);
    }
    warp.live = 1u << lane;
  }
}

}  // namespace

void Executor::start_warp(WarpState& warp, BlockState& block, int32_t index) {
  const Code& code = *code_;
  const size_t frame = static_cast<size_t>(code.frame_bytes);
  const size_t wrap = sizeof(WrapRow) * static_cast<size_t>(code.wrap_row_count);
  const size_t local = code.local_bytes > kLocalStart ? code.local_bytes * kLanes : 0;
  warp.storage.reserve(2 * frame + wrap + 2 * local + 64);
  warp.frame = warp.storage.data();
  warp.undefined = warp.frame + frame;
  warp.wrap = reinterpret_cast<WrapRow*>(warp.undefined + frame);
  warp.local = warp.undefined + frame + wrap;
  warp.local_state = warp.local + local;
  if (local > 0) {  // a masked store of no bytes to a page that nothing has touched is slow
    std::memset(warp.local, 0xcd, local);
    std::memset(warp.local_state, options_.definedness ? kUndefined : 0, local);
  }
  warp.local_deltas.clear();
  warp.local_trails.clear();
  if (warp.trails_of != code.serial) warp.trails.clear();
  warp.trails_of = code.serial;
  warp.async.clear();
  warp.flags.assign(code.flag_count, 0);
  warp.origins.resize(code.flag_count);
  warp.index = index;
  warp.block = &block;
  warp.carry = 0;
  warp.carry_undefined = 0;
  for (const Code::MaybeUnset& r : code.maybe_unset) {
    const size_t bytes = r.width == 0 ? 4 : static_cast<size_t>(r.width) * kLanes;
    std::memset(warp.frame + r.slot, 0, bytes);
    if (!options_.definedness) continue;
    std::memset(warp.undefined + r.slot, 0xff, bytes);
    warp.flags[r.flag] = kMaybeUndefined;
    if (r.flag < warp.trails.size() && warp.trails[r.flag] != nullptr) *warp.trails[r.flag] = {};
  }
  warp.groups.assign(1, Group{});
  warp.groups[0].pc = code.blocks[code.entry_block].pc;
  warp.groups[0].mask = warp.live;
  const Block& entry = code.blocks[code.entry_block];
  if (counting_) ++seen_->edges[code.entry->first_edge_id];
  instructions_ += entry.instructions;
  lane_instructions += int64_t{entry.instructions} * lane_count(warp.live);
}

void Executor::count_warps() {
  const int64_t threads = config_->block[0] * config_->block[1] * config_->block[2];
  warp_count_ = config_->only_thread ? 1 : (threads + kLanes - 1) / kLanes;
}

/// Gives a block the launch's shape; warps that it has keep their memory.
void Executor::fit(BlockState& block) const {
  const auto warps = static_cast<size_t>(warp_count_);
  block.warps.resize(warps);
  for (auto& warp : block.warps) {
    if (warp == nullptr) warp = std::make_unique<WarpState>();
  }
  block.barrier_masks.resize(warps);
  for (size_t w = 0; w < warps; ++w) {
    fill_warp_constants(*block.warps[w], *config_, static_cast<int32_t>(w));
  }
  block.shape = shape_;
}

std::unique_ptr<BlockState> Executor::start_block(std::array<int64_t, 3> at, int64_t linear) {
  std::unique_ptr<BlockState> block;
  if (!free_blocks_.empty()) {
    block = std::move(free_blocks_.back());
    free_blocks_.pop_back();
  } else {
    block = std::make_unique<BlockState>();
  }
  const bool fits = block->shape == shape_;
  if (!fits) fit(*block);
  block->at = at;
  block->linear = linear;
  block->finished_warps = 0;
  block->barriers_in_use = 0;
  for (int i = 0; i < 3; ++i) {
    broadcast32(block->constants + i * kRow32, static_cast<uint32_t>(at[i]));
  }
  // Shared memory starts poisoned: a NaN that is easy to recognise, and undefined.
  block->shared.assign(static_cast<size_t>(shared_bytes_), 0xff);
  block->shared_state.assign(static_cast<size_t>(shared_bytes_),
                             options_.definedness ? kUndefined : 0);
  block->shared_deltas.clear();
  block->shared_trails.clear();
  block->barriers.fill({});
  if (races_on() && !config_->only_thread) {
    if (block->races == nullptr) block->races = std::make_unique<RaceBlock>();
    const int warps = static_cast<int>(block->warps.size());
    if (!races_->start_block(*block->races, linear, warps, shared_bytes_)) block->races = nullptr;
  } else {
    block->races = nullptr;
  }
  for (auto& masks : block->barrier_masks) masks.fill(0);
  for (int32_t w = 0; w < static_cast<int32_t>(block->warps.size()); ++w) {
    WarpState& warp = *block->warps[w];
    if (fits) {
      const int64_t threads = config_->block[0] * config_->block[1] * config_->block[2];
      const int64_t left = threads - int64_t{w} * kLanes;
      warp.live = left >= kLanes ? ~0u : (1u << left) - 1;
      if (config_->only_thread) fill_warp_constants(warp, *config_, w);
    }
    fill_warp_place(warp, config_->warp_seed, linear, w);
    start_warp(warp, *block, w);
    if (warp.live == 0) {
      warp.groups.clear();
      ++block->finished_warps;
    }
  }
  return block;
}

void Executor::recycle(std::unique_ptr<BlockState> block) {
  free_blocks_.push_back(std::move(block));
}

/// Another program comes: what a launch with many blocks at once took is given back.
void Executor::keep_few_blocks() {
  if (free_blocks_.size() > kKeptBlocks) free_blocks_.resize(kKeptBlocks);
  size_t bytes = 0;
  std::erase_if(free_blocks_, [&](const auto& block) {
    bytes += storage_bytes(*block);
    return bytes > kKeptBytes;
  });
}

}  // namespace assay::ptx
