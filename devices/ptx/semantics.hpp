// What each computing instruction does to a row of 32 lanes. Pure functions of their operands; the
// machine (devices/ptx/machine.*) applies them under a mask.
//
// A row is 32 elements of the operand's width in a row: 64 B for 16-bit, 128 B for 32-bit, 256 B
// for 64-bit registers. Predicates are 32-bit masks, lane 0 in bit 0. All lanes are computed,
// whatever is active; nothing may trap (integer division by zero follows the hardware: PTX leaves
// it undefined, H200 gives all ones).
//
// Compared with an H200 by `assay conform` (4,080 spellings, 100,096 operand tuples each;
// docs/measured/conformance.md, differences as data in fuzz/conform_judge.cpp): the same bits but
// for
// - NaN results of f64 (there: an operand's payload, or fff8...; here 7ff8000000000000), NaN
// through
//   f64 and tf32 conversions, abs and neg (here: the sign bit only);
// - .ftz where a result is 2^-126 (f16: 2^-14) only by rounding up (there: flushed; here: kept);
// - .ftz on the subnormal f32 source of cvt to f16 toward an infinity (there: ignored);
// - bfe and bfi of 64 bits with positions or lengths above 255, which PTX excludes;
// - cvt.rna.tf32 of a NaN whose payload lies in the lowest bits (there: an infinity);
// - fns with offset -2^31, whose absolute value does not fit;
// - approximate functions, within their documented bounds (the card's cos, ex2 and tanh leave them
//   at a few operands).
//
// How an instruction's operands reach its rows: sources that are predicates go to pa, then pb, in
// the text's order, already negated where the text says `!%p`; all other sources go to a, b, c, e
// in the text's order (an immediate as a row of equal elements). `row_shape` gives the element
// width of each. A predicate destination is p_out, the second destination of `p|q` p_out2; lop3's
// `d|p` puts the predicate into p_out.
#pragma once

#include <array>
#include <cstdint>

#include "devices/device.hpp"
#include "devices/ptx/module.hpp"

namespace assay::ptx {

inline constexpr int kLanes = 32;

/// Rows of an instruction. `d` may be the same row as a source; rows never overlap otherwise. Rows
/// are 32-byte aligned.
struct Rows {
  void* d = nullptr;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  const void* e = nullptr;  ///< fourth source: bfi's length, lop3's table (same in all lanes)
  uint32_t pa = 0;          ///< predicate sources (selp, setp's combining predicate, and.pred a)
  uint32_t pb = 0;
  uint32_t p_out = 0;      ///< predicate result (setp, and.pred), all lanes
  uint32_t p_out2 = 0;     ///< setp's second result
  uint32_t carry_in = 0;   ///< addc, subc, madc: CC.CF of each lane
  uint32_t carry_out = 0;  ///< .cc
};
using RowFunction = void (*)(Rows&);

/// How the approximate instructions err: by our fixed polynomials, or on purpose within their
/// bound.
enum class ApproxMode : uint8_t { fixed, adversarial };

/// How arithmetic errs.
struct ArithmeticErrors {
  ApproxMode approximations = ApproxMode::fixed;
  Narrow sums = Narrow::none;  ///< a defect, no licence: add, sub and fma of f32 to nearest
  auto operator<=>(const ArithmeticErrors&) const = default;
};

/// Element widths in bytes of an instruction's rows; 0: absent, or a predicate. 8-bit types travel
/// in 2-byte elements (PTX has no 8-bit registers in use): a source's upper byte is ignored, a
/// result is sign- or zero-extended into it. Only cvt, ld and st may name registers wider than
/// their types (PTX ISA 9.5.1 "Operand Size Exceeding Instruction-Type Size"); then the machine
/// narrows the source (low bytes) or widens the result, by sign when `d_signed`.
struct RowShape {
  uint8_t d = 0;
  std::array<uint8_t, 4> src{};  ///< a, b, c, e
  bool d_signed = false;
};
RowShape row_shape(const Instruction& instruction);

/// The row function of a decoded instruction; nullptr when the instruction is not a computing one
/// (memory, control, warp) or not supported. Chosen once, at load. `avx2`: use the AVX2+FMA+F16C
/// build of the functions; both builds give the same bits. `mode` matters to the approximate
/// instructions only.
RowFunction row_function(const Instruction& instruction, bool avx2,
                         ApproxMode mode = ApproxMode::fixed);

/// The row function of an add, sub, fma or mad of f32 that rounds to nearest, with its result
/// rounded to a narrower format as well; nullptr for all others (semantics_narrow.cpp).
RowFunction narrowed_row(const Instruction& instruction, Narrow sums);

/// Whether this CPU has what the fast build needs.
bool cpu_has_avx2();

/// Scalar definitions, one lane at a time, that other parts (atomics) use.
uint32_t f16_to_f32_bits(uint16_t h);
uint16_t f32_to_f16_bits_rn(uint32_t f);
uint32_t bf16_to_f32_bits(uint16_t h);
uint16_t f32_to_bf16_bits_rn(uint32_t f);

}  // namespace assay::ptx
