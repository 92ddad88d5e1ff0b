// Internals of lowering: places of registers and variables, constant rows, emission of micro-ops.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "devices/ptx/code.hpp"
#include "devices/ptx/tensor.hpp"

namespace assay::ptx {

/// A source or destination row: where it lies and the number of its shadow flag.
struct Place {
  Slot slot = kNoSlot;
  uint32_t flag = 0;
  uint8_t width = 0;  ///< bytes of an element; 0: predicate
};

class Lowering {
 public:
  Lowering(const Module& module, bool avx2, int slot, const ArithmeticErrors& errors);
  std::unique_ptr<Code> run(const std::string& entry);

 private:
  // lower.cpp: layout of the program
  void collect(int32_t function, std::vector<int32_t>& path);
  void lay_out_registers(int32_t function);
  void lay_out_module_variables(int slot);
  void lay_out_variables();
  void lay_out_shared(const Variable& variable);
  void lower_function(int32_t function);
  void lower_block(int32_t function, int32_t block);
  void lower_instruction(const Instruction& ins);
  void finish_block(const BasicBlock& block);
  void find_maybe_unset(int32_t function);  // lower_passes.cpp

  // lower_operands.cpp
  Place reg(int32_t index) const;
  Place temporary(uint8_t width);
  Slot constant(uint64_t bits, uint8_t width);
  Slot predicate_constant(bool value);
  Slot launch_constant(const LaunchConstant& wanted);
  Slot special(Special which, uint8_t width);
  /// The row of a source operand of `width` bytes; narrows a wider register.
  Place source(const Instruction& ins, const Value& value, uint8_t width, bool sign_extend = false);
  Place predicate(const Value& value);
  std::optional<uint64_t> address_constant(const Value& value);
  int64_t local_offset(const Value& value) const;

  // lower_instructions.cpp
  MicroOp& emit(const Instruction& ins, Kind kind);
  void guard(const Instruction& ins, MicroOp& op) const;
  RowFunction row_of(const Instruction& ins) const;
  void emit_compute(const Instruction& ins);
  int32_t counter_of(const Instruction& ins) const;
  const BasicBlock& block_of(const Instruction& ins) const;
  void emit_move(const Instruction& ins);
  void emit_copy(const Instruction& ins, const Place& d, const Place& a, bool sign_extend);
  void emit_pack(const Instruction& ins);
  void emit_cvta(const Instruction& ins);
  void emit_memory(const Instruction& ins);
  void emit_parameter_load(const Instruction& ins);
  void emit_warp(const Instruction& ins);
  void emit_barrier(const Instruction& ins);
  bool is_active_mask(const Value& value, int depth = 0) const;
  void emit_tensor(const Instruction& ins);  // lower_tensor.cpp
  void emit_copy_async(const Instruction& ins);
  void emit_async(const Instruction& ins);
  void emit_control(const Instruction& ins);
  void emit_call(const Instruction& ins);
  void set_address(const Instruction& ins, const Value& value, Space space, MicroOp& op);
  void set_steps(const Instruction& ins, MicroOp& op) const;
  void refuse(const Instruction& ins, const std::string& why);
  void add_unsupported(const Instruction& ins, const std::string& what);
  void note_subset_obstacle(const Instruction& ins);

  struct FunctionPlaces {
    std::vector<Place> registers;
    std::vector<int64_t> variables;  ///< local offsets; -1: elsewhere
    std::vector<int64_t> params;     ///< local offsets of a device function's parameters
    std::vector<int64_t> results;
    int32_t first_block = 0;        ///< of its blocks in Code::blocks
    /// By instruction: number of a memory or floating one or a comparison, or -1.
    std::vector<int32_t> counters;
  };

  const Module& module_;
  const bool avx2_;
  const ArithmeticErrors errors_;
  std::unique_ptr<Code> code_;
  int32_t entry_ = -1;
  std::vector<int32_t> functions_;  ///< reachable, entry first
  std::map<int32_t, FunctionPlaces> places_;
  std::map<const Variable*, int64_t> shared_offsets_;
  std::map<std::pair<uint64_t, uint8_t>, Slot> constants_;
  std::map<std::string, Slot> launch_slots_;
  const Function* function_ = nullptr;
  FunctionPlaces* here_ = nullptr;
};

}  // namespace assay::ptx
