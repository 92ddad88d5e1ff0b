#include "devices/ptx/constant.hpp"

#include <bit>

namespace assay::ptx {
namespace {

constexpr int kMaxDepth = 64;  // nesting of parentheses; keeps recursion bounded
constexpr int kWarpSize = 32;

struct BinaryOperator {
  std::string_view symbol;
  int precedence;
};
constexpr BinaryOperator kOperators[] = {
    {"|", 1}, {"^", 2}, {"&", 3}, {"<<", 4}, {">>", 4},
    {"+", 5}, {"-", 5}, {"*", 6}, {"/", 6},  {"%", 6},
};

const BinaryOperator* operator_at(const Token& token) {
  if (token.kind != Token::Kind::punctuation) return nullptr;
  for (const auto& candidate : kOperators) {
    if (token.text == candidate.symbol) return &candidate;
  }
  return nullptr;
}

Literal parse_binary(Lexer& lexer, int lowest, int depth);

Literal parse_parenthesis(Lexer& lexer, int depth) {
  lexer.take();
  if (lexer.peek().is(".s64") || lexer.peek().is(".u64")) {
    const bool is_unsigned = lexer.take().is(".u64");
    lexer.expect(')', "after the type of a cast");
    Literal value = parse_binary(lexer, 7, depth + 1);
    value.is_unsigned = is_unsigned;
    return value;
  }
  const Literal value = parse_binary(lexer, 1, depth + 1);
  lexer.expect(')', "to close a constant expression");
  return value;
}

Literal negated(Literal value) {
  switch (value.kind) {
    case Literal::Kind::integer:
      value.bits = 0 - value.bits;
      break;
    case Literal::Kind::single:
      value.bits ^= uint64_t{1} << 31;
      break;
    case Literal::Kind::double_:
      value.bits ^= uint64_t{1} << 63;
      break;
  }
  return value;
}

Literal parse_unary(Lexer& lexer, int depth) {
  if (depth > kMaxDepth) lexer.fail_here("a constant expression that is nested too deeply");
  const Token token = lexer.peek();
  if (token.kind == Token::Kind::number) {
    const auto value = parse_number(token.text);
    if (!value) lexer.fail_here("expected a number that fits 64 bits, found " + shown(token));
    lexer.take();
    return *value;
  }
  if (token.is("WARP_SZ")) {
    lexer.take();
    return {Literal::Kind::integer, false, kWarpSize};
  }
  if (token.is('(')) return parse_parenthesis(lexer, depth);
  if (token.is('-') || token.is('+') || token.is('~') || token.is('!')) {
    lexer.take();
    Literal value = parse_unary(lexer, depth + 1);
    if (token.is('-')) return negated(value);
    if (token.is('+')) return value;
    if (value.is_float()) lexer.fail(token, "expected an integer after " + shown(token));
    value.bits = token.is('~') ? ~value.bits : (value.bits == 0);
    return value;
  }
  lexer.fail_here("expected a constant, found " + shown(token));
}

uint64_t divided(Lexer& lexer, const Token& at, Literal a, Literal b, bool remainder) {
  if (b.bits == 0) lexer.fail(at, "a division by zero in a constant expression");
  if (a.is_unsigned || b.is_unsigned) return remainder ? a.bits % b.bits : a.bits / b.bits;
  const auto x = static_cast<int64_t>(a.bits), y = static_cast<int64_t>(b.bits);
  if (y == -1) return remainder ? 0 : 0 - a.bits;
  return static_cast<uint64_t>(remainder ? x % y : x / y);
}

Literal combined(Lexer& lexer, const Token& at, Literal a, Literal b) {
  if (a.is_float() || b.is_float()) lexer.fail(at, "expected integers around " + shown(at));
  Literal result{Literal::Kind::integer, a.is_unsigned || b.is_unsigned, 0};
  switch (at.text[0]) {
    case '|':
      result.bits = a.bits | b.bits;
      break;
    case '^':
      result.bits = a.bits ^ b.bits;
      break;
    case '&':
      result.bits = a.bits & b.bits;
      break;
    case '<':
      result.bits = b.bits < 64 ? a.bits << b.bits : 0;
      break;
    case '>':
      if (a.is_unsigned) {
        result.bits = b.bits < 64 ? a.bits >> b.bits : 0;
      } else {
        result.bits =
            static_cast<uint64_t>(static_cast<int64_t>(a.bits) >> (b.bits < 64 ? b.bits : 63));
      }
      break;
    case '+':
      result.bits = a.bits + b.bits;
      break;
    case '-':
      result.bits = a.bits - b.bits;
      break;
    case '*':
      result.bits = a.bits * b.bits;
      break;
    default:
      result.bits = divided(lexer, at, a, b, at.text[0] == '%');
      break;
  }
  return result;
}

Literal parse_binary(Lexer& lexer, int lowest, int depth) {
  Literal left = parse_unary(lexer, depth);
  while (const BinaryOperator* found = operator_at(lexer.peek())) {
    if (found->precedence < lowest) break;
    const Token at = lexer.take();
    left = combined(lexer, at, left, parse_binary(lexer, found->precedence + 1, depth + 1));
  }
  return left;
}

}  // namespace

bool constant_starts(const Lexer& lexer) {
  const Token& token = lexer.peek();
  return token.kind == Token::Kind::number || token.is('-') || token.is('+') || token.is('~') ||
         token.is('(') || token.is("WARP_SZ");
}

Literal parse_constant(Lexer& lexer) { return parse_binary(lexer, 1, 0); }

Literal parse_constant_term(Lexer& lexer) { return parse_binary(lexer, 6, 0); }

int64_t parse_integer_in(Lexer& lexer, int64_t low, int64_t high, const char* what) {
  const Token at = lexer.peek();
  const Literal value = parse_constant(lexer);
  const auto number = static_cast<int64_t>(value.bits);
  if (value.is_float() || (value.is_unsigned && number < 0) || number < low || number > high) {
    lexer.fail(at, std::string("expected ") + what + " from " + std::to_string(low) + " to " +
                       std::to_string(high));
  }
  return number;
}

}  // namespace assay::ptx
