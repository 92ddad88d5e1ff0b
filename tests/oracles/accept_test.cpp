// The rounding cell of every number: with an enclosure of no width, an output is accepted exactly
// when it is the correctly rounded one.
#include "oracles/accept.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace assay {
namespace {

Decision decided(DType type, uint64_t bits, double exact, double lo = 0, double hi = 0) {
  const Cell cell = cell_of(type, bits);
  return decide(type, cell, margins_of(cell, exact, 0, lo, hi), lo, hi);
}

TEST(Accept, OnlyTheCorrectlyRoundedNumberOfAnExactValue) {
  std::mt19937_64 rng(2);
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    const uint64_t infinity = round_to_bits(type, INFINITY);
    for (int k = 0; k < 20000; ++k) {
      // A number, a tie above it, or something between.
      const uint64_t bits = rng() % (infinity - 1);
      const double low = to_double(type, bits);
      const double high = to_double(type, bits + 1);
      const double part[] = {0, 0.5, 0.25, 0.75, 0x1p-20, 1 - 0x1p-20};
      const double exact = std::isinf(high) ? low : low + (high - low) * part[rng() % 6];
      const double sign = rng() % 2 == 0 ? 1 : -1;
      const uint64_t right = round_to_bits(type, sign * exact);
      for (const uint64_t near : {bits, bits + 1}) {
        const uint64_t got = round_to_bits(type, sign * to_double(type, near));
        EXPECT_EQ(decided(type, got, sign * exact),
                  got == right ? Decision::accepted : Decision::rejected)
            << name(type) << " " << exact << " " << got;
      }
    }
  }
}

TEST(Accept, OverflowBeginsHalfAnUlpAboveTheLargest) {
  const uint64_t largest = round_to_bits(DType::f16, 65504);
  const uint64_t infinity = round_to_bits(DType::f16, INFINITY);
  EXPECT_EQ(decided(DType::f16, largest, 65519), Decision::accepted);
  EXPECT_EQ(decided(DType::f16, infinity, 65519), Decision::rejected);
  EXPECT_EQ(decided(DType::f16, largest, 65521), Decision::rejected);
  EXPECT_EQ(decided(DType::f16, infinity, 65521), Decision::accepted);
  EXPECT_EQ(decided(DType::f16, infinity, 65000, 0, 600), Decision::accepted);
}

// A double near its own end, narrowed: value and reach together leave double, and it was undecided.
TEST(Accept, OverflowOfWhatIsNearDoublesOwnEnd) {
  const double most = std::numeric_limits<double>::max();
  for (const double sign : {1.0, -1.0}) {
    for (const double reach : {0.0, 0x1p971, 0x1p974, 0x1p1000}) {
      const uint64_t infinity = round_to_bits(DType::f32, sign * HUGE_VAL);
      const uint64_t other = round_to_bits(DType::f32, -sign * HUGE_VAL);
      const uint64_t largest = round_to_bits(DType::f32, sign * 0x1.fffffep127);
      EXPECT_EQ(decided(DType::f32, infinity, sign * most, reach, reach), Decision::accepted);
      EXPECT_EQ(decided(DType::f32, other, sign * most, reach, reach), Decision::rejected);
      EXPECT_EQ(decided(DType::f32, largest, sign * most, reach, reach), Decision::rejected);
    }
  }
  const uint64_t infinity = round_to_bits(DType::f64, HUGE_VAL);
  EXPECT_EQ(decided(DType::f64, infinity, most, 0, 0), Decision::rejected);
  EXPECT_EQ(decided(DType::f64, infinity, most, 0, 0x1p971), Decision::accepted);
}

// -1.8e308 and an allowance beside it is no infinity of the other sign, in whatever type.
TEST(Accept, AnInfinityIsFarFromDoublesOtherEnd) {
  const double most = std::numeric_limits<double>::max();
  for (const DType type : {DType::f16, DType::f32, DType::f64})
    for (const double sign : {1.0, -1.0})
      EXPECT_EQ(decided(type, round_to_bits(type, sign * HUGE_VAL), -sign * most, 1.5e294, 1.5e294),
                Decision::rejected)
          << sign;
}

TEST(Accept, NanAndInfinityAreTheirOwn) {
  const uint64_t nan = round_to_bits(DType::f32, NAN);
  const uint64_t infinity = round_to_bits(DType::f32, INFINITY);
  EXPECT_EQ(decided(DType::f32, nan, NAN), Decision::accepted);
  EXPECT_EQ(decided(DType::f32, nan, 1), Decision::rejected);
  EXPECT_EQ(decided(DType::f32, 0, NAN), Decision::rejected);
  EXPECT_EQ(decided(DType::f32, infinity, INFINITY), Decision::accepted);
  EXPECT_EQ(decided(DType::f32, infinity, -INFINITY), Decision::rejected);
  EXPECT_EQ(decided(DType::f32, nan, 1, NAN, NAN), Decision::accepted);
}

TEST(Accept, ZerosAreEqual) {
  const uint64_t minus_zero = round_to_bits(DType::f32, -0.0);
  EXPECT_EQ(decided(DType::f32, minus_zero, 0.0), Decision::accepted);
  EXPECT_EQ(decided(DType::f32, 0, 0x1p-150), Decision::accepted);  // a tie: to even
  EXPECT_EQ(decided(DType::f32, 1, 0x1p-150), Decision::rejected);
}

Excess excess(DType type, double got, double exact, double lo, double hi) {
  const Cell cell = cell_of(type, round_to_bits(type, got));
  return excess_of(type, cell, margins_of(cell, exact, 0, lo, hi), lo, hi);
}

TEST(Accept, ExcessIsAMultipleOfWhatIsAllowedOnTheSide) {
  const double u = 0x1p-10;  // an ulp of f16 at 1
  Excess x = excess(DType::f16, 1 + 4 * u, 1, 0, 1.5 * u);
  EXPECT_DOUBLE_EQ(x.distance, 4 * u);
  EXPECT_DOUBLE_EQ(x.allowance, 2 * u);
  EXPECT_DOUBLE_EQ(x.times, 2);  // 4 over 1.5 + 0.5
  EXPECT_DOUBLE_EQ(x.times_internal, 1 + 2 / 1.5);
  x = excess(DType::f16, 1 - 4 * u, 1, 0, 1.5 * u);  // nothing is allowed below
  EXPECT_EQ(x.internal, 0);
  EXPECT_TRUE(std::isinf(x.times_internal));
  EXPECT_GT(x.times, 7);
  EXPECT_LT(excess(DType::f16, 1 + u, 1, 0, 1.5 * u).times, 1);
}

TEST(Accept, ASmallExcessIsStillAboveOne) {
  // A tie missed by a 2^-30th of an ulp.
  const double exact = 1 + 0x1p-11 - 0x1p-40;
  EXPECT_EQ(decided(DType::f16, round_to_bits(DType::f16, 1 + 0x1p-10), exact), Decision::rejected);
  EXPECT_GT(excess(DType::f16, 1 + 0x1p-10, exact, 0, 0).times, 1);
  EXPECT_LT(excess(DType::f16, 1 + 0x1p-10, exact, 0, 0).times, 1.001);
}

TEST(Accept, WhatCannotBeComparedExceedsEverything) {
  EXPECT_TRUE(std::isinf(excess(DType::f16, -0.0, NAN, 0, 0).times));
  EXPECT_TRUE(std::isinf(excess(DType::f16, NAN, 1, 0, 1).times));
  EXPECT_TRUE(std::isinf(excess(DType::f16, INFINITY, 1, 0, 1).times));
}

}  // namespace
}  // namespace assay
