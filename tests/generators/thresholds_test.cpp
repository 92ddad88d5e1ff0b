#include "generators/thresholds.hpp"

#include <gtest/gtest.h>

#include "generators/unowned.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// A contract with y[rows, cols] and the given grid, relation of `owns` and further lines.
Contract launching(const std::string& grid, const std::string& relation = "rows == block.x",
                   const std::string& more = "") {
  return parsed("name = \"k\"\nsource = { cuda = \"kernel.cu\", entry = \"k\" }\n"
                "sizes = { rows = { min = 0, max = 5000000 }, cols = { min = 1, max = 4096 } }\n" +
                more + "launch = { grid = [" + grid + "], block = [64] }\nowns = { y = \"" +
                relation + "\" }\n" + R"toml(
args = [
  { name = "y", kind = "output", dtype = "u8", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "u8", shape = ["rows", "cols"] },
]
[formula]
y = "x"
)toml");
}

Case sized(int64_t rows, int64_t cols) {
  Case c;
  c.kernel = "k";
  c.sizes = {{"rows", rows}, {"cols", cols}};
  return c;
}

std::vector<int64_t> of_rows(const std::string& grid, const std::string& more = "") {
  const Contract contract = launching(grid, "rows == block.x", more);
  return thresholds(contract, sized(1, 7), contract.sizes[0]);
}

using Values = std::vector<int64_t>;

TEST(Thresholds, AreTheFirstValuesPastWhereASideChanges) {
  EXPECT_EQ(of_rows("1"), Values{});
  EXPECT_EQ(of_rows("'rows'"), Values{65536}) << "more blocks than a grid's y and z may have";
  EXPECT_EQ(of_rows("'min(rows, 512)'"), Values{513});
  EXPECT_EQ(of_rows("'rows > 512 ? 4 : rows'"), Values{513});
  EXPECT_EQ(of_rows("'ceil_div(rows, 4) >= 129 ? 4 : 1'"), Values{517});
  EXPECT_EQ(of_rows("'rows * cols >= 700 ? 4 : 1'"), Values{101}) << "the case's cols is 7";
  EXPECT_EQ(of_rows("'blocks'", "derive = { tiles = \"ceil_div(rows, 4)\", blocks = "
                                "\"min(tiles, 65535)\" }\n"),
            Values{262141});
  EXPECT_EQ(of_rows("'cols > 8 ? 1 : 2'"), Values{}) << "of another size";
}

TEST(Thresholds, ConditionsOfLaunchesCount) {
  const Contract contract = launching("1", "rows == block.x", "");
  Contract several = contract;
  several.launches.push_back(several.launches[0]);
  several.launches[0].when = parse_expression("rows <= 1024", {});
  several.launches[1].when = parse_expression("rows > 1024", {});
  EXPECT_EQ(thresholds(several, sized(1, 1), several.sizes[0]), Values{1025});
}

/// The least element without an owner, as text; "" where there is none.
std::string unowned(const std::string& grid, const std::string& relation, int64_t rows,
                    int64_t cols) {
  const Contract contract = launching(grid, relation);
  const Instance instance = instantiate(contract, sized(rows, cols));
  const auto at = unowned_element(instance, *instance.find("y"));
  return at ? std::to_string((*at)[0]) + "," + std::to_string((*at)[1]) : "";
}

TEST(Unowned, AClampedGridLeavesTheRest) {
  const char* clamped = "'min(rows, 65535)'";
  EXPECT_EQ(unowned(clamped, "rows == block.x", 65535, 3), "");
  EXPECT_EQ(unowned(clamped, "rows == block.x", 65536, 3), "65535,0");
  EXPECT_EQ(unowned(clamped, "rows == block.x", 3000000, 3), "65535,0");
  // Several rows a block, several blocks a row, blocks that write from the end.
  EXPECT_EQ(unowned("'min(ceil_div(rows, 4), 100)'", "rows / 4 == block.x", 400, 1), "");
  EXPECT_EQ(unowned("'min(ceil_div(rows, 4), 100)'", "rows / 4 == block.x", 401, 1), "400,0");
  EXPECT_EQ(unowned("'rows', 'min(ceil_div(cols, 64), 8)'",
                    "rows == block.x && cols / 64 == block.y", 5, 600),
            "0,512");
  EXPECT_EQ(unowned("'min(ceil_div(rows * cols, 64), 4)'",
                    "(rows * size(cols) + cols) / 64 == block.x", 27, 10),
            "25,6");
  EXPECT_EQ(unowned(clamped, "size(rows) - 1 - rows == block.x", 65537, 3), "0,0");
  const char* sixes = "block.x * 6 <= rows && rows < (block.x + 1) * 6";
  EXPECT_EQ(unowned("'ceil_div(rows, 6)'", sixes, 13, 1), "");
  EXPECT_EQ(unowned("'rows / 6'", sixes, 13, 1), "12,0");
}

TEST(Unowned, AGridStrideLoopReachesAll) {
  for (const int64_t rows : {65535, 65536, 65537, 131071, 5000000}) {
    EXPECT_EQ(unowned("'min(rows, 65535)'", "rows % min(size(rows), 65535) == block.x", rows, 2),
              "");
    EXPECT_EQ(unowned("'min(ceil_div(rows, 4), 1000)'",
                      "rows / 4 % min(ceil_div(size(rows), 4), 1000) == block.x", rows, 2),
              "");
  }
  EXPECT_EQ(unowned("'min(rows, 60000)'", "rows % 65535 == block.x", 60001, 2), "60000,0")
      << "a loop that steps further than the grid is long";
}

TEST(Unowned, WhatCannotBeToldHasAnOwner) {
  EXPECT_EQ(unowned("'rows'", "(block.x * block.x) % 4000037 == rows", 4000000, 1), "");
  EXPECT_EQ(unowned("'rows'", "rows / (block.x - block.x) == 1", 40, 1), "");
  EXPECT_EQ(unowned("'min(rows, 3)'", "rows == block.x", 0, 1), "") << "an empty output";
}

}  // namespace
}  // namespace assay
