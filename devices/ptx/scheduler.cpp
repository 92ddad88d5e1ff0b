// Which lanes run next: groups within a warp, warps within a block, resident blocks of a grid.
//
// Lanes with one program counter and call stack form a group. The group at the lowest place runs
// (micro-ops lie in reverse post-order, so groups meet again at joins); one that took many back
// edges while others wait is passed over for a turn, so that a lane that spins on a lock lets its
// holder run (ARCHITECTURE.md, "Scheduling").
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// Warp instructions that a warp runs before the next one: long where nothing can wait for another
/// warp but a barrier, short where warps may spin.
constexpr int64_t kLongSlice = int64_t{1} << 18;
constexpr int64_t kShortSlice = int64_t{1} << 12;
/// Longest turn of a block among those that may wait for it, by the case's seed. A block whose
/// turns are long publishes all that others wait for before any of them looks: of a scan that looks
/// back over its predecessors, only short turns show it more than one.
constexpr int64_t kTurns[] = {kShortSlice, int64_t{1} << 9, int64_t{1} << 6};
/// Memory that resident blocks may take, and their greatest number; more, where those wait for
/// blocks that have not begun.
constexpr int64_t kResidentBytes = int64_t{64} << 20;
constexpr int64_t kMostResidentBytes = int64_t{1} << 30;
constexpr int64_t kResidentBlocks = 128;
/// Turns of its warps that a block takes before the next block, when no warp uses up its slice:
/// those that poll an mbarrier end theirs early.
constexpr int kPassesInTurn = 1024;
/// Of a slice, while it is watched whether anything changes.
constexpr int64_t kWatchedPart = 8;

/// Where a group stands, outermost call first: the order in which groups run.
bool stands_before(const Group& a, const Group& b) {
  const size_t depth = std::min(a.stack.size(), b.stack.size());
  for (size_t i = 0; i < depth; ++i) {
    if (a.stack[i] != b.stack[i]) return a.stack[i] < b.stack[i];
  }
  const int32_t pa = a.stack.size() > depth ? a.stack[depth] : a.pc;
  const int32_t pb = b.stack.size() > depth ? b.stack[depth] : b.pc;
  if (pa != pb) return pa < pb;
  return a.stack.size() > b.stack.size();  // inside a call made at b's place
}

uint64_t mix(uint64_t x) {  // splitmix64's finaliser (Steele et al., OOPSLA 2014)
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

void broadcast32(uint8_t* row, uint32_t value) {
  for (int i = 0; i < kLanes; ++i) std::memcpy(row + 4 * i, &value, 4);
}

}  // namespace

// ---- groups ----

void Executor::merge(WarpState& warp) {
  for (size_t i = 0; i < warp.groups.size(); ++i) {
    for (size_t j = i + 1; j < warp.groups.size();) {
      Group& a = warp.groups[i];
      Group& b = warp.groups[j];
      const bool same =
          a.pc == b.pc && a.wait == Wait::none && b.wait == Wait::none && a.stack == b.stack;
      if (!same) {
        ++j;
        continue;
      }
      a.mask |= b.mask;
      a.epoch = std::max(a.epoch, b.epoch);
      warp.groups.erase(warp.groups.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

Group* Executor::pick(WarpState& warp) {
  if (warp.groups.size() > 1) merge(warp);
  Group* best = nullptr;
  for (Group& g : warp.groups) {
    if (g.wait != Wait::none) continue;
    const bool better = best == nullptr || g.epoch < best->epoch ||
                        (g.epoch == best->epoch && stands_before(g, *best));
    if (better) best = &g;
  }
  return best;
}

/// The lanes of `mask` leave for `pc` as a group of their own; the rest stays.
void Executor::split_off(WarpState& warp, Group& group, uint32_t mask, int32_t pc) {
  if (mask == group.mask) {
    group.pc = pc;
    return;
  }
  Group other = group;
  group.mask &= ~mask;
  other.mask = mask;
  other.pc = pc;
  other.back_edges = 0;
  warp.groups.push_back(std::move(other));
}

void Executor::exit_lanes(WarpState& warp, Group& group, uint32_t mask) {
  stillness_.disturb();
  if (barriers_on() && warp.groups.size() > 1) check_exit(warp, mask);
  warp.live &= ~mask;
  group.mask &= ~mask;
  if (group.mask == 0) {
    warp.groups.erase(warp.groups.begin() + (&group - warp.groups.data()));
  }
  for (bool again = true; again;) {
    again = false;
    for (const Group& g : warp.groups) {
      if (g.wait == Wait::rendezvous && try_rendezvous(warp, g.wait_mask)) {
        again = true;
        break;
      }
    }
  }
  if (warp.groups.empty()) {
    ++warp.block->finished_warps;
    if (barriers_on() && !watched_barriers_.empty()) check_left(warp);
  }
  for (uint32_t used = warp.block->barriers_in_use; used != 0; used &= used - 1) {
    try_release(*warp.block, std::countr_zero(used));
  }
}

// ---- barriers ----

void Executor::arrive(WarpState& warp, Group& group, const MicroOp& op, uint32_t mask) {
  const Instruction& ins = *code_->sites[op.site].instruction;
  const int lane = std::countr_zero(mask);
  const uint32_t number = reinterpret_cast<const uint32_t*>(row(op.a))[lane];
  const int32_t pc = group.pc;
  if (number >= 16) {
    report(DiagnosticKind::barrier, op.site, lane,
           "barrier " + std::to_string(number) + ": a block has barriers 0 to 15");
    throw Stop{RunStatus::fault};
  }
  const uint32_t rest = group.mask & ~mask;
  if (barriers_on()) check_arrival(warp, pc, mask, rest);
  BlockState& block = *warp.block;
  BarrierState& barrier = block.barriers[number];
  block.barriers_in_use |= 1u << number;
  if (op.b != kNoSlot) {
    const uint32_t count = reinterpret_cast<const uint32_t*>(row(op.b))[lane];
    barrier.wanted = count == 0 ? -1 : int64_t{count};
  }
  if (shadow_) {
    check_operand(op, op.fa, op.a, 4, mask, "number");
    if (op.b != kNoSlot) check_operand(op, op.fb, op.b, 4, mask, "thread count");
  }
  if (op.pa != kNoSlot) {
    const uint32_t p = predicate(op.pa) ^ (op.pa_negated ? ~0u : 0u);
    const uint32_t undefined = predicate_undefined(op.fpa, op.pa) & mask;
    if (undefined != 0) {
      barrier.undefined += static_cast<uint32_t>(std::popcount(undefined));
      barrier.trail = trail_through(op, op.fpa, std::countr_zero(undefined));
    }
    barrier.surely += static_cast<uint32_t>(std::popcount(p & mask & ~undefined));
    barrier.popc += static_cast<uint32_t>(std::popcount(p & mask));
    barrier.participants += static_cast<uint32_t>(std::popcount(mask));
  }
  if (ins.bar == BarKind::arrive) {
    // Lanes of the warp that are elsewhere arrive together with these (PTX ISA, "barrier").
    if ((mask | rest) != warp.live) {
      hold(warp, group, mask, Wait::rendezvous, ~0u);
      try_rendezvous(warp, ~0u);
      return;
    }
    group.pc = pc + 1;
    return count_arrivals(warp, static_cast<int>(number), mask);
  }
  hold(warp, group, mask, Wait::barrier, number);
  block.barrier_masks[warp.index][number] |= mask;
  try_release(block, static_cast<int>(number));
}

/// bar.arrive by a warp. The count grows by the warp size, whatever lanes are active (PTX ISA,
/// "barrier").
void Executor::count_arrivals(WarpState& warp, int number, uint32_t mask) {
  BlockState& block = *warp.block;
  block.barriers[static_cast<size_t>(number)].arrived_threads += kLanes;
  if (block.races != nullptr) races_->arrive(*block.races, warp.index, mask, number);
  try_release(block, number);
}

/// The lanes of `mask` wait where the group stands; its others go on behind it. `group` may move.
void Executor::hold(WarpState& warp, Group& group, uint32_t mask, Wait wait, uint32_t wait_mask) {
  const uint32_t rest = group.mask & ~mask;
  group.mask = mask;
  group.wait = wait;
  group.wait_mask = wait_mask;
  group.passed = 0;
  if (rest == 0) return;
  Group others = group;
  others.mask = rest;
  ++others.pc;
  others.wait = Wait::none;
  warp.groups.push_back(std::move(others));
}

/// Threads that have exited count as arrived.
void Executor::try_release(BlockState& block, int number) {
  BarrierState& barrier = block.barriers[number];
  int64_t arrived = barrier.arrived_threads;
  bool all = true, any = false;
  for (const auto& warp : block.warps) {
    const uint32_t here = block.barrier_masks[warp->index][number];
    const bool complete = (warp->live & ~here) == 0;
    any |= here != 0;
    all &= complete;
    if (complete && here != 0) arrived += kLanes;
    if (!all && barrier.wanted < 0) return;  // the usual barrier: one warp that lacks is enough
  }
  if (!any && barrier.arrived_threads == 0) return;
  if (barrier.wanted < 0 ? !all : arrived < barrier.wanted) return;
  if (block.races != nullptr) race_barrier(block, number);
  if (barriers_on()) check_release(block, number);
  std::erase_if(watched_barriers_, [&](const auto& watched) { return watched.number == number; });
  const BarrierState done = barrier;
  stillness_.barrier_released();
  block.barriers_in_use &= ~(1u << number);
  barrier = BarrierState{};
  WarpState* const current = warp_;
  for (const auto& warp : block.warps) {
    block.barrier_masks[warp->index][number] = 0;
    for (Group& g : warp->groups) {
      if (g.wait != Wait::barrier || g.wait_mask != static_cast<uint32_t>(number)) continue;
      const MicroOp& op = ops_[g.pc];
      const BarKind kind = code_->sites[op.site].instruction->bar;
      warp_ = warp.get();
      if (reduces(kind)) set_reduction(op, kind, g.mask, done);
      g.wait = Wait::none;
      ++g.pc;
    }
  }
  warp_ = current;
}

// ---- warps and blocks ----

void Executor::run_warp(WarpState& warp, int64_t slice) {
  warp_ = &warp;
  bases_[kFrame] = warp.frame;
  bases_[kBlock] = warp.block->constants;
  bases_[kWarp] = warp.constants;
  slice_end_ = std::min(instructions_ + slice, budget());
  watched_barriers_.clear();
  if (barriers_on() && warp.block->barriers_in_use != 0) watch_joins(warp);
  while (Group* group = pick(warp)) {
    if (barriers_on() && warp.groups.size() > 1) note_passed(warp, *group);
    if (instructions_ >= look_change_) change_look();
    pause_ = std::min(slice_end_, look_change_);
    run_group(warp, *group);
    if (instructions_ >= slice_end_) return;
  }
}

/// Runs a block until it ends (true) or its warps have used their slices (false).
bool Executor::run_block(BlockState& block, int64_t slice) {
  const int32_t count = static_cast<int32_t>(block.warps.size());
  for (int pass = 1;; ++pass) {
    bool ran = false, sliced = false;
    for (int32_t w : warp_order_) {
      WarpState& warp = *block.warps[w];
      const bool ready = std::any_of(warp.groups.begin(), warp.groups.end(),
                                     [](const Group& g) { return g.wait == Wait::none; });
      if (!ready) continue;
      ran = true;
      const int64_t before = instructions_;
      run_warp(warp, slice);
      sliced |= instructions_ - before >= slice;
      if (instructions_ >= budget()) {
        report_hang("the budget of " + std::to_string(budget()) +
                    " warp instructions is spent",
                    "nothing, still running");
      }
    }
    if (block.finished_warps == count) return true;
    if (!ran) {
      warp_ = block.warps[0].get();
      report_hang("no thread of the block can go on", "");
    }
    if (sliced || pass == kPassesInTurn) return false;
  }
}

int64_t Executor::budget() const {
  const bool may_wait = !code_->subset_obstacle.empty();
  return may_wait ? std::max(options_.instruction_budget, options_.waiting_budget)
                  : options_.instruction_budget;
}

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
  std::memset(warp.local, 0xcd, local);
  std::memset(warp.local_state, options_.definedness ? kUndefined : 0, local);
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

/// tid, lane and warp rows depend only on the block's shape; recycled blocks keep them.
static void fill_warp_constants(WarpState& warp, const LaunchConfig& config, int32_t index) {
  auto* rows = reinterpret_cast<uint32_t*>(warp.constants);
  const int64_t threads = config.block[0] * config.block[1] * config.block[2];
  for (int i = 0; i < kLanes; ++i) {
    const int64_t t = int64_t{index} * kLanes + i;
    rows[0 * kLanes + i] = static_cast<uint32_t>(t % config.block[0]);
    rows[1 * kLanes + i] = static_cast<uint32_t>(t / config.block[0] % config.block[1]);
    rows[2 * kLanes + i] = static_cast<uint32_t>(t / (config.block[0] * config.block[1]));
    rows[3 * kLanes + i] = static_cast<uint32_t>(i);
    rows[4 * kLanes + i] = static_cast<uint32_t>(index);
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

void Executor::count_warps() {
  const int64_t threads = config_->block[0] * config_->block[1] * config_->block[2];
  warp_count_ = config_->only_thread ? 1 : (threads + kLanes - 1) / kLanes;
}

std::unique_ptr<BlockState> Executor::start_block(std::array<int64_t, 3> at, int64_t linear) {
  std::unique_ptr<BlockState> block;
  const bool recycled = !free_blocks_.empty();
  if (recycled) {
    block = std::move(free_blocks_.back());
    free_blocks_.pop_back();
  } else {
    block = std::make_unique<BlockState>();
    const int64_t warps = warp_count_;
    for (int64_t w = 0; w < warps; ++w) block->warps.push_back(std::make_unique<WarpState>());
    block->barrier_masks.resize(warps);
    for (int32_t w = 0; w < warps; ++w) fill_warp_constants(*block->warps[w], *config_, w);
  }
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
    if (recycled) {
      const int64_t threads = config_->block[0] * config_->block[1] * config_->block[2];
      const int64_t left = threads - int64_t{w} * kLanes;
      warp.live = left >= kLanes ? ~0u : (1u << left) - 1;
      if (config_->only_thread) fill_warp_constants(warp, *config_, w);
    }
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

/// Seeded order of blocks: an affine map modulo their number, which is a permutation of any range.
int64_t Executor::block_number(int64_t index, int64_t count) const {
  if (config_->block_seed == 0 || count < 2) return index;
  const uint64_t n = static_cast<uint64_t>(count);
  uint64_t factor = mix(config_->block_seed) % n;
  while (std::gcd(factor, n) != 1) factor = (factor + 1) % n;
  const auto product = static_cast<unsigned __int128>(factor) * static_cast<uint64_t>(index) +
                       mix(config_->block_seed ^ 0x5bd1e995) % n;
  return static_cast<int64_t>(product % n);
}

/// Every resident block has had its turn: when none of them progresses, more blocks begin, up to
/// what a device holds at once; when no more can, the launch hangs. `most`: of blocks in memory.
void Executor::end_rotation(int64_t waiting_blocks, int64_t most, int64_t& limit) {
  if (!stillness_.after_round(resident_, code_->frame_bytes)) return;
  warp_ = resident_.front()->warps[0].get();
  const char* running = "memory that no thread changes";
  if (waiting_blocks == 0 || code_->subset_obstacle.empty()) {
    report_hang("no thread progresses: all wait, and nothing in memory changes", running);
  }
  const int64_t held = co_resident_blocks(*config_, shared_bytes_);
  if (limit < std::min(held, most)) {
    limit = std::min(held, most);
    stillness_.restart();
    return;
  }
  const std::string blocks = std::to_string(resident_.size()) + " blocks wait, and " +
                             std::to_string(waiting_blocks) + " have not begun: ";
  if (limit >= held) {
    report_hang(blocks + "a device of compute capability 8.0 holds at most " +
                    std::to_string(held) + " blocks of this shape at once",
                running);
  }
  report(DiagnosticKind::unsupported, -1, 0,
         blocks + "more do not fit into the " + std::to_string(kMostResidentBytes >> 20) +
             " MiB that the emulator has for resident blocks");
  throw Stop{RunStatus::unsupported};
}

void Executor::run_blocks() {
  const int64_t warps = warp_count_;
  warp_order_.resize(static_cast<size_t>(warps));
  std::iota(warp_order_.begin(), warp_order_.end(), 0);
  for (int64_t i = warps - 1; i > 0 && config_->warp_seed != 0; --i) {
    const uint64_t j =
        mix(config_->warp_seed + static_cast<uint64_t>(i)) % static_cast<uint64_t>(i + 1);
    std::swap(warp_order_[i], warp_order_[j]);
  }
  const auto& grid = config_->grid;
  const bool subset = !config_->blocks.empty();
  const int64_t count = config_->only_block ? 1
                        : subset            ? static_cast<int64_t>(config_->blocks.size())
                                            : grid[0] * grid[1] * grid[2];
  const bool may_spin = !code_->subset_obstacle.empty();
  const uint64_t seed = config_->block_seed;
  const bool uneven = may_spin && seed != 0;
  const int64_t longest =
      !may_spin ? kLongSlice : kTurns[uneven ? mix(seed) % std::size(kTurns) : 0];
  const int64_t bytes_each = warps * 2 * code_->frame_bytes + shared_bytes_ * 2 + 1;
  int64_t limit =
      std::clamp<int64_t>(kResidentBytes / bytes_each, 2, may_spin ? kResidentBlocks : 2);
  const int64_t most =
      may_spin ? std::max(limit, kMostResidentBytes / bytes_each) : limit;
  int64_t next = 0, turns = 0;
  uint64_t turn = 0;
  stillness_.restart();
  for (;;) {
    std::unique_ptr<BlockState> block;
    if (next < count && static_cast<int64_t>(resident_.size()) < limit) {
      const int64_t which = block_number(next++, count);
      const int64_t linear = subset ? config_->blocks[which] : which;
      const std::array<int64_t, 3> at =
          config_->only_block ? *config_->only_block
                              : std::array<int64_t, 3>{linear % grid[0], linear / grid[0] % grid[1],
                                                       linear / (grid[0] * grid[1])};
      block = start_block(at, linear);
      stillness_.restart();
      turns = 0;
    } else if (!resident_.empty()) {
      block = std::move(resident_.front());
      resident_.pop_front();
    } else {
      return;
    }
    int64_t slice = longest;
    if (uneven) slice = 1 + static_cast<int64_t>(mix(seed + ++turn) % static_cast<uint64_t>(slice));
    // While nothing changes, order does not matter: turns of a usual length find what does, or a hang.
    if (stillness_.watching()) slice = (may_spin ? kShortSlice : kLongSlice) / kWatchedPart;
    if (run_block(*block, slice)) {
      recycle(std::move(block));
      stillness_.restart();
      turns = 0;
      continue;
    }
    resident_.push_back(std::move(block));
    const bool all_began = next == count || static_cast<int64_t>(resident_.size()) == limit;
    if (all_began && ++turns >= static_cast<int64_t>(resident_.size())) {
      turns = 0;
      end_rotation(count - next, most, limit);
    }
  }
}

}  // namespace assay::ptx
