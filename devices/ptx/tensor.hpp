// Fragments of matrices over a warp, and the product that tensor cores compute.
//
// A fragment is the part of a matrix that each lane holds in 32-bit registers. Those of mma lie as
// PTX ISA 9.7.14.5 says. Those of wmma are not documented ("the distribution is unspecified"), so
// they lie in one of eight layouts of our own that the schedule's seed chooses: a kernel that
// relies on one of them is wrong.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "devices/ptx/module.hpp"
#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

/// How many registers of which type an instruction's operand lists for a matrix.
struct FragmentRegisters {
  int count = 0;
  Type type = Type::none;
};
FragmentRegisters fragment_registers(const Instruction& instruction, Matrix matrix);

/// Element type of one of the matrices of mma or wmma.
Type element_type(const Instruction& instruction, Matrix matrix);

struct Fragment {
  Type type = Type::none;
  int rows = 0, columns = 0;
  int registers = 0;
  int parts = 1;  ///< elements of one register
  /// Element (row * columns + column) of each place, in the order of memory: register after
  /// register, in it lane after lane, in it part after part. wmma's fragments may hold an element
  /// in several places.
  std::vector<uint16_t> element;

  int elements() const { return rows * columns; }
};
/// `layout` matters to wmma only: 0 to kWmmaLayouts - 1.
inline constexpr uint64_t kWmmaLayouts = 8;
Fragment make_fragment(const Instruction& instruction, Matrix matrix, uint64_t layout);

/// Largest matrix: m16n8k32's a, and wmma's 32 x 16.
inline constexpr int kMaxElements = 512;
using Elements = std::array<double, kMaxElements>;

/// How sums of products err.
///
/// PTX leaves order and rounding open ("at least single precision"). Without a seed each element is
/// c + p_0 + p_1 + ... in that order, with exact products, in binary64, and rounded once to nearest
/// even in the type of d: more exact than hardware, within every envelope. With a seed each sum
/// errs on purpose, as far as JUDGING.md ("tensor cores") lets a step of k products err: every
/// addend is cut, up or down by a hash, to a multiple of 2^(-23 - extra_bits) of the largest one's
/// binade, and an f32 result is cut towards zero. Both ways keep subnormals, and are exact where
/// all of that fits 24 bits.
struct MmaErrors {
  uint64_t seed = 0;
  int extra_bits = 0;
};

/// d = a * b + c for floating-point types; matrices row by row. `type` is d's: f32 or f16.
void multiply(Shape shape, Type type, const Elements& a, const Elements& b, const Elements& c,
              Elements& d, const MmaErrors& errors);
/// The same for s32: sums are exact, then wrap or, with `satfinite`, clamp.
void multiply_integers(Shape shape, bool satfinite, const Elements& a, const Elements& b,
                       const Elements& c, Elements& d);

/// An element's value from its bits, and back (the value is one of the type's; NaN is canonical).
double element_value(Type type, uint32_t bits);
uint32_t element_bits(Type type, double value);

}  // namespace assay::ptx
