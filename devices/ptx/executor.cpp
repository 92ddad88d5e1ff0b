// The interpreter: one group of lanes of one warp, micro-op after micro-op.
#include "devices/ptx/executor.hpp"

#include <bit>
#include <cstring>

namespace assay::ptx {

namespace {

/// Back edges that a group may take while others wait, before it has to let them run. Long enough
/// that loops of unequal length reconverge, short enough that a spinning lane frees its lock soon.
constexpr uint32_t kBackEdgesInTurn = 128;
/// Back edges that an atomic counts for: a loop around one may be waiting for a lane that waits.
constexpr uint32_t kBackEdgesOfAtomic = 15;

}  // namespace

uint32_t Executor::predicate(Slot slot) const {
  uint32_t value;
  std::memcpy(&value, row(slot), 4);
  return value;
}

void Executor::set_predicate(Slot slot, uint32_t value, uint32_t mask) {
  uint8_t* at = frame_row(slot);
  uint32_t old;
  std::memcpy(&old, at, 4);
  old = (old & ~mask) | (value & mask);
  std::memcpy(at, &old, 4);
}

/// Copies a row into the frame for the lanes of `mask`.
void Executor::write_row(Slot d, int width, const void* from, uint32_t mask) {
  uint8_t* to = frame_row(d);
  if (mask == warp_->live) {
    std::memcpy(to, from, static_cast<size_t>(width) * kLanes);
  } else {
    (width == 4 ? kit_.blend32 : width == 8 ? kit_.blend64 : kit_.blend16)(to, from, mask);
  }
}

template <bool kShadow, bool kLook>
[[gnu::always_inline]] inline void Executor::compute(const MicroOp& op, uint32_t mask) {
  Rows rows;
  rows.a = row(op.a);
  rows.b = row(op.b);
  rows.c = row(op.c);
  rows.e = row(op.e);
  uint8_t* d = frame_row(op.d);
  const bool full = mask == warp_->live;
  if constexpr (kShadow) {
    uint8_t* flags = warp_->flags.data();
    uint8_t f = flags[op.fa] | flags[op.fb] | flags[op.fc] | flags[op.fe];
    if (!full) f |= flags[op.fd];
    if (f == 0 && (!op.wrap_check || stays_exact(op))) {
      flags[op.fd] = 0;
    } else {
      shadow_compute(op, mask, f);
    }
  }
  if (full) {
    rows.d = d;
    op.row(rows);
  } else {
    rows.d = scratch_;
    op.row(rows);
    (op.width == 4 ? kit_.blend32 : op.width == 8 ? kit_.blend64 : kit_.blend16)(d, scratch_, mask);
  }
  if constexpr (kLook) {
    if (op.result != ResultFormat::none) note_result(op, d, mask);
  }
}

template <bool kShadow, bool kLook>
void Executor::compute_pred(const MicroOp& op, uint32_t mask) {
  Rows rows;
  rows.a = row(op.a);
  rows.b = row(op.b);
  rows.c = row(op.c);
  rows.e = row(op.e);
  if (op.pa != kNoSlot) rows.pa = predicate(op.pa) ^ (op.pa_negated ? ~0u : 0u);
  if (op.pb != kNoSlot) rows.pb = predicate(op.pb) ^ (op.pb_negated ? ~0u : 0u);
  rows.carry_in = warp_->carry;
  const bool full = mask == warp_->live;
  if constexpr (kShadow) {
    const uint8_t* flags = warp_->flags.data();
    uint8_t f =
        flags[op.fa] | flags[op.fb] | flags[op.fc] | flags[op.fe] | flags[op.fpa] | flags[op.fpb];
    if (!full) f |= flags[op.fd] | flags[op.fp1] | flags[op.fp2];
    if (op.uses_carry && warp_->carry_undefined != 0) f |= kMaybeUndefined;
    if (f == 0 && (!op.wrap_check || stays_exact(op))) {
      warp_->flags[op.fd] = 0;
      warp_->flags[op.fp1] = 0;
      warp_->flags[op.fp2] = 0;
      if (op.sets_carry) warp_->carry_undefined &= ~mask;
    } else {
      const UndefinedSources sources = undefined_sources(op, mask);
      if (op.d != kNoSlot) shadow_compute(op, mask, f);
      shadow_predicates(op, mask, rows, sources);
      if (op.sets_carry) shadow_carry(op, mask, sources);
    }
  }
  const bool direct = full && op.d != kNoSlot;
  rows.d = direct ? frame_row(op.d) : scratch_;
  op.row(rows);
  if (op.d != kNoSlot && !direct) write_row(op.d, op.width, scratch_, mask);
  if constexpr (kLook) {
    if (op.compared != CompareFormat::none) note_compare(op, rows.p_out, mask);
    if (op.result != ResultFormat::none && op.d != kNoSlot) note_result(op, frame_row(op.d), mask);
  }
  if (op.p1 != kNoSlot) set_predicate(op.p1, rows.p_out, mask);
  if (op.p2 != kNoSlot) set_predicate(op.p2, rows.p_out2, mask);
  if (op.sets_carry) warp_->carry = (warp_->carry & ~mask) | (rows.carry_out & mask);
}

/// The lanes of `mask` get a defined, exact value.
void Executor::result_defined(uint32_t flag, Slot slot, int width, uint32_t mask) {
  uint8_t& flags = warp_->flags[flag];
  if (flags == 0) return;
  if (mask == warp_->live) {
    flags = 0;
    return;
  }
  if (flags & kMaybeUndefined) mark_defined(flag, slot, width, mask);
  if (flags & kWrapped) {
    WrapRow& exact = wrap_row(flag);
    for (int lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane) & 1) exact.s[lane] = exact.u[lane] = 0;
    }
  }
}

/// An instruction whose effect is its results. Coverage does not look: they may be no results.
void Executor::run_computing(const MicroOp& op, uint32_t mask) {
  switch (op.kind) {
    case Kind::compute:
      return compute<true, false>(op, mask);
    case Kind::compute_pred:
      return compute_pred<true, false>(op, mask);
    case Kind::pack:
      return pack(op, mask);
    case Kind::unpack:
      return unpack(op, mask);
    case Kind::clock:
      return clock(op, mask);
    case Kind::is_space:
      return is_space(op, mask);
    default:
      return active_mask(op, mask);
  }
}

void Executor::clock(const MicroOp& op, uint32_t mask) {
  stillness_.disturb();
  alignas(32) uint64_t now[kLanes];
  alignas(32) uint32_t now32[kLanes];
  for (int i = 0; i < kLanes; ++i) now32[i] = static_cast<uint32_t>(now[i] = instructions_);
  write_row(op.d, op.width, op.width == 8 ? static_cast<void*>(now) : now32, mask);
  result_defined(op.fd, op.d, op.width, mask);
}

void Executor::is_space(const MicroOp& op, uint32_t mask) {
  const auto* a = reinterpret_cast<const uint64_t*>(row(op.a));
  const Space space = code_->sites[op.site].instruction->space;
  // Constant variables lie among global memory, but are none of it (PTX ISA 9.7.9.18).
  const auto is_constant = [&](uint64_t address) {
    const int at = memory_->nearest(address);
    if (at < 0) return false;
    const RegionSpec& spec = memory_->regions()[static_cast<size_t>(at)].spec;
    return spec.constant && address - spec.base < static_cast<uint64_t>(spec.bytes);
  };
  uint32_t yes = 0;
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t window = a[i] >> 32;
    const bool in = space == Space::shared  ? window == kSharedWindow >> 32
                    : space == Space::local ? window == kLocalWindow >> 32
                    : space == Space::param ? window == kParamWindow >> 32
                                            : window > kParamWindow >> 32 &&
                                                  is_constant(a[i]) == (space == Space::const_);
    yes |= static_cast<uint32_t>(in) << i;
  }
  UndefinedSources address;
  address.add(op.fa, undefined_lanes(op.fa, op.a, 8, mask));
  set_result_predicate(op, yes, mask, address.lanes());
  hand_on(op, op.fp1, address.lanes(), address);
}

void Executor::active_mask(const MicroOp& op, uint32_t mask) {
  if (warp_->groups.size() > 1) stillness_.disturb();  // which lanes are together is the order's
  alignas(32) uint32_t value[kLanes];
  for (uint32_t& v : value) v = mask;
  write_row(op.d, 4, value, mask);
  result_defined(op.fd, op.d, 4, mask);
}

/// The lanes whose branch is taken leave as a group of their own; both sides are counted here.
void Executor::diverge(WarpState& warp, Group& group, const MicroOp& op, uint32_t taken_mask) {
  const Block& taken = code_->blocks[op.target];
  const Block& other = code_->blocks[op.other];
  if (counting_) {
    ++seen_->edges[op.counter];
    ++seen_->edges[op.counter - 1];
  }
  const int taken_lanes = lane_count(taken_mask);
  const int other_lanes = lane_count(group.mask) - taken_lanes;
  instructions_ += taken.instructions + other.instructions;
  lane_instructions += static_cast<int64_t>(taken.instructions) * taken_lanes +
                       static_cast<int64_t>(other.instructions) * other_lanes;
  group.pc = other.pc;
  split_off(warp, group, taken_mask, taken.pc);
  // Lanes that stay in a loop while others leave it.
  if (op.back_edge) note_turn(warp.groups.back(), op.counter);
}

/// Lanes of `mask` that go where the first one of them goes.
uint32_t Executor::same_index(const MicroOp& op, uint32_t mask, uint32_t* wanted) {
  const auto* index = reinterpret_cast<const uint32_t*>(row(op.a));
  const size_t targets = code_->sites[op.site].targets.size();
  if (shadow_) check_operand(op, op.fa, op.a, 4, mask, "index");
  *wanted = index[std::countr_zero(mask)];
  uint32_t same = 0;
  for (int i = 0; i < kLanes; ++i) same |= static_cast<uint32_t>(index[i] == *wanted) << i;
  if (*wanted < targets) return same & mask;
  report(DiagnosticKind::trap, op.site, std::countr_zero(mask),
         "indexed branch to entry " + std::to_string(*wanted) + " of " + std::to_string(targets));
  throw Stop{RunStatus::fault};
}

// Entering a block is the one place that counts instructions, notes coverage and gives way.
#define ASSAY_ENTER(block_index, edge, is_back_edge)                            \
  {                                                                             \
    const Block& entered = blocks[block_index];                                 \
    pc = entered.pc;                                                            \
    instructions_ += entered.instructions;                                      \
    lane_instructions += static_cast<int64_t>(entered.instructions) * lanes;    \
    if constexpr (kCounts) ++hits[edge];                                        \
    if (is_back_edge) {                                                         \
      if constexpr (kCounts) note_turn(group, edge);                            \
      if (multiple && ++group.back_edges >= kBackEdgesInTurn) {                 \
        group.back_edges = 0;                                                   \
        ++group.epoch;                                                          \
      }                                                                         \
    }                                                                           \
    if (multiple || instructions_ >= pause_) {                                  \
      group.pc = pc;                                                            \
      return;                                                                   \
    }                                                                           \
  }

template <bool kShadow, Counting kCounting, bool kTrace>
void Executor::run_group(WarpState& warp, Group& group) {
  constexpr bool kCounts = kCounting != Counting::nothing;
  constexpr bool kLook = kCounting == Counting::results;
  const MicroOp* const ops = ops_;
  const Block* const blocks = code_->blocks.data();
  uint32_t* const hits = seen_->edges.data();
  const uint32_t mask = group.mask;
  const int lanes = lane_count(mask);
  const bool multiple = warp.groups.size() > 1;
  int32_t pc = group.pc;
  for (;;) {
    const MicroOp& op = ops[pc];
    uint32_t m = mask;
    if (op.guard != kNoSlot) {
      if constexpr (kShadow) {
        if ((warp.flags[op.fguard] & kMaybeUndefined) != 0 && only_computes(op.kind)) {
          const uint32_t p = predicate(op.guard);
          run_unsure(op, mask, mask & (op.guard_negated ? ~p : p));
          ++pc;
          continue;
        }
        if (warp.flags[op.fguard] & kMaybeUndefined) check_guard(op, mask);
      }
      const uint32_t p = predicate(op.guard);
      m &= op.guard_negated ? ~p : p;
      if (op.kind != Kind::branch) {
        if (m != mask) lane_instructions -= lanes - lane_count(m);
        if (m == 0) {
          // A product of matrices has the counter of a floating instruction.
          if (kCounts && has_address(op.kind) && op.result == ResultFormat::none) {
            note_access(op, 0, mask);
          }
          ++pc;
          continue;
        }
      }
    }
    switch (op.kind) {
      case Kind::compute:
        if constexpr (kTrace) trace_before(op);
        compute<kShadow, kLook>(op, m);
        if constexpr (kTrace) trace_after(op, m);
        break;
      case Kind::compute_pred:
        if constexpr (kTrace) trace_before(op);
        compute_pred<kShadow, kLook>(op, m);
        if constexpr (kTrace) trace_after(op, m);
        break;
      case Kind::load:
        if constexpr (kCounts) note_access(op, m, mask);
        load(op, m);
        break;
      case Kind::store:
        if constexpr (kCounts) note_access(op, m, mask);
        store(op, m);
        break;
      case Kind::atomic:
        if constexpr (kCounts) note_access(op, m, mask);
        atomic(op, m);
        if (multiple) group.back_edges += kBackEdgesOfAtomic;
        break;
      case Kind::pack:
        if constexpr (kTrace) trace_parts(op, m);
        pack(op, m);
        break;
      case Kind::unpack:
        if constexpr (kTrace) trace_parts(op, m);
        unpack(op, m);
        break;
      case Kind::fence:
        if (warp.block->races != nullptr) fence(op, m);
        break;
      case Kind::nop:
        break;
      case Kind::clock:
        clock(op, m);
        break;
      case Kind::is_space:
        is_space(op, m);
        break;
      case Kind::active_mask:
        active_mask(op, m);
        break;
      case Kind::shuffle:
      case Kind::vote:
      case Kind::match:
      case Kind::redux:
      case Kind::elect:
      case Kind::tensor:
      case Kind::sync_warp:
        group.pc = pc;
        if (!synchronise(warp, group, op, m)) return;
        break;
      case Kind::barrier:
        group.pc = pc;
        return arrive(warp, group, op, m);
      case Kind::async_source:
      case Kind::async_copy:
        if constexpr (kCounts) note_access(op, m, mask);
        asynchronous(op, m);
        break;
      case Kind::async_group:
      case Kind::mbarrier:
        asynchronous(op, m);
        break;
      case Kind::jump:
        ASSAY_ENTER(op.target, op.counter, op.back_edge);
        continue;
      case Kind::branch:
        if (m == mask) {
          ASSAY_ENTER(op.target, op.counter, op.back_edge);
        } else if (m == 0) {
          ASSAY_ENTER(op.other, op.counter - 1, false);
        } else {
          // `group` may move when a group is added: nothing of it is used afterwards.
          return diverge(warp, group, op, m);
        }
        continue;
      case Kind::branch_index: {
        // One index at a time; the other lanes come back to this instruction.
        uint32_t wanted = 0;
        const uint32_t same = same_index(op, m, &wanted);
        const int32_t target = code_->sites[op.site].targets[wanted];
        if (same != mask) {
          if constexpr (kCounts) ++hits[op.counter + static_cast<int32_t>(wanted)];
          group.pc = same == m && m != mask ? pc + 1 : pc;
          return split_off(warp, group, same, blocks[target].pc);
        }
        ASSAY_ENTER(target, op.counter + static_cast<int32_t>(wanted), blocks[target].pc <= pc);
        continue;
      }
      case Kind::call: {
        if (m != mask) {
          group.pc = pc + 1;
          return split_off(warp, group, m, pc);
        }
        const CallInfo& call = code_->calls[op.target];
        if constexpr (kShadow) forget_locals(warp, call, m);
        copy_local(warp, call.arguments, m);
        group.stack.push_back(pc);
        ASSAY_ENTER(call.callee_block, op.counter, false);
        continue;
      }
      case Kind::ret:
        if (group.stack.empty()) {
          group.pc = pc + 1;
          return exit_lanes(warp, group, m);
        }
        if (m != mask) {
          group.pc = pc + 1;
          return split_off(warp, group, m, pc);
        }
        copy_local(warp, code_->calls[ops[group.stack.back()].target].results, m);
        pc = group.stack.back() + 1;
        group.stack.pop_back();
        if (multiple) {
          group.pc = pc;
          return;
        }
        continue;
      case Kind::exit:
        group.pc = pc + 1;
        return exit_lanes(warp, group, m);
      case Kind::trap:
        report(DiagnosticKind::trap, op.site, std::countr_zero(m), "trap instruction executed");
        throw Stop{RunStatus::fault};
      case Kind::assert_fail:
        assert_failed(op, m);
      case Kind::unsupported:
        report(DiagnosticKind::unsupported, op.site, std::countr_zero(m),
               "instruction not supported: " + code_->sites[op.site].instruction->spelling);
        throw Stop{RunStatus::unsupported};
    }
    ++pc;
  }
}

template <Counting kCounting>
void Executor::run_counting(WarpState& warp, Group& group) {
  if (shadow_) return run_group<true, kCounting, false>(warp, group);
  return run_group<false, kCounting, false>(warp, group);
}

/// The interpreter for what the run looks at.
void Executor::run_group(WarpState& warp, Group& group) {
  if (traced()) return run_group<false, Counting::entries, true>(warp, group);
  if (!counting_) return run_counting<Counting::nothing>(warp, group);
  if (looking_) return run_counting<Counting::results>(warp, group);
  return run_counting<Counting::entries>(warp, group);
}

}  // namespace assay::ptx
