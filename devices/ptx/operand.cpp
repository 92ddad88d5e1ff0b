#include "devices/ptx/operand.hpp"

#include "devices/ptx/constant.hpp"

namespace assay::ptx {
namespace {

RawOperand parse_address(Lexer& lexer) {
  RawOperand operand;
  operand.kind = RawOperand::Kind::address;
  operand.at = lexer.take();
  if (lexer.peek().is_name() && !lexer.peek().is("WARP_SZ")) {
    operand.named = true;
    operand.at = lexer.take();
    while (lexer.peek().is('+') || lexer.peek().is('-')) {
      const Token sign = lexer.take();
      const Literal term = parse_constant_term(lexer);
      if (term.is_float()) lexer.fail(sign, "expected an integer offset");
      const uint64_t sum =
          static_cast<uint64_t>(operand.offset) + (sign.is('+') ? term.bits : 0 - term.bits);
      operand.offset = static_cast<int64_t>(sum);
    }
  } else {
    operand.literal = parse_constant(lexer);
    if (operand.literal.is_float()) lexer.fail(operand.at, "expected an integer address");
  }
  lexer.expect(']', "to close an address");
  return operand;
}

RawOperand parse_scalar(Lexer& lexer) {
  RawOperand operand;
  operand.at = lexer.peek();
  if (lexer.peek().is_name() && !lexer.peek().is("WARP_SZ")) {
    lexer.take();
    if (lexer.peek().is('+') || lexer.peek().is('-')) {
      const Token at = lexer.peek();
      const bool minus = lexer.take().is('-');
      const Literal term = parse_constant_term(lexer);
      if (term.is_float()) lexer.fail(at, "expected an integer offset");
      operand.offset = static_cast<int64_t>(minus ? 0 - term.bits : term.bits);
    }
    return operand;
  }
  operand.kind = RawOperand::Kind::constant;
  operand.literal = parse_constant(lexer);
  return operand;
}

RawOperand parse_vector(Lexer& lexer) {
  constexpr size_t kMaxElements = 64;  // mma fragments; wide ones are not ours
  RawOperand operand;
  operand.kind = RawOperand::Kind::vector;
  operand.at = lexer.take();
  do {
    operand.elements.push_back(parse_scalar(lexer));
    if (operand.elements.size() > kMaxElements) {
      lexer.fail(operand.at, "expected at most 64 elements in braces");
    }
  } while (lexer.accept(','));
  lexer.expect('}', "to close a vector");
  return operand;
}

}  // namespace

RawOperand parse_operand(Lexer& lexer) {
  if (lexer.peek().is('[')) return parse_address(lexer);
  if (lexer.peek().is('{')) return parse_vector(lexer);
  const bool negated = lexer.accept('!');
  if (!lexer.peek().is_name() && !constant_starts(lexer)) {
    lexer.fail_here("expected an operand, found " + shown(lexer.peek()));
  }
  RawOperand operand = parse_scalar(lexer);
  operand.negated = negated;
  if (operand.kind == RawOperand::Kind::name && lexer.accept('|')) {
    if (!lexer.peek().is_name()) {
      lexer.fail_here("expected a predicate register after '|', found " + shown(lexer.peek()));
    }
    operand.pair = lexer.take();
  }
  return operand;
}

}  // namespace assay::ptx
