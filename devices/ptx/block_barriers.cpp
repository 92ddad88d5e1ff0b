// Barriers of a block, and other places at which lanes wait: they arrive, are held, and go on. What
// is wrong with how they come is the checkers' (executor_barriers.cpp).
#include <algorithm>
#include <bit>
#include <string>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

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

}  // namespace assay::ptx
