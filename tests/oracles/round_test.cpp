// round(x, T) in a formula, as docs/contract.md states it: a rounding that a kernel may do there,
// not one that the value has.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

using testing::Line;
using testing::line_contract;

Outcome outcome(const std::string& type, const std::string& formula, float x, float y) {
  const char* const more = type == "f32" ? "[policy]\nsubnormals = \"keep\"\n"
                                         : "[policy]\ncast_overflow = \"saturate\"\n";
  return Line(line_contract(type, formula, more), {x})({y}).outcome;
}

float as(DType type, float x) {
  return static_cast<float>(to_double(type, round_to_bits(type, x)));
}

TEST(Round, AcceptsTheRoundingAFinerOneAndNone) {
  const float x = 1.03f;
  for (const DType type : {DType::bf16, DType::f16, DType::f32})
    EXPECT_EQ(outcome("f32", "round(x, bf16) * 3", x, as(type, x) * 3), Outcome::pass);
  ASSERT_EQ(as(DType::e4m3, x), 1);
  EXPECT_EQ(outcome("f32", "round(x, bf16) * 3", x, as(DType::e4m3, x) * 3), Outcome::mismatch);
  // Without it none but the accumulator's own.
  EXPECT_EQ(outcome("f32", "x * 3", x, as(DType::bf16, x) * 3), Outcome::mismatch);
  EXPECT_EQ(outcome("f32", "x * 3", x, x * 3), Outcome::pass);
}

TEST(Round, AddsNothingToWhatIsOfTheTypeAlready) {
  const float x = 1 + 0x1p-7f;
  ASSERT_EQ(as(DType::bf16, x), x);
  EXPECT_EQ(outcome("f32", "round(x, bf16) * 2", x, 2 * x), Outcome::pass);
  for (const float to : {-INFINITY, INFINITY})
    EXPECT_EQ(outcome("f32", "round(x, bf16) * 2", x, std::nextafter(2 * x, to)),
              Outcome::mismatch);
}

TEST(Round, AllowsHalfTheSmallestSubnormalNumberOfTheType) {
  const float x = 0x1p-26f;  // f16: a quarter of the smallest, within its half of 0
  EXPECT_EQ(outcome("f32", "round(x, f16) * 2", x, 0), Outcome::pass);
  EXPECT_EQ(outcome("f32", "round(x, f16) * 2", x, 2 * x), Outcome::pass);
  EXPECT_EQ(outcome("f32", "round(x, f16) * 2", x, 7 * x), Outcome::mismatch);
}

TEST(Round, ToAnIntegerIsTheNearestTiesToEven) {
  const float pairs[][2] = {{2.5f, 2}, {3.5f, 4}, {-2.5f, -2}, {2.6f, 3}, {1e12f, 127}};
  for (const auto& [x, y] : pairs) {
    EXPECT_EQ(outcome("i8", "round(x, i8)", x, y), Outcome::pass) << x;
    EXPECT_EQ(outcome("i8", "round(x, i8)", x, y > 100 ? 126 : y + 1), Outcome::mismatch) << x;
  }
}

}  // namespace
}  // namespace assay
