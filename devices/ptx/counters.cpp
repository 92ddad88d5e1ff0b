#include "devices/ptx/counters.hpp"

#include <bit>
#include <cstdint>
#include <set>

#include "devices/ptx/cfg.hpp"

namespace assay::ptx {

bool accesses_memory(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::ld:
    case Op::st:
      return instruction.space != Space::param;
    case Op::ldu:
    case Op::atom:
    case Op::red:
    case Op::ldmatrix:
    case Op::stmatrix:
      return true;
    case Op::cp:
      return instruction.async == Async::copy;
    case Op::wmma:
      return instruction.wmma == Wmma::load || instruction.wmma == Wmma::store;
    default:
      return false;
  }
}

ResultFormat result_format(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::mad:
    case Op::fma:
    case Op::div:
    case Op::abs:
    case Op::neg:
    case Op::min:
    case Op::max:
    case Op::rcp:
    case Op::sqrt:
    case Op::rsqrt:
    case Op::sin:
    case Op::cos:
    case Op::lg2:
    case Op::ex2:
    case Op::tanh:
    case Op::copysign:
    case Op::cvt:
    case Op::mma:
      break;
    case Op::wmma:
      if (instruction.wmma == Wmma::mma) break;
      return ResultFormat::none;
    default:
      return ResultFormat::none;
  }
  switch (instruction.type) {
    case Type::f16:
      // A register of a matrix holds two.
      return instruction.op == Op::mma || instruction.op == Op::wmma ? ResultFormat::f16x2
                                                                     : ResultFormat::f16;
    case Type::bf16:
      return ResultFormat::bf16;
    case Type::f16x2:
      return ResultFormat::f16x2;
    case Type::bf16x2:
      return ResultFormat::bf16x2;
    case Type::f32:
    case Type::tf32:
      return ResultFormat::f32;
    case Type::f64:
      return ResultFormat::f64;
    default:
      return ResultFormat::none;
  }
}

CompareFormat compare_format(const Instruction& instruction) {
  if (instruction.op != Op::setp) return CompareFormat::none;
  switch (instruction.type) {
    case Type::s16:
      return CompareFormat::s16;
    case Type::u16:
    case Type::b16:
      return CompareFormat::u16;
    case Type::s32:
      return CompareFormat::s32;
    case Type::u32:
    case Type::b32:
      return CompareFormat::u32;
    case Type::s64:
      return CompareFormat::s64;
    case Type::u64:
    case Type::b64:
      return CompareFormat::u64;
    case Type::f32:
      return CompareFormat::f32;
    case Type::f64:
      return CompareFormat::f64;
    default:
      return CompareFormat::none;
  }
}

namespace {

/// The size that an immediate of this instruction stands for; 0: none.
int64_t size_of_immediate(const Instruction& instruction, const Value& value) {
  if (value.kind != Value::Kind::immediate) return 0;
  const auto number = static_cast<int64_t>(value.bits);
  // Of the lower bits, of 63 at most: a size is an int64_t.
  const bool is_mask = number > 0 && number != INT64_MAX && std::has_single_bit(value.bits + 1);
  switch (instruction.op) {
    case Op::setp: {
      const CompareFormat format = compare_format(instruction);
      const bool integer = format != CompareFormat::none && format != CompareFormat::f32 &&
                           format != CompareFormat::f64;
      return integer ? number : 0;
    }
    case Op::div:
    case Op::rem:
      return result_format(instruction) == ResultFormat::none ? number : 0;
    case Op::and_:
      return is_mask ? number + 1 : 0;
    default:
      return 0;
  }
}

}  // namespace

std::vector<int64_t> notable_constants(const Module& module) {
  constexpr int64_t kLeast = 2, kMost = int64_t{1} << 31;
  std::set<int64_t> found;
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.code) {
      for (const Value& value : instruction.src) {
        const int64_t size = size_of_immediate(instruction, value);
        if (size >= kLeast && size <= kMost) found.insert(size);
      }
    }
  }
  return {found.begin(), found.end()};
}

void number_counters(Module& module) {
  for (Function& function : module.functions) {
    function.first_block_id = module.block_count;
    function.first_edge_id = module.edge_count;
    function.first_access_id = module.access_count;
    function.first_result_id = module.result_count;
    function.first_compare_id = module.compare_count;
    module.block_count += static_cast<int32_t>(function.blocks.size());
    if (!function.blocks.empty()) ++module.edge_count;
    for (BasicBlock& block : function.blocks) {
      block.first_edge = module.edge_count - function.first_edge_id;
      module.edge_count += static_cast<int32_t>(successors_of(function, block).size());
    }
    for (const Instruction& instruction : function.code) {
      module.access_count += accesses_memory(instruction);
      module.result_count += result_format(instruction) != ResultFormat::none;
      module.compare_count += compare_format(instruction) != CompareFormat::none;
    }
  }
  module.constants = std::make_shared<const std::vector<int64_t>>(notable_constants(module));
}

}  // namespace assay::ptx
