#include "devices/ptx/literal.hpp"

#include <bit>
#include <charconv>

namespace assay::ptx {
namespace {

/// All of `text` in `base`; nothing when a digit is wrong or the number needs more than 64 bits.
std::optional<uint64_t> parse_digits(std::string_view text, int base) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<Literal> parse_hex_float(std::string_view digits, Literal::Kind kind, size_t count) {
  if (digits.size() != count) return std::nullopt;
  const auto bits = parse_digits(digits, 16);
  if (!bits) return std::nullopt;
  return Literal{kind, false, *bits};
}

std::optional<Literal> parse_integer(std::string_view text, int base) {
  bool is_unsigned = false;
  if (!text.empty() && (text.back() == 'U' || text.back() == 'u')) {
    is_unsigned = true;
    text.remove_suffix(1);
  }
  const auto value = parse_digits(text, base);
  if (!value) return std::nullopt;
  return Literal{Literal::Kind::integer, is_unsigned || *value >> 63, *value};
}

std::optional<Literal> parse_decimal_float(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return Literal{Literal::Kind::double_, false, std::bit_cast<uint64_t>(value)};
}

double value_of(const Literal& literal) {
  if (literal.kind == Literal::Kind::double_) return std::bit_cast<double>(literal.bits);
  return std::bit_cast<float>(static_cast<uint32_t>(literal.bits));
}

/// A number goes through the host's conversion; a NaN keeps its bits where the width is the same.
uint64_t single_bits(const Literal& literal) {
  if (literal.kind == Literal::Kind::single) return literal.bits;
  return std::bit_cast<uint32_t>(static_cast<float>(value_of(literal)));
}

uint64_t double_bits(const Literal& literal) {
  if (literal.kind == Literal::Kind::double_) return literal.bits;
  return std::bit_cast<uint64_t>(value_of(literal));
}

}  // namespace

std::optional<Literal> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '0') {
    const std::string_view digits = text.substr(2);
    switch (text[1]) {
      case 'x':
      case 'X':
        return parse_integer(digits, 16);
      case 'b':
      case 'B':
        return parse_integer(digits, 2);
      case 'f':
      case 'F':
        return parse_hex_float(digits, Literal::Kind::single, 8);
      case 'd':
      case 'D':
        return parse_hex_float(digits, Literal::Kind::double_, 16);
      default:
        break;
    }
  }
  if (text.find_first_of(".eE") != text.npos) return parse_decimal_float(text);
  const bool octal = text.size() > 1 && text[0] == '0' && text[1] != 'U' && text[1] != 'u';
  return parse_integer(text, octal ? 8 : 10);
}

uint64_t truncated(uint64_t bits, int bytes) {
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (8 * bytes)) - 1);
}

std::optional<uint64_t> literal_bits(const Literal& literal, Type type) {
  switch (type) {
    case Type::f32:
    case Type::tf32:
      if (!literal.is_float()) return std::nullopt;
      return single_bits(literal);
    case Type::f64:
      if (!literal.is_float()) return std::nullopt;
      return double_bits(literal);
    case Type::pred:
      if (literal.is_float()) return std::nullopt;
      return literal.bits != 0;
    case Type::b32:
      if (literal.kind == Literal::Kind::double_) return std::nullopt;
      return truncated(literal.bits, 4);
    case Type::b64:
      if (literal.kind == Literal::Kind::single) return std::nullopt;
      return literal.bits;
    case Type::none:
    case Type::f16:
    case Type::bf16:
    case Type::f16x2:
    case Type::bf16x2:
    case Type::b128:
    case Type::e4m3:
    case Type::e5m2:
    case Type::e4m3x2:
    case Type::e5m2x2:
      return std::nullopt;
    default:
      if (literal.is_float()) return std::nullopt;
      return truncated(literal.bits, bytes_of(type));
  }
}

}  // namespace assay::ptx
