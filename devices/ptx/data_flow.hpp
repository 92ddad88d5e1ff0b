// Which instructions may have made what an instruction reads: reaching definitions over the
// registers of a function, the lanes of a warp taken together.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// Calls `define` with each register that the instruction writes.
template <class F>
void for_each_result(const Instruction& ins, F define) {
  for (const Value& v : ins.dst) {
    if (v.kind == Value::Kind::reg && v.index >= 0) define(v.index);
  }
  if (ins.predicate_out >= 0) define(ins.predicate_out);
}

/// Instructions go by their index in Function::code. `function` must outlive this.
class DataFlow {
 public:
  explicit DataFlow(const Function& function);

  struct Use {
    int32_t instruction = -1;
    int32_t operand = -1;  ///< index in Instruction::src
  };
  /// Instructions whose result `operand` of `instruction` may hold; none for what is no register.
  const std::vector<int32_t>& makers(int32_t instruction, size_t operand) const {
    return makers_[first_[instruction] + operand];
  }
  /// Operands that may hold a result of `instruction`. Guards are no operands.
  const std::vector<Use>& users(int32_t instruction) const { return users_[instruction]; }
  /// Basic block of an instruction.
  int32_t block_of(int32_t instruction) const { return block_of_[instruction]; }
  const Function& function() const { return *function_; }

 private:
  void find_makers();

  const Function* function_;
  std::vector<size_t> first_;  ///< by instruction: of its operands in makers_
  std::vector<std::vector<int32_t>> makers_;
  std::vector<std::vector<Use>> users_;
  std::vector<int32_t> block_of_;
};

}  // namespace assay::ptx
