// Operands checked against the instruction table.
#include "devices/ptx/operand.hpp"
#include "devices/ptx/special.hpp"
#include "devices/ptx/tensor.hpp"

namespace assay::ptx {
namespace {

enum class TypeClass : uint8_t { bits, integer, floating, predicate };

TypeClass class_of(Type type) {
  switch (type) {
    case Type::pred:
      return TypeClass::predicate;
    case Type::u8:
    case Type::u16:
    case Type::u32:
    case Type::u64:
    case Type::s8:
    case Type::s16:
    case Type::s32:
    case Type::s64:
      return TypeClass::integer;
    case Type::f16:
    case Type::bf16:
    case Type::tf32:
    case Type::f32:
    case Type::f64:
      return TypeClass::floating;
    case Type::f16x2:
    case Type::bf16x2:
      return TypeClass::floating;
    default:
      return TypeClass::bits;
  }
}

Type bits_of_width(int bytes) {
  switch (bytes) {
    case 1:
      return Type::b8;
    case 2:
      return Type::b16;
    case 4:
      return Type::b32;
    case 8:
      return Type::b64;
    default:
      return Type::none;
  }
}

Type wanted_type(const Instruction& instruction, const OperandSpec& spec) {
  switch (spec.typing) {
    case OperandSpec::Typing::source:
      return instruction.source_type;
    case OperandSpec::Typing::wide:
      return twice_as_wide(instruction.type);
    case OperandSpec::Typing::fixed:
      return spec.fixed;
    case OperandSpec::Typing::own:
      break;
  }
  // A tf32 register is a .b32; what has no type suffix has no typed operand of its own.
  return instruction.type;
}

std::string quoted(std::string_view text) {
  std::string result = "'";
  result += text;
  result += '\'';
  return result;
}

}  // namespace

bool register_fits(Type have, Type want, bool wider) {
  const TypeClass have_class = class_of(have), want_class = class_of(want);
  if (have_class == TypeClass::predicate || want_class == TypeClass::predicate) return have == want;
  const int have_bytes = bytes_of(have), want_bytes = bytes_of(want);
  if (have_bytes < want_bytes || (have_bytes > want_bytes && !wider)) return false;
  if (have_class == TypeClass::bits || want_class == TypeClass::bits) return true;
  // ptxas takes a packed pair's register for a 32-bit integer.
  if (have == Type::f16x2 || have == Type::bf16x2) {
    return want_class == TypeClass::integer || have == want;
  }
  if (have_class != want_class) return false;
  return have_class == TypeClass::integer || have == want;
}

Space Binder::space_of(const Symbol& symbol) const {
  switch (symbol.kind) {
    case Symbol::Kind::local_variable:
      return function_.variables[symbol.index].space;
    case Symbol::Kind::module_variable:
      return module_.variables[symbol.index].space;
    case Symbol::Kind::param:
    case Symbol::Kind::result:
      return Space::param;
    default:
      return Space::generic;
  }
}

Symbol Binder::find(const Token& name) {
  const auto found = scopes_.find(name.text);
  if (!found) lexer_.fail(name, "unknown name " + shown(name));
  return *found;
}

void Binder::check_register(const Token& name, Type have, Type want, bool wider) {
  if (register_fits(have, want, wider)) return;
  lexer_.fail(name, "expected a register of type ." + std::string(name_of(want)) +
                        (wider ? " or wider" : "") + ", " + quoted(name.text) + " is ." +
                        std::string(name_of(have)));
}

int32_t Binder::predicate(const Token& name) {
  if (name.is("_")) return -1;
  const Symbol symbol = find(name);
  if (symbol.kind != Symbol::Kind::reg) {
    lexer_.fail(name, "expected a predicate register, found " + shown(name));
  }
  check_register(name, symbol.type, Type::pred, false);
  return symbol.index;
}

Value Binder::named_value(const Token& name, const Symbol& symbol, int64_t offset) {
  Value value;
  value.index = symbol.index;
  value.offset = offset;
  switch (symbol.kind) {
    case Symbol::Kind::reg:
      if (offset != 0) lexer_.fail(name, "expected no offset after a register");
      value.kind = Value::Kind::reg;
      break;
    case Symbol::Kind::local_variable:
      value.kind = Value::Kind::symbol;
      value.local_symbol = true;
      break;
    case Symbol::Kind::module_variable:
      value.kind = Value::Kind::symbol;
      break;
    case Symbol::Kind::param:
      value.kind = Value::Kind::param;
      break;
    case Symbol::Kind::result:
      value.kind = Value::Kind::result;
      break;
    case Symbol::Kind::function:
      value.kind = Value::Kind::function;
      break;
    case Symbol::Kind::other:
      lexer_.fail(name, "expected an operand, found " + shown(name));
  }
  return value;
}

Value Binder::bind_address(const Instruction& instruction, const RawOperand& operand) {
  if (operand.kind != RawOperand::Kind::address) {
    lexer_.fail(operand.at, "expected an address in [ ], found " + shown(operand.at));
  }
  Value value;
  if (!operand.named) {
    value.kind = Value::Kind::absolute;
    value.bits = operand.literal.bits;
    return value;
  }
  const Symbol symbol = find(operand.at);
  if (symbol.kind == Symbol::Kind::reg) {
    const bool address_width = bytes_of(symbol.type) == 8 || bytes_of(symbol.type) == 4;
    if (!address_width || class_of(symbol.type) == TypeClass::floating) {
      lexer_.fail(operand.at, "expected a 32-bit or 64-bit integer register as address, " +
                                  quoted(operand.at.text) + " is ." +
                                  std::string(name_of(symbol.type)));
    }
    value.kind = Value::Kind::address;
    value.index = symbol.index;
    value.offset = operand.offset;
    return value;
  }
  value = named_value(operand.at, symbol, operand.offset);
  if (value.kind == Value::Kind::function) {
    lexer_.fail(operand.at, "expected a variable in [ ], found a function");
  }
  if (value.kind == Value::Kind::symbol) value.kind = Value::Kind::symbol_address;
  const Space space = space_of(symbol);
  // cp.async names the spaces of both its addresses.
  const bool copy_target = instruction.async == Async::copy && instruction.src.empty();
  if (copy_target && space == Space::shared) return value;
  if (instruction.space != Space::generic && space != instruction.space) {
    lexer_.fail(operand.at, quoted(operand.at.text) + " is not in the state space that " +
                                quoted(instruction.spelling) + " names");
  }
  return value;
}

Value Binder::bind_special(const Instruction& instruction, const RawOperand& operand) {
  Value value;
  value.kind = Value::Kind::special;
  value.special = special_named(operand.at.text);
  if (value.special == Special::none) {
    lacking_ = "special register " + std::string(operand.at.text);
    return value;
  }
  const bool reads = instruction.op == Op::mov || instruction.op == Op::cvt;
  const bool wide = bytes_of(value.special) == 8;
  const bool width = instruction.op == Op::cvt || (bytes_of(instruction.type) == 8) == wide;
  if (!reads || !width || class_of(instruction.type) == TypeClass::floating) {
    lexer_.fail(operand.at, "expected a special register only in mov or cvt of its width");
  }
  return value;
}

Value Binder::bind_source(const Instruction& instruction, const OperandSpec& spec, Type type,
                          const RawOperand& operand) {
  Value value;
  if (operand.negated && !(spec.negatable && type == Type::pred)) {
    lexer_.fail(operand.at, "expected no '!' before this operand");
  }
  if (operand.pair.kind != Token::Kind::end) {
    lexer_.fail(operand.pair, "expected no '|' in a source operand");
  }
  if (operand.kind == RawOperand::Kind::constant) {
    const auto bits = literal_bits(operand.literal, type);
    if (!bits) {
      lexer_.fail(operand.at, "expected a constant that fits ." + std::string(name_of(type)) +
                                  ", found " + shown(operand.at));
    }
    value.kind = Value::Kind::immediate;
    value.bits = *bits;
  } else if (operand.kind != RawOperand::Kind::name) {
    lexer_.fail(operand.at, "expected a register or a constant, found " + shown(operand.at));
  } else if (const auto symbol = scopes_.find(operand.at.text)) {
    value = named_value(operand.at, *symbol, operand.offset);
    if (value.kind == Value::Kind::reg) {
      check_register(operand.at, symbol->type, type, spec.wider);
    } else if (!spec.symbol || bytes_of(type) < 4 || class_of(type) == TypeClass::floating) {
      lexer_.fail(operand.at, "expected a register or a constant, found the address of " +
                                  quoted(operand.at.text));
    }
  } else if (is_special_name(operand.at.text)) {
    value = bind_special(instruction, operand);
  } else {
    lexer_.fail(operand.at, "unknown name " + shown(operand.at));
  }
  value.negated = operand.negated;
  return value;
}

void Binder::bind_destination(Instruction& instruction, const OperandSpec& spec, Type type,
                              const RawOperand& operand) {
  if (operand.kind != RawOperand::Kind::name || operand.negated || operand.offset != 0) {
    lexer_.fail(operand.at, "expected a register for the result, found " + shown(operand.at));
  }
  const bool has_pair = operand.pair.kind != Token::Kind::end;
  if (has_pair && !spec.pair) {
    lexer_.fail(operand.pair, "expected no second result after '|'");
  }
  if (has_pair) instruction.predicate_out = predicate(operand.pair);
  Value value;
  if (operand.at.is("_")) {
    const bool discards = spec.vector || instruction.op == Op::atom ||
                          instruction.op == Op::mbarrier || (has_pair && type == Type::pred);
    if (!discards) lexer_.fail(operand.at, "expected a register for the result, found '_'");
    value.kind = Value::Kind::sink;
  } else {
    const Symbol symbol = find(operand.at);
    if (symbol.kind != Symbol::Kind::reg) {
      lexer_.fail(operand.at, "expected a register for the result, found " + shown(operand.at));
    }
    check_register(operand.at, symbol.type, type, spec.wider);
    value.kind = Value::Kind::reg;
    value.index = symbol.index;
  }
  instruction.dst.push_back(value);
}

/// Elements in braces: of a vector access, or of a mov that packs or unpacks.
void Binder::bind_vector(Instruction& instruction, const OperandSpec& spec,
                         const RawOperand& operand) {
  const size_t count = operand.elements.size();
  Type type = wanted_type(instruction, spec);
  if (instruction.op == Op::mov) {
    const bool splits = class_of(type) == TypeClass::bits && (count == 2 || count == 4);
    type = splits ? bits_of_width(bytes_of(type) / static_cast<int>(count)) : Type::none;
    if (type == Type::none) {
      lexer_.fail(operand.at,
                  "expected elements in braces that divide a .b16, .b32 or .b64 evenly");
    }
  } else if (count != instruction.vector) {
    lexer_.fail(operand.at, "expected " + std::to_string(instruction.vector) +
                                " elements in braces, found " + std::to_string(count));
  }
  for (const RawOperand& element : operand.elements) {
    if (spec.is_destination) {
      bind_destination(instruction, spec, type, element);
    } else {
      OperandSpec plain = spec;
      plain.symbol = false;
      instruction.src.push_back(bind_source(instruction, plain, type, element));
    }
  }
}

/// The registers that hold a warp's part of a matrix.
void Binder::bind_fragment(Instruction& instruction, const OperandSpec& spec,
                           const RawOperand& operand) {
  const FragmentRegisters wanted = fragment_registers(instruction, spec.fragment);
  std::vector<RawOperand> elements = operand.elements;
  if (operand.kind == RawOperand::Kind::name) elements.push_back(operand);
  if (elements.size() != static_cast<size_t>(wanted.count)) {
    lexer_.fail(operand.at, "expected " + std::to_string(wanted.count) +
                                " registers in braces, found " + std::to_string(elements.size()));
  }
  OperandSpec plain;
  for (const RawOperand& element : elements) {
    if (spec.is_destination) {
      bind_destination(instruction, plain, wanted.type, element);
    } else {
      instruction.src.push_back(bind_source(instruction, plain, wanted.type, element));
    }
  }
}

void Binder::bind_one(Instruction& instruction, int32_t number, const OperandSpec& spec,
                      const RawOperand& operand) {
  Type type = wanted_type(instruction, spec);
  if (spec.or_predicate && operand.kind == RawOperand::Kind::name) {
    const auto symbol = scopes_.find(operand.at.text);
    const bool is_predicate =
        symbol && symbol->kind == Symbol::Kind::reg && symbol->type == Type::pred;
    if (is_predicate) type = Type::pred;
  }
  if (spec.label) {
    if (operand.kind != RawOperand::Kind::name) {
      lexer_.fail(operand.at, "expected a label, found " + shown(operand.at));
    }
    if (instruction.op == Op::brx) {
      scopes_.indexed_branch(number, operand.at);
    } else {
      scopes_.branch(number, operand.at);
    }
  } else if (spec.address) {
    instruction.src.push_back(bind_address(instruction, operand));
  } else if (spec.policy) {
    OperandSpec plain;
    const Value value = bind_source(instruction, plain, Type::b64, operand);
    instruction.cache_policy = value.kind == Value::Kind::reg ? value.index : -1;
  } else if (spec.fragment != Matrix::none) {
    bind_fragment(instruction, spec, operand);
  } else if (spec.vector && operand.kind == RawOperand::Kind::vector) {
    bind_vector(instruction, spec, operand);
  } else if (spec.vector && instruction.vector > 1) {
    lexer_.fail(operand.at, "expected " + std::to_string(instruction.vector) +
                                " elements in braces, found " + shown(operand.at));
  } else if (spec.is_destination) {
    OperandSpec plain = spec;
    plain.vector = false;
    bind_destination(instruction, plain, type, operand);
  } else {
    instruction.src.push_back(bind_source(instruction, spec, type, operand));
  }
}

std::string Binder::bind(Instruction& instruction, int32_t number, const Token& at,
                         const std::vector<RawOperand>& operands) {
  const auto& specs = operand_specs(instruction.row);
  size_t required = 0;
  for (const auto& spec : specs) required += !spec.optional;
  if (operands.size() < required || operands.size() > specs.size()) {
    std::string count = std::to_string(required);
    if (specs.size() > required) count += " to " + std::to_string(specs.size());
    lexer_.fail(at, "expected " + count + " operands for " + quoted(instruction.spelling) +
                        ", found " + std::to_string(operands.size()));
  }
  if (instruction.vector * bytes_of(instruction.type) > 16) {
    lexer_.fail(at, "expected a vector of at most 16 bytes in " + quoted(instruction.spelling));
  }
  lacking_.clear();
  size_t optional = operands.size() - required, next = 0;
  for (const auto& spec : specs) {
    if (spec.optional && optional == 0) continue;
    if (spec.optional) --optional;
    bind_one(instruction, number, spec, operands[next++]);
  }
  if (instruction.op == Op::mov && instruction.dst.size() > 1 && instruction.src.size() > 1) {
    lexer_.fail(at, "expected braces on one side of a mov only");
  }
  return lacking_;
}

}  // namespace assay::ptx
