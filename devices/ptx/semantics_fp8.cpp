#include "devices/ptx/semantics_fp8.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace assay::ptx {

namespace {

struct Format {
  int fraction_bits;
  int least_exponent;  ///< of normal numbers
  float largest;
  uint8_t largest_bits;
};
constexpr Format kE4m3{3, -6, 448.0f, 0x7e};
constexpr Format kE5m2{2, -14, 57344.0f, 0x7b};

constexpr const Format& format_of(Type type) {
  return type == Type::e4m3 || type == Type::e4m3x2 ? kE4m3 : kE5m2;
}

float f16_value(uint16_t bits) { return std::bit_cast<float>(f16_to_f32_bits(bits)); }

/// Every fp8 value is one of f16.
uint16_t f16_from_fp8(Type type, uint8_t bits, bool relu) {
  const float value = fp8_value(type, bits);
  if (value != value) return 0x7fff;
  if (relu && (bits & 0x80) != 0) return 0;
  return f32_to_f16_bits_rn(std::bit_cast<uint32_t>(value));
}

template <Type kType, bool kRelu>
void from_f32_pair(Rows& r) {
  const auto* a = static_cast<const float*>(r.a);
  const auto* b = static_cast<const float*>(r.b);
  auto* d = static_cast<uint16_t*>(r.d);
  for (int i = 0; i < kLanes; ++i) {
    const uint8_t high = fp8_bits_rn_satfinite(kType, a[i], kRelu);
    d[i] = static_cast<uint16_t>(high << 8 | fp8_bits_rn_satfinite(kType, b[i], kRelu));
  }
}

template <Type kType, bool kRelu>
void from_f16_pair(Rows& r) {
  const auto* a = static_cast<const uint32_t*>(r.a);
  auto* d = static_cast<uint16_t*>(r.d);
  for (int i = 0; i < kLanes; ++i) {
    const float high = f16_value(static_cast<uint16_t>(a[i] >> 16));
    const float low = f16_value(static_cast<uint16_t>(a[i]));
    d[i] = static_cast<uint16_t>(fp8_bits_rn_satfinite(kType, high, kRelu) << 8 |
                                 fp8_bits_rn_satfinite(kType, low, kRelu));
  }
}

template <Type kType, bool kRelu>
void to_f16_pair(Rows& r) {
  const auto* a = static_cast<const uint16_t*>(r.a);
  auto* d = static_cast<uint32_t*>(r.d);
  for (int i = 0; i < kLanes; ++i) {
    const uint32_t high = f16_from_fp8(kType, static_cast<uint8_t>(a[i] >> 8), kRelu);
    d[i] = high << 16 | f16_from_fp8(kType, static_cast<uint8_t>(a[i]), kRelu);
  }
}

}  // namespace

float fp8_value(Type type, uint8_t bits) {
  const Format& f = format_of(type);
  const int magnitude = bits & 0x7f;
  const int fraction = magnitude & ((1 << f.fraction_bits) - 1);
  const int exponent = magnitude >> f.fraction_bits;
  const float sign = (bits & 0x80) != 0 ? -1.0f : 1.0f;
  if (magnitude > f.largest_bits) {
    const bool infinity = &f == &kE5m2 && magnitude == 0x7c;
    return infinity ? sign * INFINITY : NAN;
  }
  if (exponent == 0) return sign * std::ldexp(fraction, f.least_exponent - f.fraction_bits);
  const int significand = fraction | 1 << f.fraction_bits;
  return sign * std::ldexp(significand, exponent - 1 + f.least_exponent - f.fraction_bits);
}

uint8_t fp8_bits_rn_satfinite(Type type, float value, bool relu) {
  const Format& f = format_of(type);
  if (value != value) return 0x7f;
  const bool negative = std::signbit(value);
  if (relu && negative) return 0;
  const uint8_t sign = negative ? 0x80 : 0;
  const float magnitude = std::fabs(value);
  if (magnitude >= f.largest) return sign | f.largest_bits;
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), f.least_exponent);
  // In units of the last place the rounded significand lies in [0, 2^(fraction_bits + 1)], and the
  // carry into the next binade is the carry of the bits.
  const int units =
      static_cast<int>(std::nearbyint(std::ldexp(magnitude, f.fraction_bits - exponent)));
  const int bits = ((exponent - f.least_exponent) << f.fraction_bits) + units;
  return sign | static_cast<uint8_t>(std::min<int>(bits, f.largest_bits));
}

RowFunction fp8_row(const Form& form) {
  const auto pick = [&form](auto plain, auto relu) -> RowFunction {
    return form.relu ? RowFunction(relu) : RowFunction(plain);
  };
  constexpr Type kE4 = Type::e4m3x2, kE5 = Type::e5m2x2;
  if (form.type == Type::f16x2 && form.source_type == kE4) {
    return pick(to_f16_pair<kE4, false>, to_f16_pair<kE4, true>);
  }
  if (form.type == Type::f16x2 && form.source_type == kE5) {
    return pick(to_f16_pair<kE5, false>, to_f16_pair<kE5, true>);
  }
  const bool pair = form.source_type == Type::f32 && form.two_sources;
  if (!pair && form.source_type != Type::f16x2) return nullptr;
  if (form.type == kE4) {
    return pair ? pick(from_f32_pair<kE4, false>, from_f32_pair<kE4, true>)
                : pick(from_f16_pair<kE4, false>, from_f16_pair<kE4, true>);
  }
  if (form.type == kE5) {
    return pair ? pick(from_f32_pair<kE5, false>, from_f32_pair<kE5, true>)
                : pick(from_f16_pair<kE5, false>, from_f16_pair<kE5, true>);
  }
  return nullptr;
}

}  // namespace assay::ptx
