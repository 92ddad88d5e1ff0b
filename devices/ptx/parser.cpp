// Module scope: directives, variables, functions and their headers.
#include "devices/ptx/parser.hpp"

#include <algorithm>

#include "devices/ptx/constant.hpp"
#include "devices/ptx/function_parser.hpp"
#include "devices/ptx/variable.hpp"

namespace assay::ptx {
namespace {

class ModuleParser {
 public:
  ModuleParser(const std::string& text, const std::string& file) : lexer_(text, file) {}

  Module parse() {
    if (!lexer_.peek().is(".version")) {
      lexer_.fail_here("expected .version at the start of PTX, found " + shown(lexer_.peek()));
    }
    while (lexer_.peek().kind != Token::Kind::end) parse_directive();
    check_initial_addresses();
    for (Function& function : module_.functions) resolve_calls(function);
    return std::move(module_);
  }

 private:
  void parse_directive();
  bool parse_header_directive(const Token& at);
  void parse_target();
  void parse_file();
  void parse_section();
  void parse_variables(Space space, bool is_extern);
  void parse_function(bool is_entry);
  void parse_function_attributes(Function& function);
  std::array<int32_t, 3> parse_block_extents();
  int32_t function_index(const Token& name);
  void check_initial_addresses();
  void resolve_calls(Function& function);

  Lexer lexer_;
  Module module_;
  SymbolMap names_;
  SpellingCache spellings_;
  std::vector<Token> pointing_;  ///< declarations whose initialisers hold addresses
};

void ModuleParser::parse_directive() {
  Token at = lexer_.take();
  bool is_extern = false;
  while (at.is(".extern") || at.is(".visible") || at.is(".weak") || at.is(".common")) {
    is_extern |= at.is(".extern");
    at = lexer_.take();
  }
  if (parse_header_directive(at)) return;
  if (at.is(".entry")) return parse_function(true);
  if (at.is(".func")) return parse_function(false);
  if (at.is(".global")) return parse_variables(Space::global, is_extern);
  if (at.is(".shared")) return parse_variables(Space::shared, is_extern);
  if (at.is(".const")) return parse_variables(Space::const_, is_extern);
  if (at.is(".local")) return parse_variables(Space::local, is_extern);
  lexer_.fail(at, "expected a directive of module scope such as .entry, found " + shown(at));
}

bool ModuleParser::parse_header_directive(const Token& at) {
  if (at.is(".version")) {
    const Token version = lexer_.take();
    if (version.kind != Token::Kind::number) {
      lexer_.fail(version, "expected a version such as 9.0, found " + shown(version));
    }
  } else if (at.is(".target")) {
    parse_target();
  } else if (at.is(".address_size")) {
    const Token size = lexer_.peek();
    module_.address_size = static_cast<int>(parse_integer_in(lexer_, 32, 64, "an address size"));
    if (module_.address_size != 64) lexer_.fail(size, "expected .address_size 64");
  } else if (at.is(".file")) {
    parse_file();
  } else if (at.is(".section")) {
    parse_section();
  } else if (at.is(".pragma") || at.is(".alias")) {
    lexer_.skip_statement();
  } else {
    return false;
  }
  return true;
}

void ModuleParser::parse_target() {
  const Token target = lexer_.take();
  if (target.kind != Token::Kind::name || !target.text.starts_with("sm_")) {
    lexer_.fail(target, "expected a target such as sm_80, found " + shown(target));
  }
  module_.target = std::string(target.text);
  while (lexer_.accept(',')) lexer_.take();
}

void ModuleParser::parse_file() {
  const auto number = static_cast<int>(parse_integer_in(lexer_, 0, INT32_MAX, "a file's number"));
  const Token name = lexer_.take();
  if (name.kind != Token::Kind::string) {
    lexer_.fail(name, "expected a file's name in quotes, found " + shown(name));
  }
  module_.files[number] = std::string(name.text);
  while (lexer_.accept(',')) parse_constant(lexer_);  // time stamp and size
}

/// Debug sections: their bytes do not count.
void ModuleParser::parse_section() {
  const Token name = lexer_.take();
  if (name.kind != Token::Kind::directive && !name.is_name()) {
    lexer_.fail(name, "expected a section's name, found " + shown(name));
  }
  lexer_.expect('{', "before a section's contents");
  lexer_.skip_block();
}

void ModuleParser::parse_variables(Space space, bool is_extern) {
  VariableParser parser(lexer_);
  for (auto& [variable, name] : parser.parse_list(space, is_extern)) {
    const auto index = static_cast<int32_t>(module_.variables.size());
    const auto [known, added] =
        names_.try_emplace(name.text, Symbol{Symbol::Kind::module_variable, index, Type::none});
    if (!variable.pointers.empty()) pointing_.push_back(name);
    if (added) {
      module_.variables.push_back(std::move(variable));
    } else if (known->second.kind == Symbol::Kind::module_variable &&
               module_.variables[known->second.index].is_extern) {
      module_.variables[known->second.index] = std::move(variable);
    } else {
      lexer_.fail(name, shown(name) + " is declared twice");
    }
  }
}

std::array<int32_t, 3> ModuleParser::parse_block_extents() {
  std::array<int32_t, 3> extents{1, 1, 1};
  for (size_t i = 0; i < 3; ++i) {
    extents[i] = static_cast<int32_t>(parse_integer_in(lexer_, 1, 1 << 20, "a block's extent"));
    if (i < 2 && !lexer_.accept(',')) break;
  }
  return extents;
}

void ModuleParser::parse_function_attributes(Function& function) {
  while (lexer_.peek().kind == Token::Kind::directive) {
    const Token at = lexer_.take();
    if (at.is(".reqntid")) {
      function.required_block = parse_block_extents();
    } else if (at.is(".maxntid")) {
      function.max_block = parse_block_extents();
    } else if (at.is(".noreturn")) {
      function.is_noreturn = true;
    } else if (at.is(".minnctapersm") || at.is(".maxnctapersm") || at.is(".maxnreg") ||
               at.is(".maxclusterrank") || at.is(".abi_preserve") ||
               at.is(".abi_preserve_control")) {
      parse_constant(lexer_);
    } else if (at.is(".reqnctapercluster")) {
      parse_block_extents();
    } else if (at.is(".explicitcluster") || at.is(".blocksareclusters")) {
      // Clusters of one block: nothing changes.
    } else if (at.is(".pragma")) {
      lexer_.skip_statement();
    } else {
      lexer_.fail(at, "expected a function's directive such as .reqntid, found " + shown(at));
    }
  }
}

/// The function of a name, made at its first declaration.
int32_t ModuleParser::function_index(const Token& name) {
  const auto next = static_cast<int32_t>(module_.functions.size());
  const auto [known, added] =
      names_.try_emplace(name.text, Symbol{Symbol::Kind::function, next, Type::none});
  if (!added && known->second.kind != Symbol::Kind::function) {
    lexer_.fail(name, shown(name) + " is declared twice");
  }
  if (added) {
    module_.functions.emplace_back();
    module_.functions.back().name = std::string(name.text);
    module_.functions.back().is_declaration = true;
  }
  return known->second.index;
}

void ModuleParser::parse_function(bool is_entry) {
  VariableParser variables(lexer_);
  std::vector<Token> result_names, parameter_names;
  Function function;
  function.is_entry = is_entry;
  if (lexer_.peek().is(".attribute")) {
    lexer_.take();
    lexer_.expect('(', "after .attribute");
    while (!lexer_.peek().is(')') && lexer_.peek().kind != Token::Kind::end) lexer_.take();
    lexer_.expect(')', "to close .attribute");
  }
  if (!is_entry && lexer_.peek().is('('))
    function.results = variables.parse_parameters(&result_names);
  const Token name = lexer_.take();
  if (!name.is_name()) lexer_.fail(name, "expected a function's name, found " + shown(name));
  function.name = std::string(name.text);
  if (lexer_.peek().is('(')) function.params = variables.parse_parameters(&parameter_names);
  parse_function_attributes(function);
  const int32_t index = function_index(name);
  if (!module_.functions[index].is_declaration)
    lexer_.fail(name, shown(name) + " is defined twice");
  if (lexer_.accept(';')) {
    function.is_declaration = true;
    module_.functions[index] = std::move(function);
    return;
  }
  lexer_.expect('{', "of a function's body");
  FunctionParser body(lexer_, module_, names_, function, spellings_);
  // A callee may be the function itself: its parameters are known from here on.
  module_.functions[index].params = function.params;
  module_.functions[index].results = function.results;
  for (size_t i = 0; i < function.params.size(); ++i) {
    body.declare_parameter(parameter_names[i], Symbol::Kind::param, static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < function.results.size(); ++i) {
    body.declare_parameter(result_names[i], Symbol::Kind::result, static_cast<int32_t>(i));
  }
  body.parse_body();
  module_.functions[index] = std::move(function);
}

void ModuleParser::check_initial_addresses() {
  for (const Token& declaration : pointing_) {
    for (const auto& [offset, name] :
         module_.variables[names_.at(declaration.text).index].pointers) {
      (void)offset;
      if (names_.find(name) == names_.end()) {
        lexer_.fail(declaration, "unknown name '" + name + "' in the initialiser");
      }
    }
  }
}

/// Calls of functions without a body are the machine's own.
void ModuleParser::resolve_calls(Function& function) {
  for (Instruction& instruction : function.code) {
    if (instruction.op != Op::call || instruction.target < 0) continue;
    if (module_.functions[instruction.target].is_declaration) instruction.target = -1;
  }
}

}  // namespace

Module parse_module(const std::string& text, const std::string& file) {
  return ModuleParser(text, file).parse();
}

}  // namespace assay::ptx
