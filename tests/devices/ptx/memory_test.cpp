#include "devices/ptx/memory.hpp"

#include <gtest/gtest.h>

namespace assay::ptx {
namespace {

RegionSpec counting(uint64_t base, int64_t bytes) {
  RegionSpec spec;
  spec.name = "x";
  spec.base = base;
  spec.bytes = bytes;
  spec.fill = [](int64_t first, int64_t count, uint8_t* out) {
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>((first + i) % 251);
  };
  return spec;
}

TEST(Memory, FillsOnFirstTouchWithinBounds) {
  Memory memory;
  memory.add(counting((uint64_t{1} << 44) + 6, 5000));
  Page* page = memory.page((uint64_t{1} << 44) + 6);
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->low, 6);
  EXPECT_EQ(page->high, kPageBytes);
  EXPECT_EQ(page->data[6], 0);
  EXPECT_EQ(page->data[7], 1);
  Page* last = memory.page((uint64_t{1} << 44) + 4096);
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->high, 6 + 5000 - 4096);
  EXPECT_EQ(memory.page((uint64_t{1} << 44) + 8192), nullptr);
  EXPECT_EQ(memory.page((uint64_t{1} << 44) - 1), nullptr);
  EXPECT_EQ(memory.touched_pages().size(), 2u);
}

TEST(Memory, HugeRegionsAreSparse) {
  Memory memory;
  const int region = memory.add(counting(uint64_t{1} << 44, int64_t{1} << 40));
  Page* page = memory.page((uint64_t{1} << 44) + (uint64_t{1} << 39));
  ASSERT_NE(page, nullptr);
  EXPECT_EQ(page->data[3], static_cast<uint8_t>(((int64_t{1} << 39) + 3) % 251));
  EXPECT_EQ(memory.touched_pages().size(), 1u);
  EXPECT_EQ(memory.touched(region, 5), nullptr);
}

TEST(Memory, ReadsWithoutTouching) {
  Memory memory;
  const int region = memory.add(counting(1 << 20, 10000));
  Page* page = memory.page((1 << 20) + 4096);
  page->data[0] = 99;
  page->state[0] = kWritten;
  std::vector<uint8_t> bytes(10000), written(10000);
  memory.read(region, 0, 10000, bytes.data(), written.data());
  EXPECT_EQ(memory.touched_pages().size(), 1u);
  for (int i = 0; i < 10000; ++i) {
    EXPECT_EQ(bytes[i], i == 4096 ? 99 : i % 251) << i;
    EXPECT_EQ(written[i], i == 4096) << i;
  }
}

TEST(Memory, ResetForgetsAndRecycles) {
  Memory memory;
  memory.add(counting(1 << 20, 4096));
  Page* first = memory.page(1 << 20);
  first->data[0] = 77;
  memory.reset();
  EXPECT_EQ(memory.page(1 << 20), nullptr);
  memory.add(counting(1 << 20, 4096));
  Page* again = memory.page(1 << 20);
  EXPECT_EQ(again, first);
  EXPECT_EQ(again->data[0], 0);
  EXPECT_FALSE(again->written);
}

TEST(Memory, NearestRegion) {
  Memory memory;
  const int a = memory.add(counting(uint64_t{1} << 44, 100));
  const int b = memory.add(counting(uint64_t{2} << 44, 100));
  EXPECT_EQ(memory.nearest((uint64_t{1} << 44) + 1000), a);
  EXPECT_EQ(memory.nearest((uint64_t{2} << 44) - 8), b);
}

}  // namespace
}  // namespace assay::ptx
