// tests/data/hard_cases/warp.cu: divergent shuffles, spin locks, early returns, last-block
// reductions.
#include <bit>
#include <cmath>
#include <numeric>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

class WarpKernels : public ::testing::Test {
 protected:
  Runner runner{read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/hard_cases/warp.ptx")};

  static std::vector<float> ramp(int n, float first = 0) {
    std::vector<float> v(static_cast<size_t>(n));
    std::iota(v.begin(), v.end(), first);
    return v;
  }
  void expect_clean() { EXPECT_TRUE(runner.diagnostics().empty()) << runner.all_messages(); }
};

TEST_F(WarpKernels, SpinLockInALoopFinishes) {
  const uint64_t lock = runner.array<int>("lock", {0});
  const uint64_t y = runner.array<float>("y", {0});
  ASSERT_EQ(runner.run({lock, y}, threads(64, 3), "spin"), RunStatus::completed)
      << runner.all_messages();
  EXPECT_EQ(runner.read<float>("y")[0], 3 * 63 * 64 / 2.0f);
  EXPECT_EQ(runner.read<int>("lock")[0], 0);
}

TEST_F(WarpKernels, BareSpinLockFinishesAcrossLanesAndBlocks) {
  const uint64_t lock = runner.array<int>("lock", {0});
  const uint64_t y = runner.array<float>("y", {0});
  ASSERT_EQ(runner.run({lock, y}, threads(32, 2), "spin2"), RunStatus::completed)
      << runner.all_messages();
  EXPECT_EQ(runner.read<float>("y")[0], 2 * 31 * 32 / 2.0f);
}

TEST_F(WarpKernels, LockThatNobodyReleasesIsAHang) {
  const uint64_t lock = runner.array<int>("lock", {1});
  const uint64_t y = runner.array<float>("y", {0});
  runner.options.instruction_budget = 200000;
  EXPECT_EQ(runner.run({lock, y}, threads(32), "spin2"), RunStatus::hang);
  ASSERT_EQ(runner.count(DiagnosticKind::hang), 1) << runner.all_messages();
  // The atomic stands in a header of the toolkit: the line told is the user's.
  EXPECT_EQ(runner.diagnostics()[0].file, "warp.cu");
  EXPECT_EQ(runner.diagnostics()[0].line, 8);
}

TEST_F(WarpKernels, LastBlockReduces) {
  for (const char* entry : {"lastblock", "lastblock_nv"}) {
    const uint64_t y = runner.array<float>("y", {-1}, true, true, true);
    const uint64_t part = runner.array<float>("part", std::vector<float>(8, -1), true, true);
    const uint64_t x = runner.array<float>("x", ramp(256), false);
    LaunchConfig config = threads(32, 8);
    config.block_seed = 7;
    ASSERT_EQ(runner.run({y, part, x}, config, entry), RunStatus::completed)
        << runner.all_messages();
    const bool whole = std::string(entry) == "lastblock";
    EXPECT_EQ(runner.read<float>("y")[0], whole ? 255 * 256 / 2.0f : 28.0f);
    expect_clean();
  }
}

TEST_F(WarpKernels, ShuffleUnderTheActiveMask) {
  const uint64_t y = runner.array<float>("y", std::vector<float>(20, -1), true, true, true);
  const uint64_t x = runner.array<float>("x", ramp(20), false);
  ASSERT_EQ(runner.run({y, x, 20}, threads(32), "partial"), RunStatus::completed);
  const std::vector<float> got = runner.read<float>("y");
  for (int t = 0; t < 19; ++t) EXPECT_EQ(got[t], 2 * t + 1.0f) << t;
  // Lane 19 reads lane 20, which does not take part: the value is undefined and is stored.
  EXPECT_EQ(runner.count(DiagnosticKind::barrier), 1) << runner.all_messages();
  runner.options.barriers = false;
  ASSERT_EQ(runner.run({y, x, 20}, threads(32), "partial"), RunStatus::completed);
  EXPECT_EQ(runner.count(DiagnosticKind::uninitialised), 1) << runner.all_messages();
}

TEST_F(WarpKernels, ExitedThreadsCountAsArrived) {
  const int n = 40;
  const uint64_t y = runner.array<float>("y", std::vector<float>(n, -1), true, true, true);
  const uint64_t x = runner.array<float>("x", ramp(n), false);
  ASSERT_EQ(runner.run({y, x, n}, threads(64), "earlyret"), RunStatus::completed)
      << runner.all_messages();
  for (int t = 0; t < n; ++t) EXPECT_EQ(runner.read<float>("y")[t], n - 1.0f - t);
  expect_clean();
}

TEST_F(WarpKernels, ShufflesInBothArmsMeet) {
  const uint64_t y = runner.array<float>("y", std::vector<float>(32, -1), true, true, true);
  const uint64_t x = runner.array<float>("x", ramp(32), false);
  ASSERT_EQ(runner.run({y, x}, threads(32), "divshfl"), RunStatus::completed)
      << runner.all_messages();
  const std::vector<float> got = runner.read<float>("y");
  for (int t = 0; t < 32; ++t) {
    const auto v = [](int lane) { return lane < 16 ? lane * 2.0f : lane * 3.0f + 1; };
    EXPECT_EQ(got[t], v(t) + v(t ^ 16)) << t;
  }
  expect_clean();
}

TEST_F(WarpKernels, WarpSynchronousSharedMemory) {
  for (const char* entry : {"warpsync_smem", "warpnosync_smem"}) {
    const uint64_t y = runner.array<float>("y", std::vector<float>(32, -1), true, true, true);
    const uint64_t x = runner.array<float>("x", ramp(32), false);
    ASSERT_EQ(runner.run({y, x}, threads(32), entry), RunStatus::completed);
    const bool shuffles = std::string(entry) == "warpnosync_smem";
    for (int t = 0; t < 32; ++t) {
      EXPECT_EQ(runner.read<float>("y")[t], 31.0f - t + (shuffles ? t ^ 1 : 0)) << entry << t;
    }
    if (!shuffles) {
      expect_clean();
      continue;
    }
    // A shuffle orders nothing: right here, wrong where lanes do not run in step.
    ASSERT_EQ(runner.diagnostics().size(), 1u) << runner.all_messages();
    EXPECT_EQ(runner.diagnostics()[0].kind, DiagnosticKind::race);
    EXPECT_EQ(runner.diagnostics()[0].line, 15);
  }
}

TEST_F(WarpKernels, SameValueFromManyThreads) {
  const uint64_t flag = runner.array<int>("flag", {0});
  const uint64_t x = runner.array<float>("x", ramp(32, -5), false);
  ASSERT_EQ(runner.run({flag, x}, threads(32), "samevalue"), RunStatus::completed);
  EXPECT_EQ(runner.read<int>("flag")[0], 1);
}

TEST_F(WarpKernels, LocalArrayPrintfAndAssert) {
  const uint64_t y = runner.array<float>("y", std::vector<float>(32, -1), true, true, true);
  const uint64_t x = runner.array<float>("x", ramp(512), false);
  ASSERT_EQ(runner.run({y, x, 7}, threads(32), "local"), RunStatus::completed)
      << runner.all_messages();
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(runner.read<float>("y")[t], 16.0f * t + 7 + 16.0f * t + 5) << t;
  }
  expect_clean();
  ASSERT_EQ(runner.run({y, x, 103}, threads(32), "local"), RunStatus::fault);
  ASSERT_EQ(runner.count(DiagnosticKind::trap), 1);
  const Diagnostic& d = runner.diagnostics().back();
  EXPECT_NE(d.message.find("k<100"), std::string::npos) << d.message;
  EXPECT_EQ(d.line, 17);
}

TEST_F(WarpKernels, WmmaOfSmallIntegersIsExactInEveryLayout) {
  std::vector<uint16_t> a_bits(256), b_bits(256);
  std::vector<float> a(256), b(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<float>(i * 7 % 23 - 11);
    b[i] = static_cast<float>(i * 5 % 19 - 9);
    a_bits[i] = f32_to_f16_bits_rn(std::bit_cast<uint32_t>(a[i]));
    b_bits[i] = f32_to_f16_bits_rn(std::bit_cast<uint32_t>(b[i]));
  }
  for (uint64_t seed = 0; seed < 9; ++seed) {
    const uint64_t y = runner.array<float>("y", std::vector<float>(256, -1), true, true, true);
    const uint64_t pa = runner.array<uint16_t>("a", a_bits, false);
    const uint64_t pb = runner.array<uint16_t>("b", b_bits, false);
    LaunchConfig config = threads(32);
    config.warp_seed = seed;
    config.mma_errors.seed = seed;
    ASSERT_EQ(runner.run({y, pa, pb}, config, "wm"), RunStatus::completed) << runner.all_messages();
    expect_clean();
    const std::vector<float> got = runner.read<float>("y");
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 16; ++j) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += a[i * 16 + k] * b[j * 16 + k];  // b by columns
        EXPECT_EQ(got[i * 16 + j], 2 * sum) << seed << ": " << i << "," << j;
      }
    }
  }
}

TEST_F(WarpKernels, SoftmaxOfRows) {
  const int rows = 3, cols = 1000;
  const uint64_t y =
      runner.array<float>("y", std::vector<float>(rows * cols, -1), true, true, true);
  std::vector<float> input(rows * cols);
  for (size_t i = 0; i < input.size(); ++i) input[i] = static_cast<float>(i % 37) * 0.25f - 3;
  const uint64_t x = runner.array<float>("x", input, false);
  ASSERT_EQ(runner.run({y, x, cols, cols}, threads(256, rows), "softmax"), RunStatus::completed)
      << runner.all_messages();
  expect_clean();
  const std::vector<float> got = runner.read<float>("y");
  for (int r = 0; r < rows; ++r) {
    double sum = 0;
    for (int c = 0; c < cols; ++c) sum += std::exp(static_cast<double>(input[r * cols + c]));
    for (int c = 0; c < cols; ++c) {
      const double want = std::exp(static_cast<double>(input[r * cols + c])) / sum;
      ASSERT_NEAR(got[r * cols + c], want, want * 1e-5) << r << "," << c;
    }
  }
}

TEST_F(WarpKernels, BothBuildsOfRowsGiveTheSameBits) {
  const std::string ptx =
      read_file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/hard_cases/warp.ptx");
  if (!cpu_has_avx2()) GTEST_SKIP() << "no AVX2 here";
  std::vector<std::vector<float>> got;
  for (bool avx2 : {false, true}) {
    Runner r(ptx, avx2);
    const uint64_t y = r.array<float>("y", std::vector<float>(2000, -1), true, true, true);
    const uint64_t x = r.array<float>("x", ramp(2000, -700), false);
    ASSERT_EQ(r.run({y, x, 1000, 1000}, threads(256, 2), "softmax"), RunStatus::completed);
    got.push_back(r.read<float>("y"));
  }
  EXPECT_EQ(std::memcmp(got[0].data(), got[1].data(), 2000 * sizeof(float)), 0);
}

}  // namespace
}  // namespace assay::ptx
