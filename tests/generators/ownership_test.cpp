#include <gtest/gtest.h>

#include <set>

#include "generators/hash.hpp"
#include "generators/instance.hpp"
#include "generators/unowned.hpp"
#include "tests/cpu_time.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// A contract with an output y[a, b] of free shape and the given ownership.
Contract owning(const std::string& relation, const std::string& grid) {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { a = { min = 0, max = 5000000000 }, b = { min = 0, max = 5000000000 } }
launch = { grid = [)toml" +
                grid + R"toml(], block = ["64"] }
owns = { y = ")toml" +
                relation + R"toml(" }
args = [
  { name = "y", kind = "output", dtype = "u8", shape = ["a", "b"] },
  { name = "x", kind = "input", dtype = "u8", shape = ["a", "b"] },
]
[formula]
y = "x"
)toml");
}

Case sized(int64_t a, int64_t b, std::vector<int64_t> blocks) {
  Case c;
  c.kernel = "k";
  c.sizes = {{"a", a}, {"b", b}};
  c.blocks = std::move(blocks);
  return c;
}

std::set<int64_t> listed(const std::vector<Box>& boxes, int64_t columns) {
  std::set<int64_t> out;
  for (const Box& box : boxes) {
    for (int64_t i = box.ranges[0].first; i < box.ranges[0].second; ++i) {
      for (int64_t j = box.ranges[1].first; j < box.ranges[1].second; ++j) {
        EXPECT_TRUE(out.insert(i * columns + j).second) << "owned twice";
      }
    }
  }
  return out;
}

struct Owned {
  const char* relation;
  const char* grid;
  /// Truth for element (i, j) of [a, b] and block (x, y).
  bool (*truth)(int64_t i, int64_t j, int64_t a, int64_t b, int64_t x, int64_t y);
};

class Ownership_ : public testing::TestWithParam<Owned> {};

TEST_P(Ownership_, AgreesWithBruteForce) {
  const Contract contract = owning(GetParam().relation, GetParam().grid);
  Random random(7);
  for (int trial = 0; trial < 40; ++trial) {
    const int64_t a = random.between(1, 40), b = random.between(1, 40);
    const Instance all = instantiate(contract, sized(a, b, {}));
    const auto grid = all.launches[0].grid;
    const int64_t blocks = grid[0] * grid[1];
    std::vector<int64_t> chosen = {random.below(blocks), random.below(blocks), blocks - 1};
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    const Instance instance = instantiate(contract, sized(a, b, chosen));
    std::set<int64_t> expected;
    for (const int64_t block : chosen) {
      for (int64_t i = 0; i < a; ++i) {
        for (int64_t j = 0; j < b; ++j) {
          if (GetParam().truth(i, j, a, b, block % grid[0], block / grid[0])) {
            expected.insert(i * b + j);
          }
        }
      }
    }
    EXPECT_EQ(listed(owned_elements(instance, *instance.find("y")), b), expected)
        << GetParam().relation << " a=" << a << " b=" << b;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Ownership_,
    testing::Values(
        Owned{"a == block.x", "'a'",
              [](int64_t i, int64_t, int64_t, int64_t, int64_t x, int64_t) { return i == x; }},
        Owned{"a / 4 == block.x", "'ceil_div(a, 4)'",
              [](int64_t i, int64_t, int64_t, int64_t, int64_t x, int64_t) { return i / 4 == x; }},
        Owned{"a % 5 == block.x", "'5'",
              [](int64_t i, int64_t, int64_t, int64_t, int64_t x, int64_t) { return i % 5 == x; }},
        Owned{"b / 3 % 5 == block.x && a % 2 == block.y", "5, 2",
              [](int64_t i, int64_t j, int64_t, int64_t, int64_t x, int64_t y) {
                return j / 3 % 5 == x && i % 2 == y;
              }},
        Owned{"b / 8 == block.x && a / 3 == block.y", "'ceil_div(b, 8)', 'ceil_div(a, 3)'",
              [](int64_t i, int64_t j, int64_t, int64_t, int64_t x, int64_t y) {
                return j / 8 == x && i / 3 == y;
              }},
        Owned{"(a * size(b) + b) / 16 == block.x", "'ceil_div(a * b, 16)'",
              [](int64_t i, int64_t j, int64_t, int64_t b, int64_t x, int64_t) {
                return (i * b + j) / 16 == x;
              }},
        Owned{"(b * size(a) + a) / 16 == block.x", "'ceil_div(a * b, 16)'",
              [](int64_t i, int64_t j, int64_t a, int64_t, int64_t x, int64_t) {
                return (j * a + i) / 16 == x;
              }},
        Owned{"(a * size(b) + b) / 8 % 4 == block.x", "'4'",
              [](int64_t i, int64_t j, int64_t, int64_t b, int64_t x, int64_t) {
                return (i * b + j) / 8 % 4 == x;
              }},
        Owned{"a >= block.x * 6 && a < (block.x + 1) * 6", "'ceil_div(a, 6)'",
              [](int64_t i, int64_t, int64_t, int64_t, int64_t x, int64_t) {
                return i >= 6 * x && i < 6 * (x + 1);
              }},
        Owned{"block.x == 0 ? a < 4 || a < 0 : !((a >> 2) != block.x)", "'ceil_div(a, 4)'",
              [](int64_t i, int64_t, int64_t, int64_t, int64_t x, int64_t) { return i / 4 == x; }},
        Owned{"min(a, b) == block.x", "'min(a, b)'",
              [](int64_t i, int64_t j, int64_t, int64_t, int64_t x, int64_t) {
                return std::min(i, j) == x;
              }}));

TEST(Ownership_, HugeOutputsAreSolvedWithoutScanning) {
  const double start = test::cpu_seconds();
  const Contract rows = owning("a == block.x", "'a'");
  Instance instance = instantiate(rows, sized(3000000000, 7, {0, 2147483648, 2999999999}));
  std::vector<Box> boxes = owned_elements(instance, *instance.find("y"));
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[1].ranges[0], (std::pair<int64_t, int64_t>{2147483648, 2147483649}));
  EXPECT_EQ(boxes[1].ranges[1], (std::pair<int64_t, int64_t>{0, 7}));

  const Contract flat = owning("(a * size(b) + b) / 256 == block.x", "'ceil_div(a * b, 256)'");
  instance = instantiate(flat, sized(1000003, 4099, {8388608}));  // elements from 2^31 on
  boxes = owned_elements(instance, *instance.find("y"));
  int64_t elements = 0;
  for (const Box& box : boxes) elements += box.elements();
  EXPECT_EQ(elements, 256);
  EXPECT_LE(boxes.size(), 3u);
  // A millisecond; a scan of 2^31 elements takes seconds.
  EXPECT_LT(test::cpu_seconds() - start, 0.5);
}

/// Blocks of a grid-stride loop come round; those of a relation without solution are none.
TEST(Ownership_, OwnersOfOneElement) {
  using Blocks = std::vector<int64_t>;
  const auto owners = [](const char* relation, const char* grid, std::vector<int64_t> element,
                         size_t most) {
    const Contract contract = owning(relation, grid);
    const Instance instance = instantiate(contract, sized(3000000, 2000, {}));
    return owners_of(instance, *instance.find("y"), element, most);
  };
  EXPECT_EQ(
      owners("a % 30000 == block.x && b / 256 % 4 == block.y", "'30000', '4'", {2999999, 1999}, 9),
      Blocks{29999 + 30000 * 3});
  EXPECT_EQ(
      owners("(a * size(b) + b) / 256 == block.x", "'ceil_div(a * b, 256)'", {1073742, 77}, 9),
      Blocks{(int64_t{1073742} * 2000 + 77) / 256});
  EXPECT_EQ(owners("a / 2000000 == block.x / 3", "'6'", {2500000, 0}, 9), (Blocks{3, 4, 5}));
  EXPECT_EQ(owners("a / 2000000 == block.x / 3", "'6'", {2500000, 0}, 2), (Blocks{3, 4}));
  EXPECT_EQ(owners("a == block.x", "'1000'", {1000, 0}, 9), Blocks{});
}

TEST(Ownership_, WithoutSubsetEverythingIsOwned) {
  const Contract contract = owning("a == block.x", "'a'");
  const Instance instance = instantiate(contract, sized(3, 4, {}));
  const std::vector<Box> boxes = owned_elements(instance, *instance.find("y"));
  ASSERT_EQ(boxes.size(), 1u);
  EXPECT_EQ(boxes[0].elements(), 12);
}

TEST(Ownership_, ASubsetNeedsTheContractsWord) {
  Contract contract = owning("a == block.x", "'a'");
  contract.owns.clear();
  EXPECT_THROW(instantiate(contract, sized(3, 4, {1})), InputError);
}

TEST(Ownership_, UnsolvableRelationsAreRefused) {
  const Contract contract = owning("a * a % 1000003 == block.x", "'a'");
  const Instance instance = instantiate(contract, sized(4000000000, 1, {17}));
  EXPECT_THROW(owned_elements(instance, *instance.find("y")), InputError);
}

}  // namespace
}  // namespace assay
