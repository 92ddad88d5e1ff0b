// Votes, matches, reductions and elections of a warp: what executor_warp.cpp performs once all that
// take part are there.
#include <algorithm>
#include <bit>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// One step of redux.
MaskedBits combine(const Instruction& ins, MaskedBits x, MaskedBits y) {
  const auto a = static_cast<uint32_t>(x.bits), b = static_cast<uint32_t>(y.bits);
  const uint64_t any = x.undefined | y.undefined;
  const bool less =
      ins.type == Type::s32 ? static_cast<int32_t>(b) < static_cast<int32_t>(a) : b < a;
  switch (ins.atom) {
    case Atom::add:
      return {a + b, undefined_sum(x, y)};
    case Atom::min:
      return {less ? b : a, any != 0 ? ~uint64_t{0} : 0};
    case Atom::max:
      return {less ? a : b, any != 0 ? ~uint64_t{0} : 0};
    case Atom::and_:
      return {a & b, undefined_and(x, y)};
    case Atom::or_:
      return {a | b, undefined_or(x, y)};
    default:
      return {a ^ b, any};
  }
}

}  // namespace

void Executor::vote(WarpState&, std::span<const Participant> all) {
  uint32_t truth = 0, mask = 0;
  UndefinedLanes unsure;
  for (const Participant& p : all) {
    const uint32_t value = predicate(p.op->pa) ^ (p.op->pa_negated ? ~0u : 0u);
    truth |= value & p.mask;
    mask |= p.mask;
    const uint32_t undefined = predicate_undefined(p.op->fpa, p.op->pa) & p.mask;
    if (undefined == 0) continue;
    unsure.mask |= undefined;
    unsure.trails.resize(kLanes);
    for_lanes(undefined, [&](int lane) {
      unsure.trails[static_cast<size_t>(lane)] = trail_through(*p.op, p.op->fpa, lane);
    });
  }
  // A defined vote may decide.
  const bool some_true = (truth & ~unsure.mask) != 0,
             some_false = (mask & ~truth & ~unsure.mask) != 0;
  const bool open = unsure.mask != 0;
  for (const Participant& p : all) {
    switch (code_->sites[p.op->site].instruction->vote) {
      case Vote::all:
        set_collective_predicate(*p.op, truth == mask, p.mask, open && !some_false, unsure);
        break;
      case Vote::any:
        set_collective_predicate(*p.op, truth != 0, p.mask, open && !some_true, unsure);
        break;
      case Vote::uni:
        set_collective_predicate(*p.op, truth == mask || truth == 0, p.mask,
                                 open && !(some_true && some_false), unsure);
        break;
      default:
        for_lanes(p.mask,
                  [&](int lane) { set_collective(*p.op, lane, truth, unsure.mask, unsure); });
        break;
    }
  }
}

void Executor::match(WarpState&, std::span<const Participant> all) {
  uint64_t value[kLanes] = {};
  uint32_t mask = 0;
  UndefinedLanes unsure;
  for (const Participant& p : all) {
    const int width = bytes_of(code_->sites[p.op->site].instruction->type);
    const uint8_t* a = row(p.op->a);
    for_lanes(p.mask, [&](int lane) { std::memcpy(&value[lane], a + width * lane, width); });
    mask |= p.mask;
    gather_undefined(*p.op, p.op->fa, p.op->a, width, p.mask, unsure);
  }
  // Pairs that differ in a defined bit differ whatever the undefined ones are.
  const auto surely_differ = [&](int i, int j) {
    const uint64_t open = unsure.bits[static_cast<size_t>(i)] | unsure.bits[static_cast<size_t>(j)];
    return ((value[i] ^ value[j]) & ~open) != 0;
  };
  bool all_equal = true, some_differ = false;
  for_lanes(mask, [&](int lane) { all_equal &= value[lane] == value[std::countr_zero(mask)]; });
  for_lanes(unsure.mask == 0 ? 0 : mask, [&](int lane) {
    for_lanes(mask, [&](int other) { some_differ |= surely_differ(lane, other); });
  });
  const bool open = unsure.mask != 0 && !some_differ && std::popcount(mask) > 1;
  for (const Participant& p : all) {
    const bool any_form = code_->sites[p.op->site].instruction->vote == Vote::any;
    for_lanes(p.mask, [&](int lane) {
      uint32_t equal = 0, undefined = 0;
      for_lanes(mask, [&](int other) {
        if (value[other] == value[lane]) equal |= 1u << other;
        const bool concerned = ((unsure.mask >> lane | unsure.mask >> other) & 1) != 0;
        if (concerned && other != lane && !surely_differ(lane, other)) undefined |= 1u << other;
      });
      if (any_form) {
        set_collective(*p.op, lane, equal, undefined, unsure);
      } else {
        set_collective(*p.op, lane, all_equal ? mask : 0, open ? mask : 0, unsure);
      }
    });
    set_collective_predicate(*p.op, all_equal, p.mask, open, unsure);
  }
}

void Executor::redux(WarpState&, std::span<const Participant> all) {
  const Instruction& ins = *code_->sites[all[0].op->site].instruction;
  MaskedBits result;
  UndefinedLanes unsure;
  bool first = true;
  for (const Participant& p : all) {
    const uint32_t* a = reinterpret_cast<const uint32_t*>(row(p.op->a));
    gather_undefined(*p.op, p.op->fa, p.op->a, 4, p.mask, unsure);
    for_lanes(p.mask, [&](int lane) {
      const MaskedBits x{a[lane], unsure.bits[static_cast<size_t>(lane)]};
      result = first ? x : combine(ins, result, x);
      first = false;
    });
  }
  for (const Participant& p : all) {
    for_lanes(p.mask, [&](int lane) {
      set_collective(*p.op, lane, static_cast<uint32_t>(result.bits),
                     static_cast<uint32_t>(result.undefined), unsure);
    });
  }
}

/// The lowest participating lane; PTX leaves the choice open but asks for the same one each time.
void Executor::elect(WarpState&, std::span<const Participant> all) {
  uint32_t mask = 0;
  for (const Participant& p : all) mask |= p.mask;
  const uint32_t leader = static_cast<uint32_t>(std::countr_zero(mask));
  for (const Participant& p : all) {
    for_lanes(p.mask, [&](int lane) { set_collective(*p.op, lane, leader, 0, {}); });
    set_result_predicate(*p.op, 1u << leader, p.mask, 0);
  }
}

}  // namespace assay::ptx
