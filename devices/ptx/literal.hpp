// Constants of PTX text and what they become in an operand (PTX ISA 9.0, section 4.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// A constant: a 64-bit integer, or a floating point number in the form in which it was written.
struct Literal {
  enum class Kind : uint8_t { integer, single, double_ };
  Kind kind = Kind::integer;
  bool is_unsigned = false;  ///< integer: `U`, or too large for s64
  uint64_t bits = 0;         ///< of the integer (two's complement), the f32 or the f64

  bool is_float() const { return kind != Kind::integer; }
};

/// A number token: 12, 0x1F, 017, 0b101, each with an optional U; 1.5, 1e-3, 0f3F800000,
/// 0d3FF0000000000000. Nothing when it is none of these or does not fit 64 bits.
std::optional<Literal> parse_number(std::string_view text);

/// The bits of a constant as an operand of `type`: integers cut to its width, floating point
/// rounded to nearest even. Nothing when the two do not go together, as ptxas has it: no integer
/// for a floating point type, no constant at all for 16-bit floating point (nor pairs), and for .bX
/// only a floating point constant of the same width.
std::optional<uint64_t> literal_bits(const Literal& literal, Type type);

/// Keeps the low `bytes` bytes.
uint64_t truncated(uint64_t bits, int bytes);

}  // namespace assay::ptx
