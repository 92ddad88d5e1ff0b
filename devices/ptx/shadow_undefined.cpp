// Definedness: which bytes of which lanes of a register hold no value. It is a property of values,
// told only when one reaches a judged store, a branch or an address.
#include <bit>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

alignas(64) const uint8_t kAllDefined[256] = {};

template <class F>
void for_lanes(uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

bool any_byte(const uint8_t* bytes, int count) {
  uint8_t any = 0;
  for (int i = 0; i < count; ++i) any |= bytes[i];
  return any != 0;
}

/// A byte that any shifted undefined bit touches is undefined as a whole.
void round_to_bytes(uint8_t* row, int bytes) {
  for (int i = 0; i < bytes; ++i) row[i] = row[i] != 0 ? 0xff : 0;
}

}  // namespace

/// The row of undefined bytes of a source; all zeros when it is clean or a constant.
const uint8_t* Executor::undefined_source(uint32_t flag, Slot slot) const {
  const bool dirty = flag != 0 && (warp_->flags[flag] & kMaybeUndefined) != 0;
  return dirty ? warp_->undefined + slot : kAllDefined;
}

/// The row of undefined bytes of a register that is about to get some.
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

/// Lanes of `mask` become undefined as a whole where `undefined` says, defined elsewhere.
void Executor::mark_lanes(uint32_t flag, Slot slot, int width, uint32_t undefined, uint32_t mask) {
  if (flag == 0 || !options_.definedness) return;
  if (undefined == 0 && (warp_->flags[flag] & kMaybeUndefined) == 0) return;
  uint8_t* at = undefined_row(flag, slot, width);
  for_lanes(mask, [&](int lane) {
    std::memset(at + lane * width, (undefined >> lane) & 1 ? 0xff : 0, width);
  });
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

/// The destination's undefined bytes from those of the sources, before the instruction runs.
void Executor::propagate_undefined(const MicroOp& op, uint32_t mask, uint8_t) {
  const uint8_t* a = undefined_source(op.fa, op.a);
  const uint8_t* b = undefined_source(op.fb, op.b);
  const uint8_t* c = undefined_source(op.fc, op.c);
  const uint8_t* e = undefined_source(op.fe, op.e);
  const int width = op.width;
  const int bytes = width * kLanes;
  alignas(32) uint8_t result[256] = {};
  // Sources may be wider or narrower than the result: lane l of a row lies at l * its width.
  const int source_width = op.source_width == 0 ? width : op.source_width;
  const auto whole = [&](const uint8_t* s, int w) {
    if (s == kAllDefined) return;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (any_byte(s + lane * w, w)) std::memset(result + lane * width, 0xff, width);
    }
  };
  const auto predicates = [&](uint32_t undefined) {
    for_lanes(undefined, [&](int lane) { std::memset(result + lane * width, 0xff, width); });
  };
  switch (op.undefined) {
    case UndefinedStep::none:
      break;
    case UndefinedStep::bytes:
      for (int i = 0; i < bytes; ++i) result[i] = a[i] | b[i] | c[i];
      break;
    case UndefinedStep::and_: {
      const uint8_t* x = row(op.a);
      const uint8_t* y = row(op.b);
      for (int i = 0; i < bytes; ++i) {
        const bool decided = (a[i] == 0 && x[i] == 0) || (b[i] == 0 && y[i] == 0);
        result[i] = decided ? 0 : a[i] | b[i];
      }
      break;
    }
    case UndefinedStep::or_: {
      const uint8_t* x = row(op.a);
      const uint8_t* y = row(op.b);
      for (int i = 0; i < bytes; ++i) {
        const bool decided = (a[i] == 0 && x[i] == 0xff) || (b[i] == 0 && y[i] == 0xff);
        result[i] = decided ? 0 : a[i] | b[i];
      }
      break;
    }
    case UndefinedStep::halves:
      for (int i = 0; i < bytes; i += 2) {
        const uint8_t any = a[i] | a[i + 1] | b[i] | b[i + 1] | c[i] | c[i + 1];
        result[i] = result[i + 1] = any != 0 ? 0xff : 0;
      }
      break;
    case UndefinedStep::pack2:
      for (int lane = 0; lane < kLanes; ++lane) {
        const uint8_t high = any_byte(a + lane * source_width, source_width) ? 0xff : 0;
        const uint8_t low = any_byte(b + lane * source_width, source_width) ? 0xff : 0;
        std::memset(result + lane * width, low, width / 2);
        std::memset(result + lane * width + width / 2, high, width / 2);
      }
      break;
    case UndefinedStep::select: {
      const uint32_t p = predicate(op.pa) ^ (op.pa_negated ? ~0u : 0u);
      for (int lane = 0; lane < kLanes; ++lane) {
        std::memcpy(result + lane * width, ((p >> lane) & 1 ? a : b) + lane * width, width);
      }
      predicates(predicate_undefined(op.fpa, op.pa));
      break;
    }
    case UndefinedStep::apply1:
    case UndefinedStep::apply2: {
      // The instruction itself moves bytes: run it on the undefined bytes of what it moves.
      const bool two = op.undefined == UndefinedStep::apply2;
      Rows rows;
      rows.a = a;
      rows.b = two ? b : row(op.b);
      rows.c = row(op.c);
      rows.e = row(op.e);
      rows.d = result;
      op.row(rows);
      round_to_bytes(result, bytes);
      if (!two && b != kAllDefined) whole(b, 4);
      whole(c, 4);
      whole(e, 4);
      break;
    }
    case UndefinedStep::whole:
      whole(a, source_width);
      whole(b, source_width);
      whole(c, c == kAllDefined                                   ? 0
               : op.kind == Kind::compute && width > source_width ? width
                                                                  : source_width);
      whole(e, source_width);
      predicates(predicate_undefined(op.fpa, op.pa) | predicate_undefined(op.fpb, op.pb));
      break;
  }
  bool any = false;
  for_lanes(mask, [&](int lane) { any |= any_byte(result + lane * width, width); });
  const bool full = mask == warp_->live;
  if (!any && (full || (warp_->flags[op.fd] & kMaybeUndefined) == 0)) {
    warp_->flags[op.fd] &= static_cast<uint8_t>(~kMaybeUndefined);
    return;
  }
  if (op.fd == 0) return;
  uint8_t* to = undefined_row(op.fd, op.d, width);
  for_lanes(mask, [&](int lane) { std::memcpy(to + lane * width, result + lane * width, width); });
}

/// Predicate results: undefined where a source is, but a defined false decides `and`, a defined
/// true decides `or` (PTX predicates are often chained: in bounds, and then a property of what was
/// read).
void Executor::shadow_predicates(const MicroOp& op, uint32_t mask, const Rows& rows) {
  if (op.p1 == kNoSlot && op.p2 == kNoSlot) return;
  const Instruction& ins = *code_->sites[op.site].instruction;
  const int width = op.source_width == 0 ? 4 : op.source_width;
  uint32_t compared = undefined_lanes(op.fa, op.a, width, mask) |
                      undefined_lanes(op.fb, op.b, width, mask) |
                      undefined_lanes(op.fc, op.c, width, mask);
  const uint32_t ua = predicate_undefined(op.fpa, op.pa);
  const uint32_t ub = predicate_undefined(op.fpb, op.pb);
  uint32_t undefined = compared | ua | ub;
  if (ins.op == Op::and_) undefined &= ~((~ua & ~rows.pa) | (~ub & ~rows.pb));
  if (ins.op == Op::or_) undefined &= ~((~ua & rows.pa) | (~ub & rows.pb));
  if (ins.op == Op::setp && op.pa != kNoSlot) {
    if (ins.bool_op == BoolOp::and_) undefined &= ~(~ua & ~rows.pa);
    if (ins.bool_op == BoolOp::or_) undefined &= ~(~ua & rows.pa);
  }
  if (((warp_->flags[op.fa] | warp_->flags[op.fb]) & kWrapped) && ins.op == Op::setp) {
    note_compared_wrap(op, mask);
  }
  for (int i = 0; i < 2; ++i) {
    const uint32_t flag = i == 0 ? op.fp1 : op.fp2;
    const Slot slot = i == 0 ? op.p1 : op.p2;
    if (slot == kNoSlot) continue;
    if (undefined == 0 && mask == warp_->live) {
      warp_->flags[flag] = 0;
    } else {
      set_predicate_undefined(flag, slot, undefined, mask);
    }
  }
}

void Executor::check_guard(const MicroOp& op, uint32_t mask) {
  const uint32_t undefined = predicate_undefined(op.fguard, op.guard) & mask;
  if (undefined == 0) return;
  const bool decides = op.kind != Kind::compute && op.kind != Kind::compute_pred &&
                       op.kind != Kind::pack && op.kind != Kind::unpack &&
                       op.kind != Kind::fence && op.kind != Kind::nop;
  const int lane = std::countr_zero(undefined);
  if (decides) {
    report(DiagnosticKind::uninitialised, op.site, lane,
           "whether " + code_->sites[op.site].instruction->spelling +
               " takes effect depends on an uninitialised value");
  }
}

}  // namespace assay::ptx
