#include "devices/ptx/counters.hpp"

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

void number_counters(Module& module) {
  for (Function& function : module.functions) {
    function.first_block_id = module.block_count;
    function.first_edge_id = module.edge_count;
    function.first_access_id = module.access_count;
    function.first_result_id = module.result_count;
    module.block_count += static_cast<int32_t>(function.blocks.size());
    if (!function.blocks.empty()) ++module.edge_count;
    for (BasicBlock& block : function.blocks) {
      block.first_edge = module.edge_count - function.first_edge_id;
      module.edge_count += static_cast<int32_t>(successors_of(function, block).size());
    }
    for (const Instruction& instruction : function.code) {
      module.access_count += accesses_memory(instruction);
      module.result_count += result_format(instruction) != ResultFormat::none;
    }
  }
}

}  // namespace assay::ptx
