// Exhaustive over the 8- and 16-bit types, against values computed from the formats' definitions
// with std::ldexp and against a search over the sorted table of all values.
#include "kernels_under_test/dtype.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace assay {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Widths, bias and specials as the standards' tables give them.
struct Format {
  DType type;
  int exponent_bits;
  int fraction_bits;
  int bias;
  bool has_infinity;
};
const Format kSmall[] = {
    {DType::f16, 5, 10, 15, true},
    {DType::bf16, 8, 7, 127, true},
    {DType::e4m3, 4, 3, 7, false},
    {DType::e5m2, 5, 2, 15, true},
};

double defined_value(const Format& format, uint64_t bits) {
  const uint64_t fraction = bits & ((1u << format.fraction_bits) - 1);
  const uint64_t field = (bits >> format.fraction_bits) & ((1u << format.exponent_bits) - 1);
  const double sign = (bits >> (format.fraction_bits + format.exponent_bits)) & 1 ? -1 : 1;
  const uint64_t top = (1u << format.exponent_bits) - 1;
  const uint64_t all_ones = (1u << format.fraction_bits) - 1;
  if (field == top && format.has_infinity) return fraction == 0 ? sign * kInf : std::nan("");
  if (field == top && fraction == all_ones) return std::nan("");
  if (field == 0)
    return sign * std::ldexp(static_cast<double>(fraction), 1 - format.bias - format.fraction_bits);
  return sign * std::ldexp(1 + std::ldexp(static_cast<double>(fraction), -format.fraction_bits),
                           static_cast<int>(field) - format.bias);
}

uint64_t patterns(const Format& format) {
  return uint64_t{1} << (1 + format.exponent_bits + format.fraction_bits);
}

// Finite magnitudes in the order of their patterns.
std::vector<double> magnitudes(const Format& format) {
  std::vector<double> out;
  for (uint64_t bits = 0; bits < patterns(format) / 2; ++bits) {
    const double value = defined_value(format, bits);
    if (std::isfinite(value)) out.push_back(value);
  }
  return out;
}

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::i4); ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(name(type)), type);
  }
  EXPECT_EQ(name(DType::boolean), "bool");
  EXPECT_FALSE(parse_dtype("fp16"));
  EXPECT_FALSE(parse_dtype(""));
}

TEST(DType, Widths) {
  EXPECT_EQ(byte_size(DType::f64), 8);
  EXPECT_EQ(byte_size(DType::bf16), 2);
  EXPECT_EQ(byte_size(DType::e4m3), 1);
  EXPECT_EQ(byte_size(DType::boolean), 1);
  EXPECT_EQ(byte_size(DType::u4), 0);
  EXPECT_EQ(bit_width(DType::i4), 4);
  EXPECT_TRUE(is_integer(DType::boolean));
  EXPECT_FALSE(is_signed(DType::u16));
  EXPECT_TRUE(is_signed(DType::i4));
}

TEST(DType, DecodesEveryPattern) {
  for (const Format& format : kSmall) {
    for (uint64_t bits = 0; bits < patterns(format); ++bits) {
      const double expected = defined_value(format, bits);
      const double got = to_double(format.type, bits);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << name(format.type) << " " << bits;
      } else {
        EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(expected))
            << name(format.type) << " " << bits;
      }
    }
  }
}

TEST(DType, EveryPatternRoundTripsThroughDouble) {
  for (const Format& format : kSmall) {
    for (uint64_t bits = 0; bits < patterns(format); ++bits) {
      const double value = to_double(format.type, bits);
      const uint64_t back = round_to_bits(format.type, value);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(to_double(format.type, back)));
      } else {
        EXPECT_EQ(back, bits) << name(format.type);
      }
    }
  }
}

TEST(DType, PatternsAreMonotone) {
  for (const Format& format : kSmall) {
    double last = -1;
    for (const double value : magnitudes(format)) {
      EXPECT_LT(last, value);
      last = value;
    }
    EXPECT_EQ(last, format_of(format.type).largest);
  }
}

// Midpoints of neighbours go to the even pattern, a hair to either side to the nearer one.
TEST(DType, TiesGoToEven) {
  for (const Format& format : kSmall) {
    const std::vector<double> values = magnitudes(format);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      const double middle = (values[i] + values[i + 1]) / 2;
      const uint64_t even = i % 2 == 0 ? i : i + 1;
      const uint64_t sign = patterns(format) / 2;
      EXPECT_EQ(round_to_bits(format.type, middle), even) << name(format.type);
      EXPECT_EQ(round_to_bits(format.type, -middle), sign | even) << name(format.type);
      EXPECT_EQ(round_to_bits(format.type, std::nextafter(middle, 0)), i);
      EXPECT_EQ(round_to_bits(format.type, std::nextafter(middle, kInf)), i + 1);
    }
  }
}

// IEEE 754, 4.3.1: at half an ulp above the largest finite number the result overflows.
TEST(DType, OverflowStartsHalfAnUlpAboveTheLargest) {
  for (const Format& format : kSmall) {
    const std::vector<double> values = magnitudes(format);
    const double largest = values.back();
    const double limit = largest + (largest - values[values.size() - 2]) / 2;
    const uint64_t top = values.size() - 1;
    EXPECT_EQ(round_to_bits(format.type, std::nextafter(limit, 0)), top) << name(format.type);
    // The pattern of the largest is odd, except for e4m3, whose odd neighbour is the NaN.
    EXPECT_EQ(round_to_bits(format.type, limit), format.has_infinity ? top + 1 : top);
    for (const double above : {std::nextafter(limit, kInf), 1e30 * largest, kInf}) {
      const double got = to_double(format.type, round_to_bits(format.type, above));
      if (format.has_infinity)
        EXPECT_EQ(got, kInf);
      else
        EXPECT_TRUE(std::isnan(got));
    }
  }
}

uint64_t nearest_by_search(const std::vector<double>& values, double value) {
  const auto above = std::lower_bound(values.begin(), values.end(), value);
  if (above == values.begin()) return 0;
  const auto high = static_cast<uint64_t>(above - values.begin());
  const double up = *above - value;  // exact: neighbours lie within a factor of two
  const double down = value - values[high - 1];
  if (up != down) return up < down ? high : high - 1;
  return high % 2 == 0 ? high : high - 1;
}

TEST(DType, RandomDoublesRoundAsBySearch) {
  std::mt19937_64 random(7);
  for (const Format& format : kSmall) {
    const std::vector<double> values = magnitudes(format);
    std::uniform_real_distribution<double> exponent(std::log2(values[1]) - 2,
                                                    std::log2(values.back()));
    for (int i = 0; i < 200000; ++i) {
      const double value = std::exp2(exponent(random));
      if (value > values.back()) continue;
      ASSERT_EQ(round_to_bits(format.type, value), nearest_by_search(values, value))
          << name(format.type) << " " << value;
    }
  }
}

TEST(DType, F32RoundsAsTheHardware) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 1000000; ++i) {
    // Every sixteenth pattern lies around f32's subnormals, every sixteenth around its overflow.
    uint64_t bits = random();
    const uint64_t range = bits % 16;
    if (range < 2) {
      const uint64_t field = 1023 + (range == 0 ? -150 + static_cast<int>(random() % 26) : 127);
      bits = (bits & ~(uint64_t{0x7ff} << 52)) | field << 52;
    }
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value)) continue;
    const auto expected = std::bit_cast<uint32_t>(static_cast<float>(value));
    ASSERT_EQ(round_to_bits(DType::f32, value), expected) << value;
    ASSERT_EQ(detail::round_to_bits(DType::f32, value), expected) << value;
  }
  EXPECT_EQ(to_double(DType::f32, 1), std::ldexp(1.0, -149));
  EXPECT_TRUE(std::isnan(to_double(DType::f32, round_to_bits(DType::f32, std::nan("")))));
}

TEST(DType, F64IsKept) {
  for (const double value : {0.0, -0.0, 5e-324, 1.5, -kInf}) {
    EXPECT_EQ(round_to_bits(DType::f64, value), std::bit_cast<uint64_t>(value));
    EXPECT_EQ(to_double(DType::f64, std::bit_cast<uint64_t>(value)), value);
  }
}

TEST(DType, UlpIsTheDistanceToTheNextNumber) {
  for (const Format& format : kSmall) {
    const std::vector<double> values = magnitudes(format);
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      const double gap = values[i + 1] - values[i];
      EXPECT_EQ(ulp(format.type, values[i]), gap);
      EXPECT_EQ(ulp(format.type, -(values[i] + gap / 2)), gap);
    }
    const double top = values.back() - values[values.size() - 2];
    EXPECT_EQ(ulp(format.type, values.back()), top);
    EXPECT_EQ(ulp(format.type, 1e300), top);
    EXPECT_EQ(ulp(format.type, kInf), top);
    EXPECT_EQ(ulp(format.type, 0), format_of(format.type).smallest_subnormal());
    EXPECT_EQ(ulp(format.type, 5e-324), values[1]);
    EXPECT_TRUE(std::isnan(ulp(format.type, std::nan(""))));
  }
  EXPECT_EQ(ulp(DType::f32, 1.0), std::ldexp(1.0, -23));
  EXPECT_EQ(ulp(DType::f32, 1e-300), std::ldexp(1.0, -149));
  EXPECT_EQ(ulp(DType::f64, 1.0), std::ldexp(1.0, -52));
  EXPECT_EQ(ulp(DType::f64, 1e-310), std::ldexp(1.0, -1074));
}

TEST(DType, FormatsMatchTheirDefinitions) {
  for (const Format& format : kSmall) {
    const FloatFormat got = format_of(format.type);
    EXPECT_EQ(got.precision, format.fraction_bits + 1);
    EXPECT_EQ(got.min_exponent, 1 - format.bias);
    EXPECT_EQ(got.has_infinity, format.has_infinity);
    EXPECT_EQ(got.unit_roundoff(), std::ldexp(1.0, -format.fraction_bits - 1));
    EXPECT_EQ(got.smallest_subnormal(), magnitudes(format)[1]);
    EXPECT_EQ(std::ilogb(got.largest), got.max_exponent);
  }
  EXPECT_EQ(format_of(DType::f32).largest, std::numeric_limits<float>::max());
  EXPECT_EQ(format_of(DType::f64).smallest_subnormal(), 5e-324);
}

TEST(DType, Integers) {
  EXPECT_TRUE(to_integer(DType::i8, 0x80) == -128);
  EXPECT_TRUE(to_integer(DType::u8, 0x80) == 128);
  EXPECT_TRUE(to_integer(DType::i4, 0xf) == -1);
  EXPECT_TRUE(to_integer(DType::u4, 0xf) == 15);
  EXPECT_TRUE(to_integer(DType::i32, 0xffffffff) == -1);
  EXPECT_TRUE(to_integer(DType::i32, 0xabc00000001) == 1);  // higher bits do not belong to it
  EXPECT_TRUE(to_integer(DType::i64, ~uint64_t{0}) == -1);
  EXPECT_TRUE(to_integer(DType::u64, ~uint64_t{0}) == (static_cast<__int128>(1) << 64) - 1);
  EXPECT_TRUE(to_integer(DType::boolean, 2) == 1);
  EXPECT_TRUE(to_integer(DType::boolean, 0) == 0);
  EXPECT_EQ(to_double(DType::i16, 0xffff), -1);
  EXPECT_EQ(to_double(DType::u64, ~uint64_t{0}), std::ldexp(1.0, 64));
  EXPECT_EQ(to_double(DType::i64, uint64_t{1} << 63), -std::ldexp(1.0, 63));
}

}  // namespace
}  // namespace assay
