// Lowering of memory, calls and control flow.
#include <algorithm>

#include "devices/ptx/lower.hpp"
#include "devices/ptx/row_kit.hpp"

namespace assay::ptx {

namespace {

bool is_signed(Type type) {
  return type == Type::s8 || type == Type::s16 || type == Type::s32 || type == Type::s64;
}

}  // namespace

/// Local offset of a .param variable of the body, or of a device function's parameter or result;
/// -1 for everything else.
int64_t Lowering::local_offset(const Value& v) const {
  const bool symbol = v.kind == Value::Kind::symbol || v.kind == Value::Kind::symbol_address ||
                      v.kind == Value::Kind::param || v.kind == Value::Kind::result;
  if (!symbol || v.index < 0) return -1;
  if (v.local_symbol) {
    const int64_t at = here_->variables[v.index];
    return at < 0 ? -1 : at + v.offset;
  }
  if (function_ == code_->entry) return -1;
  if (v.kind == Value::Kind::param) return here_->params[v.index] + v.offset;
  return v.kind == Value::Kind::result ? here_->results[v.index] + v.offset : -1;
}

void Lowering::set_address(const Instruction& ins, const Value& v, Space space, MicroOp& op) {
  Site& site = code_->sites[op.site];
  site.space = space;
  site.address_width = 8;
  if (v.kind == Value::Kind::address || v.kind == Value::Kind::reg) {
    const Place r = reg(v.index);
    op.a = r.slot;
    op.fa = r.flag;
    op.offset = v.offset;
    site.address_width = r.width;
    return;
  }
  const int64_t local = space == Space::local ? local_offset(v) : -1;
  const auto address = local >= 0 ? std::optional<uint64_t>(local) : address_constant(v);
  op.a = constant(address.value_or(0), 8);
  if (!address) add_unsupported(ins, ins.spelling + " (address)");
}

/// A kernel parameter is the same in all lanes: a constant row, already as wide as the register.
void Lowering::emit_parameter_load(const Instruction& ins) {
  const Value& v = ins.src[0];
  const int bytes = bytes_of(ins.type);
  for (size_t i = 0; i < ins.dst.size(); ++i) {
    if (ins.dst[i].kind != Value::Kind::reg) continue;
    const Place d = reg(ins.dst[i].index);
    LaunchConstant wanted;
    wanted.kind = LaunchConstant::Kind::param;
    wanted.width = d.width;
    wanted.memory_width = static_cast<uint8_t>(bytes);
    wanted.sign_extend = is_signed(ins.type);
    wanted.offset = function_->params[v.index].offset + v.offset + static_cast<int64_t>(i) * bytes;
    emit_copy(ins, d, {launch_constant(wanted), 0, d.width}, false);
  }
}

void Lowering::emit_memory(const Instruction& ins) {
  if (ins.row < 0) return refuse(ins, "not supported");
  if (ins.op == Op::isspacep) {
    const Place a = source(ins, ins.src[0], 8);
    const Place d = reg(ins.dst[0].index);
    MicroOp& op = emit(ins, Kind::is_space);
    op.a = a.slot;
    op.fa = a.flag;
    op.p1 = d.slot;
    op.fp1 = d.flag;
    return;
  }
  const Value& address = ins.src[0];
  const bool is_load = ins.op == Op::ld || ins.op == Op::ldu;
  const bool from_entry = function_ == code_->entry;
  const bool names_parameter = address.kind == Value::Kind::param && !address.local_symbol;
  if (is_load && ins.space == Space::param && from_entry && names_parameter) {
    return emit_parameter_load(ins);
  }
  const int bytes = bytes_of(ins.type);
  if (bytes > 8) return refuse(ins, "128-bit element");
  Space space = ins.space;
  if (local_offset(address) >= 0) space = Space::local;
  if (space == Space::param) space = Space::generic;  // a pointer into the parameters' window

  std::vector<Place> values;
  if (!is_load) {
    const size_t count = ins.op == Op::st ? ins.vector : ins.atom == Atom::cas ? 2 : 1;
    for (size_t i = 0; i < count && i + 1 < ins.src.size(); ++i) {
      const Value& v = ins.src[i + 1];
      const uint8_t width = v.kind == Value::Kind::reg ? reg(v.index).width
                                                       : static_cast<uint8_t>(std::max(2, bytes));
      values.push_back(source(ins, v, width));
    }
  } else {
    for (const Value& v : ins.dst) {
      values.push_back(v.kind == Value::Kind::reg ? reg(v.index) : Place{});
    }
  }
  const Kind kind = is_load ? Kind::load : ins.op == Op::st ? Kind::store : Kind::atomic;
  MicroOp& op = emit(ins, kind);
  Site& site = code_->sites[op.site];
  site.element_bytes = static_cast<uint8_t>(bytes);
  site.sign_extend = is_signed(ins.type);
  for (const Place& p : values) {
    site.rows.push_back(p.slot);
    site.flags.push_back(p.flag);
    site.widths.push_back(p.width);
  }
  if (kind == Kind::atomic && !ins.dst.empty() && ins.dst[0].kind == Value::Kind::reg) {
    const Place d = reg(ins.dst[0].index);
    op.d = d.slot;
    op.fd = d.flag;
    op.width = d.width;
  }
  set_address(ins, address, space, op);
}

void Lowering::emit_control(const Instruction& ins) {
  switch (ins.op) {
    case Op::bra: {
      const bool conditional = ins.guard >= 0;
      MicroOp& op = emit(ins, conditional ? Kind::branch : Kind::jump);
      op.target = here_->first_block + ins.target;
      if (conditional) {
        const int32_t index = static_cast<int32_t>(&ins - function_->code.data());
        for (const BasicBlock& block : function_->blocks) {
          if (index < block.first || index >= block.last) continue;
          op.other = block.successors[0] < 0 ? -1 : here_->first_block + block.successors[0];
        }
        if (op.other < 0) refuse(ins, "branch at the end of a function");
      }
      return;
    }
    case Op::brx: {
      const Value& index = ins.src[0];
      const Place a = source(ins, index, 4);
      MicroOp& op = emit(ins, Kind::branch_index);
      op.a = a.slot;
      op.fa = a.flag;
      for (int32_t t : ins.targets) {
        code_->sites[op.site].targets.push_back(here_->first_block + t);
      }
      return;
    }
    case Op::call:
      return emit_call(ins);
    case Op::ret:
      emit(ins, Kind::ret);
      return;
    case Op::exit:
      emit(ins, Kind::exit);
      return;
    default:
      emit(ins, Kind::trap);
      return;
  }
}

void Lowering::emit_call(const Instruction& ins) {
  CallInfo call;
  for (const Value& v : ins.src) {
    const int64_t offset = local_offset(v);
    if (offset >= 0) call.argument_offsets.push_back(static_cast<int32_t>(offset));
  }
  if (ins.callee == "__assertfail") {
    MicroOp& op = emit(ins, Kind::assert_fail);
    op.target = static_cast<int32_t>(code_->calls.size());
    code_->calls.push_back(std::move(call));
    return;
  }
  if (ins.callee == "vprintf") {
    // Output is dropped; the number of printed arguments is not modelled and reads as 0.
    for (const Value& v : ins.dst) {
      const int64_t offset = local_offset(v);
      if (offset < 0) continue;
      const Slot zero = constant(0, 4);
      MicroOp& op = emit(ins, Kind::store);
      Site& site = code_->sites[op.site];
      site.space = Space::local;
      site.element_bytes = 4;
      site.rows = {zero};
      site.flags = {0};
      site.widths = {4};
      op.a = constant(static_cast<uint64_t>(offset), 8);
    }
    emit(ins, Kind::nop);
    return;
  }
  const bool known = ins.target >= 0 && places_.count(ins.target) != 0;
  if (!known) return refuse(ins, "call of " + (ins.callee.empty() ? "a pointer" : ins.callee));
  const Function& callee = module_.functions[ins.target];
  const FunctionPlaces& there = places_.at(ins.target);
  for (size_t i = 0; i < ins.src.size() && i < there.params.size(); ++i) {
    const int64_t from = local_offset(ins.src[i]);
    if (from < 0) return refuse(ins, "argument that is no .param variable");
    call.arguments.push_back({static_cast<int32_t>(from), static_cast<int32_t>(there.params[i]),
                              static_cast<int32_t>(callee.params[i].bytes)});
  }
  for (size_t i = 0; i < ins.dst.size() && i < there.results.size(); ++i) {
    const int64_t to = local_offset(ins.dst[i]);
    if (to < 0) return refuse(ins, "result that is no .param variable");
    call.results.push_back({static_cast<int32_t>(there.results[i]), static_cast<int32_t>(to),
                            static_cast<int32_t>(callee.results[i].bytes)});
  }
  for (size_t i = 0; i < callee.variables.size(); ++i) {
    const int64_t at = there.variables[i];
    if (at < 0) continue;
    call.fresh.emplace_back(static_cast<int32_t>(at),
                            static_cast<int32_t>(callee.variables[i].bytes));
  }
  for (size_t i = 0; i < there.results.size(); ++i) {
    call.fresh.emplace_back(static_cast<int32_t>(there.results[i]),
                            static_cast<int32_t>(callee.results[i].bytes));
  }
  call.callee = ins.target;
  call.callee_block = there.first_block;
  MicroOp& op = emit(ins, Kind::call);
  op.target = static_cast<int32_t>(code_->calls.size());
  code_->calls.push_back(std::move(call));
}

/// ARCHITECTURE.md, "Devices": a subset of blocks never runs where blocks can talk to each other.
void Lowering::note_subset_obstacle(const Instruction& ins) {
  if (!code_->subset_obstacle.empty()) return;
  const bool reaches_global = ins.space == Space::global || ins.space == Space::generic;
  const bool access = ins.op == Op::ld || ins.op == Op::st;
  std::string why;
  if ((ins.op == Op::atom || ins.op == Op::red) && reaches_global) {
    why = "global atomics";
  } else if ((ins.op == Op::membar || ins.op == Op::fence) &&
             (ins.scope == Scope::gpu || ins.scope == Scope::sys)) {
    why = "a gpu-wide fence";
  } else if (access && reaches_global && ins.order != Order::weak) {
    why = "a volatile or ordered global access";
  }
  if (!why.empty()) {
    code_->subset_obstacle =
        why + " (" + ins.spelling + ", PTX line " + std::to_string(ins.ptx_line) + ")";
  }
}

}  // namespace assay::ptx
