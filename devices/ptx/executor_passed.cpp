// Lanes and warps that go past a barrier, or an operation of the warp, at which others wait
// (docs/checkers.md, "Barriers and warps").
#include <algorithm>
#include <bit>
#include <utility>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// Every block ends with one of these.
bool leaves_block(Kind kind) {
  switch (kind) {
    case Kind::jump:
    case Kind::branch:
    case Kind::branch_index:
    case Kind::ret:
    case Kind::exit:
    case Kind::trap:
      return true;
    default:
      return false;
  }
}

}  // namespace

/// Whether an op tells a reader where lanes are: an access, a call or an operation of a warp,
/// rather than the arithmetic that the compiler put before it.
bool Executor::is_landmark(int32_t pc) const {
  switch (ops_[pc].kind) {
    case Kind::compute:
    case Kind::compute_pred:
    case Kind::pack:
    case Kind::unpack:
    case Kind::nop:
      return false;
    default:
      return !leaves_block(ops_[pc].kind) && user_line(ops_[pc].site).line > 0;
  }
}

/// The first landmark from `pc` on in its block; `pc` when there is none.
int32_t Executor::landmark_from(int32_t pc) const {
  for (int32_t at = pc; !leaves_block(ops_[at].kind); ++at) {
    if (is_landmark(at)) return at;
  }
  return pc;
}

/// `goes` is about to run: has it gone past what other lanes of its warp wait at?
void Executor::note_passed(WarpState& warp, const Group& goes) {
  for (Group& g : warp.groups) {
    const bool known = (goes.mask & ~g.passed) == 0 && is_landmark(g.passed_at);
    if (g.wait == Wait::none || known) continue;
    size_t depth = 0;
    while (depth < g.stack.size() && depth < goes.stack.size() &&
           g.stack[depth] == goes.stack[depth]) {
      ++depth;
    }
    const int32_t here = depth < g.stack.size() ? g.stack[depth] : g.pc;
    const int32_t there = depth < goes.stack.size() ? goes.stack[depth] : goes.pc;
    if (!joins().passed(here, there)) continue;
    g.passed |= goes.mask;
    g.passed_at = landmark_from(there);
  }
}

/// Lanes that exit count as arrived, as after an early return. Not those that went on past the
/// instruction instead, with work of their own that the waiting lanes have before them.
void Executor::check_exit(WarpState& warp, uint32_t leaving) {
  for (Group& g : warp.groups) {
    const uint32_t named = g.wait == Wait::rendezvous ? g.wait_mask : ~0u;
    const uint32_t missing = g.passed & leaving & named;
    if (g.wait == Wait::none || missing == 0) continue;
    const MicroOp& op = ops_[g.pc];
    const Instruction& ins = *code_->sites[op.site].instruction;
    const bool warp_wide = g.wait == Wait::rendezvous && op.kind != Kind::barrier;
    if (!warp_wide && !is_aligned(ins)) continue;  // PTX lets them meet it where they like, or exit
    const std::string what =
        warp_wide ? ins.spelling + " waits for lanes that never come: " + lanes_text(g.mask) +
                        of_warp(warp) + " execute it with mask " + hex32(g.wait_mask)
                  : ins.spelling + " in divergent code: " + lanes_text(g.mask) + of_warp(warp) +
                        " execute it";
    Diagnostic* d = report_lanes(warp, g.pc, g.mask,
                                 what + ", " + lanes_text(missing) + " went past it" +
                                     place(ops_[g.passed_at].site) + " and exited");
    if (d == nullptr) continue;
    d->steps.push_back(step_of(warp, g.pc, g.mask, "waits"));
    d->steps.push_back(step_of(warp, g.passed_at, missing, "went past"));
  }
}

Joins& Executor::joins() {
  if (joins_now_ == nullptr) {
    joins_now_ = &all_joins_.try_emplace(code_->serial, *code_).first->second;
  }
  return *joins_now_;
}

/// A warp is about to run while others of its block wait at a barrier of all of it.
void Executor::watch_joins(const WarpState& warp) {
  watched_barriers_.clear();
  const BlockState& block = *warp.block;
  for (uint32_t used = block.barriers_in_use; used != 0; used &= used - 1) {
    const size_t number = static_cast<size_t>(std::countr_zero(used));
    const BarrierState& barrier = block.barriers[number];
    if (barrier.first_pc < 0 || barrier.wanted >= 0) continue;
    if (block.barrier_masks[warp.index][number] != 0) continue;
    const Site& site = code_->sites[ops_[barrier.first_pc].site];
    if (site.function != code_->entry || !is_aligned(*site.instruction)) continue;
    WatchedBarrier watched;
    watched.number = static_cast<int>(number);
    watched.pc = barrier.first_pc;
    size_t i = 0;
    for (int32_t b : joins().behind(watched.pc)) {
      watched.entries[i++] = joins().entries(b, seen_->edges);
    }
    watched_barriers_.push_back(watched);
  }
}

/// A warp has ended: has it gone past a barrier at which others wait since it began to run?
void Executor::check_left(WarpState& left) {
  for (const WatchedBarrier& watched : watched_barriers_) {
    const std::vector<int32_t>& behind = joins().behind(watched.pc);
    for (size_t i = 0; i < behind.size(); ++i) {
      const Block& entered = code_->blocks[behind[i]];
      if (joins().entries(behind[i], seen_->edges) == watched.entries[i]) continue;
      for (const auto& warp : left.block->warps) {
        for (const Group& g : warp->groups) {
          if (g.wait != Wait::barrier || g.pc != watched.pc) continue;
          const int32_t passed_at = landmark_from(entered.pc);
          const MicroOp& op = ops_[g.pc];
          Diagnostic* d = report_lanes(
              *warp, g.pc, g.mask,
              code_->sites[op.site].instruction->spelling + " in divergent code: warp " +
                  std::to_string(warp->index) + " waits here, warp " + std::to_string(left.index) +
                  " went past it" + place(ops_[passed_at].site) +
                  " and exited; the condition of __syncthreads() has to be uniform over the block");
          if (d == nullptr) return;
          d->steps.push_back(step_of(*warp, g.pc, g.mask, "waits"));
          d->steps.push_back(step_of(left, passed_at, 1, "went past"));
          return;
        }
      }
    }
  }
}

}  // namespace assay::ptx
