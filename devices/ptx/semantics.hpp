// What each computing instruction does to a row of 32 lanes. Pure functions of their operands; the
// machine (devices/ptx/machine.*) applies them under a mask.
//
// A row is 32 elements of the operand's width in a row: 64 B for 16-bit, 128 B for 32-bit, 256 B for
// 64-bit registers. Predicates are 32-bit masks, lane 0 in bit 0. All lanes are computed, whatever
// is active; nothing may trap (integer division by zero follows the hardware: PTX leaves it
// undefined, H200 gives all ones).
#pragma once

#include <cstdint>

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
  uint32_t pa = 0;         ///< predicate sources (selp, setp's combining predicate, and.pred a)
  uint32_t pb = 0;
  uint32_t p_out = 0;      ///< predicate result (setp, and.pred), all lanes
  uint32_t p_out2 = 0;     ///< setp's second result
  uint32_t carry_in = 0;   ///< addc, subc, madc: CC.CF of each lane
  uint32_t carry_out = 0;  ///< .cc
};
using RowFunction = void (*)(Rows&);

/// How the approximate instructions err: by our fixed polynomials, or on purpose within their bound.
enum class ApproxMode : uint8_t { fixed, adversarial };

/// The row function of a decoded instruction; nullptr when the instruction is not a computing one
/// (memory, control, warp) or not supported. Chosen once, at load. `avx2`: use the AVX2+FMA+F16C
/// build of the functions; both builds give the same bits.
RowFunction row_function(const Instruction& instruction, bool avx2);

/// Whether this CPU has what the fast build needs.
bool cpu_has_avx2();

/// Scalar definitions, one lane at a time, that other parts (atomics) use.
uint32_t f16_to_f32_bits(uint16_t h);
uint16_t f32_to_f16_bits_rn(uint32_t f);
uint32_t bf16_to_f32_bits(uint16_t h);
uint16_t f32_to_bf16_bits_rn(uint32_t f);

}  // namespace assay::ptx
