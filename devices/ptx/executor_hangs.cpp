// A launch that can go on no more: who waits for whom, and the place to look at first.
#include <algorithm>
#include <bit>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

/// What a group waits for. `running`: what lanes wait for that stand at no barrier.
std::string Executor::awaited(const Group& g, const char* running) const {
  if (g.wait == Wait::barrier) return "barrier " + std::to_string(g.wait_mask);
  if (g.wait == Wait::rendezvous) return "the other lanes of its mask " + hex32(g.wait_mask);
  return running;
}

/// The live lanes of `warp` that are not where `waits`, a group of the same block, waits for them.
uint32_t Executor::lacking(const WarpState& home, const Group& waits, const WarpState& warp) const {
  if (waits.wait == Wait::barrier) {
    return warp.live & ~warp.block->barrier_masks[warp.index][waits.wait_mask];
  }
  if (waits.wait != Wait::rendezvous || &home != &warp) return 0;
  uint32_t arrived = 0;
  for (const Group& g : warp.groups) {
    const bool same = g.wait == Wait::rendezvous && g.wait_mask == waits.wait_mask &&
                      ops_[g.pc].kind == ops_[waits.pc].kind;
    if (same) arrived |= g.mask;
  }
  return waits.wait_mask & warp.live & ~arrived;
}

/// Which lanes `waits` lacks, and where the first of them is; no steps where it lacks none.
void Executor::tell_missing(const WarpState& home, const Group& waits, const char* running,
                            std::string& message, std::vector<Step>& steps) const {
  const BlockState& block = *home.block;
  std::vector<std::string> missing;
  const Group* other = nullptr;
  const WarpState* other_warp = nullptr;
  for (const auto& warp : block.warps) {
    const uint32_t lanes = lacking(home, waits, *warp);
    if (lanes == 0) continue;
    missing.push_back(lanes_text(lanes) + of_warp(*warp));
    for (const Group& g : warp->groups) {
      if (other != nullptr || (g.mask & lanes) == 0) continue;
      other = &g;
      other_warp = warp.get();
    }
  }
  const int64_t counted =
      waits.wait == Wait::barrier ? block.barriers[waits.wait_mask].wanted : int64_t{-1};
  if (missing.empty() && counted < 0) return;
  const MicroOp& op = ops_[waits.pc];
  message = lanes_text(waits.mask) + of_warp(home) +
            (std::popcount(waits.mask) == 1 ? " waits at " : " wait at ") +
            code_->sites[op.site].instruction->spelling + place(op.site);
  if (counted >= 0) message += " for " + std::to_string(counted) + " threads";
  steps.push_back(step_of(home, waits.pc, waits.mask, "waits for " + awaited(waits, running)));
  if (missing.empty()) return;
  constexpr size_t kShown = 3;
  message += counted >= 0 ? "; elsewhere: " : "; missing: ";
  for (size_t i = 0; i < std::min(missing.size(), kShown); ++i) {
    message += (i == 0 ? "" : ", ") + missing[i];
  }
  if (missing.size() > kShown) {
    message += " and some of " + std::to_string(missing.size() - kShown) + " more warps";
  }
  message += std::string(other->wait == Wait::none ? ", running" : ", waiting") +
             place(ops_[other->pc].site);
  steps.push_back(
      step_of(*other_warp, other->pc, other->mask, "waits for " + awaited(*other, running)));
}

/// The topmost line of the innermost loop that a running group goes round, where its `while` stands
/// whichever way it is compiled: the same wherever in the loop it was stopped. Its own place where
/// it goes round none.
int32_t Executor::loop_of(const Group& g) const {
  std::vector<int32_t> places{g.pc};
  places.insert(places.end(), g.stack.rbegin(), g.stack.rend());  // the callers' loops
  for (const int32_t pc : places) {
    int32_t first = -1, last = -1;
    for (int32_t at = pc; at < static_cast<int32_t>(code_->ops.size()); ++at) {
      const MicroOp& op = ops_[at];
      if (!op.back_edge || op.target < 0) continue;
      const int32_t begin = code_->blocks[static_cast<size_t>(op.target)].pc;
      if (begin > pc || begin < first) continue;
      first = begin;
      last = at;
    }
    if (first < 0) continue;
    // Lines of functions that were inlined into the loop stand elsewhere.
    const SourceLine branch = user_line(ops_[last].site);
    int32_t top = last;
    for (int32_t at = first; at < last; ++at) {
      const SourceLine line = user_line(ops_[at].site);
      const bool same = line.file == branch.file && line.inlined_at == branch.inlined_at;
      if (same && line.line > 0 && line.line < user_line(ops_[top].site).line) top = at;
    }
    return top;
  }
  return g.pc;
}

/// The place is the loop of lanes that spin; else, of those that wait for others, the place
/// further up: there some left the way of the rest. `running`: what lanes wait for that are at no
/// barrier.
void Executor::report_hang(const std::string& why, const char* running) {
  struct Stuck {
    WarpState* warp = nullptr;
    const Group* group = nullptr;
  };
  const auto stays = [&](const Stuck& known, const Group& g) {
    return known.group != nullptr && !stands_above(g, *known.group);
  };
  Stuck first, spins, waits;
  std::vector<std::string> details;
  std::string missing;
  std::vector<Step> steps;
  for (const auto& warp : warp_->block->warps) {
    for (const Group& g : warp->groups) {
      if (first.group == nullptr) first = {warp.get(), &g};
      details.push_back("warp " + std::to_string(warp->index) + " " + lanes_text(g.mask) +
                        (std::popcount(g.mask) == 1 ? " waits for " : " wait for ") +
                        awaited(g, running) + place(ops_[g.pc].site));
      if (g.wait == Wait::none) {
        // The warp that has its turn when the budget is spent is the one that spends it.
        const bool has_turn = warp.get() == warp_ && spins.warp != warp_;
        const bool had_turn = warp.get() != warp_ && spins.warp == warp_;
        if (has_turn || (!had_turn && !stays(spins, g))) spins = {warp.get(), &g};
        continue;
      }
      if (!barriers_on() || stays(waits, g)) continue;
      std::string lacks;
      std::vector<Step> who;
      tell_missing(*warp, g, running, lacks, who);
      if (who.empty()) continue;
      waits = {warp.get(), &g};
      missing = std::move(lacks);
      steps = std::move(who);
    }
  }
  std::string message = why;
  const Stuck& told = spins.group != nullptr   ? spins
                      : waits.group != nullptr ? waits
                                               : first;
  int32_t at = told.group->pc;
  if (spins.group != nullptr) {
    at = loop_of(*spins.group);
    message += ": " + lanes_text(spins.group->mask) + of_warp(*spins.warp) +
               (std::popcount(spins.group->mask) == 1 ? " goes" : " go") + " round the loop" +
               place(ops_[at].site);
    if (!steps.empty()) steps.resize(1);  // who waits for them
    steps.insert(steps.begin(),
                 step_of(*spins.warp, at, spins.group->mask, "goes round the loop"));
  } else if (waits.group != nullptr) {
    message += ": " + missing;
  }
  warp_ = told.warp;
  Diagnostic& d = report(DiagnosticKind::hang, ops_[at].site, std::countr_zero(told.group->mask),
                         std::move(message));
  if (details.size() > 16) details.resize(16);
  d.details = std::move(details);
  d.steps = std::move(steps);
  throw Stop{RunStatus::hang};
}

}  // namespace assay::ptx
