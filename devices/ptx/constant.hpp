// Constant expressions of PTX text (PTX ISA 9.0, section 4.5.4).
#pragma once

#include "devices/ptx/lexer.hpp"
#include "devices/ptx/literal.hpp"

namespace assay::ptx {

/// Whether a constant expression can start with the next token.
bool constant_starts(const Lexer& lexer);

/// Reads numbers, WARP_SZ, parentheses, casts, unary + - ~ ! and binary * / % + - << >> & ^ |.
/// Arithmetic is in 64 bits and wraps. Throws InputError.
Literal parse_constant(Lexer& lexer);

/// The same without binary operators weaker than * / %, for `[base + constant + constant]`.
Literal parse_constant_term(Lexer& lexer);

/// A constant that has to be an integer in [low, high]; `what` names it in the message.
int64_t parse_integer_in(Lexer& lexer, int64_t low, int64_t high, const char* what);

}  // namespace assay::ptx
