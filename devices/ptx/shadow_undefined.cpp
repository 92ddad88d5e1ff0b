// Definedness: which bits of which lanes of a register hold no value. It is a property of values,
// told only when one reaches a judged store, a branch or an address (undefined_trail.cpp).
#include <algorithm>
#include <bit>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

alignas(64) const uint8_t kAllDefined[256] = {};
const uint8_t kAllUndefined[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

template <class T>
T word_at(const uint8_t* bytes) {
  T word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

bool any_byte(const uint8_t* bytes, int count) {
  switch (count) {
    case 2:
      return word_at<uint16_t>(bytes) != 0;
    case 4:
      return word_at<uint32_t>(bytes) != 0;
    case 8:
      return word_at<uint64_t>(bytes) != 0;
    default:
      return std::any_of(bytes, bytes + count, [](uint8_t b) { return b != 0; });
  }
}

/// A lane's undefined bits become those at `from`.
void copy_lane(uint8_t* to, const uint8_t* from, int width) {
  switch (width) {
    case 2:
      std::memcpy(to, from, 2);
      break;
    case 4:
      std::memcpy(to, from, 4);
      break;
    default:
      std::memcpy(to, from, 8);
      break;
  }
}

uint64_t element(const uint8_t* row, int width, int lane) {
  const uint8_t* at = row + lane * width;
  return width == 2   ? word_at<uint16_t>(at)
         : width == 4 ? word_at<uint32_t>(at)
                      : word_at<uint64_t>(at);
}

MaskedBits masked(const uint8_t* row, const uint8_t* undefined, int width, int lane) {
  if (undefined == kAllDefined) return {element(row, width, lane), 0};
  return {element(row, width, lane), element(undefined, width, lane)};
}

/// "any": sources with an undefined bit in what is read of an element spoil the lane's result.
struct Spoiler {
  uint8_t* result;
  int width;

  void lanes(uint32_t undefined) const {
    for_lanes(undefined, [&](int lane) { copy_lane(result + lane * width, kAllUndefined, width); });
  }
  void by(const uint8_t* source, int stride, int read) const {
    if (source == kAllDefined) return;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (any_byte(source + lane * stride, read)) lanes(1u << lane);
    }
  }
  void by(const uint8_t* source, int stride) const { by(source, stride, stride); }
};

enum class Sign : uint8_t { no_integer, is_unsigned, is_signed };
Sign sign_of(Type type) {
  switch (type) {
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return Sign::is_signed;
    case Type::b16:
    case Type::b32:
    case Type::b64:
    case Type::u16:
    case Type::u32:
    case Type::u64:
      return Sign::is_unsigned;
    default:
      return Sign::no_integer;
  }
}

/// Whether a comparison of integers comes out the same whatever the undefined bits are: some
/// defined bit differs, or the ranges of the two values lie apart.
bool surely_compares(Compare compare, Sign type, MaskedBits a, MaskedBits b, int width) {
  const uint64_t sign = type == Sign::is_signed ? uint64_t{1} << (8 * width - 1) : 0;
  const auto least = [&](MaskedBits x) { return (x.bits ^ sign) & ~x.undefined; };
  const auto greatest = [&](MaskedBits x) { return (x.bits ^ sign) | x.undefined; };
  switch (compare) {
    case Compare::eq:
    case Compare::ne:
      return ((a.bits ^ b.bits) & ~(a.undefined | b.undefined)) != 0;
    case Compare::lt:
    case Compare::lo:
    case Compare::ge:
    case Compare::hs:
      return greatest(a) < least(b) || least(a) >= greatest(b);
    case Compare::gt:
    case Compare::hi:
    case Compare::le:
    case Compare::ls:
      return least(a) > greatest(b) || greatest(a) <= least(b);
    default:
      return false;
  }
}

/// Elements of `to` bytes from those of `from` bytes: one is undefined as a whole or not at all.
void spread_elements(uint8_t* result, const uint8_t* source, int count, int to, int from) {
  for (int i = 0; i < count; ++i) {
    if (any_byte(source + i * from, from))
      std::memset(result + i * to, 0xff, static_cast<size_t>(to));
  }
}

}  // namespace

/// The row of undefined bits of a source; all zeros when it is clean or a constant.
const uint8_t* Executor::undefined_source(uint32_t flag, Slot slot) const {
  const bool dirty = flag != 0 && (warp_->flags[flag] & kMaybeUndefined) != 0;
  return dirty ? warp_->undefined + slot : kAllDefined;
}

/// The row of undefined bits of a register that is about to get some.
uint8_t* Executor::undefined_row(uint32_t flag, Slot slot, int width) {
  uint8_t* at = warp_->undefined + slot;
  if ((warp_->flags[flag] & kMaybeUndefined) == 0) {
    std::memset(at, 0, width == 0 ? 4 : static_cast<size_t>(width) * kLanes);
    warp_->flags[flag] |= kMaybeUndefined;
  }
  return at;
}

uint32_t Executor::undefined_lanes(uint32_t flag, Slot slot, int width, uint32_t mask) const {
  if (flag == 0 || (warp_->flags[flag] & kMaybeUndefined) == 0) return 0;
  uint32_t result = 0;
  const uint8_t* at = warp_->undefined + slot;
  for_lanes(mask, [&](int lane) {
    if (any_byte(at + lane * width, width)) result |= 1u << lane;
  });
  return result;
}

/// Lanes of `mask` become undefined as a whole; the caller says where that comes from.
void Executor::mark_undefined(uint32_t flag, Slot slot, int width, uint32_t mask) {
  if (flag == 0 || !options_.definedness || mask == 0) return;
  uint8_t* at = undefined_row(flag, slot, width);
  for_lanes(mask, [&](int lane) { std::memset(at + lane * width, 0xff, width); });
}

/// Lanes of `mask` become defined.
void Executor::mark_defined(uint32_t flag, Slot slot, int width, uint32_t mask) {
  if ((warp_->flags[flag] & kMaybeUndefined) == 0) return;
  uint8_t* at = warp_->undefined + slot;
  for_lanes(mask, [&](int lane) { std::memset(at + lane * width, 0, width); });
}

uint32_t Executor::predicate_undefined(uint32_t flag, Slot slot) const {
  if (flag == 0 || (warp_->flags[flag] & kMaybeUndefined) == 0) return 0;
  uint32_t value;
  std::memcpy(&value, warp_->undefined + slot, 4);
  return value;
}

void Executor::set_predicate_undefined(uint32_t flag, Slot slot, uint32_t undefined,
                                       uint32_t mask) {
  if (flag == 0 || !options_.definedness) return;
  const bool dirty = (warp_->flags[flag] & kMaybeUndefined) != 0;
  if (!dirty && (undefined & mask) == 0) return;
  uint32_t value = dirty ? predicate_undefined(flag, slot) : 0;
  value = (value & ~mask) | (undefined & mask);
  std::memcpy(warp_->undefined + slot, &value, 4);
  warp_->flags[flag] = (value & warp_->live) != 0 ? kMaybeUndefined : 0;
}

/// The undefined bits of the result of one lane of an operation on numbers or bits.
uint64_t Executor::undefined_result(const MicroOp& op, int lane) const {
  const int width = op.source_width == 0 ? op.width : op.source_width;
  const MaskedBits a = masked(row(op.a), undefined_source(op.fa, op.a), width, lane);
  const auto b = [&] { return masked(row(op.b), undefined_source(op.fb, op.b), width, lane); };
  const auto c = [&] { return masked(row(op.c), undefined_source(op.fc, op.c), op.c_width, lane); };
  switch (op.undefined) {
    case UndefinedStep::and_:
      return undefined_and(a, b());
    case UndefinedStep::or_:
      return undefined_or(a, b());
    case UndefinedStep::lop3:
      return undefined_lop3(a, b(), c(), *reinterpret_cast<const uint32_t*>(row(op.e)));
    case UndefinedStep::sum:
      return undefined_sum(a, b());
    case UndefinedStep::difference:
      return undefined_difference(a, b());
    case UndefinedStep::negation:
      return undefined_difference({}, a);
    case UndefinedStep::product:
      return undefined_product(a, b());
    default:
      return undefined_sum_of_product(a, b(), c());
  }
}

/// The destination's undefined bits from those of the sources, before the instruction runs.
void Executor::propagate_undefined(const MicroOp& op, uint32_t mask) {
  const uint8_t* a = undefined_source(op.fa, op.a);
  const uint8_t* b = undefined_source(op.fb, op.b);
  const uint8_t* c = undefined_source(op.fc, op.c);
  const uint8_t* e = undefined_source(op.fe, op.e);
  const UndefinedSources sources = undefined_sources(op, mask);
  const int width = op.width;
  const int bytes = width * kLanes;
  alignas(32) uint8_t result[256] = {};
  const Spoiler spoil{result, width};
  // Sources may be wider or narrower than the result: lane l of a row lies at l * its width.
  const int source_width = op.source_width == 0 ? width : op.source_width;
  switch (op.undefined) {
    case UndefinedStep::none:
      break;
    case UndefinedStep::bits:
      for (int i = 0; i < bytes; ++i) result[i] = a[i] | b[i];
      break;
    case UndefinedStep::and_:
    case UndefinedStep::or_:
    case UndefinedStep::lop3:
    case UndefinedStep::sum:
    case UndefinedStep::difference:
    case UndefinedStep::negation:
    case UndefinedStep::product:
    case UndefinedStep::product_sum:
      for_lanes(mask, [&](int lane) {
        const uint64_t made = undefined_result(op, lane);
        uint8_t bytes_made[8];
        std::memcpy(bytes_made, &made, 8);
        copy_lane(result + lane * width, bytes_made, width);
      });
      break;
    case UndefinedStep::halves:
      for (const uint8_t* source : {a, b, c}) {
        if (source != kAllDefined) spread_elements(result, source, bytes / 2, 2, 2);
      }
      break;
    case UndefinedStep::pairs:
      spread_elements(result, a, 2 * kLanes, width / 2, source_width / 2);
      break;
    case UndefinedStep::pack2:
      for (int lane = 0; lane < kLanes; ++lane) {
        spread_elements(result + lane * width, b + lane * source_width, 1, width / 2, source_width);
        spread_elements(result + lane * width + width / 2, a + lane * source_width, 1, width / 2,
                        source_width);
      }
      break;
    case UndefinedStep::select: {
      const uint32_t p = predicate(op.pa) ^ (op.pa_negated ? ~0u : 0u);
      for (int lane = 0; lane < kLanes; ++lane) {
        std::memcpy(result + lane * width, ((p >> lane) & 1 ? a : b) + lane * width, width);
      }
      // Either value may come out: the bits in which they agree are defined.
      for_lanes(predicate_undefined(op.fpa, op.pa), [&](int lane) {
        for (int i = lane * width; i < (lane + 1) * width; ++i) {
          result[i] = a[i] | b[i] | static_cast<uint8_t>(row(op.a)[i] ^ row(op.b)[i]);
        }
      });
      break;
    }
    case UndefinedStep::apply1:
    case UndefinedStep::apply2: {
      // The instruction itself moves bits: run it on the undefined bits of what it moves.
      const bool two = op.undefined == UndefinedStep::apply2;
      Rows rows;
      rows.a = a;
      rows.b = two ? b : row(op.b);
      rows.c = row(op.c);
      rows.e = row(op.e);
      rows.d = result;
      op.row(rows);
      if (!two) spoil.by(b, op.b_width);
      spoil.by(c, op.c_width);
      spoil.by(e, 4);
      break;
    }
    case UndefinedStep::whole:
      spoil.by(a, source_width, op.read_bytes == 0 ? source_width : op.read_bytes);
      spoil.by(b, op.b_width, op.read_bytes == 0 ? op.b_width : op.read_bytes);
      spoil.by(c, op.c_width);
      spoil.by(e, 4);
      spoil.lanes(predicate_undefined(op.fpa, op.pa) | predicate_undefined(op.fpb, op.pb));
      if (op.uses_carry) spoil.lanes(warp_->carry_undefined);
      break;
  }
  uint32_t undefined = 0;
  for_lanes(mask, [&](int lane) {
    if (any_byte(result + lane * width, width)) undefined |= 1u << lane;
  });
  const bool full = mask == warp_->live;
  if (undefined == 0 && (full || (warp_->flags[op.fd] & kMaybeUndefined) == 0)) {
    warp_->flags[op.fd] &= static_cast<uint8_t>(~kMaybeUndefined);
    return;
  }
  if (op.fd == 0) return;
  uint8_t* to = undefined_row(op.fd, op.d, width);
  if (full) {
    std::memcpy(to, result, static_cast<size_t>(bytes));
  } else {
    for_lanes(mask, [&](int lane) { copy_lane(to + lane * width, result + lane * width, width); });
  }
  hand_on(op, op.fd, undefined, sources);
}

/// Predicate results. A source that is undefined leaves the result defined where the others decide
/// (in bounds, and then a property of what was read): the instruction runs with both truths.
void Executor::shadow_predicates(const MicroOp& op, uint32_t mask, const Rows& rows,
                                 const UndefinedSources& sources) {
  if (op.p1 == kNoSlot && op.p2 == kNoSlot) return;
  const Instruction& ins = *code_->sites[op.site].instruction;
  const int width = op.source_width == 0 ? 4 : op.source_width;
  uint32_t compared =
      undefined_lanes(op.fa, op.a, width, mask) | undefined_lanes(op.fb, op.b, width, mask);
  if (const Sign sign = sign_of(ins.type); ins.op == Op::setp && sign != Sign::no_integer) {
    for_lanes(compared, [&](int lane) {
      const MaskedBits a = masked(row(op.a), undefined_source(op.fa, op.a), width, lane);
      const MaskedBits b = masked(row(op.b), undefined_source(op.fb, op.b), width, lane);
      if (surely_compares(ins.compare, sign, a, b, width)) compared &= ~(1u << lane);
    });
  }
  const uint32_t ua = predicate_undefined(op.fpa, op.pa);
  const uint32_t ub = predicate_undefined(op.fpb, op.pb);
  // Where the comparison itself is undefined, a defined false decides `and`, a true one `or`.
  const bool combines = ins.op == Op::setp && op.pa != kNoSlot;
  uint32_t undecided = compared;
  if (combines && ins.bool_op == BoolOp::and_) undecided &= ua | rows.pa;
  if (combines && ins.bool_op == BoolOp::or_) undecided &= ua | ~rows.pa;
  uint32_t undefined[2] = {undecided, undecided};
  if ((ua | ub) != 0) {
    uint32_t truths[2] = {0, 0}, lies[2] = {0, 0};  // lanes that can be true, that can be false
    for (int which = 0; which < 4; ++which) {
      alignas(32) uint8_t unused[256];
      Rows trial = rows;
      trial.d = unused;
      if (which & 1) trial.pa ^= ua;
      if (which & 2) trial.pb ^= ub;
      op.row(trial);
      const uint32_t outcome[2] = {trial.p_out, trial.p_out2};
      for (int i = 0; i < 2; ++i) {
        truths[i] |= outcome[i];
        lies[i] |= ~outcome[i];
      }
    }
    for (int i = 0; i < 2; ++i) undefined[i] |= truths[i] & lies[i] & ~compared;
  }
  if (((warp_->flags[op.fa] | warp_->flags[op.fb]) & kWrapped) && ins.op == Op::setp) {
    note_compared_wrap(op, mask);
  }
  for (int i = 0; i < 2; ++i) {
    const uint32_t flag = i == 0 ? op.fp1 : op.fp2;
    const Slot slot = i == 0 ? op.p1 : op.p2;
    if (slot == kNoSlot) continue;
    set_predicate_undefined(flag, slot, undefined[i], mask);
    hand_on(op, flag, undefined[i] & mask, sources);
  }
}

/// The carry flag after an instruction that sets it.
void Executor::shadow_carry(const MicroOp& op, uint32_t mask, const UndefinedSources& sources) {
  warp_->carry_undefined = (warp_->carry_undefined & ~mask) | sources.lanes();
  hand_on(op, kCarryFlag, sources.lanes(), sources);
}

/// An instruction without effect elsewhere runs under a guard that is undefined in some lanes:
/// there its results may be old or new.
void Executor::run_unsure(const MicroOp& op, uint32_t mask, uint32_t active) {
  const uint32_t unsure = predicate_undefined(op.fguard, op.guard) & mask;
  UndefinedSources guard;
  guard.add(op.fguard, unsure);
  if (active != 0) run_computing(op, active);
  const auto spoil = [&](uint32_t flag, Slot slot, int width) {
    if (slot == kNoSlot || flag == 0) return;
    mark_undefined(flag, slot, width, unsure);
    hand_on(op, flag, unsure, guard);
  };
  spoil(op.fd, op.d, op.width);
  const Site& site = code_->sites[op.site];
  for (size_t k = 0; op.kind == Kind::unpack && k < site.rows.size(); ++k) {
    spoil(site.flags[k], site.rows[k], op.width);
  }
  for (const auto& [flag, slot] : {std::pair{op.fp1, op.p1}, std::pair{op.fp2, op.p2}}) {
    if (slot == kNoSlot) continue;
    set_predicate_undefined(flag, slot, unsure, unsure);
    hand_on(op, flag, unsure, guard);
  }
  if (op.sets_carry) {
    warp_->carry_undefined |= unsure;
    hand_on(op, kCarryFlag, unsure, guard);
  }
}

}  // namespace assay::ptx
