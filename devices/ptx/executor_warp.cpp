// Warp-wide instructions. `*.sync` is a rendezvous of the non-exited lanes that its mask names,
// wherever in the program they execute it (PTX ISA 9.7.9.6, 9.7.13).
#include <bit>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// Source lane of a shuffle; `in_range` is its predicate (PTX ISA 9.7.9.6).
int shuffle_source(Shuffle mode, int lane, uint32_t b, uint32_t c, bool* in_range) {
  const int bval = static_cast<int>(b & 31);
  const int cval = static_cast<int>(c & 31);
  const int segment = static_cast<int>((c >> 8) & 31);
  const int max_lane = (lane & segment) | (cval & ~segment);
  const int min_lane = lane & segment;
  int source = lane;
  switch (mode) {
    case Shuffle::up:
      source = lane - bval;
      *in_range = source >= max_lane;
      break;
    case Shuffle::down:
      source = lane + bval;
      *in_range = source <= max_lane;
      break;
    case Shuffle::bfly:
      source = lane ^ bval;
      *in_range = source <= max_lane;
      break;
    default:
      source = min_lane | (bval & ~segment);
      *in_range = source <= max_lane;
      break;
  }
  return *in_range ? source : lane;
}

}  // namespace

uint32_t Executor::member_mask(const MicroOp& op, uint32_t mask) const {
  Slot slot = op.b;
  if (op.kind == Kind::shuffle || op.kind == Kind::tensor) slot = op.e;
  if (op.kind == Kind::elect || op.kind == Kind::sync_warp || op.kind == Kind::vote) slot = op.a;
  return reinterpret_cast<const uint32_t*>(row(slot))[std::countr_zero(mask)];
}

/// True: the instruction is done and the group goes on at the next one. False: the group waits, or
/// its lanes were sorted anew; it does not go on here.
bool Executor::synchronise(WarpState& warp, Group& group, const MicroOp& op, uint32_t mask) {
  const uint32_t named = member_mask(op, mask);
  // Lanes of this group that name other masks come to this instruction one mask after the other.
  const Slot slot = op.kind == Kind::shuffle || op.kind == Kind::tensor ? op.e
                    : op.kind == Kind::match || op.kind == Kind::redux  ? op.b
                                                                        : op.a;
  if (shadow_) {
    const uint32_t flag = slot == op.e ? op.fe : slot == op.b ? op.fb : op.fa;
    check_operand(op, flag, slot, 4, mask, "lane mask");
  }
  uint32_t same = mask;
  if (!is_uniform(slot)) {
    const uint32_t* masks = reinterpret_cast<const uint32_t*>(row(slot));
    same = 0;
    for (int i = 0; i < kLanes; ++i) same |= static_cast<uint32_t>(masks[i] == named) << i;
    same &= mask;
  }
  if (same != mask) return synchronise_parts(warp, group, op, mask);
  if (barriers_on() && named != warp.live) check_membermask(warp, group.pc, mask, named);
  const uint32_t wanted = (named | mask) & warp.live;
  if ((wanted & ~mask) == 0) {
    if (op.kind == Kind::shuffle && shuffle_whole(op, mask)) return true;
    const Participant only{&group, &op, mask};
    perform(warp, {&only, 1});
    return true;
  }
  hold(warp, group, mask, Wait::rendezvous, named);
  try_rendezvous(warp, named);
  return false;
}

/// The lanes of one group name different masks, as halves of a warp that shuffle side by side do.
/// Parts that are complete perform at once; only the others wait. Returns as synchronise() does.
bool Executor::synchronise_parts(WarpState& warp, Group& group, const MicroOp& op, uint32_t mask) {
  uint32_t done = 0;
  std::vector<Group> waiting;
  for (uint32_t left = mask; left != 0;) {
    const uint32_t named = member_mask(op, left);
    uint32_t part = 0;
    for_lanes(left, [&](int lane) {
      if (member_mask(op, 1u << lane) == named) part |= 1u << lane;
    });
    left &= ~part;
    if (barriers_on()) check_membermask(warp, group.pc, part, named);
    if ((named & warp.live & ~part) == 0) {
      const Participant only{&group, &op, part};
      perform(warp, {&only, 1});
      done |= part;
      continue;
    }
    waiting.push_back(group);
    waiting.back().mask = part;
    waiting.back().wait = Wait::rendezvous;
    waiting.back().wait_mask = named;
    waiting.back().passed = 0;
  }
  if (waiting.empty()) return true;
  std::vector<uint32_t> named;
  for (const Group& g : waiting) named.push_back(g.wait_mask);
  const uint32_t goes_on = (group.mask & ~mask) | done;
  if (goes_on != 0) {
    group.mask = goes_on;
    ++group.pc;
  } else {
    group = std::move(waiting.back());
    waiting.pop_back();
  }
  // `group` may move when groups are added.
  for (Group& g : waiting) warp.groups.push_back(std::move(g));
  for (uint32_t names : named) try_rendezvous(warp, names);
  return false;
}

/// Performs the instruction when all lanes that `named` names wait with that mask.
bool Executor::try_rendezvous(WarpState& warp, uint32_t named) {
  std::vector<Participant> all;
  uint32_t arrived = 0;
  Kind kind = Kind::nop;
  for (Group& g : warp.groups) {
    if (g.wait != Wait::rendezvous || g.wait_mask != named) continue;
    const MicroOp& op = ops_[g.pc];
    if (kind == Kind::nop) kind = op.kind;
    if (op.kind != kind) continue;
    all.push_back({&g, &op, g.mask});
    arrived |= g.mask;
  }
  if (all.empty() || ((named & warp.live) & ~arrived) != 0) return false;
  if (barriers_on() && all.size() > 1) check_participants(warp, all);
  perform(warp, all);
  for (const Participant& p : all) {
    p.group->wait = Wait::none;
    ++p.group->pc;
  }
  return true;
}

void Executor::perform(WarpState& warp, std::span<const Participant> all) {
  switch (all[0].op->kind) {
    case Kind::shuffle:
      return shuffle(warp, all);
    case Kind::vote:
      return vote(warp, all);
    case Kind::match:
      return match(warp, all);
    case Kind::redux:
      return redux(warp, all);
    case Kind::elect:
      return elect(warp, all);
    case Kind::tensor:
      return tensor(warp, all);
    case Kind::barrier: {  // bar.arrive
      const auto* numbers = reinterpret_cast<const uint32_t*>(row(all[0].op->a));
      const uint32_t number = numbers[std::countr_zero(all[0].mask)];
      uint32_t mask = 0;
      for (const Participant& p : all) mask |= p.mask;
      return count_arrivals(warp, static_cast<int>(number), mask);
    }
    default:  // bar.warp.sync: arrival is all
      if (warp.block->races != nullptr) {
        uint32_t mask = 0;
        for (const Participant& p : all) mask |= p.mask;
        races_->sync_warp(*warp.block->races, warp.index, mask, (warp.live & ~mask) == 0);
      }
      return;
  }
}

void Executor::set_result_predicate(const MicroOp& op, uint32_t value, uint32_t mask,
                                    uint32_t undefined) {
  if (op.p1 == kNoSlot) return;
  set_predicate(op.p1, value, mask);
  set_predicate_undefined(op.fp1, op.p1, undefined, mask);
}

/// Whether all lanes of a 32-bit row hold the same: constants do by their making.
bool Executor::is_uniform(Slot slot) const {
  if ((slot & 3u) == kConstants) return true;
  return kit_.uniform32(reinterpret_cast<const uint32_t*>(row(slot)));
}

/// The common shuffle: a whole warp, clean and untraced, all lanes with the same distance and
/// bounds. False: not of that shape, nothing was done.
bool Executor::shuffle_whole(const MicroOp& op, uint32_t mask) {
  if (mask != ~0u || op.d == kNoSlot || traced()) return false;
  if ((warp_->flags[op.fa] | warp_->flags[op.fb] | warp_->flags[op.fc]) != 0) return false;
  const uint32_t* b = reinterpret_cast<const uint32_t*>(row(op.b));
  const uint32_t* c = reinterpret_cast<const uint32_t*>(row(op.c));
  if (!is_uniform(op.b) || !is_uniform(op.c)) return false;
  const uint32_t* from = reinterpret_cast<const uint32_t*>(row(op.a));
  uint32_t in_range = ~0u;
  if (op.shuffle == Shuffle::bfly && c[0] == 31) {
    kit_.butterfly32(reinterpret_cast<uint32_t*>(frame_row(op.d)), from, b[0] & 31);
  } else {
    alignas(64) uint32_t result[kLanes];
    in_range = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      bool ok = false;
      result[lane] = from[shuffle_source(op.shuffle, lane, b[0], c[0], &ok)];
      in_range |= static_cast<uint32_t>(ok) << lane;
    }
    std::memcpy(frame_row(op.d), result, sizeof result);
  }
  warp_->flags[op.fd] = 0;
  if (op.p1 != kNoSlot) {
    std::memcpy(frame_row(op.p1), &in_range, 4);
    warp_->flags[op.fp1] = 0;
  }
  return true;
}

void Executor::shuffle(WarpState& warp, std::span<const Participant> all) {
  alignas(32) uint32_t value[kLanes];
  alignas(32) uint32_t result[kLanes];
  uint32_t participants = 0;
  UndefinedLanes given;
  bool wrapped = false;
  WrapRow exact;
  uint32_t origin = 0;
  for (const Participant& p : all) {
    const uint32_t* a = reinterpret_cast<const uint32_t*>(row(p.op->a));
    participants |= p.mask;
    if (all.size() == 1) {
      std::memcpy(value, a, sizeof value);
    } else {
      for_lanes(p.mask, [&](int lane) { value[lane] = a[lane]; });
    }
    const uint8_t flags = shadow_ ? warp.flags[p.op->fa] : 0;
    if (flags == 0) continue;
    gather_undefined(*p.op, p.op->fa, p.op->a, 4, p.mask, given);
    if ((flags & kWrapped) == 0) continue;
    if (!wrapped) std::memset(&exact, 0, sizeof exact);
    wrapped = true;
    origin = warp.origins[p.op->fa];
    const WrapRow& from = warp.wrap[code_->wrap_rows[p.op->fa]];
    for_lanes(p.mask, [&](int lane) {
      exact.s[lane] = from.s[lane];
      exact.u[lane] = from.u[lane];
    });
  }
  for (const Participant& p : all) {
    const MicroOp& op = *p.op;
    const uint32_t* b = reinterpret_cast<const uint32_t*>(row(op.b));
    const uint32_t* c = reinterpret_cast<const uint32_t*>(row(op.c));
    uint32_t in_range = 0, absent = 0;
    int sources[kLanes], asked[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      bool ok = false;
      const int source = shuffle_source(op.shuffle, lane, b[lane], c[lane], &ok);
      // A lane that does not take part gives no value: the reader keeps its own, undefined.
      const bool present = (participants >> source) & 1;
      asked[lane] = source;
      sources[lane] = present ? source : lane;
      result[lane] = value[sources[lane]];
      in_range |= static_cast<uint32_t>(ok) << lane;
      absent |= static_cast<uint32_t>(!present) << lane;
    }
    // From which lane a value comes is undefined, too, where its number or the bounds are.
    UndefinedSources chooser;
    if (shadow_) {
      chooser.add(op.fb, undefined_lanes(op.fb, op.b, 4, p.mask));
      chooser.add(op.fc, undefined_lanes(op.fc, op.c, 4, p.mask));
    }
    if (op.d != kNoSlot) {
      write_row(op.d, 4, result, p.mask);
      if (traced()) trace_shuffle(op, p.mask, sources);
      if (shadow_) {
        result_defined(op.fd, op.d, 4, p.mask);
        shuffle_undefined(op, p.mask, sources, given, chooser, absent & p.mask, asked);
        if (wrapped && op.fd != 0 && code_->wrap_rows[op.fd] >= 0) {
          WrapRow& to = wrap_row(op.fd);
          for_lanes(p.mask, [&](int lane) {
            to.s[lane] = exact.s[sources[lane]];
            to.u[lane] = exact.u[sources[lane]];
          });
          warp.origins[op.fd] = origin;
        }
      }
    }
    set_result_predicate(op, in_range, p.mask, chooser.lanes());
    if (op.p1 != kNoSlot) hand_on(op, op.fp1, chooser.lanes(), chooser);
  }
}

}  // namespace assay::ptx
