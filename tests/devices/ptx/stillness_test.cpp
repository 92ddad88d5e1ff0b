// Hangs are proved from a state that recurs, long before the budget; what is slow but goes on is
// left alone. Blocks beyond the first residents begin when those all wait.
#include <algorithm>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// %r1 the thread, %r2 the block, %r3 their number; %rd1 and %rd2 the arrays a and b.
constexpr const char* kStart = R"(
  mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];)";

class StillnessTest : public ::testing::Test {
 protected:
  RunStatus run(const std::string& body, LaunchConfig config, const std::string& before = "") {
    runner_ = std::make_unique<Runner>(Runner::kernel(kStart + body, before));
    const uint64_t a = runner_->array<uint32_t>("a", std::vector<uint32_t>(8192));
    const uint64_t b = runner_->array<uint32_t>("b", std::vector<uint32_t>(8192));
    return runner_->run({a, b}, config);
  }
  uint32_t a(size_t i) const { return runner_->read<uint32_t>("a")[i]; }
  std::string messages() { return runner_->all_messages(); }

  /// A hang long before the budget of 2^33 warp instructions, and its message.
  void expect_hang(const std::string& body, LaunchConfig config, const std::string& before = "") {
    SCOPED_TRACE(body);
    for (const uint64_t seed : {0, 1, 2, 3, 4, 5}) {  // long turns, and short ones
      config.block_seed = seed;
      ASSERT_EQ(run(body, config, before), RunStatus::hang) << messages();
      ASSERT_EQ(runner_->count(DiagnosticKind::hang), 1);
      const auto is_hang = [](const Diagnostic& d) { return d.kind == DiagnosticKind::hang; };
      const auto& all = runner_->diagnostics();  // some of these programs race, too
      const Diagnostic& d = *std::find_if(all.begin(), all.end(), is_hang);
      const std::string says = "no thread progresses: all wait, and nothing in memory changes: lane";
      EXPECT_EQ(d.message.substr(0, says.size()), says);
      EXPECT_NE(d.message.find(" round the loop"), std::string::npos) << d.message;
      EXPECT_FALSE(d.details.empty());
      EXPECT_LT(runner_->machine().lane_instructions(), int64_t{1} << 26);
    }
  }

  std::unique_ptr<Runner> runner_;
};

TEST_F(StillnessTest, LocksAndFlagsThatNobodySets) {
  const std::string volatile_flag =
      "L: ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;";
  expect_hang(volatile_flag, threads(64, 3));
  expect_hang("st.global.u32 [%rd1], 1; M: atom.global.cas.b32 %r4, [%rd1], 0, 1;"
              "setp.ne.u32 %p1, %r4, 0; @%p1 bra M;",
              threads(32, 4));
  expect_hang("L: atom.global.add.u32 %r4, [%rd1], 0; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;",
              threads(96));
  // The waiting time doubles up to a limit, as in a lock that backs off.
  expect_hang("mov.u32 %r5, 8; L: nanosleep.u32 %r5; shl.b32 %r5, %r5, 1; min.u32 %r5, %r5, 256;"
              "ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r4, 0; @%p1 bra L;",
              threads(32));
}

TEST_F(StillnessTest, LanesThatWaitForLanesThatWait) {
  // Lane 0 spins; the others wait for it at a warp barrier, and would set the flag after it.
  expect_hang("setp.ne.u32 %p1, %r1, 0; @%p1 bra W;"
              "L: ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p2, %r4, 0; @%p2 bra L;"
              "W: bar.warp.sync -1; st.volatile.global.u32 [%rd1], 1;",
              threads(32));
  // Each of two lanes holds what the other spins for.
  expect_hang("and.b32 %r5, %r1, 1; mul.wide.u32 %rd3, %r5, 4; add.s64 %rd3, %rd1, %rd3;"
              "st.global.u32 [%rd3], 1; xor.b32 %r5, %r5, 1; mul.wide.u32 %rd4, %r5, 4;"
              "add.s64 %rd4, %rd1, %rd4; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;"
              "M: atom.global.cas.b32 %r4, [%rd4], 0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra M; ret;"
              "L: atom.global.cas.b32 %r4, [%rd4], 0, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra L;",
              threads(32));
}

TEST_F(StillnessTest, LoopsAroundBarriersAndStoresOfWhatIsThere) {
  expect_hang("L: ld.volatile.global.u32 %r4, [%rd1]; setp.ne.u32 %p1, %r4, 0;"
              "bar.red.or.pred %p2, 0, %p1; @!%p2 bra L;",
              threads(128, 2));
  expect_hang("L: st.volatile.global.u32 [%rd1+4], 7; ld.volatile.global.u32 %r4, [%rd1];"
              "setp.eq.u32 %p1, %r4, 0; @%p1 bra L;",
              threads(64));
  expect_hang("L: bra L;", threads(64, 2));
  expect_hang(".shared .align 8 .b8 m[8]; mov.u32 %r5, m; setp.ne.u32 %p3, %r1, 0; @%p3 bra S;"
              "mbarrier.init.shared.b64 [%r5], 65; S: bar.sync 0;"
              "mbarrier.arrive.shared.b64 %rd5, [%r5];"
              "L: mbarrier.test_wait.shared.b64 %p1, [%r5], %rd5; @!%p1 bra L;",
              threads(64));
}

TEST_F(StillnessTest, SlowThreadsAreWaitedFor) {
  const std::string slow =
      "mov.u32 %r5, 0; C: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 100000; @%p2 bra C;"
      "st.volatile.global.u32 [%rd1], %r5; ret;"
      "L: ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p3, %r4, 0; @%p3 bra L;"
      "st.global.u32 [%rd2], %r4;";
  // The slow one is a lane of the same warp, another warp, and another block.
  ASSERT_EQ(run("setp.ne.u32 %p1, %r1, 0; @%p1 bra L;" + slow, threads(64)), RunStatus::completed)
      << messages();
  ASSERT_EQ(run("setp.lt.u32 %p1, %r1, 64; @%p1 bra L;" + slow, threads(96)), RunStatus::completed)
      << messages();
  ASSERT_EQ(run("setp.ne.u32 %p1, %r2, 5; @%p1 bra L;" + slow, threads(32, 6)),
            RunStatus::completed)
      << messages();
  EXPECT_EQ(a(0), 100000u);
}

TEST_F(StillnessTest, ClocksAndTurnsOfALockGoOn) {
  EXPECT_EQ(run("mov.u64 %rd5, %clock64; add.u64 %rd5, %rd5, 500000;"
                "L: mov.u64 %rd6, %clock64; ld.volatile.global.u32 %r4, [%rd1];"
                "setp.lt.u64 %p1, %rd6, %rd5; @%p1 bra L;",
                threads(32)),
            RunStatus::completed)
      << messages();
  // A token that goes round all threads of all blocks, one at a time.
  EXPECT_EQ(run("mad.lo.u32 %r5, %r2, 32, %r1;"
                "L: ld.volatile.global.u32 %r4, [%rd1]; setp.ne.u32 %p1, %r4, %r5; @%p1 bra L;"
                "add.u32 %r4, %r4, 1; st.volatile.global.u32 [%rd1], %r4;",
                threads(32, 12)),
            RunStatus::completed)
      << messages();
  EXPECT_EQ(a(0), 12 * 32u);
}

/// Each block adds one and waits until all have.
constexpr const char* kGridBarrier = R"(
  setp.ne.u32 %p1, %r1, 0; @%p1 bra S;
  membar.gl; atom.global.add.u32 %r4, [%rd1], 1;
  L: ld.volatile.global.u32 %r4, [%rd1]; setp.lt.u32 %p2, %r4, %r3; @%p2 bra L;
  membar.gl; S: bar.sync 0;)";

TEST_F(StillnessTest, AGridBarrierOverMoreBlocksThanBeginAtFirst) {
  for (const uint64_t seed : {0, 9}) {
    LaunchConfig config = threads(64, 900);
    config.block_seed = seed;
    ASSERT_EQ(run(kGridBarrier, config), RunStatus::completed) << messages();
    EXPECT_EQ(a(0), 900u);
  }
  // Every block waits for the next one.
  ASSERT_EQ(run("add.u32 %r5, %r2, 1; setp.eq.u32 %p1, %r5, %r3; mul.wide.u32 %rd3, %r2, 4;"
                "add.s64 %rd3, %rd1, %rd3; @%p1 bra D;"
                "L: ld.volatile.global.u32 %r4, [%rd3+4]; setp.eq.u32 %p2, %r4, 0; @%p2 bra L;"
                "D: st.volatile.global.u32 [%rd3], 1;",
                threads(32, 140)),
            RunStatus::completed)
      << messages();
}

TEST_F(StillnessTest, AGridBarrierOverMoreBlocksThanADeviceHolds) {
  ASSERT_EQ(run(kGridBarrier, threads(1024, 300)), RunStatus::hang) << messages();
  ASSERT_EQ(runner_->count(DiagnosticKind::hang), 1);
  const std::string& message = runner_->diagnostics()[0].message;
  EXPECT_TRUE(message.starts_with(
      "216 blocks wait, and 84 have not begun: a device of compute capability 8.0 holds at most "
      "216 blocks of this shape at once: lane"))
      << message;
  EXPECT_TRUE(message.ends_with(" round the loop")) << message;
}

TEST(CoResidentBlocks, AsTheLimitsOfAMultiprocessorSay) {
  EXPECT_EQ(co_resident_blocks(threads(32), 0), 108 * 32);
  EXPECT_EQ(co_resident_blocks(threads(33), 0), 108 * 32);
  EXPECT_EQ(co_resident_blocks(threads(65), 0), 108 * 21);
  EXPECT_EQ(co_resident_blocks(threads(1024), 0), 108 * 2);
  EXPECT_EQ(co_resident_blocks(threads(32), 40 << 10), 108 * 4);
  EXPECT_EQ(co_resident_blocks(threads(32), 163 << 10), 108);
}

}  // namespace
}  // namespace assay::ptx
