#include "devices/ptx/box_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cpu_time.hpp"

namespace assay::ptx {
namespace {

Box box(int64_t a, int64_t b, int64_t c, int64_t d) { return {{{a, b}, {c, d}}}; }

TEST(BoxIndex, AgreesWithALookThroughAllBoxes) {
  const std::vector<Box> boxes{box(0, 9, 3, 4), box(2, 3, 0, 2), box(2, 6, 7, 9), box(5, 5, 0, 20),
                               box(8, 12, 0, 2)};
  BoxIndex index(boxes);
  for (int64_t i = -1; i < 14; ++i) {
    for (int64_t j = -1; j < 14; ++j) {
      const bool inside = std::any_of(boxes.begin(), boxes.end(), [&](const Box& b) {
        return i >= b.ranges[0].first && i < b.ranges[0].second && j >= b.ranges[1].first &&
               j < b.ranges[1].second;
      });
      EXPECT_EQ(index.contains({i, j}), inside) << i << ", " << j;
    }
  }
  EXPECT_FALSE(BoxIndex({}).contains({1, 1}));
}

/// What a block of a grid-stride loop over 2^31 elements owns: 8,192 pieces of 256.
TEST(BoxIndex, ManyBoxesCostNoMoreThanFew) {
  std::vector<Box> boxes;
  for (int64_t i = 0; i < 8192; ++i) boxes.push_back({{{i * 262144, i * 262144 + 256}}});
  BoxIndex index(boxes);
  const double start = assay::test::cpu_seconds();
  int64_t found = 0;
  for (int64_t i = 0; i < 8192; ++i) {
    for (int64_t j = 0; j < 257; ++j) found += index.contains({i * 262144 + j});
  }
  EXPECT_EQ(found, 8192 * 256);
  EXPECT_LT(assay::test::cpu_seconds() - start, 2);  // 0.1 s; box by box it is 9 s
}

}  // namespace
}  // namespace assay::ptx
