// Who takes part in barriers and warp operations, and who is missing (docs/checkers.md, "Barriers
// and warps"). Called where lanes arrive, are released or exit.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// All threads of a warp have to execute the same one (PTX ISA, "barrier": bar is barrier.aligned).
bool is_aligned(const Instruction& ins) { return ins.op == Op::bar || ins.aligned; }

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

std::string hex32(uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

std::string of_warp(const WarpState& warp) { return " of warp " + std::to_string(warp.index); }

std::string lanes_text(uint32_t mask) {
  std::vector<std::string> runs;
  for (uint64_t left = mask; left != 0;) {
    const int first = std::countr_zero(left);
    const int end = first + std::countr_one(left >> first);
    runs.push_back(std::to_string(first));
    if (end > first + 1) runs.back() += "-" + std::to_string(end - 1);
    left = left >> end << end;
  }
  std::string text = std::popcount(mask) == 1 ? "lane " : "lanes ";
  for (size_t i = 0; i < runs.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == runs.size() ? " and " : ", ") + runs[i];
  }
  return text;
}

/// What the first lane of `mask` did at `pc`, as a step of a finding.
Step Executor::step_of(const WarpState& warp, int32_t pc, uint32_t mask, std::string what) const {
  Step step = step_at(ops_[pc].site, std::move(what));
  step.block = warp.block->at;
  step.thread = thread_of(warp, std::countr_zero(mask));
  return step;
}

/// A finding about lanes of one warp at `pc`; null when its line has one already.
Diagnostic* Executor::report_lanes(WarpState& warp, int32_t pc, uint32_t mask, std::string message,
                                   bool note) {
  WarpState* const current = std::exchange(warp_, &warp);
  Diagnostic& d = report(DiagnosticKind::barrier, ops_[pc].site, std::countr_zero(mask),
                         std::move(message), "", note);
  warp_ = current;
  return d.count == 1 ? &d : nullptr;
}

// ---- block barriers ----

/// Threads that take part, as the instruction states; all of the block when it states none.
int64_t Executor::threads_wanted(const MicroOp& op, int lane) const {
  const int64_t all = warp_count_ * kLanes;
  if (op.b == kNoSlot) return all;
  const uint32_t count = reinterpret_cast<const uint32_t*>(row(op.b))[lane];
  return count == 0 ? all : int64_t{count};
}

/// `rest`: lanes of the group whose predicate keeps them from the instruction at `pc`.
void Executor::check_arrival(WarpState& warp, int32_t pc, uint32_t mask, uint32_t rest) {
  const MicroOp& op = ops_[pc];
  const Instruction& ins = *code_->sites[op.site].instruction;
  const int first = std::countr_zero(mask);
  if (rest != 0 && is_aligned(ins)) {
    report_lanes(warp, pc, mask,
                 ins.spelling + " in divergent code: " + lanes_text(mask) + of_warp(warp) +
                     " execute it, its predicate keeps " + lanes_text(rest) +
                     " from it; all threads of the warp have to");
  }
  const auto* numbers = reinterpret_cast<const uint32_t*>(row(op.a));
  for (int lane = first; lane < kLanes; ++lane) {
    if (((mask >> lane) & 1) == 0) continue;
    if (numbers[lane] == numbers[first] && threads_wanted(op, lane) == threads_wanted(op, first)) {
      continue;
    }
    report_lanes(warp, pc, 1u << lane,
                 ins.spelling + ": lanes of one warp name different barriers or thread counts: " +
                     std::to_string(numbers[first]) + ", " +
                     std::to_string(threads_wanted(op, first)) + " and " +
                     std::to_string(numbers[lane]) + ", " +
                     std::to_string(threads_wanted(op, lane)));
    break;
  }
  if (op.b != kNoSlot) {
    const uint32_t count = reinterpret_cast<const uint32_t*>(row(op.b))[first];
    const int64_t all = warp_count_ * kLanes;
    const char* wrong = count % kLanes != 0 ? "no multiple of the warp's 32"
                        : int64_t{count} > all ? "more than the block has"
                        : count == 0 && ins.bar == BarKind::arrive ? "bar.arrive needs a count"
                                                                   : nullptr;
    if (wrong != nullptr) {
      report_lanes(warp, pc, mask,
                   ins.spelling + ": a thread count of " + std::to_string(count) + ": " + wrong +
                       (int64_t{count} > all ? " (" + std::to_string(all) + ")" : ""));
    }
  }
  BarrierState& barrier = warp.block->barriers[numbers[first]];
  const int64_t wanted = threads_wanted(op, first);
  if (barrier.first_pc < 0) {
    barrier.first_pc = pc;
    barrier.first_wanted = wanted;
    return;
  }
  const MicroOp& other = ops_[barrier.first_pc];
  const BarKind kind = code_->sites[other.site].instruction->bar;
  const auto tell = [&](const std::string& before, const std::string& behind) {
    report_lanes(warp, pc, mask,
                 "barrier " + std::to_string(numbers[first]) + ": " + before + place(other.site) +
                     behind);
  };
  if (barrier.first_wanted != wanted) {
    tell("participants state different thread counts, " + std::to_string(wanted) +
             " here and " + std::to_string(barrier.first_wanted),
         "");
  }
  if (reduces(kind) != reduces(ins.bar)) {
    tell(ins.spelling + " meets " + code_->sites[other.site].instruction->spelling,
         ": a reduction is not to be mixed with other barriers");
  }
}

/// Tells of two groups of a warp that arrive at one barrier at different instructions. The place is
/// the line further down.
void Executor::tell_divergent(WarpState& warp, const Group& first, const Group& second) {
  const bool ordered = stands_above(first, second);
  const Group& a = ordered ? first : second;
  const Group& b = ordered ? second : first;
  tell_apart(warp, a, warp, b,
             code_->sites[ops_[b.pc].site].instruction->spelling + " in divergent code: " +
                 lanes_text(b.mask) + of_warp(warp) + " arrive here, " + lanes_text(a.mask) +
                 place(ops_[a.pc].site) +
                 "; all threads of a warp have to execute the same barrier",
             false);
}

/// Before a barrier lets go: the lanes of a warp have to wait at one instruction; warps may wait at
/// several, which is told as a note where the barrier is the whole block's.
void Executor::check_release(BlockState& block, int number) {
  const Group* first = nullptr;
  WarpState* first_warp = nullptr;
  for (const auto& warp : block.warps) {
    const Group* here = nullptr;
    for (const Group& g : warp->groups) {
      if (g.wait != Wait::barrier || g.wait_mask != static_cast<uint32_t>(number)) continue;
      if (here != nullptr && here->pc != g.pc &&
          is_aligned(*code_->sites[ops_[g.pc].site].instruction)) {
        tell_divergent(*warp, *here, g);
      }
      here = &g;
    }
    if (here == nullptr) continue;
    if (first == nullptr) {
      first = here;
      first_warp = warp.get();
    } else if (first->pc != here->pc && ops_[here->pc].b == kNoSlot &&
               is_aligned(*code_->sites[ops_[here->pc].site].instruction)) {
      const bool ordered = stands_above(*first, *here);
      WarpState& warp_a = ordered ? *first_warp : *warp;
      WarpState& warp_b = ordered ? *warp : *first_warp;
      const Group& a = ordered ? *first : *here;
      const Group& b = ordered ? *here : *first;
      tell_apart(warp_a, a, warp_b, b,
                 "barrier " + std::to_string(number) + " is met at different places: by warp " +
                     std::to_string(warp_b.index) + " here, by warp " +
                     std::to_string(warp_a.index) + place(ops_[a.pc].site) +
                     "; the condition of __syncthreads() has to be uniform over the block",
                 true);
    }
  }
}

/// Whether the user's line of `a` comes before that of `b`.
bool Executor::stands_above(const Group& a, const Group& b) const {
  const SourceLine x = user_line(ops_[a.pc].site), y = user_line(ops_[b.pc].site);
  return x.file == y.file && x.line != y.line ? x.line < y.line : a.pc < b.pc;
}

/// Tells of two groups that wait for each other at different instructions.
void Executor::tell_apart(WarpState& warp_a, const Group& a, WarpState& warp_b, const Group& b,
                          std::string message, bool note) {
  if (Diagnostic* d = report_lanes(warp_b, b.pc, b.mask, std::move(message), note)) {
    d->steps.push_back(step_of(warp_a, a.pc, a.mask, "waits"));
    d->steps.push_back(step_of(warp_b, b.pc, b.mask, "waits"));
  }
}

// ---- lanes that never come ----

/// Whether an op tells a reader where lanes are: an access, a call or an operation of a warp, rather
/// than the arithmetic that the compiler put before it.
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
    if (!joins_.passed(*code_, here, there)) continue;
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
    for (int32_t b : joins_.behind(*code_, watched.pc)) {
      watched.entries[i++] = joins_.entries(b, seen_->edges);
    }
    watched_barriers_.push_back(watched);
  }
}

/// A warp has ended: has it gone past a barrier at which others wait since it began to run?
void Executor::check_left(WarpState& left) {
  for (const WatchedBarrier& watched : watched_barriers_) {
    const std::vector<int32_t>& behind = joins_.behind(*code_, watched.pc);
    for (size_t i = 0; i < behind.size(); ++i) {
      const Block& entered = code_->blocks[behind[i]];
      if (joins_.entries(behind[i], seen_->edges) == watched.entries[i]) continue;
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

// ---- warp operations ----

/// `mask`: lanes that execute the operation; `named`: its membermask.
void Executor::check_membermask(WarpState& warp, int32_t pc, uint32_t mask, uint32_t named) {
  const Site& site = code_->sites[ops_[pc].site];
  const std::string& spelling = site.instruction->spelling;
  if (const uint32_t outside = mask & ~named; outside != 0) {
    report_lanes(warp, pc, outside,
                 spelling + " with mask " + hex32(named) + ", which does not name " +
                     lanes_text(outside) + of_warp(warp) + ": an executing lane has to be named");
  }
  if (site.mask_by_chance && (warp.live & ~named) != 0) {
    report_lanes(warp, pc, mask,
                 spelling + " with the mask of activemask, " + hex32(named) +
                     ": which lanes run together is left to the device",
                 true);
  }
}

/// Lanes that meet at several instructions.
void Executor::check_participants(WarpState& warp, const std::vector<Participant>& all) {
  const auto spelling = [&](const Participant& p) -> const std::string& {
    return code_->sites[p.op->site].instruction->spelling;
  };
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].op == all[0].op) continue;
    if (all[i].op->kind == Kind::barrier) {
      if (!is_aligned(*code_->sites[all[i].op->site].instruction)) continue;
      return tell_divergent(warp, *all[0].group, *all[i].group);
    }
    if (spelling(all[i]) == spelling(all[0])) continue;
    const bool ordered = stands_above(*all[0].group, *all[i].group);
    const Participant& a = ordered ? all[0] : all[i];
    const Participant& b = ordered ? all[i] : all[0];
    tell_apart(warp, *a.group, warp, *b.group,
               lanes_text(b.mask) + of_warp(warp) + " execute " + spelling(b) + ", " +
                   lanes_text(a.mask) + " " + spelling(a) + place(a.op->site) +
                   ", with one mask: lanes that it names have to execute the same operation",
               false);
    return;
  }
}

/// A shuffle's value from a lane that takes no part was used. Told at the shuffle.
Diagnostic& Executor::report_absent(const Trail& trail, const std::string& use) {
  const auto source = static_cast<int>(trail.place & 31);
  const bool exited = (trail.place & kExitedLane) != 0;
  Diagnostic& d = report(
      DiagnosticKind::barrier, trail.site, trail.thread % kLanes,
      code_->sites[trail.site].instruction->spelling + " of lane " +
          std::to_string(trail.thread % kLanes) + " of warp " +
          std::to_string(trail.thread / kLanes) + " reads lane " + std::to_string(source) +
          (exited ? ", which has exited or is none" : ", which its mask does not name") +
          ": an undefined value, used in: " + use);
  if (d.count == 1) {
    d.block = unfold(trail.block, config_->grid);
    d.thread = unfold(trail.thread, config_->block);
  }
  return d;
}

}  // namespace assay::ptx
