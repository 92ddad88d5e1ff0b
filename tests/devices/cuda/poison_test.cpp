// Which bytes were written, told by runs over different poison, without a GPU: kernels are
// functions that store into the bytes of a run.
#include "devices/cuda/poison.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace assay::cuda {
namespace {

struct Told {
  std::vector<uint8_t> written;
  int runs = 0;
};

/// Runs `kernel(run, bytes)` as the device does.
Told told(size_t bytes, const std::function<void(int, std::vector<uint8_t>&)>& kernel) {
  std::mt19937 random(7);
  std::vector<uint8_t> poison(bytes);
  for (uint8_t& byte : poison) byte = static_cast<uint8_t>(random());
  Told result{std::vector<uint8_t>(bytes, 0), 0};
  PoisonRuns runs;
  for (bool again = true; again; ++result.runs) {
    std::vector<uint8_t> held = poison;
    for (uint8_t& byte : held) byte ^= runs.mask();
    kernel(result.runs, held);
    mark_written(poison, runs.mask(), held.data(), result.written.data());
    again = runs.again(std::count(result.written.begin(), result.written.end(), uint8_t{0}));
  }
  return result;
}

int64_t unwritten(const Told& result) {
  return std::count(result.written.begin(), result.written.end(), uint8_t{0});
}

TEST(Poison, TwoRunsSettleWhatDoesNotChange) {
  const Told result = told(4096, [](int, std::vector<uint8_t>& held) {
    for (size_t i = 0; i < held.size(); ++i) held[i] = static_cast<uint8_t>(i);
  });
  EXPECT_EQ(result.runs, 2);
  EXPECT_EQ(unwritten(result), 0);
}

TEST(Poison, AByteLeftAloneIsUnwritten) {
  const Told result = told(4096, [](int, std::vector<uint8_t>& held) {
    for (size_t i = 0; i < held.size(); ++i) {
      if (i % 1000 != 17) held[i] = 3;
    }
  });
  EXPECT_EQ(unwritten(result), 5);
  for (size_t i = 17; i < 4096; i += 1000) EXPECT_EQ(result.written[i], 0);
  EXPECT_EQ(result.runs, 5) << "three more that settle nothing";
}

// moe_align on an H200: its atomic counter gives positions in another order each run, and of some
// 10^6 bytes nine equalled their poison and then its complement.
TEST(Poison, AnOrderThatChangesIsNoUnwrittenByte) {
  std::mt19937 random(11);
  int chance = 0;
  const Told result = told(size_t{1} << 20, [&](int run, std::vector<uint8_t>& held) {
    for (uint8_t& byte : held) {
      const auto value = static_cast<uint8_t>(random());
      chance += run == 0 && value == byte;
      byte = value;
    }
  });
  EXPECT_GT(chance, 3000) << "bytes that equal their poison in the first run";
  EXPECT_GT(result.runs, 2);
  EXPECT_EQ(unwritten(result), 0);
}

TEST(Poison, AByteOfTwoValuesIsWritten) {
  std::mt19937 random(5);
  const Told result = told(size_t{1} << 16, [&](int, std::vector<uint8_t>& held) {
    for (uint8_t& byte : held) byte = random() % 2 == 0 ? 0x00 : 0xff;
  });
  EXPECT_EQ(unwritten(result), 0);
}

// Both at once: bytes in another order each time, beside some that nothing writes.
TEST(Poison, WhatNothingWritesStaysAmongWhatChanges) {
  std::mt19937 random(3);
  const Told result = told(size_t{1} << 20, [&](int, std::vector<uint8_t>& held) {
    for (size_t i = 0; i < held.size(); ++i) {
      const auto value = static_cast<uint8_t>(random());
      if (i % 65536 != 0) held[i] = value;
    }
  });
  EXPECT_EQ(unwritten(result), 16);
  EXPECT_LE(result.runs, static_cast<int>(kPoisonMasks.size()));
}

}  // namespace
}  // namespace assay::cuda
