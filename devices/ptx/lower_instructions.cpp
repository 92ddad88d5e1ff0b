// Lowering of each kind of instruction to micro-ops.
#include <algorithm>

#include "devices/ptx/lower.hpp"
#include "devices/ptx/row_kit.hpp"
#include "devices/ptx/table.hpp"

namespace assay::ptx {

namespace {

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

bool is_integer_of(Type type, int bytes) {
  switch (type) {
    case Type::b32:
    case Type::u32:
    case Type::s32:
      return bytes == 4;
    case Type::b64:
    case Type::u64:
    case Type::s64:
      return bytes == 8;
    default:
      return false;
  }
}

UndefinedStep undefined_step(const Instruction& ins) {
  switch (table()[ins.row].definedness) {
    case DefinednessRule::bitwise:
      return ins.op == Op::and_   ? UndefinedStep::and_
             : ins.op == Op::or_  ? UndefinedStep::or_
             : ins.op == Op::lop3 ? UndefinedStep::lop3
                                  : UndefinedStep::bits;
    case DefinednessRule::arithmetic:
      return ins.op == Op::add   ? UndefinedStep::sum
             : ins.op == Op::mul ? UndefinedStep::product
             : ins.op == Op::mad ? UndefinedStep::product_sum
             : ins.op == Op::neg ? UndefinedStep::negation
                                 : UndefinedStep::difference;
    case DefinednessRule::half2:
      return UndefinedStep::halves;
    case DefinednessRule::pairs:
      return UndefinedStep::pairs;
    case DefinednessRule::mov:
      return UndefinedStep::bits;
    case DefinednessRule::selp:
      return UndefinedStep::select;
    case DefinednessRule::resize:
      return ins.sat ? UndefinedStep::whole : UndefinedStep::apply1;
    case DefinednessRule::shift:
    case DefinednessRule::extract:
      return UndefinedStep::apply1;
    case DefinednessRule::choose:
    case DefinednessRule::permute:
    case DefinednessRule::funnel:
    case DefinednessRule::insert:
      return UndefinedStep::apply2;
    case DefinednessRule::pack2:
      return UndefinedStep::pack2;
    case DefinednessRule::uniform:
    case DefinednessRule::none:
      return UndefinedStep::none;
    default:
      return UndefinedStep::whole;
  }
}

WrapStep wrap_step(const Instruction& ins) {
  const bool wide = ins.half == Half::wide;
  const bool integer = is_integer_of(ins.type, 4) || is_integer_of(ins.type, 8);
  if (!integer || ins.carry_out || ins.sat) return WrapStep::none;
  if (wide && bytes_of(ins.type) != 4) return WrapStep::none;
  const bool sign = is_signed(ins.type);
  switch (table()[ins.row].wrap) {
    case WrapRule::add:
      return WrapStep::add;
    case WrapRule::sub:
      return WrapStep::sub;
    case WrapRule::mul:
      if (ins.half == Half::hi) return WrapStep::none;
      return !wide ? WrapStep::mul : sign ? WrapStep::mul_wide_signed : WrapStep::mul_wide_unsigned;
    case WrapRule::mad:
      if (ins.half == Half::hi) return WrapStep::none;
      return !wide ? WrapStep::mad : sign ? WrapStep::mad_wide_signed : WrapStep::mad_wide_unsigned;
    case WrapRule::neg:
      return WrapStep::neg;
    case WrapRule::not_:
      return WrapStep::not_;
    case WrapRule::shl:
      return WrapStep::shl;
    case WrapRule::shr:
      return sign ? WrapStep::shr : WrapStep::none;
    case WrapRule::div:
      return WrapStep::div;
    case WrapRule::or_:
      return WrapStep::or_;
    case WrapRule::mov:
      return WrapStep::copy;
    case WrapRule::selp:
      return WrapStep::select;
    case WrapRule::widen: {
      if (!is_integer_of(ins.source_type, 4) && !is_integer_of(ins.source_type, 8)) {
        return WrapStep::none;
      }
      const int from = bytes_of(ins.source_type), to = bytes_of(ins.type);
      if (from == to) return WrapStep::copy;
      if (from > to) return WrapStep::none;
      return is_signed(ins.source_type) ? WrapStep::widen_signed : WrapStep::widen_unsigned;
    }
    default:
      return WrapStep::none;
  }
}

bool is_predicate_op(const MicroOp& op) {
  return op.pa != kNoSlot || op.pb != kNoSlot || op.p1 != kNoSlot || op.p2 != kNoSlot ||
         op.uses_carry || op.sets_carry;
}

void copy_predicate(Rows& r) { r.p_out = r.pa; }

}  // namespace

void Lowering::refuse(const Instruction& ins, const std::string& why) {
  add_unsupported(ins, ins.spelling + " (" + why + ")");
  emit(ins, Kind::unsupported);
}

void Lowering::add_unsupported(const Instruction& ins, const std::string& what) {
  const SourceLine place = user_line(module_, *function_, ins);
  const auto file = module_.files.find(place.file);
  const bool known = file != module_.files.end();
  code_->unsupported.push_back(
      {what, known ? file->second : "", known ? place.line : 0, ins.ptx_line});
}

int32_t Lowering::counter_of(const Instruction& ins) const {
  return here_->counters[static_cast<size_t>(&ins - function_->code.data())];
}

MicroOp& Lowering::emit(const Instruction& ins, Kind kind) {
  Site site;
  site.function = function_;
  site.instruction = &ins;
  MicroOp op;
  op.kind = kind;
  if (accesses_memory(ins)) op.counter = counter_of(ins);
  op.site = static_cast<int32_t>(code_->sites.size());
  code_->sites.push_back(std::move(site));
  guard(ins, op);
  code_->ops.push_back(op);
  return code_->ops.back();
}

void Lowering::guard(const Instruction& ins, MicroOp& op) const {
  if (ins.guard < 0) return;
  const Place p = reg(ins.guard);
  op.guard = p.slot;
  op.fguard = p.flag;
  op.guard_negated = ins.guard_negated;
}

void Lowering::set_steps(const Instruction& ins, MicroOp& op) const {
  op.undefined = undefined_step(ins);
  op.wrap = wrap_step(ins);
}

RowFunction Lowering::row_of(const Instruction& ins) const {
  if (ins.row < 0) return nullptr;
  const RowFunction narrow = narrowed_row(ins, errors_.sums);
  return narrow != nullptr ? narrow : row_function(ins, avx2_, errors_.approximations);
}

/// Any instruction that a row function computes.
void Lowering::emit_compute(const Instruction& ins) {
  const RowFunction row = row_of(ins);
  if (row == nullptr) return refuse(ins, "not supported");
  const RowShape shape = row_shape(ins);
  MicroOp made;
  int rows = 0;
  Slot* slots[] = {&made.a, &made.b, &made.c, &made.e};
  uint32_t* flags[] = {&made.fa, &made.fb, &made.fc, &made.fe};
  for (const Value& v : ins.src) {
    const bool is_predicate =
        (v.kind == Value::Kind::reg && reg(v.index).width == 0) ||
        (v.kind == Value::Kind::immediate && (rows == 4 || shape.src[rows] == 0));
    if (is_predicate) {
      const Place p = predicate(v);
      const bool first = made.pa == kNoSlot;
      (first ? made.pa : made.pb) = p.slot;
      (first ? made.fpa : made.fpb) = p.flag;
      if (first) {
        made.pa_negated = v.negated;
      } else {
        made.pb_negated = v.negated;
      }
    } else if (v.kind != Value::Kind::sink && rows < 4) {
      const Place p = source(ins, v, shape.src[rows]);
      *slots[rows] = p.slot;
      *flags[rows] = p.flag;
      if (rows == 0) made.source_width = shape.src[0];
      ++rows;
    }
  }
  Place d, widened;
  if (!ins.dst.empty() && ins.dst[0].kind == Value::Kind::reg) d = reg(ins.dst[0].index);
  MicroOp& op = emit(ins, Kind::compute);
  const MicroOp frame = op;
  op = made;
  op.kind = Kind::compute;
  op.site = frame.site;
  op.guard = frame.guard;
  op.fguard = frame.fguard;
  op.guard_negated = frame.guard_negated;
  op.row = row;
  op.result = result_format(ins);
  op.compared = compare_format(ins);
  op.counter = counter_of(ins);
  op.width = shape.d;
  op.b_width = shape.src[1];
  op.c_width = shape.src[2];
  if (ins.op == Op::cvt && bytes_of(ins.source_type) == 1) op.read_bytes = 1;
  if (d.slot != kNoSlot && d.width == 0) {
    op.p1 = d.slot;
    op.fp1 = d.flag;
  } else if (d.slot != kNoSlot) {
    if (d.width != shape.d) {
      widened = d;
      d = temporary(shape.d);
    }
    op.d = d.slot;
    op.fd = d.flag;
  }
  if (ins.predicate_out >= 0) {
    const Place p = reg(ins.predicate_out);
    const bool second = ins.op == Op::setp;  // also where the first one is `_`
    (second ? op.p2 : op.p1) = p.slot;
    (second ? op.fp2 : op.fp1) = p.flag;
  }
  op.sets_carry = ins.carry_out;
  op.uses_carry = ins.op == Op::addc || ins.op == Op::subc || ins.op == Op::madc;
  if (is_predicate_op(op)) op.kind = Kind::compute_pred;
  if (op.d == kNoSlot && op.kind == Kind::compute) {  // the result goes to the sink
    op.d = temporary(shape.d).slot;
  }
  set_steps(ins, op);
  if (widened.slot != kNoSlot) emit_copy(ins, widened, d, shape.d_signed);
}

/// d = a, of any widths.
void Lowering::emit_copy(const Instruction& ins, const Place& d, const Place& a, bool sign_extend) {
  MicroOp& op = emit(ins, Kind::compute);
  op.row = resize_row(a.width, d.width, sign_extend, avx2_);
  op.d = d.slot;
  op.fd = d.flag;
  op.a = a.slot;
  op.fa = a.flag;
  op.width = d.width;
  op.source_width = a.width;
  op.is_copy = a.width == d.width;
  op.undefined = a.width == d.width ? UndefinedStep::bits : UndefinedStep::apply1;
  if (a.width == d.width && a.width >= 4) op.wrap = WrapStep::copy;
  if (a.width == 4 && d.width == 8) {
    op.wrap = sign_extend ? WrapStep::widen_signed : WrapStep::widen_unsigned;
  }
}

void Lowering::emit_move(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  if (ins.src.size() > 1 || ins.dst.size() > 1) return emit_pack(ins);
  if (ins.dst.empty() || ins.dst[0].kind != Value::Kind::reg) return;
  const Place d = reg(ins.dst[0].index);
  const Value& v = ins.src[0];
  if (d.width == 0) {
    const Place p = predicate(v);
    MicroOp& op = emit(ins, Kind::compute_pred);
    op.row = copy_predicate;
    op.pa = p.slot;
    op.fpa = p.flag;
    op.pa_negated = v.negated;
    op.p1 = d.slot;
    op.fp1 = d.flag;
    return;
  }
  const bool is_clock = v.kind == Value::Kind::special &&
                        (v.special == Special::clock || v.special == Special::clock64 ||
                         v.special == Special::globaltimer);
  if (is_clock) {
    MicroOp& op = emit(ins, Kind::clock);
    op.d = d.slot;
    op.fd = d.flag;
    op.width = d.width;
    return;
  }
  if (v.kind == Value::Kind::function) return refuse(ins, "address of a function");
  const bool row32 = v.kind == Value::Kind::special;
  emit_copy(ins, d, source(ins, v, row32 ? 4 : d.width), false);
}

/// mov between a register and the parts of a vector (PTX ISA 9.7.9.1).
void Lowering::emit_pack(const Instruction& ins) {
  const bool pack = ins.src.size() > 1;
  const std::vector<Value>& parts = pack ? ins.src : ins.dst;
  const Value& whole = pack ? ins.dst[0] : ins.src[0];
  const int width = bytes_of(ins.type);
  const int part = width / static_cast<int>(parts.size());
  if (width > 8 || part < 2) return refuse(ins, "vector move of this shape");
  std::vector<Place> places;
  for (const Value& v : parts) {
    if (v.kind == Value::Kind::sink) {
      places.push_back({kNoSlot, 0, static_cast<uint8_t>(part)});
    } else if (pack) {
      places.push_back(source(ins, v, static_cast<uint8_t>(part)));
    } else {
      places.push_back(reg(v.index));
    }
  }
  const Place all = pack ? reg(whole.index) : source(ins, whole, static_cast<uint8_t>(width));
  MicroOp& op = emit(ins, pack ? Kind::pack : Kind::unpack);
  Site& site = code_->sites[op.site];
  (pack ? op.d : op.a) = all.slot;
  (pack ? op.fd : op.fa) = all.flag;
  op.width = static_cast<uint8_t>(pack ? width : part);
  op.source_width = static_cast<uint8_t>(pack ? part : width);
  for (const Place& p : places) {
    site.rows.push_back(p.slot);
    site.flags.push_back(p.flag);
    site.widths.push_back(p.width);
  }
}

/// Global, const and param addresses are generic addresses; shared and local have windows.
void Lowering::emit_cvta(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  const Place d = reg(ins.dst[0].index);
  const Place a = source(ins, ins.src[0], d.width);
  const bool window = ins.space == Space::shared || ins.space == Space::local;
  if (!window || d.width != 8) return emit_copy(ins, d, a, false);
  Instruction arithmetic;
  arithmetic.op = ins.to_space ? Op::sub : Op::add;
  arithmetic.type = Type::u64;
  MicroOp& op = emit(ins, Kind::compute);
  op.row = row_function(arithmetic, avx2_);
  op.d = d.slot;
  op.fd = d.flag;
  op.a = a.slot;
  op.fa = a.flag;
  op.b = constant(ins.space == Space::shared ? kSharedWindow : kLocalWindow, 8);
  op.width = 8;
  op.undefined = ins.to_space ? UndefinedStep::difference : UndefinedStep::sum;
  op.wrap = ins.to_space ? WrapStep::sub : WrapStep::add;
}

void Lowering::emit_warp(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  const auto kind = [&] {
    switch (ins.op) {
      case Op::shfl:
        return Kind::shuffle;
      case Op::vote:
        return Kind::vote;
      case Op::match:
        return Kind::match;
      case Op::redux:
        return Kind::redux;
      case Op::activemask:
        return Kind::active_mask;
      default:
        return Kind::elect;
    }
  }();
  // Sources: shfl value, lane, clamp, mask; vote predicate, mask; match and redux value, mask;
  // elect mask.
  std::vector<Place> rows;
  Place pred;
  bool negated = false;
  for (size_t i = 0; i < ins.src.size(); ++i) {
    const Value& v = ins.src[i];
    const bool predicate_source = ins.op == Op::vote && i == 0;
    if (predicate_source) {
      pred = predicate(v);
      negated = v.negated;
      continue;
    }
    const bool value = i == 0 && (ins.op == Op::match || ins.op == Op::redux);
    rows.push_back(source(ins, v, value ? static_cast<uint8_t>(bytes_of(ins.type)) : 4));
  }
  MicroOp& op = emit(ins, kind);
  op.shuffle = ins.shuffle;
  op.width = 4;
  op.source_width = static_cast<uint8_t>(std::max(4, bytes_of(ins.type)));
  Slot* slots[] = {&op.a, &op.b, &op.c, &op.e};
  uint32_t* flags[] = {&op.fa, &op.fb, &op.fc, &op.fe};
  for (size_t i = 0; i < rows.size() && i < 4; ++i) {
    *slots[i] = rows[i].slot;
    *flags[i] = rows[i].flag;
  }
  if (ins.op == Op::shfl) op.wrap = WrapStep::copy;
  const bool has_mask = ins.op != Op::activemask;
  code_->sites[op.site].mask_by_chance = has_mask && is_active_mask(ins.src.back());
  op.pa = pred.slot;
  op.fpa = pred.flag;
  op.pa_negated = negated;
  if (!ins.dst.empty() && ins.dst[0].kind == Value::Kind::reg) {
    const Place d = reg(ins.dst[0].index);
    (d.width == 0 ? op.p1 : op.d) = d.slot;
    (d.width == 0 ? op.fp1 : op.fd) = d.flag;
  }
  if (ins.predicate_out >= 0) {
    const Place p = reg(ins.predicate_out);
    op.p1 = p.slot;
    op.fp1 = p.flag;
  }
}

/// Whether a register holds what activemask gave, and nothing else anywhere in the function.
bool Lowering::is_active_mask(const Value& value, int depth) const {
  constexpr int kMostCopies = 4;
  if (value.kind != Value::Kind::reg || depth > kMostCopies) return false;
  bool any = false;
  for (const Instruction& ins : function_->code) {
    for (const Value& d : ins.dst) {
      if (d.kind != Value::Kind::reg || d.index != value.index) continue;
      const bool copies = ins.op == Op::mov && ins.src.size() == 1 && ins.dst.size() == 1;
      if (ins.op != Op::activemask && !(copies && is_active_mask(ins.src[0], depth + 1))) {
        return false;
      }
      any = true;
    }
  }
  return any;
}

void Lowering::emit_barrier(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  if (ins.bar == BarKind::warp_sync) {
    const Place mask = source(ins, ins.src[0], 4);
    MicroOp& op = emit(ins, Kind::sync_warp);
    op.a = mask.slot;
    op.fa = mask.flag;
    code_->sites[op.site].mask_by_chance = is_active_mask(ins.src[0]);
    return;
  }
  std::vector<Place> rows;
  Place pred;
  bool negated = false;
  for (const Value& v : ins.src) {
    if (v.kind == Value::Kind::reg && reg(v.index).width == 0) {
      pred = predicate(v);
      negated = v.negated;
    } else {
      rows.push_back(source(ins, v, 4));
    }
  }
  MicroOp& op = emit(ins, Kind::barrier);
  op.a = rows.empty() ? constant(0, 4) : rows[0].slot;
  op.fa = rows.empty() ? 0 : rows[0].flag;
  op.b = rows.size() > 1 ? rows[1].slot : kNoSlot;
  op.fb = rows.size() > 1 ? rows[1].flag : 0;
  op.pa = pred.slot;
  op.fpa = pred.flag;
  op.pa_negated = negated;
  op.width = 4;
  if (!ins.dst.empty() && ins.dst[0].kind == Value::Kind::reg) {
    const Place d = reg(ins.dst[0].index);
    (d.width == 0 ? op.p1 : op.d) = d.slot;
    (d.width == 0 ? op.fp1 : op.fd) = d.flag;
  }
}

}  // namespace assay::ptx
