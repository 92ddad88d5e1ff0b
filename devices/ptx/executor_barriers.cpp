// Who takes part in barriers and warp operations (docs/checkers.md, "Barriers and warps"). Called
// where lanes arrive, are released, or can go on no more; executor_passed.cpp has those that never
// come.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

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
  const bool alike = is_uniform(op.a) && (op.b == kNoSlot || is_uniform(op.b));
  for (int lane = first; lane < kLanes && !alike; ++lane) {
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
void Executor::check_participants(WarpState& warp, std::span<const Participant> all) {
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
