// Wrap: the exact value of integers that flow into addresses, under the signed and the unsigned
// reading of their leaves (ARCHITECTURE.md, "Wrap").
//
// A register keeps, lane by lane, s = exact - signed bits and u = exact - unsigned bits for 32-bit
// values; of 64-bit values both are counted from the signed bits, as addresses are far from 2^63.
// Most registers have none of both, which one flag tells.
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

using Wide = __int128;

bool fits(Wide value) {
  return value >= std::numeric_limits<int64_t>::min() &&
         value <= std::numeric_limits<int64_t>::max();
}

/// The bits of one lane of a row, sign- or zero-extended; 64-bit ones as they are.
int64_t lane_value(const uint8_t* row, int width, int lane, bool is_signed) {
  if (width == 8) {
    int64_t value;
    std::memcpy(&value, row + 8 * lane, 8);
    return value;
  }
  uint32_t value;
  std::memcpy(&value, row + 4 * lane, 4);
  return is_signed ? static_cast<int32_t>(value) : static_cast<int64_t>(value);
}

/// The exact result of a step on exact operands; false: it leaves int64 or is not followed.
bool exact_result(WrapStep step, Wide a, Wide b, Wide c, int width, Wide* result) {
  switch (step) {
    case WrapStep::add:
      *result = a + b;
      break;
    case WrapStep::sub:
      *result = a - b;
      break;
    case WrapStep::mul:
    case WrapStep::mul_wide_signed:
    case WrapStep::mul_wide_unsigned:
      *result = a * b;
      break;
    case WrapStep::mad:
    case WrapStep::mad_wide_signed:
    case WrapStep::mad_wide_unsigned:
      if (!fits(a * b)) return false;
      *result = a * b + c;
      break;
    case WrapStep::neg:
      *result = -a;
      break;
    case WrapStep::shl:
      if (b < 0 || b >= 8 * width) return false;
      *result = a * (Wide{1} << static_cast<int>(b));
      break;
    case WrapStep::shr:
      if (b < 0 || b >= 8 * width) return false;
      *result = a >> static_cast<int>(b);
      break;
    case WrapStep::div:
      if (b == 0) return false;
      *result = a / b;
      break;
    default:
      *result = a;
      break;
  }
  return fits(*result);
}

bool is_wide_product(WrapStep step) {
  return step == WrapStep::mul_wide_signed || step == WrapStep::mul_wide_unsigned ||
         step == WrapStep::mad_wide_signed || step == WrapStep::mad_wide_unsigned;
}

bool is_product(WrapStep step) {
  return step == WrapStep::mul || step == WrapStep::mad || step == WrapStep::shl;
}

bool can_wrap(WrapStep step) {
  return step == WrapStep::add || step == WrapStep::sub || step == WrapStep::neg ||
         is_product(step);
}

uint64_t bits_of_result(WrapStep step, int64_t as, int64_t au, int64_t bs, int64_t bu, int64_t cs,
                        int64_t cu) {
  const uint64_t x = static_cast<uint64_t>(as), y = static_cast<uint64_t>(bs);
  switch (step) {
    case WrapStep::add:
      return x + y;
    case WrapStep::sub:
      return x - y;
    case WrapStep::mul:
    case WrapStep::mul_wide_signed:
      return x * y;
    case WrapStep::mul_wide_unsigned:
      return static_cast<uint64_t>(au) * static_cast<uint64_t>(bu);
    case WrapStep::mad:
    case WrapStep::mad_wide_signed:
      return x * y + static_cast<uint64_t>(cs);
    case WrapStep::mad_wide_unsigned:
      return static_cast<uint64_t>(au) * static_cast<uint64_t>(bu) + static_cast<uint64_t>(cu);
    case WrapStep::neg:
      return 0 - x;
    case WrapStep::not_:
      return ~x;
    case WrapStep::shl:
      return bs >= 0 && bs < 64 ? x << bs : 0;
    case WrapStep::or_:
      return x | y;
    case WrapStep::widen_unsigned:
      return static_cast<uint64_t>(au);
    default:
      return x;
  }
}

}  // namespace

WrapRow& Executor::wrap_row(uint32_t flag) {
  WrapRow& exact = warp_->wrap[code_->wrap_rows[flag]];
  if ((warp_->flags[flag] & kWrapped) == 0) {
    std::memset(&exact, 0, sizeof exact);
    warp_->flags[flag] |= kWrapped;
    warp_->origins[flag] = 0;
  }
  return exact;
}

/// Whether a step on clean sources gives a clean result in all lanes, by a quick test that may say
/// no too often.
bool Executor::stays_exact(const MicroOp& op) const {
  if (!options_.wrap) return true;
  const auto words = [&](Slot slot) { return reinterpret_cast<const uint32_t*>(row(slot)); };
  switch (op.wrap) {
    case WrapStep::add:
      return op.width == 8 || kit_.add_leaves_nonnegative(words(op.a), words(op.b));
    case WrapStep::sub:
      return op.width == 8 || kit_.sub_leaves_nonnegative(words(op.a), words(op.b));
    case WrapStep::mul:
      return op.width == 8 || kit_.mul_leaves_nonnegative(words(op.a), words(op.b));
    case WrapStep::mad:
      return op.width == 8 || kit_.mad_leaves_nonnegative(words(op.a), words(op.b), words(op.c));
    case WrapStep::shl:
      return op.width == 8 || kit_.shl_leaves_nonnegative(words(op.a), words(op.b));
    case WrapStep::neg:
      return op.width == 8;
    case WrapStep::shr:
    case WrapStep::div:
      return op.width == 8 || !kit_.any_negative(words(op.a));
    case WrapStep::widen_signed:
    case WrapStep::widen_unsigned:
      return !kit_.any_negative(words(op.a));
    case WrapStep::mul_wide_signed:
    case WrapStep::mul_wide_unsigned:
    case WrapStep::mad_wide_signed:
    case WrapStep::mad_wide_unsigned:
      return !kit_.any_negative(words(op.a)) && !kit_.any_negative(words(op.b));
    default:
      return true;  // copies, not, disjoint or: nothing new
  }
}

/// Both shadows of one computing instruction, before it runs.
void Executor::shadow_compute(const MicroOp& op, uint32_t mask, uint8_t flags) {
  uint8_t& to = warp_->flags[op.fd];
  if (flags & kMaybeUndefined) {
    propagate_undefined(op, mask);
  } else if (mask == warp_->live) {
    to &= static_cast<uint8_t>(~kMaybeUndefined);
  }
  const bool may_differ =
      options_.wrap && op.wrap != WrapStep::none && ((flags & kWrapped) || op.wrap_check);
  if (may_differ) {
    propagate_wrap(op, mask, flags);
  } else if (to & kWrapped) {
    if (mask == warp_->live) {
      to &= static_cast<uint8_t>(~kWrapped);
    } else {
      WrapRow& exact = wrap_row(op.fd);
      for_lanes(mask, [&](int lane) { exact.s[lane] = exact.u[lane] = 0; });
    }
  }
}

void Executor::propagate_wrap(const MicroOp& op, uint32_t mask, uint8_t) {
  static const WrapRow kExact = {};
  const auto source = [&](uint32_t flag) -> const WrapRow& {
    const bool differs = flag != 0 && (warp_->flags[flag] & kWrapped) != 0;
    return differs ? warp_->wrap[code_->wrap_rows[flag]] : kExact;
  };
  const WrapRow& a = source(op.fa);
  const WrapRow& b = source(op.fb);
  const WrapRow& c = source(op.fc);
  const bool wide_product = is_wide_product(op.wrap);
  const bool widening = op.wrap == WrapStep::widen_signed || op.wrap == WrapStep::widen_unsigned;
  const int width = op.width;
  const int wa = wide_product || widening ? 4 : width;
  const bool count_in_b = op.wrap == WrapStep::shl || op.wrap == WrapStep::shr;
  const int wb = count_in_b || wide_product ? 4 : width;
  const bool unary = widening || op.wrap == WrapStep::copy || op.wrap == WrapStep::neg ||
                     op.wrap == WrapStep::not_;
  const bool ternary = op.wrap == WrapStep::mad || op.wrap == WrapStep::mad_wide_signed ||
                       op.wrap == WrapStep::mad_wide_unsigned;
  const uint32_t chooser =
      op.wrap == WrapStep::select ? predicate(op.pa) ^ (op.pa_negated ? ~0u : 0u) : 0;
  WrapRow made = {};
  WrapOrigin origin;
  uint32_t differing = 0;
  for_lanes(mask, [&](int lane) {
    const int64_t as = lane_value(row(op.a), wa, lane, true);
    const int64_t au = lane_value(row(op.a), wa, lane, false);
    const int64_t bs = unary ? 0 : lane_value(row(op.b), wb, lane, !count_in_b);
    const int64_t bu = unary ? 0 : lane_value(row(op.b), wb, lane, false);
    const int64_t cs = ternary ? lane_value(row(op.c), width, lane, true) : 0;
    const int64_t cu = ternary ? lane_value(row(op.c), width, lane, false) : 0;
    int64_t ds = 0, du = 0;
    switch (op.wrap) {
      case WrapStep::copy:
        ds = a.s[lane];
        du = a.u[lane];
        break;
      case WrapStep::not_:
        ds = -a.s[lane];
        du = -a.u[lane];
        break;
      case WrapStep::select: {
        const WrapRow& chosen = (chooser >> lane) & 1 ? a : b;
        ds = chosen.s[lane];
        du = chosen.u[lane];
        break;
      }
      case WrapStep::or_:
        if ((as & bs) == 0) {  // disjoint: an addition
          ds = a.s[lane] + b.s[lane];
          du = a.u[lane] + b.u[lane];
        }
        break;
      default: {
        const bool by_count = count_in_b;
        Wide es, eu;
        const Wide xs = Wide{as} + a.s[lane], xu = Wide{au} + a.u[lane];
        const Wide ys = by_count ? Wide{bu} : Wide{bs} + b.s[lane];
        const Wide yu = by_count ? Wide{bu} : Wide{bu} + b.u[lane];
        const bool known = exact_result(op.wrap, xs, ys, Wide{cs} + c.s[lane], width, &es) &&
                           exact_result(op.wrap, xu, yu, Wide{cu} + c.u[lane], width, &eu);
        if (!known) break;  // overflow of int64: a fresh leaf
        uint64_t bits = bits_of_result(op.wrap, as, au, bs, bu, cs, cu);
        if (op.wrap == WrapStep::shr) bits = static_cast<uint64_t>(as >> bu);
        if (op.wrap == WrapStep::div) {
          const bool sign = code_->sites[op.site].instruction->type == Type::s32 ||
                            code_->sites[op.site].instruction->type == Type::s64;
          if (bs == 0 || (as == std::numeric_limits<int64_t>::min() && bs == -1)) break;
          bits = sign         ? static_cast<uint64_t>(as / bs)
                 : width == 4 ? static_cast<uint64_t>(au / bu)
                              : static_cast<uint64_t>(au) / static_cast<uint64_t>(bu);
        }
        const Wide rs =
            width == 4 ? Wide{static_cast<int32_t>(bits)} : Wide{static_cast<int64_t>(bits)};
        const Wide ru = width == 4 ? Wide{static_cast<uint32_t>(bits)} : rs;
        if (!fits(es - rs) || !fits(eu - ru)) break;
        ds = static_cast<int64_t>(es - rs);
        du = static_cast<int64_t>(eu - ru);
        if (width == 4 && can_wrap(op.wrap) && (ds != 0 || du != 0)) {
          // Did this step wrap, or does it only hand on what wrapped before?
          Wide ns, nu;
          const bool fresh_s =
              exact_result(op.wrap, as, by_count ? bu : bs, cs, width, &ns) && ns != rs && ds != 0;
          const bool fresh_u = exact_result(op.wrap, au, bu, cu, width, &nu) && nu != ru && du != 0;
          const int score =
              fresh_s + fresh_u + (is_product(op.wrap) && (fresh_s || fresh_u) ? 2 : 0);
          if (score > origin.score) {
            const bool s = fresh_s;
            origin = {op.site,
                      op.wrap,
                      score,
                      static_cast<int64_t>(s ? xs : xu),
                      static_cast<int64_t>(s ? ys : yu),
                      s ? cs + c.s[lane] : cu + c.u[lane],
                      static_cast<int64_t>(s ? es : eu),
                      static_cast<int64_t>(s ? rs : ru),
                      s};
          }
        }
        break;
      }
    }
    made.s[lane] = ds;
    made.u[lane] = du;
    if (ds != 0 || du != 0) differing |= 1u << lane;
  });
  uint8_t& flags = warp_->flags[op.fd];
  if (differing == 0 && (mask == warp_->live || (flags & kWrapped) == 0)) {
    flags &= static_cast<uint8_t>(~kWrapped);
    return;
  }
  uint32_t best = (flags & kWrapped) != 0 && mask != warp_->live ? warp_->origins[op.fd] : 0;
  for (uint32_t flag : {op.fa, op.fb, op.fc}) {
    if (flag == 0 || (warp_->flags[flag] & kWrapped) == 0) continue;
    const uint32_t known = warp_->origins[flag];
    if (origins_[known].score > origins_[best].score) best = known;
  }
  constexpr size_t kMostOrigins = 1 << 16;
  if (origin.score > origins_[best].score && origins_.size() < kMostOrigins) {
    best = static_cast<uint32_t>(origins_.size());
    origins_.push_back(origin);
  }
  WrapRow& to = wrap_row(op.fd);
  for_lanes(mask, [&](int lane) {
    to.s[lane] = made.s[lane];
    to.u[lane] = made.u[lane];
  });
  warp_->origins[op.fd] = best;
}

std::string Executor::wrap_message(const WrapOrigin& o) const {
  const auto n = [](int64_t value) { return std::to_string(value); };
  std::string made;
  switch (o.step) {
    case WrapStep::mul:
      made = n(o.a) + " * " + n(o.b);
      break;
    case WrapStep::mad:
      made = n(o.a) + " * " + n(o.b) + " + " + n(o.c);
      break;
    case WrapStep::add:
      made = n(o.a) + " + " + n(o.b);
      break;
    case WrapStep::sub:
      made = n(o.a) + " - " + n(o.b);
      break;
    case WrapStep::shl:
      made = n(o.a) + " << " + n(o.b);
      break;
    case WrapStep::neg:
      made = "-(" + n(o.a) + ")";
      break;
    default:
      made = "a value";
      break;
  }
  return made + " = " + n(o.exact) + " does not fit in 32 bits and became " + n(o.wrapped);
}

/// Undefined addresses, and addresses that differ from the exact ones under both readings.
void Executor::check_address(const MicroOp& op, uint32_t mask) {
  const int width = code_->sites[op.site].address_width;
  const std::string& spelling = code_->sites[op.site].instruction->spelling;
  check_operand(op, op.fa, op.a, width, mask, "address");
  if ((warp_->flags[op.fa] & kWrapped) == 0 || !options_.wrap) return;
  const WrapRow& exact = warp_->wrap[code_->wrap_rows[op.fa]];
  uint32_t wrong = 0;
  for_lanes(mask, [&](int lane) {
    if (exact.s[lane] != 0 && exact.u[lane] != 0) wrong |= 1u << lane;
  });
  if (wrong == 0) return;
  const int lane = std::countr_zero(wrong);
  const WrapOrigin& origin = origins_[warp_->origins[op.fa]];
  std::string operand;
  const std::string where =
      describe(code_->sites[op.site].space == Space::shared ? Space::shared : Space::global,
               address_[lane], 1, &operand);
  const std::string used = "used in the address of " + spelling + place(op.site) + ": " + where;
  if (origin.site < 0) {
    report(DiagnosticKind::wrap, op.site, lane, "a 32-bit index wrapped and was " + used, operand);
    return;
  }
  Diagnostic& d = report(DiagnosticKind::wrap, origin.site, lane,
                         "32-bit overflow: " + wrap_message(origin) + "; " + used, operand);
  if (!d.steps.empty()) return;
  d.steps.push_back(step_at(origin.site, wrap_message(origin)));
  Step use = step_at(op.site, "address, off by " + std::to_string(exact.s[lane]) +
                                  " bytes from the exact one");
  use.block = warp_->block->at;
  use.thread = thread_of(*warp_, lane);
  use.value = where;
  d.steps.push_back(std::move(use));
}

/// A comparison of a wrapped product: no finding by itself (most guards are right), but it explains
/// an output that stays unwritten.
void Executor::note_compared_wrap(const MicroOp& op, uint32_t mask) {
  if (!options_.wrap) return;
  for (uint32_t flag : {op.fa, op.fb}) {
    if (flag == 0 || (warp_->flags[flag] & kWrapped) == 0) continue;
    const WrapRow& exact = warp_->wrap[code_->wrap_rows[flag]];
    const WrapOrigin& origin = origins_[warp_->origins[flag]];
    if (origin.score < 3) continue;  // products only
    for_lanes(mask, [&](int lane) {
      if (exact.s[lane] == 0 || exact.u[lane] == 0) return;
      report(DiagnosticKind::wrap, origin.site, lane,
             "32-bit overflow: " + wrap_message(origin) + "; it is only compared" + place(op.site),
             "", true);
    });
  }
}

}  // namespace assay::ptx
