// The instruction set of the emulator, as one table: what is admissible, and by which rules the
// checkers follow a value through it. Decoder, validator and coverage ids come from here.
//
// PTX ISA 9.0, chapter 9, is the source of every row. Order of modifiers is free, as it is for
// ptxas; types come last and in order.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// How undefined bits of sources make bits of the result undefined, lane by lane. Memory keeps
/// bytes: one with any undefined bit is undefined as a whole.
enum class DefinednessRule : uint8_t {
  none,        ///< no result in a register (control, barriers)
  any,         ///< any undefined bit that is read makes the whole result undefined
  bitwise,     ///< bit i of the result from bit i of each source; one that decides wins (0 of and)
  arithmetic,  ///< carries go upwards: bits below the lowest undefined one stay defined
  half2,       ///< packed halves: each half of the result from the same half of each source
  pairs,       ///< between packed pairs of different widths: each element from the same element
  mov,         ///< copied bit by bit; also packs and unpacks vectors
  selp,     ///< of the source that the predicate selects; an undefined predicate: where they differ
  choose,   ///< slct: of the source that is selected; `any` where the selecting value is undefined
  load,     ///< of the memory's bytes; upper bytes of a wider register are defined
  store,    ///< memory's bytes take the source's
  atomic,   ///< as load, then store of what the operation makes
  shift,    ///< bits move by a defined count; `any` otherwise
  permute,  ///< prmt: byte by byte by a defined selector; `any` otherwise
  funnel,   ///< shf: as shift, over two sources
  extract,  ///< bfe, szext, brev: bits move by defined positions; `any` otherwise
  insert,   ///< bfi: field from one source, the rest from the other
  resize,   ///< integer cvt: low bits are copied, sign bits follow the top one; .sat: `any`
  pack2,    ///< cvt to a packed pair: upper half from the first source, lower from the second
  compare,  ///< predicate result: undefined when any source bit is and nothing else decides
  shuffle,  ///< shfl: of the lane that is read; `any` of lane and clamp
  vote,     ///< vote, match, redux: over the participating lanes, unless defined ones decide
  uniform,  ///< always defined (activemask, createpolicy)
  matrix,   ///< mma: element (i, j) from row i of a, column j of b and element (i, j) of c
};

/// How the exact integer value, under the signed and the unsigned reading, goes on.
enum class WrapRule : uint8_t {
  none,  ///< no integer result (floating point, control)
  add,
  sub,
  mul,
  mad,
  neg,
  not_,
  shl,
  shr,
  div,
  or_,
  mov,
  selp,
  shfl,
  widen,  ///< integer cvt: to a wider type passes the difference on, to a narrower one resets
  load,   ///< shared and local memory keep it; elsewhere the loaded value is exact
  store,
  reset,  ///< an integer result that is exact as it stands (and, rem, shr.u, mul.hi, ...)
};

/// One row. `mul` and `mad` rows cover .lo and .wide (Instruction::half says which); .hi is
/// `reset`.
struct Row {
  Op op;
  std::string_view mnemonic;
  /// Modifiers: `{a|b}` optional, `(a|b)` required, `a` required.
  std::string_view modifiers;
  /// Admissible types, "s32 u32"; empty: no type suffix.
  std::string_view types;
  /// Admissible second types; empty: no second suffix.
  std::string_view source_types;
  /// Operands in the order of the text, see OperandSpec.
  std::string_view operands;
  DefinednessRule definedness;
  WrapRule wrap;
  /// The spelling ends with the types of d, a, b, c: `types` and `source_types` are those of d and
  /// a; b's is a's (8-bit ones mix) and c's is d's.
  bool four_types = false;
};

/// Rows of tensor cores, asynchronous copies and mbarrier (table_tensor.cpp).
void append_tensor_rows(std::vector<Row>& rows);

/// The table. Instruction::row is an index in it; the order is stable within a build only.
const std::vector<Row>& table();

/// One operand of a row, from its text: names starting with d or p are destinations.
///   d        of the operation's type
///   d:S      of the second type; d:W of twice the width; d:pred, d:u32 of that type
///   d~       the register may be wider than the type (ld, st, cvt)
///   d|p      an optional second, predicate destination
///   a*       as many elements as .v2 or .v4 say, in braces
///   a@       a symbol's address is admissible
///   !a       may be negated
///   a?       may be left out
///   a#A      the registers of a matrix' fragment, in braces (devices/ptx/tensor.hpp)
///   a^       a predicate is admissible instead
///   [a]      an address; &a a label or list of labels; a:policy a cache policy
struct OperandSpec {
  enum class Typing : uint8_t { own, source, wide, fixed };
  Typing typing = Typing::own;
  Type fixed = Type::none;
  bool is_destination = false, wider = false, pair = false, vector = false, symbol = false;
  bool negatable = false, optional = false, address = false, label = false, policy = false;
  bool or_predicate = false;
  Matrix fragment = Matrix::none;
};
const std::vector<OperandSpec>& operand_specs(int row);

/// What a spelling ("add.rn.f32") means: an instruction without operands.
struct SpellingMatch {
  Instruction prototype;  ///< row -1 when not supported; op is set when the mnemonic is known
  std::string reason;     ///< why not; empty when supported
};
SpellingMatch match_spelling(std::string_view spelling);

Type type_named(std::string_view name);  ///< "f32"; Type::none when unknown
std::string_view name_of(Type type);     ///< "f32"

}  // namespace assay::ptx
