#include "devices/ptx/variable.hpp"

#include "devices/ptx/constant.hpp"
#include "devices/ptx/table.hpp"

namespace assay::ptx {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 47;  // a virtual address
constexpr size_t kMaxInitial = size_t{1} << 26;
constexpr size_t kMaxDimensions = 16;

int64_t rounded_up(int64_t value, int64_t align) { return (value + align - 1) / align * align; }

}  // namespace

VariableParser::Attributes VariableParser::parse_attributes(bool parameter) {
  Attributes attributes;
  bool pointee = false;  // after .ptr, .align speaks of what is pointed at
  while (lexer_.peek().kind == Token::Kind::directive) {
    const Token at = lexer_.take();
    if (at.is(".align")) {
      const int64_t align = parse_integer_in(lexer_, 1, int64_t{1} << 20, "an alignment");
      if (align & (align - 1)) lexer_.fail(at, "expected a power of two as alignment");
      if (!pointee) attributes.align = align;
    } else if (parameter && at.is(".ptr")) {
      pointee = true;
    } else if (pointee && (at.is(".global") || at.is(".shared") || at.is(".const") ||
                           at.is(".local") || at.is(".generic"))) {
      // What a pointer points at is checked when it is used.
    } else if (at.is(".attribute")) {
      lexer_.expect('(', "after .attribute");
      while (!lexer_.peek().is(')') && lexer_.peek().kind != Token::Kind::end) lexer_.take();
      lexer_.expect(')', "to close .attribute");
    } else if (at.is(".v2") || at.is(".v4")) {
      attributes.vector = at.is(".v2") ? 2 : 4;
    } else {
      attributes.type = type_named(at.text.substr(1));
      if (attributes.type == Type::none || attributes.type == Type::pred) {
        lexer_.fail(at, "expected a type such as .b32, found " + shown(at));
      }
    }
  }
  if (attributes.type == Type::none) {
    lexer_.fail_here("expected a type such as .b32, found " + shown(lexer_.peek()));
  }
  const int64_t natural = int64_t{bytes_of(attributes.type)} * attributes.vector;
  if (attributes.align == 0) attributes.align = natural;
  return attributes;
}

std::vector<int64_t> VariableParser::parse_extents() {
  std::vector<int64_t> extents;
  while (lexer_.accept('[')) {
    const bool unsized = extents.empty() && lexer_.peek().is(']');
    extents.push_back(unsized ? 0 : parse_integer_in(lexer_, 0, kMaxBytes, "an array's extent"));
    lexer_.expect(']', "after an array's extent");
    if (extents.size() > kMaxDimensions) lexer_.fail_here("expected at most 16 dimensions");
  }
  return extents;
}

int64_t VariableParser::total_bytes(const Token& at, const Attributes& attributes,
                                    const std::vector<int64_t>& extents) {
  int64_t bytes = int64_t{bytes_of(attributes.type)} * attributes.vector;
  for (const int64_t extent : extents) {
    if (__builtin_mul_overflow(bytes, extent, &bytes) || bytes > kMaxBytes) {
      lexer_.fail(at, "expected a variable of at most 2^47 bytes");
    }
  }
  return bytes;
}

void VariableParser::put(Variable& variable, int64_t offset, uint64_t bits, int bytes) {
  const auto end = static_cast<size_t>(offset + bytes);
  if (end > kMaxInitial) lexer_.fail_here("expected initial values in the first 64 MiB only");
  if (variable.initial.size() < end) variable.initial.resize(end);
  for (int i = 0; i < bytes; ++i) {
    variable.initial[static_cast<size_t>(offset) + i] = static_cast<uint8_t>(bits >> (8 * i));
  }
}

/// A variable's or function's name, `generic(name)`, each with `+ constant`. `mask` says which byte
/// of the address a one-byte element takes: 0xFF(name), 0xFF00(name), ...
void VariableParser::parse_initial_address(Variable& variable, int bytes, int64_t offset,
                                           uint64_t mask) {
  const bool generic = lexer_.peek().is("generic");
  if (generic) {
    lexer_.take();
    lexer_.expect('(', "after generic");
  }
  const Token name = lexer_.peek();
  if (!name.is_name()) lexer_.fail_here("expected the name of a variable, found " + shown(name));
  lexer_.take();
  if (generic) lexer_.expect(')', "after the name");
  uint64_t addend = 0;
  while (lexer_.peek().is('+') || lexer_.peek().is('-')) {
    const bool minus = lexer_.take().is('-');
    const uint64_t term = parse_constant_term(lexer_).bits;
    addend += minus ? 0 - term : term;
  }
  if (bytes == 1) {
    // Eight masked bytes in a row make one address; the first stands for all.
    put(variable, offset, 0, 1);
    if (mask != 0xff) return;
    bytes = 8;
  }
  if (bytes != 8 || offset + 8 > variable.bytes) {
    lexer_.fail(name, "expected an element of 8 bytes for an address");
  }
  put(variable, offset, addend, 8);
  variable.pointers.emplace_back(offset, std::string(name.text));
}

void VariableParser::parse_initial_value(Variable& variable, Type type, int64_t offset) {
  const int bytes = bytes_of(type);
  const Token at = lexer_.peek();
  if (offset + bytes > variable.bytes) lexer_.fail(at, "expected no more values than elements");
  if (at.is_name() && !at.is("WARP_SZ")) return parse_initial_address(variable, bytes, offset, 0);
  Literal value = parse_constant(lexer_);
  if (lexer_.peek().is('(')) {
    lexer_.take();
    parse_initial_address(variable, bytes, offset, value.bits);
    return lexer_.expect(')', "after a masked address");
  }
  if (value.is_float() && (type == Type::f16 || type == Type::bf16)) {
    lexer_.fail(at, "expected the bits of a 16-bit value as an integer");
  }
  const bool half = type == Type::f16 || type == Type::bf16;
  const auto bits = half ? truncated(value.bits, 2) : literal_bits(value, type);
  if (!bits) {
    lexer_.fail(at, "expected a constant that fits ." + std::string(name_of(type)) + ", found " +
                        shown(at));
  }
  put(variable, offset, *bits, bytes);
}

void VariableParser::parse_initial_list(Variable& variable, Type type,
                                        const std::vector<int64_t>& extents, size_t dimension,
                                        int64_t offset) {
  lexer_.expect('{', "of an initialiser");
  int64_t row = bytes_of(type);
  for (size_t d = dimension + 1; d < extents.size(); ++d) row *= extents[d];
  const bool nested_possible = dimension + 1 < extents.size();
  bool nested = false;
  for (int64_t element = 0; !lexer_.peek().is('}'); ++element) {
    nested |= lexer_.peek().is('{');
    if (lexer_.peek().is('{')) {
      if (!nested_possible || element * row + offset >= variable.bytes) {
        lexer_.fail_here("expected a value, found '{'");
      }
      parse_initial_list(variable, type, extents, dimension + 1, offset + element * row);
    } else {
      const int64_t step = nested ? row : bytes_of(type);
      parse_initial_value(variable, type, offset + element * step);
    }
    if (!lexer_.accept(',')) break;
  }
  lexer_.expect('}', "to close an initialiser");
}

void VariableParser::parse_initial(Variable& variable, Type type,
                                   const std::vector<int64_t>& extents) {
  if (variable.space != Space::global && variable.space != Space::const_) {
    lexer_.fail_here("expected an initialiser only for .global and .const variables");
  }
  if (lexer_.peek().is('{')) {
    parse_initial_list(variable, type, extents, 0, 0);
  } else {
    parse_initial_value(variable, type, 0);
  }
}

Variable VariableParser::parse_one(const Attributes& attributes, Space space, const Token& name) {
  Variable variable;
  variable.name = std::string(name.text);
  variable.space = space;
  variable.align = attributes.align;
  auto extents = parse_extents();
  if (attributes.vector > 1) extents.push_back(attributes.vector);
  Attributes element = attributes;
  element.vector = 1;
  const bool unsized = !extents.empty() && extents[0] == 0;
  variable.bytes = total_bytes(name, element, extents);
  if (lexer_.accept('=')) {
    // `x[] = {1, 2}` takes its extent from the values.
    if (unsized) variable.bytes = kMaxBytes;
    parse_initial(variable, attributes.type, extents);
    if (unsized) variable.bytes = static_cast<int64_t>(variable.initial.size());
  }
  return variable;
}

std::vector<Declared> VariableParser::parse_list(Space space, bool is_extern) {
  const Attributes attributes = parse_attributes(false);
  std::vector<Declared> list;
  do {
    const Token name = lexer_.peek();
    if (!name.is_name()) lexer_.fail_here("expected a variable's name, found " + shown(name));
    lexer_.take();
    list.push_back({parse_one(attributes, space, name), name});
    list.back().variable.is_extern = is_extern;
  } while (lexer_.accept(','));
  lexer_.expect(';', "after a declaration");
  return list;
}

Parameter VariableParser::parse_parameter(Token* name) {
  if (!lexer_.peek().is(".param")) {
    lexer_.fail_here("expected .param, found " + shown(lexer_.peek()));
  }
  lexer_.take();
  const Attributes attributes = parse_attributes(true);
  Parameter parameter;
  parameter.type = attributes.type;
  parameter.align = attributes.align;
  *name = lexer_.peek();
  if (!name->is_name()) lexer_.fail_here("expected a parameter's name, found " + shown(*name));
  lexer_.take();
  parameter.name = std::string(name->text);
  const auto extents = parse_extents();
  if (!extents.empty()) parameter.type = Type::b8;
  parameter.bytes = total_bytes(*name, attributes, extents);
  return parameter;
}

std::vector<Parameter> VariableParser::parse_parameters(std::vector<Token>* names) {
  std::vector<Parameter> parameters;
  lexer_.expect('(', "before parameters");
  if (lexer_.accept(')')) return parameters;
  int64_t offset = 0;
  do {
    Token name;
    Parameter parameter = parse_parameter(&name);
    parameter.offset = rounded_up(offset, parameter.align);
    offset = parameter.offset + parameter.bytes;
    if (offset > kMostParameterBytes) {
      lexer_.fail(name, "expected at most 32,764 bytes of parameters");
    }
    parameters.push_back(std::move(parameter));
    names->push_back(name);
  } while (lexer_.accept(','));
  lexer_.expect(')', "after parameters");
  return parameters;
}

}  // namespace assay::ptx
