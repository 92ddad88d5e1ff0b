#include "devices/ptx/literal.hpp"

#include <gtest/gtest.h>

#include "decoding.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay::ptx {
namespace {

TEST(Literal, Integers) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"0", 0},
      {"12", 12},
      {"017", 15},
      {"0x1F", 31},
      {"0Xff", 255},
      {"0b101", 5},
      {"0B11U", 3},
      {"12U", 12},
      {"0U", 0},
      {"0xFFFFFFFFFFFFFFFF", ~uint64_t{0}},
      {"9223372036854775808", uint64_t{1} << 63},
  };
  for (const auto& [text, value] : cases) {
    const auto literal = parse_number(text);
    ASSERT_TRUE(literal) << text;
    EXPECT_EQ(literal->kind, Literal::Kind::integer) << text;
    EXPECT_EQ(literal->bits, value) << text;
  }
  EXPECT_TRUE(parse_number("1U")->is_unsigned);
  EXPECT_FALSE(parse_number("1")->is_unsigned);
  EXPECT_TRUE(parse_number("9223372036854775808")->is_unsigned);
}

TEST(Literal, FloatingPoint) {
  EXPECT_EQ(parse_number("0f3F800000")->bits, 0x3f800000u);
  EXPECT_EQ(parse_number("0F7fffffff")->bits, 0x7fffffffu);
  EXPECT_EQ(parse_number("0d400C000000000000")->bits, 0x400c000000000000u);
  EXPECT_EQ(parse_number("1.5")->bits, 0x3ff8000000000000u);
  EXPECT_EQ(parse_number("25e-1")->bits, 0x4004000000000000u);
}

TEST(Literal, RejectsWhatIsNone) {
  for (const char* text : {"0x", "0xG", "0b2", "08", "1z", "0f3F80000", "0f3F8000000", "0d3F800000",
                           "18446744073709551616", "1.5.2", "1e", "1e999", "0f3F80000U", "U"}) {
    EXPECT_FALSE(parse_number(text)) << text;
  }
}

TEST(Literal, BecomesTheOperandsType) {
  const auto bits = [](const char* text, Type type) {
    return literal_bits(*parse_number(text), type);
  };
  EXPECT_EQ(bits("0d3FF8000000000000", Type::f32), 0x3fc00000u);
  EXPECT_EQ(bits("0f3FC00000", Type::f64), 0x3ff8000000000000u);
  EXPECT_EQ(bits("0.1", Type::f32), 0x3dcccccdu);
  EXPECT_EQ(bits("0f7FA12345", Type::f32), 0x7fa12345u);  // a signalling NaN stays as written
  EXPECT_EQ(bits("70000", Type::u16), 4464u);
  EXPECT_EQ(bits("300", Type::b8), 44u);
  EXPECT_EQ(bits("0f3F800000", Type::b32), 0x3f800000u);
  EXPECT_EQ(bits("7", Type::pred), 1u);
  // As ptxas 13.0 answers.
  EXPECT_FALSE(bits("1", Type::f32));
  EXPECT_FALSE(bits("1", Type::f16));
  EXPECT_FALSE(bits("0f3F800000", Type::f16));
  EXPECT_FALSE(bits("0f3F800000", Type::u32));
  EXPECT_FALSE(bits("0f3F800000", Type::b64));
  EXPECT_FALSE(bits("1.0", Type::b32));
  EXPECT_FALSE(bits("0x3C003C00", Type::f16x2));
}

uint64_t constant(const std::string& expression) {
  return first_instruction("mov.b64 %rd1, " + expression + ";").src.at(0).bits;
}

TEST(Constant, Expressions) {
  const std::pair<const char*, int64_t> cases[] = {
      {"(1+2)", 3},    {"1+2*3", 7},
      {"(1+2)*3", 9},  {"-4", -4},
      {"~0", -1},      {"- -3", 3},
      {"7/2", 3},      {"-7/2", -3},
      {"-7 % 3", -1},  {"1<<40", int64_t{1} << 40},
      {"-16>>2", -4},  {"6&3|8", 10},
      {"6^3", 5},      {"WARP_SZ*2", 64},
      {"(.u64)5", 5},  {"10-3-2", 5},
      {"0x10U+1", 17}, {"(!5)", 0},
      {"(!0)", 1},     {"1<<64", 0},
  };
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(static_cast<int64_t>(constant(text)), value) << text;
  }
  EXPECT_EQ(constant("0xFFFFFFFFFFFFFFFFU>>60"), 15u);
  EXPECT_EQ(constant("0x8000000000000000/(0-1)"), 0u);  // unsigned division, as the literal is
}

TEST(Constant, Errors) {
  const std::string deep(5000, '(');
  for (const std::string& text :
       {std::string("1/0"), std::string("1 % 0"), std::string("(1"), std::string("1+"), deep,
        std::string("1.5+1"), std::string("~1.5"), std::string(5000, '-') + "1"}) {
    EXPECT_THROW(constant(text), InputError) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace assay::ptx
