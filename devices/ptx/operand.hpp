// Operands of an instruction: as they are written, and as the table wants them.
#pragma once

#include <vector>

#include "devices/ptx/literal.hpp"
#include "devices/ptx/scope.hpp"
#include "devices/ptx/table.hpp"

namespace assay::ptx {

/// An operand as it is written.
struct RawOperand {
  enum class Kind : uint8_t { name, constant, vector, address };
  Kind kind = Kind::name;
  Token at;                          ///< where it starts; of a name: the name
  bool negated = false;              ///< `!`
  Token pair;                        ///< name after `|`; kind end when there is none
  Literal literal;                   ///< of a constant, or an address without a name
  int64_t offset = 0;                ///< name + offset
  bool named = false;                ///< address: [name + offset] rather than [constant]
  std::vector<RawOperand> elements;  ///< of a vector
};
RawOperand parse_operand(Lexer& lexer);

/// Fills an instruction's operands from the text's, checking each against its row.
class Binder {
 public:
  Binder(Lexer& lexer, Scopes& scopes, const Module& module, const Function& function)
      : lexer_(lexer), scopes_(scopes), module_(module), function_(function) {}

  /// `at` is the mnemonic's token. Throws InputError. `number` is the instruction's index in the
  /// code, for branches. Returns why this machine lacks an operand (a special register), or "".
  std::string bind(Instruction& instruction, int32_t number, const Token& at,
                   const std::vector<RawOperand>& operands);

  Value bind_address(const Instruction& instruction, const RawOperand& operand);
  int32_t predicate(const Token& name);
  Value named_value(const Token& name, const Symbol& symbol, int64_t offset);

 private:
  void bind_one(Instruction& instruction, int32_t number, const OperandSpec& spec,
                const RawOperand& operand);
  void bind_vector(Instruction& instruction, const OperandSpec& spec, const RawOperand& operand);
  void bind_fragment(Instruction& instruction, const OperandSpec& spec, const RawOperand& operand);
  void bind_destination(Instruction& instruction, const OperandSpec& spec, Type type,
                        const RawOperand& operand);
  Value bind_source(const Instruction& instruction, const OperandSpec& spec, Type type,
                    const RawOperand& operand);
  Value bind_special(const Instruction& instruction, const RawOperand& operand);
  void check_register(const Token& name, Type have, Type want, bool wider);
  Symbol find(const Token& name);
  Space space_of(const Symbol& symbol) const;

  Lexer& lexer_;
  Scopes& scopes_;
  const Module& module_;
  const Function& function_;
  std::string lacking_;
};

/// Whether a register of type `have` may stand where `want` is expected (PTX ISA 9.0, section 9.2
/// and tables 26 and 27; the same answers as ptxas 13.0 gives).
bool register_fits(Type have, Type want, bool wider);

}  // namespace assay::ptx
