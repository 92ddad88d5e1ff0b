#include "devices/ptx/function_parser.hpp"

#include "devices/ptx/cfg.hpp"
#include "devices/ptx/constant.hpp"
#include "devices/ptx/variable.hpp"

namespace assay::ptx {
namespace {

constexpr size_t kMaxOperands = 64;

std::optional<Space> variable_space(const Token& directive) {
  if (directive.is(".shared")) return Space::shared;
  if (directive.is(".local")) return Space::local;
  if (directive.is(".param")) return Space::param;
  if (directive.is(".global")) return Space::global;
  if (directive.is(".const")) return Space::const_;
  return std::nullopt;
}

}  // namespace

FunctionParser::FunctionParser(Lexer& lexer, Module& module, const SymbolMap& module_names,
                               Function& function, SpellingCache& spellings)
    : lexer_(lexer),
      module_(module),
      function_(function),
      spellings_(spellings),
      scopes_(lexer, module_names, function),
      binder_(lexer, scopes_, module, function) {}

void FunctionParser::declare_parameter(const Token& name, Symbol::Kind kind, int32_t index) {
  scopes_.declare(name, {kind, index, Type::none});
}

void FunctionParser::parse_body() {
  while (scopes_.depth() > 0) {
    const Token at = lexer_.peek();
    if (at.kind == Token::Kind::end) lexer_.fail_here("expected '}' before end of file");
    if (at.is('{')) {
      scopes_.open(at);
      lexer_.take();
    } else if (at.is('}')) {
      lexer_.take();
      scopes_.close();
    } else {
      parse_statement();
    }
  }
  close_end(lexer_.peek().line);
}

/// Control that runs off the end, or branches there, returns (as ptxas compiles it).
void FunctionParser::close_end(int32_t closing_line) {
  const int32_t end = next_instruction();
  bool reached = function_.code.empty();
  for (const Instruction& instruction : function_.code) {
    reached |= instruction.op == Op::bra && instruction.target == end;
    for (const int32_t target : instruction.targets) reached |= target == end;
  }
  if (!reached && !falls_through(function_.code.back())) return;
  Instruction instruction = match_spelling("ret").prototype;
  instruction.spelling = "ret";
  instruction.ptx_line = closing_line;
  instruction.line = line_;
  function_.code.push_back(std::move(instruction));
}

void FunctionParser::parse_statement() {
  const Token at = lexer_.peek();
  if (at.is(';')) {
    lexer_.take();
  } else if (at.kind == Token::Kind::directive) {
    parse_directive();
  } else if (at.is('@')) {
    parse_guarded();
  } else if (at.is_name()) {
    lexer_.take();
    if (parse_labelled(at)) return;
    Instruction instruction;
    parse_instruction(std::move(instruction), at);
  } else {
    lexer_.fail_here("expected an instruction, a label or a directive, found " + shown(at));
  }
}

void FunctionParser::parse_directive() {
  const Token at = lexer_.take();
  bool is_extern = false;
  Token directive = at;
  if (at.is(".extern") || at.is(".weak") || at.is(".visible")) {
    is_extern = at.is(".extern");
    directive = lexer_.take();
  }
  if (directive.is(".reg")) {
    parse_registers();
  } else if (directive.is(".loc")) {
    parse_location();
  } else if (directive.is(".pragma")) {
    lexer_.skip_statement();
  } else if (const auto space = variable_space(directive)) {
    parse_variables(*space, is_extern);
  } else {
    lexer_.fail(directive, "expected a directive of a function's body, found " + shown(directive));
  }
}

void FunctionParser::parse_registers() {
  const Token type_token = lexer_.take();
  const Type type = type_token.kind == Token::Kind::directive
                        ? type_named(type_token.text.substr(1))
                        : Type::none;
  if (type == Type::none) {
    lexer_.fail(type_token, "expected a register's type such as .b32, found " + shown(type_token));
  }
  do {
    const Token name = lexer_.peek();
    if (!name.is_name()) lexer_.fail_here("expected a register's name, found " + shown(name));
    lexer_.take();
    if (lexer_.accept('<')) {
      const int64_t count = parse_integer_in(lexer_, 0, Scopes::kMaxRange, "a register count");
      lexer_.expect('>', "after a register count");
      scopes_.declare_range(name, count, type);
    } else {
      scopes_.declare(name, {Symbol::Kind::reg, -1, type});
    }
  } while (lexer_.accept(','));
  lexer_.expect(';', "after registers");
}

void FunctionParser::parse_variables(Space space, bool is_extern) {
  VariableParser parser(lexer_);
  for (auto& [variable, name] : parser.parse_list(space, is_extern)) {
    function_.variables.push_back(std::move(variable));
    const auto index = static_cast<int32_t>(function_.variables.size()) - 1;
    scopes_.declare(name, {Symbol::Kind::local_variable, index, Type::none});
  }
}

int32_t FunctionParser::add_line(SourceLine line) {
  const auto next = static_cast<int32_t>(function_.lines.size());
  const auto [found, added] =
      line_numbers_.try_emplace({line.file, line.line, line.column, line.inlined_at}, next);
  if (added) function_.lines.push_back(line);
  latest_at_[{line.file, line.line, line.column}] = found->second;
  return found->second;
}

/// `.loc file line column [, function_name label [+ n], inlined_at file line column]`. A call site
/// is itself the latest line with its place, which may be inlined in turn; the compiler prints the
/// sites from the outside in.
void FunctionParser::parse_location() {
  constexpr int64_t kMax = INT32_MAX;
  const auto number = [this](const char* what) {
    return static_cast<int>(parse_integer_in(lexer_, 0, kMax, what));
  };
  SourceLine line;
  line.file = number("a file's number");
  line.line = number("a line");
  line.column = number("a column");
  while (lexer_.accept(',')) {
    const Token attribute = lexer_.take();
    if (attribute.is("function_name")) {
      if (!lexer_.peek().is_name()) lexer_.fail_here("expected a label after function_name");
      lexer_.take();
      if (lexer_.accept('+')) parse_constant_term(lexer_);
    } else if (attribute.is("inlined_at")) {
      std::array<int, 3> site{};
      site[0] = number("a file's number");
      site[1] = number("a line");
      site[2] = number("a column");
      const auto known = latest_at_.find(site);
      line.inlined_at =
          known != latest_at_.end() ? known->second : add_line({site[0], site[1], site[2], -1});
    } else {
      lexer_.fail(attribute, "expected function_name or inlined_at, found " + shown(attribute));
    }
  }
  line_ = add_line(line);
}

/// After a name: `:` makes it a label, of the next instruction or of a list or prototype.
bool FunctionParser::parse_labelled(const Token& name) {
  if (!lexer_.accept(':')) {
    if (name.kind == Token::Kind::string) lexer_.fail(name, "expected ':' after this label");
    return false;
  }
  if (lexer_.peek().is(".branchtargets")) {
    lexer_.take();
    std::vector<Token> labels;
    do {
      if (!lexer_.peek().is_name()) lexer_.fail_here("expected a label in .branchtargets");
      labels.push_back(lexer_.take());
    } while (lexer_.accept(','));
    lexer_.expect(';', "after .branchtargets");
    scopes_.branch_table(name, std::move(labels));
  } else if (lexer_.peek().is(".callprototype") || lexer_.peek().is(".calltargets")) {
    scopes_.declare(name, {});
    lexer_.skip_statement();
  } else {
    scopes_.label(name, next_instruction());
  }
  return true;
}

void FunctionParser::parse_guarded() {
  lexer_.take();
  Instruction instruction;
  instruction.guard_negated = lexer_.accept('!');
  const Token predicate = lexer_.take();
  if (!predicate.is_name() || predicate.is("_")) {
    lexer_.fail(predicate, "expected a predicate register after '@', found " + shown(predicate));
  }
  instruction.guard = binder_.predicate(predicate);
  const Token name = lexer_.take();
  if (name.kind != Token::Kind::name) {
    lexer_.fail(name, "expected an instruction, found " + shown(name));
  }
  parse_instruction(std::move(instruction), name);
}

void FunctionParser::unsupported(Instruction& instruction, const std::string& reason) {
  instruction.row = -1;
  module_.unsupported.push_back("line " + std::to_string(instruction.ptx_line) + ": " +
                                instruction.spelling + ": " + reason);
}

/// `guard` carries the guard only; the rest comes from the spelling.
void FunctionParser::parse_instruction(Instruction guard, const Token& name) {
  auto cached = spellings_.find(name.text);
  if (cached == spellings_.end()) {
    cached = spellings_.emplace(name.text, match_spelling(name.text)).first;
  }
  Instruction instruction = cached->second.prototype;
  instruction.guard = guard.guard;
  instruction.guard_negated = guard.guard_negated;
  instruction.ptx_line = name.line;
  instruction.line = line_;
  instruction.spelling = std::string(name.text);
  if (instruction.row < 0) {
    unsupported(instruction, cached->second.reason);
    lexer_.skip_statement();
  } else if (instruction.op == Op::call) {
    parse_call(instruction);
  } else {
    parse_operands(instruction, name);
  }
  function_.code.push_back(std::move(instruction));
}

void FunctionParser::parse_operands(Instruction& instruction, const Token& name) {
  operands_.clear();
  if (!lexer_.peek().is(';')) {
    do {
      operands_.push_back(parse_operand(lexer_));
      if (operands_.size() > kMaxOperands) lexer_.fail(name, "expected at most 64 operands");
    } while (lexer_.accept(','));
  }
  const std::string lacking = binder_.bind(instruction, next_instruction(), name, operands_);
  if (!lacking.empty()) unsupported(instruction, lacking);
  lexer_.expect(';', "after an instruction");
}

Value FunctionParser::parse_call_operand() {
  const RawOperand operand = parse_operand(lexer_);
  Value value;
  if (operand.kind == RawOperand::Kind::constant) {
    value.kind = Value::Kind::immediate;
    value.bits = operand.literal.bits;
    return value;
  }
  if (operand.kind != RawOperand::Kind::name) {
    lexer_.fail(operand.at, "expected a parameter's name, found " + shown(operand.at));
  }
  if (operand.at.is("_")) {
    value.kind = Value::Kind::sink;
    return value;
  }
  const auto symbol = scopes_.find(operand.at.text);
  if (!symbol) lexer_.fail(operand.at, "unknown name " + shown(operand.at));
  return binder_.named_value(operand.at, *symbol, operand.offset);
}

std::vector<Value> FunctionParser::parse_call_list() {
  std::vector<Value> values;
  lexer_.expect('(', "before parameters");
  if (lexer_.accept(')')) return values;
  do {
    values.push_back(parse_call_operand());
  } while (lexer_.accept(','));
  lexer_.expect(')', "after parameters");
  return values;
}

void FunctionParser::check_arity(const Token& at, const Instruction& call, const Function& callee) {
  if (call.src.size() != callee.params.size() || call.dst.size() != callee.results.size()) {
    lexer_.fail(at, "expected " + std::to_string(callee.params.size()) + " parameters and " +
                        std::to_string(callee.results.size()) + " results in a call of '" +
                        callee.name + "', found " + std::to_string(call.src.size()) + " and " +
                        std::to_string(call.dst.size()));
  }
}

/// `call (result), name, (arguments), prototype;` with all but the name optional.
void FunctionParser::parse_call(Instruction& instruction) {
  if (lexer_.peek().is('(')) {
    instruction.dst = parse_call_list();
    lexer_.expect(',', "after a call's results");
  }
  const Token callee = lexer_.take();
  const auto symbol = callee.is_name() ? scopes_.find(callee.text) : std::nullopt;
  if (!symbol) lexer_.fail(callee, "expected a function, found " + shown(callee));
  instruction.indirect = symbol->kind == Symbol::Kind::reg;
  if (!instruction.indirect && symbol->kind != Symbol::Kind::function) {
    lexer_.fail(callee, "expected a function, found " + shown(callee));
  }
  if (instruction.indirect && bytes_of(symbol->type) != 8) {
    lexer_.fail(callee, "expected a 64-bit register with a function's address");
  }
  if (lexer_.accept(',')) {
    if (lexer_.peek().is('(')) {
      instruction.src = parse_call_list();
      if (lexer_.accept(',')) lexer_.take();  // a prototype or list of targets
    } else {
      lexer_.take();
    }
  }
  if (instruction.indirect) {
    instruction.src.insert(instruction.src.begin(), binder_.named_value(callee, *symbol, 0));
  } else {
    instruction.callee = std::string(callee.text);
    instruction.target = symbol->index;
    check_arity(callee, instruction, module_.functions[symbol->index]);
  }
  lexer_.expect(';', "after a call");
}

}  // namespace assay::ptx
