#include "kernels_under_test/dtype.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace assay {
namespace {

struct Row {
  std::string_view name;
  int bits;
  bool floating;
  bool is_signed;
};

// In the order of DType.
constexpr std::array<Row, 17> kRows{{
    {"f64", 64, true, true},
    {"f32", 32, true, true},
    {"f16", 16, true, true},
    {"bf16", 16, true, true},
    {"e4m3", 8, true, true},
    {"e5m2", 8, true, true},
    {"i64", 64, false, true},
    {"i32", 32, false, true},
    {"i16", 16, false, true},
    {"i8", 8, false, true},
    {"u64", 64, false, false},
    {"u32", 32, false, false},
    {"u16", 16, false, false},
    {"u8", 8, false, false},
    {"bool", 8, false, false},
    {"u4", 4, false, false},
    {"i4", 4, false, true},
}};

const Row& row(DType type) { return kRows[static_cast<size_t>(type)]; }

// A floating type's format and the patterns, sign clear, of its largest finite value, of its
// overflow result (infinity, or NaN for e4m3) and of its quiet NaN.
struct FloatRow {
  FloatFormat format;
  uint64_t largest;
  uint64_t overflow;
  uint64_t quiet_nan;
};

// In the order of DType.
constexpr std::array<FloatRow, 6> kFloatRows{{
    {{53, -1022, 1023, true, std::numeric_limits<double>::max()},
     0x7fefffffffffffff,
     0x7ff0000000000000,
     0x7ff8000000000000},
    {{24, -126, 127, true, std::numeric_limits<float>::max()}, 0x7f7fffff, 0x7f800000, 0x7fc00000},
    {{11, -14, 15, true, 65504.0}, 0x7bff, 0x7c00, 0x7e00},
    {{8, -126, 127, true, 0x1.fep127}, 0x7f7f, 0x7f80, 0x7fc0},
    // No infinities: S.1111.111 is the only NaN (FP8 Formats, table 1).
    {{4, -6, 8, false, 448.0}, 0x7e, 0x7f, 0x7f},
    {{3, -14, 15, true, 57344.0}, 0x7b, 0x7c, 0x7e},
}};

const FloatRow& float_row(DType type) {
  const auto index = static_cast<size_t>(type);
  if (index >= kFloatRows.size())
    throw std::logic_error("no floating type: " + std::string(name(type)));
  return kFloatRows[index];
}

// 2^exponent for -1074 <= exponent <= 1023.
double power_of_two(int exponent) {
  if (exponent >= -1022) return std::bit_cast<double>(static_cast<uint64_t>(exponent + 1023) << 52);
  return std::bit_cast<double>(uint64_t{1} << (exponent + 1074));
}

// Decodes f16 and the 8-bit types.
double decode_small(DType type, uint64_t bits) {
  const FloatRow& row = float_row(type);
  const int fraction_bits = row.format.precision - 1;
  const int sign_position = bit_width(type) - 1;
  const uint64_t magnitude = bits & ((uint64_t{1} << sign_position) - 1);
  const uint64_t sign = (bits >> sign_position & 1) << 63;
  const uint64_t field = magnitude >> fraction_bits;
  if (field == 0) {
    const double value = static_cast<double>(magnitude) * row.format.smallest_subnormal();
    return std::bit_cast<double>(std::bit_cast<uint64_t>(value) | sign);
  }
  if (magnitude > row.largest) {
    const bool infinite = row.format.has_infinity && magnitude == row.overflow;
    const double special = infinite ? std::numeric_limits<double>::infinity()
                                    : std::numeric_limits<double>::quiet_NaN();
    return std::bit_cast<double>(std::bit_cast<uint64_t>(special) | sign);
  }
  // Normal: the same fraction, the exponent field with double's bias.
  const uint64_t rebias = static_cast<uint64_t>(row.format.min_exponent - 1 + 1023) << 52;
  return std::bit_cast<double>(((magnitude << (52 - fraction_bits)) + rebias) | sign);
}

}  // namespace

std::string_view name(DType type) { return row(type).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

int bit_width(DType type) { return row(type).bits; }
int byte_size(DType type) { return row(type).bits / 8; }
bool is_floating(DType type) { return row(type).floating; }
bool is_integer(DType type) { return !row(type).floating; }
bool is_signed(DType type) { return row(type).is_signed; }

double FloatFormat::unit_roundoff() const { return power_of_two(-precision); }
double FloatFormat::smallest_subnormal() const {
  return power_of_two(min_exponent - precision + 1);
}

FloatFormat format_of(DType type) { return float_row(type).format; }

double detail::to_double(DType type, uint64_t bits) {
  switch (type) {
    case DType::f64:
      return std::bit_cast<double>(bits);
    case DType::f32:
      return std::bit_cast<float>(static_cast<uint32_t>(bits));
    case DType::bf16:  // the upper half of a binary32
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    case DType::f16:
    case DType::e4m3:
    case DType::e5m2:
      return decode_small(type, bits);
    case DType::u64:
      return static_cast<double>(bits);
    default:
      return static_cast<double>(static_cast<int64_t>(to_integer(type, bits)));
  }
}

__int128 to_integer(DType type, uint64_t bits) {
  if (type == DType::boolean) return (bits & 0xff) != 0 ? 1 : 0;
  const int shift = 64 - bit_width(type);
  if (is_signed(type)) return static_cast<int64_t>(bits << shift) >> shift;
  return (bits << shift) >> shift;
}

uint64_t detail::round_to_bits(DType type, double value) {
  if (type == DType::f64) return std::bit_cast<uint64_t>(value);
  const FloatRow& encoding = float_row(type);
  const FloatFormat& format = encoding.format;
  const uint64_t source = std::bit_cast<uint64_t>(value);
  const uint64_t sign = (source >> 63) << (bit_width(type) - 1);
  const int field = static_cast<int>((source >> 52) & 0x7ff);
  const uint64_t fraction = source & 0xfffffffffffff;
  if (field == 0x7ff) return sign | (fraction != 0 ? encoding.quiet_nan : encoding.overflow);
  if (field == 0) return sign;  // below 2^-1022, far under half of every narrower subnormal

  const int exponent = field - 1023;
  const uint64_t significand = fraction | uint64_t{1} << 52;
  const int below_normal = std::max(0, format.min_exponent - exponent);
  const int dropped = 53 - format.precision + below_normal;
  if (dropped > 53) return sign;  // under half of the smallest subnormal

  uint64_t kept = significand >> dropped;
  const uint64_t rest = significand & ((uint64_t{1} << dropped) - 1);
  const uint64_t half = uint64_t{1} << (dropped - 1);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  // `kept` holds the implicit one, so the exponent field is added minus one; a carry moves on into
  // it by itself.
  if (below_normal == 0) {
    if (exponent > format.max_exponent) return sign | encoding.overflow;
    kept += static_cast<uint64_t>(exponent - format.min_exponent) << (format.precision - 1);
  }
  return sign | (kept > encoding.largest ? encoding.overflow : kept);
}

double ulp(DType type, double value) {
  if (std::isnan(value)) return value;
  const FloatFormat& format = float_row(type).format;
  const int field = static_cast<int>((std::bit_cast<uint64_t>(value) >> 52) & 0x7ff);
  const int exponent = std::clamp(field - 1023, format.min_exponent, format.max_exponent);
  return power_of_two(exponent - format.precision + 1);
}

}  // namespace assay
