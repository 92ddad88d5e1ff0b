// Names of a function's body: registers, variables, parameters and labels, in nested scopes.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "devices/ptx/lexer.hpp"
#include "devices/ptx/module.hpp"

namespace assay::ptx {

struct Symbol {
  enum class Kind : uint8_t {
    reg,
    local_variable,
    param,
    result,
    module_variable,
    function,
    other
  };
  Kind kind = Kind::other;
  int32_t index = -1;  ///< reg: in Function::registers, -1 until the code names it
  Type type = Type::none;
};
using SymbolMap = std::unordered_map<std::string_view, Symbol>;

class Scopes {
 public:
  /// Registers of `%name<count>` and all registers of a function may not exceed these.
  static constexpr int64_t kMaxRange = int64_t{1} << 20;
  static constexpr int64_t kMaxDeclared = int64_t{1} << 22;
  static constexpr size_t kMaxDepth = 200;

  Scopes(Lexer& lexer, const SymbolMap& module_names, Function& function);

  void open(const Token& at);
  /// Resolves the scope's branches; those to labels further out move to the parent.
  void close();
  size_t depth() const { return scopes_.size(); }

  void declare(const Token& name, Symbol symbol);
  void declare_range(const Token& prefix, int64_t count, Type type);
  void label(const Token& name, int32_t instruction);
  void branch_table(const Token& name, std::vector<Token> labels);

  /// A branch of instruction number `instruction` to a label, or through a table (brx.idx).
  void branch(int32_t instruction, const Token& label) {
    scopes_.back().branches.push_back({instruction, -1, label});
  }
  void indexed_branch(int32_t instruction, const Token& table) {
    scopes_.back().indexed.push_back({instruction, -1, table});
  }

  /// What a name means, innermost scope first, then the module's; a register gets its index here.
  std::optional<Symbol> find(std::string_view name);

 private:
  struct Range {
    Type type;
    std::vector<int32_t> index;
  };
  struct Branch {
    int32_t instruction;
    int32_t slot;  ///< in Instruction::targets; -1: Instruction::target
    Token label;
  };
  struct Scope {
    SymbolMap names;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, int32_t> labels;
    std::unordered_map<std::string_view, std::vector<Token>> tables;
    std::vector<Branch> branches, indexed;
  };

  int32_t new_register(std::string_view name, Type type);
  std::optional<Symbol> find_in_range(Scope& scope, std::string_view name);
  void resolve_indexed(Scope& scope, Scope* parent);
  void count_declared(const Token& at, int64_t count);

  Lexer& lexer_;
  const SymbolMap& module_names_;
  Function& function_;
  std::vector<Scope> scopes_;
  int64_t declared_ = 0;
};

}  // namespace assay::ptx
