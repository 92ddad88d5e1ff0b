// Element types of operands: names, sizes and formats, and exact conversion from and to double.
//
// Formats: IEEE 754 binary16/32/64; bfloat16 (8-bit significand of binary32); e4m3 and e5m2 of
// "FP8 Formats for Deep Learning" (Micikevicius et al., 2022), e4m3 without infinities.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace assay {

enum class DType : uint8_t {
  f64,
  f32,
  f16,
  bf16,
  e4m3,
  e5m2,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  u4,
  i4
};

std::string_view name(DType type);
std::optional<DType> parse_dtype(std::string_view text);

/// Bits of one element: 64, 32, 16, 8 or 4.
int bit_width(DType type);
/// Bytes of one element in memory; 0 for the 4-bit types, which are stored packed into words.
int byte_size(DType type);
bool is_floating(DType type);
bool is_integer(DType type);  // booleans count as integers
bool is_signed(DType type);

/// A binary floating-point format. All values are exactly representable in double.
struct FloatFormat {
  int precision;      ///< significand bits with the implicit one: 24 for f32
  int min_exponent;   ///< exponent of the smallest normal: -126 for f32
  int max_exponent;   ///< exponent of the largest finite: 127 for f32
  bool has_infinity;  ///< false for e4m3
  double largest;     ///< largest finite value
  /// 2^-precision, the unit roundoff of round-to-nearest.
  double unit_roundoff() const;
  /// Spacing of subnormals, 2^(min_exponent - precision + 1).
  double smallest_subnormal() const;
};
FloatFormat format_of(DType type);  ///< floating types only

namespace detail {  // every type, by the formats; below, f32 is a cast that the compiler inlines
double to_double(DType type, uint64_t bits);
uint64_t round_to_bits(DType type, double value);
}  // namespace detail

/// The bits of an element of `bytes` bytes, at most 8, little-endian.
inline uint64_t load_bits(const uint8_t* at, int bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, static_cast<size_t>(bytes));
  return bits;
}

/// The value of an element's bits; exact for every floating type and for integers below 2^53.
inline double to_double(DType type, uint64_t bits) {
  if (type == DType::f32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  return detail::to_double(type, bits);
}
/// The integer value of an integer element's bits.
__int128 to_integer(DType type, uint64_t bits);
/// Nearest-even rounding into a floating type; overflow gives infinity (NaN for e4m3).
inline uint64_t round_to_bits(DType type, double value) {
  if (type == DType::f32) return std::bit_cast<uint32_t>(static_cast<float>(value));
  return detail::round_to_bits(type, value);
}
/// Spacing of the type's numbers around `value` (an ulp of the binade that holds it), never below
/// the smallest subnormal; for a value above the largest finite, the ulp of the largest binade.
double ulp(DType type, double value);

}  // namespace assay
