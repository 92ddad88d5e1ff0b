// Operands of lowering: every source becomes a row, every destination a place in the frame.
#include <algorithm>
#include <cstring>

#include "devices/ptx/lower.hpp"
#include "devices/ptx/row_kit.hpp"

namespace assay::ptx {

namespace {

template <class T>
void broadcast(uint8_t* row, uint64_t bits) {
  const T value = static_cast<T>(bits);
  for (int i = 0; i < kLanes; ++i) std::memcpy(row + i * sizeof(T), &value, sizeof(T));
}

}  // namespace

Place Lowering::reg(int32_t index) const { return here_->registers[index]; }

Place Lowering::temporary(uint8_t width) {
  Place place;
  place.flag = code_->flag_count++;
  place.width = width;
  place.slot = static_cast<Slot>(code_->frame_bytes) | kFrame;
  code_->frame_bytes += width * kLanes;
  return place;
}

Slot Lowering::constant(uint64_t bits, uint8_t width) {
  if (width < 8) bits &= (uint64_t{1} << (8 * width)) - 1;
  const auto [found, added] = constants_.try_emplace({bits, width}, kNoSlot);
  if (added) {
    const size_t offset = code_->constants.size();
    code_->constants.resize(offset + static_cast<size_t>(width) * kLanes);
    uint8_t* row = code_->constants.data() + offset;
    if (width == 2) broadcast<uint16_t>(row, bits);
    if (width == 4) broadcast<uint32_t>(row, bits);
    if (width == 8) broadcast<uint64_t>(row, bits);
    found->second = static_cast<Slot>(offset) | kConstants;
  }
  return found->second;
}

/// A predicate that is the same in all lanes: the first word of a row of zeros or ones.
Slot Lowering::predicate_constant(bool value) { return constant(value ? ~uint64_t{0} : 0, 4); }

Slot Lowering::launch_constant(const LaunchConstant& wanted) {
  const std::string key =
      std::to_string(static_cast<int>(wanted.kind)) + "/" + std::to_string(wanted.width) + "/" +
      std::to_string(wanted.memory_width) + "/" + std::to_string(wanted.sign_extend) + "/" +
      std::to_string(static_cast<int>(wanted.special)) + "/" + std::to_string(wanted.offset);
  const auto [found, added] = launch_slots_.try_emplace(key, kNoSlot);
  if (added) {
    LaunchConstant made = wanted;
    made.slot = static_cast<Slot>(code_->constants.size()) | kConstants;
    code_->constants.resize(code_->constants.size() + static_cast<size_t>(made.width) * kLanes);
    code_->launch_constants.push_back(made);
    found->second = made.slot;
  }
  return found->second;
}

Slot Lowering::special(Special which, uint8_t width) {
  const auto row = [](uint32_t index, Base base) { return index * kRow32 | base; };
  switch (which) {
    case Special::ctaid_x:
      return row(0, kBlock);
    case Special::ctaid_y:
      return row(1, kBlock);
    case Special::ctaid_z:
      return row(2, kBlock);
    case Special::tid_x:
      return row(0, kWarp);
    case Special::tid_y:
      return row(1, kWarp);
    case Special::tid_z:
      return row(2, kWarp);
    case Special::laneid:
      return row(3, kWarp);
    case Special::warpid:
      return row(4, kWarp);
    case Special::lanemask_eq:
      return row(5, kWarp);
    case Special::lanemask_lt:
      return row(6, kWarp);
    case Special::lanemask_le:
      return row(7, kWarp);
    case Special::lanemask_gt:
      return row(8, kWarp);
    case Special::lanemask_ge:
      return row(9, kWarp);
    default:
      break;
  }
  LaunchConstant wanted;
  wanted.kind = LaunchConstant::Kind::special;
  wanted.special = which;
  wanted.width = width;
  return launch_constant(wanted);
}

/// The address that a symbol, parameter or absolute operand stands for, when it does not depend on
/// a register: in its own space for shared and local variables, generic for the others.
std::optional<uint64_t> Lowering::address_constant(const Value& v) {
  const uint64_t offset = static_cast<uint64_t>(v.offset);
  switch (v.kind) {
    case Value::Kind::absolute:
    case Value::Kind::immediate:
      return v.bits + offset;
    case Value::Kind::param:
      if (function_ == code_->entry) {
        code_->points_to_parameters = true;
        return kParamWindow + static_cast<uint64_t>(function_->params[v.index].offset) + offset;
      }
      return static_cast<uint64_t>(here_->params[v.index]) + offset;
    case Value::Kind::symbol:
    case Value::Kind::symbol_address: {
      const Variable& variable =
          v.local_symbol ? function_->variables[v.index] : module_.variables[v.index];
      if (variable.space == Space::shared) {
        return static_cast<uint64_t>(kSharedStart + shared_offsets_.at(&variable)) + offset;
      }
      if (v.local_symbol) return static_cast<uint64_t>(here_->variables[v.index]) + offset;
      return code_->variable_addresses[v.index] + offset;
    }
    default:
      return std::nullopt;
  }
}

Place Lowering::source(const Instruction& ins, const Value& v, uint8_t width, bool sign_extend) {
  Place place;
  place.width = width;
  switch (v.kind) {
    case Value::Kind::immediate:
      place.slot = constant(v.bits, width);
      return place;
    case Value::Kind::special:
      place.slot = special(v.special, width);
      return place;
    case Value::Kind::reg: {
      const Place r = reg(v.index);
      if (r.width == width) return r;
      if (r.width == 0) {
        refuse(ins, "predicate where a number is expected");
        return place;
      }
      const Place narrowed = temporary(width);
      MicroOp& op = emit(ins, Kind::compute);
      op.guard = kNoSlot;
      op.row = resize_row(r.width, width, sign_extend, avx2_);
      op.d = narrowed.slot;
      op.fd = narrowed.flag;
      op.a = r.slot;
      op.fa = r.flag;
      op.width = width;
      op.source_width = r.width;
      op.undefined = UndefinedStep::apply1;
      return narrowed;
    }
    default:
      break;
  }
  if (const auto address = address_constant(v)) {
    place.slot = constant(*address, width);
    return place;
  }
  refuse(ins, "operand not supported");
  place.slot = constant(0, width);
  return place;
}

Place Lowering::predicate(const Value& v) {
  if (v.kind == Value::Kind::reg) return reg(v.index);
  return {predicate_constant(v.bits != 0), 0, 0};
}

}  // namespace assay::ptx
