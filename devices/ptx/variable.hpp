// Declarations of variables and parameters (PTX ISA 9.0, sections 5.1 to 5.4 and 7.1).
#pragma once

#include "devices/ptx/lexer.hpp"
#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// A declared name with the place that declares it.
struct Declared {
  Variable variable;
  Token name;
};

/// Reads `.align 4 .b8 x[10] = {1, 2}, y;` after the state space.
class VariableParser {
 public:
  explicit VariableParser(Lexer& lexer) : lexer_(lexer) {}

  /// The variables of one declaration, with its `;`.
  std::vector<Declared> parse_list(Space space, bool is_extern);
  /// A parameter inside ( ); its offset is not yet set.
  Parameter parse_parameter(Token* name);
  /// `( .param ..., .param ... )` with offsets; names in `names`.
  std::vector<Parameter> parse_parameters(std::vector<Token>* names);

 private:
  struct Attributes {
    Type type = Type::none;
    int64_t align = 0;
    int vector = 1;
  };
  Attributes parse_attributes(bool parameter);
  /// Extents in brackets; empty for a scalar, 0 for an unsized first one.
  std::vector<int64_t> parse_extents();
  int64_t total_bytes(const Token& at, const Attributes& attributes,
                      const std::vector<int64_t>& extents);
  Variable parse_one(const Attributes& attributes, Space space, const Token& name);
  void parse_initial(Variable& variable, Type type, const std::vector<int64_t>& extents);
  void parse_initial_list(Variable& variable, Type type, const std::vector<int64_t>& extents,
                          size_t dimension, int64_t offset);
  void parse_initial_value(Variable& variable, Type type, int64_t offset);
  void parse_initial_address(Variable& variable, int bytes, int64_t offset, uint64_t mask);
  void put(Variable& variable, int64_t offset, uint64_t bits, int bytes);

  Lexer& lexer_;
};

}  // namespace assay::ptx
