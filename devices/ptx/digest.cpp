#include "devices/ptx/digest.hpp"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace assay::ptx {
namespace {

/// A 64-bit mixing hash: each word goes through the finaliser of SplitMix64 (Steele, Lea, Flood:
/// Fast Splittable Pseudorandom Number Generators, OOPSLA 2014). Not cryptographic; equal programs
/// are to have equal digests and accidental changes different ones.
class Hash {
 public:
  void add(uint64_t word) {
    uint64_t z = state_ ^ word;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    state_ = (z ^ (z >> 31)) + 0x9e3779b97f4a7c15u;
  }
  template <typename Enum>
  requires std::is_enum_v<Enum>
  void add(Enum value) { add(static_cast<uint64_t>(value)); }
  void add(const std::string& text) {
    add(text.size());
    for (const char c : text) add(static_cast<uint8_t>(c));
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0x243f6a8885a308d3u;
};

void add_value(Hash& hash, const Value& value) {
  hash.add(value.kind);
  hash.add(static_cast<uint64_t>(value.negated) | static_cast<uint64_t>(value.local_symbol) << 1);
  hash.add(value.special);
  hash.add(static_cast<uint64_t>(value.index));
  hash.add(static_cast<uint64_t>(value.offset));
  hash.add(value.bits);
}

uint64_t flags_of(const Instruction& i) {
  const bool flags[] = {
      i.ftz,        i.sat,        i.satfinite,    i.relu,    i.approx,        i.full,
      i.carry_out,  i.nan,        i.xorsign_abs,  i.uniform, i.to_space,      i.shift_amount,
      i.wrap_shift, i.shift_left, i.non_coherent, i.noftz,   i.guard_negated, i.has_predicate_in,
      i.indirect};
  uint64_t bits = 0;
  for (const bool flag : flags) bits = bits << 1 | flag;
  return bits;
}

/// The spelling stands for modifiers that only name a cache policy, and for what is unsupported.
void add_instruction(Hash& hash, const Instruction& i) {
  hash.add(i.spelling);
  hash.add(i.op);
  hash.add(i.type);
  hash.add(i.source_type);
  hash.add(flags_of(i));
  hash.add(static_cast<uint64_t>(i.guard));
  hash.add(static_cast<uint64_t>(i.predicate_out));
  hash.add(static_cast<uint64_t>(i.target));
  hash.add(i.targets.size());
  for (const int32_t target : i.targets) hash.add(static_cast<uint64_t>(target));
  hash.add(i.dst.size());
  for (const Value& value : i.dst) add_value(hash, value);
  hash.add(i.src.size());
  for (const Value& value : i.src) add_value(hash, value);
  if (i.op == Op::call && i.target < 0) hash.add(i.callee);
}

void add_parameters(Hash& hash, const std::vector<Parameter>& parameters) {
  hash.add(parameters.size());
  for (const Parameter& parameter : parameters) {
    hash.add(parameter.type);
    hash.add(static_cast<uint64_t>(parameter.bytes));
    hash.add(static_cast<uint64_t>(parameter.align));
    hash.add(static_cast<uint64_t>(parameter.offset));
  }
}

using Numbers = std::unordered_map<std::string, uint64_t>;

void add_variable(Hash& hash, const Variable& variable, const Numbers& numbers) {
  hash.add(variable.space);
  hash.add(static_cast<uint64_t>(variable.bytes));
  hash.add(static_cast<uint64_t>(variable.align));
  hash.add(static_cast<uint64_t>(variable.is_extern));
  hash.add(variable.initial.size());
  for (const uint8_t byte : variable.initial) hash.add(byte);
  hash.add(variable.pointers.size());
  for (const auto& [offset, name] : variable.pointers) {
    hash.add(static_cast<uint64_t>(offset));
    const auto found = numbers.find(name);
    hash.add(found == numbers.end() ? ~uint64_t{0} : found->second);
  }
}

void add_function(Hash& hash, const Function& function, const Numbers& numbers) {
  hash.add(static_cast<uint64_t>(function.is_entry) | static_cast<uint64_t>(function.is_declaration)
                                                          << 1);
  if (function.is_entry || function.is_declaration) hash.add(function.name);
  add_parameters(hash, function.params);
  add_parameters(hash, function.results);
  hash.add(function.registers.size());
  for (const Register& reg : function.registers) hash.add(reg.type);
  hash.add(function.variables.size());
  for (const Variable& variable : function.variables) add_variable(hash, variable, numbers);
  for (const int32_t extent : function.required_block) hash.add(static_cast<uint64_t>(extent));
  for (const int32_t extent : function.max_block) hash.add(static_cast<uint64_t>(extent));
  hash.add(function.code.size());
  for (const Instruction& instruction : function.code) add_instruction(hash, instruction);
}

}  // namespace

std::string module_digest(const Module& module) {
  Numbers numbers;
  for (size_t i = 0; i < module.variables.size(); ++i) numbers.emplace(module.variables[i].name, i);
  for (size_t i = 0; i < module.functions.size(); ++i) {
    numbers.emplace(module.functions[i].name, module.variables.size() + i);
  }
  Hash hash;
  hash.add(module.target);
  hash.add(static_cast<uint64_t>(module.address_size));
  hash.add(module.variables.size());
  for (const Variable& variable : module.variables) add_variable(hash, variable, numbers);
  hash.add(module.functions.size());
  for (const Function& function : module.functions) add_function(hash, function, numbers);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value()));
  return text;
}

}  // namespace assay::ptx
