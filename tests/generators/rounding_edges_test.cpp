// The value classes rounding_edges (where a type that is rounded to ends), lone (one special value
// a row) and peak_rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "generators/generate.hpp"
#include "tests/generators/sum_values.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

bool has(const std::vector<double>& values, double wanted) {
  return std::find(values.begin(), values.end(), wanted) != values.end();
}

std::vector<double> edges(DType from, double precision, double largest, double least) {
  return sum_values(
      sum_contract(), from, 10, 40,
      {"rounding_edges", {{"precision", precision}, {"largest", largest}, {"least", least}}});
}

/// e4m3 ends at 448 in steps of 32; its least is 2^-9, its least normal 2^-6.
TEST(RoundingEdges, SurroundTheEndsOfTheFormat) {
  const auto x = edges(DType::f32, 4, 448, 0x1p-9);
  for (const double edge : {448.0, 464.0, 480.0, 496.0, 416.0, 432.0, 0x1p-10, 0x1p-9, 0x1.8p-9,
                            0x1.4p-8, 0x1p-6 - 0x1p-10, 0x1p-6}) {
    const auto value = static_cast<float>(edge);
    for (const float near : {value, std::nextafter(value, 1e9F), std::nextafter(value, 0.0F)}) {
      EXPECT_TRUE(has(x, near)) << near;
      EXPECT_TRUE(has(x, -near)) << -near;
    }
  }
}

TEST(RoundingEdges, OfIntegersAreTheirEndsAndHalves) {
  const auto x = edges(DType::f32, 7, 127, 1);
  for (const double edge : {127.0, 127.5, 128.0, 128.5, 126.5, 0.5, 1.5}) {
    EXPECT_TRUE(has(x, edge)) << edge;
    EXPECT_TRUE(has(x, -edge)) << -edge;
    EXPECT_TRUE(has(x, std::nextafter(static_cast<float>(edge), 1e9F))) << edge;
  }
}

TEST(RoundingEdges, IntegersThatAreRoundedLieBesideEnds) {
  const auto x = edges(DType::i32, 11, 65504, 0x1p-24);
  for (const double edge : {65504.0, 65520.0, 65519.0, 65521.0, 65536.0, -65520.0, 0.0})
    EXPECT_TRUE(has(x, edge)) << edge;
}

TEST(RoundingEdges, EveryTypeHasSome) {
  for (int t = 0; t <= static_cast<int>(DType::boolean); ++t) {
    const auto x = edges(static_cast<DType>(t), 8, 3e38, 1e-40);
    EXPECT_EQ(x.size(), 400u);
  }
}

/// Every pair of a type and one that it is cast to comes early, with that type's ends.
TEST(RoundingEdges, EachPairOfTypesIsCovered) {
  const Contract contract = parsed(R"toml(
name = "narrow"
source = { cuda = "kernel.cu", entry = "narrow<{S}, {D}>" }
types = { S = ["f32", "i32", "i64"], D = ["f16", "e4m3", "i8"] }
sizes = { rows = { min = 0, max = 1000 }, cols = { min = 1, max = 10000 } }
launch = { grid = ["rows"], block = [128] }
args = [
  { name = "y", kind = "output", dtype = "D", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "S", shape = ["rows", "cols"] },
]
[formula]
y = "cast(x, D)"
)toml");
  std::set<std::pair<DType, DType>> seen;
  for (const Case& c : covering_cases(contract)) {
    const ValueRecipe& recipe = c.values.at("x");
    if (recipe.name != "rounding_edges" || c.sizes.at("rows") * c.sizes.at("cols") < 100) continue;
    const DType to = c.types.at("D");
    for (const auto& [name, value] : recipe.parameters) {
      if (name == "largest" && value == (is_floating(to) ? format_of(to).largest : 127))
        seen.emplace(c.types.at("S"), to);
    }
  }
  EXPECT_EQ(seen.size(), 9u);
}

TEST(Lone, OneValueARowWhereSomethingEnds) {
  const int64_t rows = 400, cols = 256;
  const auto x = sum_values(sum_contract(), DType::f32, rows, cols, {"lone", {}});
  int last = 0, lane = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto first = x.begin() + row * cols;
    const auto at = std::find_if(first, first + cols, [](double v) { return v != v; });
    ASSERT_NE(at, first + cols) << row;
    EXPECT_EQ(std::count_if(first, first + cols, [](double v) { return v != v; }), 1);
    const int64_t place = at - first;
    last += place == cols - 1 ? 1 : 0;
    lane += place / 4 % 32 == 31 ? 1 : 0;
  }
  EXPECT_GT(last, rows / 5);
  EXPECT_GT(lane, rows / 3);
}

TEST(Lone, AnyValueOfAnyType) {
  for (const double value : {HUGE_VAL, -65504.0}) {
    const auto x = sum_values(sum_contract(), DType::f16, 5, 7, {"lone", {{"value", value}}});
    EXPECT_EQ(std::count(x.begin(), x.end(), value), 5);
  }
  const auto x = sum_values(sum_contract(), DType::i16, 5, 7, {"lone", {{"value", 2e19}}});
  EXPECT_EQ(std::count(x.begin(), x.end(), 32767.0), 5);
}

TEST(PeakRows, OneRowIsZero) {
  for (const double power : {0.0, 0.5, 1.0}) {
    const double others = -32 / std::pow(64, power);
    for (const double from_end : {-1.0, 0.0}) {
      ValueRecipe recipe{"peak_rows", {{"low", -32}, {"power", power}}};
      if (from_end >= 0) recipe.parameters.emplace_back("from_end", from_end);
      const auto x = sum_values(sum_contract(), DType::f32, 10, 64, recipe);
      EXPECT_EQ(std::count(x.begin(), x.end(), 0.0), 64);
      EXPECT_EQ(std::count(x.begin(), x.end(), others), 9 * 64);
      const auto zero = std::find(x.begin(), x.end(), 0.0) - x.begin();
      EXPECT_EQ(zero % 64, 0);
      if (from_end == 0) EXPECT_EQ(zero, 9 * 64);
    }
  }
}

}  // namespace
}  // namespace assay
