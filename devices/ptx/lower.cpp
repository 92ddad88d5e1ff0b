#include "devices/ptx/lower.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

namespace assay::ptx {

namespace {

int64_t align_up(int64_t value, int64_t align) {
  return align <= 1 ? value : (value + align - 1) / align * align;
}

}  // namespace

std::unique_ptr<Code> lower(const Module& module, const std::string& entry, bool avx2, int slot,
                            const ArithmeticErrors& errors) {
  return Lowering(module, avx2, slot, errors).run(entry);
}

Lowering::Lowering(const Module& module, bool avx2, int slot, const ArithmeticErrors& errors)
    : module_(module), avx2_(avx2), errors_(errors), code_(std::make_unique<Code>()) {
  static std::atomic<uint64_t> serials{0};
  code_->serial = ++serials;
  code_->module = &module_;
  lay_out_module_variables(slot);
}

/// Variables one after the other with a gap of a megabyte, so that an overrun hits nothing.
void Lowering::lay_out_module_variables(int slot) {
  constexpr uint64_t kGap = uint64_t{1} << 20;
  uint64_t next = kVariableWindow + (static_cast<uint64_t>(slot % kModuleSlots) << 33);
  for (const Variable& v : module_.variables) {
    code_->variable_addresses.push_back(next);
    next += (static_cast<uint64_t>(v.bytes) + 2 * kGap - 1) / kGap * kGap;
  }
}

std::unique_ptr<Code> Lowering::run(const std::string& entry) {
  for (size_t f = 0; f < module_.functions.size(); ++f) {
    const Function& function = module_.functions[f];
    if (function.name == entry && !function.is_declaration) entry_ = static_cast<int32_t>(f);
  }
  if (entry_ < 0) {
    code_->unsupported.push_back({"no entry named " + entry});
    return std::move(code_);
  }
  code_->entry = &module_.functions[entry_];
  std::vector<int32_t> path;
  collect(entry_, path);
  for (int32_t f : functions_) lay_out_registers(f);
  lay_out_variables();
  for (int32_t f : functions_) {
    places_[f].first_block = static_cast<int32_t>(code_->blocks.size());
    code_->blocks.resize(code_->blocks.size() + module_.functions[f].blocks.size());
  }
  for (int32_t f : functions_) lower_function(f);
  code_->entry_block = places_[entry_].first_block;
  for (MicroOp& op : code_->ops) {
    if (op.kind != Kind::compute && op.kind != Kind::compute_pred) continue;
    for (Slot* slot : {&op.a, &op.b, &op.c, &op.e}) {
      if (*slot == kNoSlot) *slot = 0;  // not read; keeps pointers within the frame
    }
  }
  for (int32_t f : functions_) find_maybe_unset(f);
  for (CallInfo& call : code_->calls) {
    for (size_t i = 0; i < code_->maybe_unset.size(); ++i) {
      const bool callees = call.callee >= 0 && code_->maybe_unset[i].function == call.callee;
      if (callees) call.unset.push_back(static_cast<int32_t>(i));
    }
  }
  remove_redundant_copies(*code_);
  for (MicroOp& op : code_->ops) {
    const bool jumps = op.kind == Kind::branch || op.kind == Kind::jump;
    const int32_t pc = static_cast<int32_t>(&op - code_->ops.data());
    if (jumps) op.back_edge = code_->blocks[op.target].pc <= pc;
  }
  slice_addresses(*code_);
  return std::move(code_);
}

/// Functions that can run, depth first. Registers have one place a function, so recursion cannot
/// run.
void Lowering::collect(int32_t f, std::vector<int32_t>& path) {
  if (std::find(path.begin(), path.end(), f) != path.end()) {
    code_->unsupported.push_back({"recursive call of " + module_.functions[f].name});
    return;
  }
  if (std::find(functions_.begin(), functions_.end(), f) != functions_.end()) return;
  functions_.push_back(f);
  path.push_back(f);
  for (const Instruction& ins : module_.functions[f].code) {
    if (ins.op != Op::call || ins.target < 0) continue;
    if (!module_.functions[ins.target].is_declaration) collect(ins.target, path);
  }
  path.pop_back();
}

void Lowering::lay_out_registers(int32_t f) {
  FunctionPlaces& places = places_[f];
  const Function& function = module_.functions[f];
  places.registers.reserve(function.registers.size());
  for (const Register& r : function.registers) {
    Place place;
    place.flag = code_->flag_count++;
    if (r.type == Type::pred) {
      place.slot = static_cast<Slot>(code_->frame_bytes) | kFrame;
      code_->frame_bytes += 4;
    } else {
      place.width = static_cast<uint8_t>(std::max(2, bytes_of(r.type)));
      code_->frame_bytes = align_up(code_->frame_bytes, 32);
      place.slot = static_cast<Slot>(code_->frame_bytes) | kFrame;
      code_->frame_bytes += place.width * kLanes;
    }
    if (place.width > 8) code_->unsupported.push_back({"128-bit register " + r.name});
    places.registers.push_back(place);
  }
  code_->frame_bytes = align_up(code_->frame_bytes, 32);
}

void Lowering::lay_out_shared(const Variable& variable) {
  if (variable.space != Space::shared || shared_offsets_.count(&variable)) return;
  if (variable.bytes == 0) {
    code_->dynamic_shared_align = std::max(code_->dynamic_shared_align, variable.align);
    shared_offsets_[&variable] = -1;  // behind the static ones, set below
    return;
  }
  const int64_t offset = align_up(code_->static_shared_bytes, variable.align);
  shared_offsets_[&variable] = offset;
  code_->shared.push_back({&variable, offset});
  code_->static_shared_bytes = offset + variable.bytes;
}

void Lowering::lay_out_variables() {
  int64_t local = kLocalStart;
  const auto place = [&](int64_t bytes, int64_t align) {
    local = align_up(local, std::max<int64_t>(align, 1));
    const int64_t offset = local;
    local += bytes;
    return offset;
  };
  for (int32_t f : functions_) {
    FunctionPlaces& places = places_[f];
    const Function& function = module_.functions[f];
    if (f != entry_) {
      for (const Parameter& p : function.params) places.params.push_back(place(p.bytes, p.align));
      for (const Parameter& p : function.results) places.results.push_back(place(p.bytes, p.align));
    }
    for (const Variable& v : function.variables) {
      const bool is_local = v.space == Space::local || v.space == Space::param;
      places.variables.push_back(is_local ? place(v.bytes, v.align) : -1);
      lay_out_shared(v);
    }
    for (const Instruction& ins : function.code) {
      for (const auto* values : {&ins.src, &ins.dst}) {
        for (const Value& v : *values) {
          const bool symbol =
              v.kind == Value::Kind::symbol || v.kind == Value::Kind::symbol_address;
          if (symbol && !v.local_symbol && v.index >= 0) lay_out_shared(module_.variables[v.index]);
        }
      }
    }
  }
  code_->local_bytes = align_up(local, 16);
  const int64_t dynamic = align_up(code_->static_shared_bytes, code_->dynamic_shared_align);
  for (auto& [variable, offset] : shared_offsets_) {
    if (offset >= 0) continue;
    offset = dynamic;
    code_->shared.push_back({variable, dynamic});
  }
}

void Lowering::lower_function(int32_t f) {
  function_ = &module_.functions[f];
  here_ = &places_[f];
  int32_t access = function_->first_access_id, result = function_->first_result_id;
  int32_t compare = function_->first_compare_id;
  for (const Instruction& ins : function_->code) {
    const bool floating = result_format(ins) != ResultFormat::none;
    const bool compares = compare_format(ins) != CompareFormat::none;
    here_->counters.push_back(accesses_memory(ins) ? access++
                              : floating           ? result++
                              : compares           ? compare++
                                                   : -1);
  }
  // Blocks in reverse post-order: the order of micro-ops is then the order of scheduling.
  std::vector<int32_t> order(function_->blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return function_->blocks[a].order < function_->blocks[b].order;
  });
  for (int32_t block : order) lower_block(f, block);
}

void Lowering::lower_block(int32_t f, int32_t index) {
  const BasicBlock& block = function_->blocks[index];
  Block& lowered = code_->blocks[places_[f].first_block + index];
  lowered.pc = static_cast<int32_t>(code_->ops.size());
  lowered.instructions = block.last - block.first;
  for (int32_t i = block.first; i < block.last; ++i) lower_instruction(function_->code[i]);
  finish_block(block);
}

/// Control leaves every block by a micro-op, so that entering a block is one place in the executor.
void Lowering::finish_block(const BasicBlock& block) {
  if (block.last > block.first) {
    const Instruction& last = function_->code[block.last - 1];
    const bool leaves = last.op == Op::ret || last.op == Op::exit || last.op == Op::trap ||
                        last.op == Op::bra || last.op == Op::brx;
    if (leaves && (last.guard < 0 || last.op == Op::bra)) return;
  }
  MicroOp op;
  if (block.successors[0] < 0) {
    op.kind = Kind::ret;  // PTX ISA: falling off the end of a function returns
    op.site = code_->ops.empty() ? -1 : code_->ops.back().site;
  } else {
    op.kind = Kind::jump;
    op.target = here_->first_block + block.successors[0];
    op.counter = function_->first_edge_id + block.first_edge;
    op.site = code_->ops.empty() ? -1 : code_->ops.back().site;
  }
  code_->ops.push_back(op);
}

void Lowering::lower_instruction(const Instruction& ins) {
  note_subset_obstacle(ins);
  switch (ins.op) {
    case Op::mov:
      return emit_move(ins);
    case Op::cvta:
      return emit_cvta(ins);
    case Op::ld:
    case Op::ldu:
    case Op::st:
    case Op::atom:
    case Op::red:
    case Op::isspacep:
      return emit_memory(ins);
    case Op::shfl:
    case Op::vote:
    case Op::match:
    case Op::redux:
    case Op::activemask:
    case Op::elect:
      return emit_warp(ins);
    case Op::ldmatrix:
    case Op::stmatrix:
    case Op::movmatrix:
    case Op::mma:
    case Op::wmma:
      return emit_tensor(ins);
    case Op::cp:
    case Op::mbarrier:
      return emit_async(ins);
    case Op::bar:
    case Op::barrier:
      return emit_barrier(ins);
    case Op::bra:
    case Op::brx:
    case Op::call:
    case Op::ret:
    case Op::exit:
    case Op::trap:
    case Op::brkpt:
      return emit_control(ins);
    case Op::membar:
    case Op::fence:
      if (ins.row < 0) return refuse(ins, "not supported");
      emit(ins, Kind::fence);
      return;
    case Op::prefetch:
    case Op::nanosleep:
    case Op::griddepcontrol:
    case Op::applypriority:
    case Op::discard:
      if (ins.row < 0) return refuse(ins, "not supported");
      emit(ins, Kind::nop);
      return;
    case Op::createpolicy: {
      // A cache policy has no effect on values.
      const Place d = reg(ins.dst[0].index);
      emit_copy(ins, d, {constant(0, d.width), 0, d.width}, false);
      return;
    }
    default:
      return emit_compute(ins);
  }
}

}  // namespace assay::ptx
