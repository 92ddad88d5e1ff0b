// Which lanes run next: groups within a warp, warps within a block, resident blocks of a grid.
//
// Lanes with one program counter and call stack form a group. The group at the lowest place runs
// (micro-ops lie in reverse post-order, so groups meet again at joins); one that took many back
// edges while others wait is passed over for a turn, so that a lane that spins on a lock lets its
// holder run (ARCHITECTURE.md, "Scheduling").
#include <algorithm>
#include <bit>
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
    // While nothing changes, order does not matter: turns of a usual length find what does, or a
    // hang.
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
