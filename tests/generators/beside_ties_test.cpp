// The value class beside_ties: what a second rounding on the way to a narrower type loses.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/generators/sum_values.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

TEST(BesideTies, LieOneLastPlaceFromTheMiddle) {
  int middle = 0;
  const auto x =
      sum_values(sum_contract(), DType::f32, 10, 200, {"beside_ties", {{"precision", 11}}});
  for (const double value : x) {
    const double half = ulp(DType::f16, value) / 2;
    const double off = std::abs(std::abs(value) / half - std::round(std::abs(value) / half)) * half;
    EXPECT_EQ(std::fmod(std::round(std::abs(value) / half), 2), 1) << value;
    EXPECT_TRUE(off == 0 || off == ulp(DType::f32, value)) << value;
    middle += off == 0 ? 1 : 0;
  }
  EXPECT_GT(middle, 2000 / 16);
  EXPECT_LT(middle, 2000 / 4);
}

TEST(BesideTies, IntegersAreLostToTheFormatBetween) {
  int lost = 0;
  const auto x =
      sum_values(sum_contract(), DType::i32, 10, 200, {"beside_ties", {{"precision", 8}}});
  for (const double value : x) {
    const double by_f32 = static_cast<double>(static_cast<float>(value));
    lost += round_to_bits(DType::bf16, value) != round_to_bits(DType::bf16, by_f32) ? 1 : 0;
  }
  EXPECT_GT(lost, 2000 / 10);
}

/// The middle of two neighbours of `precision` bits has one bit more, the last of them set; an
/// element is that, or one last place of its own from it.
bool beside(__int128 magnitude, int precision) {
  for (const int step : {-1, 0, 1}) {
    __int128 m = magnitude + step;
    int bits = 0;
    while (m > 0 && m % 2 == 0) m /= 2;
    for (; m > 0; m /= 2) ++bits;
    if (bits == precision + 1) return true;
  }
  return false;
}

TEST(BesideTies, EveryTypeAndPrecision) {
  const Contract contract = sum_contract();
  for (int t = 0; t < static_cast<int>(DType::boolean); ++t) {
    const auto type = static_cast<DType>(t);
    const bool floating = is_floating(type);
    for (const int wanted : {3, 4, 8, 11, 24}) {
      const int precision = std::min(wanted, precision_of(type) - 2);
      if (precision < 1) continue;
      const Instance instance = instantiate(
          contract,
          sum_case(type, 5, 200, {"beside_ties", {{"precision", static_cast<double>(wanted)}}}));
      const std::vector<uint8_t> bytes = logical(instance, *instance.find("x"));
      for (int64_t k = 0; k < 1000; ++k) {
        const uint64_t bits = element(bytes, k, byte_size(type));
        __int128 magnitude = 0;
        if (floating) {
          const double value = std::fabs(to_double(type, bits));
          ASSERT_TRUE(value >= 0.2 && value <= 8.5) << name(type) << " " << value;
          magnitude = static_cast<__int128>(value / ulp(type, value));
        } else {
          magnitude = to_integer(type, bits);
          if (magnitude < 0) magnitude = -magnitude;
        }
        ASSERT_TRUE(beside(magnitude, precision)) << name(type) << " " << wanted << " " << bits;
      }
    }
  }
}

/// A bool holds 0 or 1, whatever is asked of it: compiled code takes its byte for the number.
TEST(BesideTies, BooleansAreZeroOrOneInEveryClass) {
  const Contract contract = sum_contract();
  for (const ValueClassInfo& info : value_classes()) {
    if (info.for_index || !info.for_integer) continue;
    const Instance instance =
        instantiate(contract, sum_case(DType::boolean, 3, 200, {info.name, {}}));
    for (const uint8_t byte : logical(instance, *instance.find("x")))
      ASSERT_LE(byte, 1) << info.name;
  }
}

}  // namespace
}  // namespace assay
