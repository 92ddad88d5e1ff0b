// The body of a function: declarations, labels, instructions, debug lines.
#pragma once

#include <map>
#include <unordered_map>

#include "devices/ptx/operand.hpp"

namespace assay::ptx {

/// Spellings met so far in a module, so that each is matched against the table once.
using SpellingCache = std::unordered_map<std::string_view, SpellingMatch>;

class FunctionParser {
 public:
  FunctionParser(Lexer& lexer, Module& module, const SymbolMap& module_names, Function& function,
                 SpellingCache& spellings);

  void declare_parameter(const Token& name, Symbol::Kind kind, int32_t index);
  /// Reads from after `{` to the closing `}`.
  void parse_body();

 private:
  void parse_statement();
  void close_end(int32_t closing_line);
  void parse_directive();
  void parse_registers();
  void parse_variables(Space space, bool is_extern);
  void parse_location();
  int32_t add_line(SourceLine line);
  bool parse_labelled(const Token& name);
  void parse_guarded();
  void parse_instruction(Instruction guard, const Token& name);
  void parse_operands(Instruction& instruction, const Token& name);
  void parse_call(Instruction& instruction);
  std::vector<Value> parse_call_list();
  Value parse_call_operand();
  void check_arity(const Token& at, const Instruction& call, const Function& callee);
  void unsupported(Instruction& instruction, const std::string& reason);
  int32_t next_instruction() const { return static_cast<int32_t>(function_.code.size()); }

  Lexer& lexer_;
  Module& module_;
  Function& function_;
  SpellingCache& spellings_;
  Scopes scopes_;
  Binder binder_;
  int32_t line_ = -1;
  std::map<std::array<int, 4>, int32_t> line_numbers_;
  std::map<std::array<int, 3>, int32_t> latest_at_;  ///< (file, line, column) -> line last added
  std::vector<RawOperand> operands_;
};

}  // namespace assay::ptx
