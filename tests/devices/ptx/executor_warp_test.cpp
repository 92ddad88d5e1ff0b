// Warp-wide instructions, barriers, atomics, calls and control flow.
#include <algorithm>
#include <numeric>
#include <set>

#include "devices/ptx/atomics.hpp"
#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

const char* const kIndex = R"(
  ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3;
)";

/// Runs a body that leaves each thread's result in %r2.
std::vector<uint32_t> results(const std::string& body, int n = 32, const std::string& before = "",
                              LaunchConfig config = {}) {
  Runner r(Runner::kernel(kIndex + body + "st.global.u32 [%rd1], %r2;", before));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(n, 0xdead), true, true, true);
  config.block = {n, 1, 1};
  EXPECT_EQ(r.run({a, a}, config), RunStatus::completed) << r.all_messages();
  EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();
  return r.read<uint32_t>("a");
}

TEST(ExecutorWarp, ShuffleModesAndSegments) {
  const auto up = results("shfl.sync.up.b32 %r2|%p1, %r1, 3, 0, -1; @!%p1 mov.u32 %r2, 99;");
  const auto down = results("shfl.sync.down.b32 %r2|%p1, %r1, 3, 31, -1; @!%p1 mov.u32 %r2, 99;");
  const auto bfly = results("shfl.sync.bfly.b32 %r2, %r1, 5, 31, -1;");
  // Segments of 8 lanes: c = (0b11000 << 8) | clamp.
  const auto idx = results("shfl.sync.idx.b32 %r2, %r1, 2, 0x1807, -1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(up[i], i < 3 ? 99 : i - 3) << i;
    EXPECT_EQ(down[i], i + 3 > 31 ? 99 : i + 3) << i;
    EXPECT_EQ(bfly[i], i ^ 5) << i;
    EXPECT_EQ(idx[i], i / 8 * 8 + 2) << i;
  }
}

TEST(ExecutorWarp, Votes) {
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, %p1, -1;")[9], 31u);
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 5; vote.sync.ballot.b32 %r2, !%p1, -1;")[9], ~31u);
  const std::string pick = "selp.u32 %r2, 1, 0, %p2;";
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 5; vote.sync.all.pred %p2, %p1, -1;" + pick)[0], 0u);
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 5; vote.sync.any.pred %p2, %p1, -1;" + pick)[31], 1u);
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 50; vote.sync.uni.pred %p2, %p1, -1;" + pick)[3], 1u);
  // A part of the warp: only its lanes are counted.
  EXPECT_EQ(results(R"(mov.u32 %r2, 0; setp.lt.u32 %p1, %r1, 8; setp.lt.u32 %p3, %r1, 3;
      @%p1 vote.sync.ballot.b32 %r2, %p3, 255;)")[7],
            7u);
}

TEST(ExecutorWarp, MatchReduxActiveMask) {
  const auto any = results("and.b32 %r3, %r1, 3; match.any.sync.b32 %r2, %r3, -1;");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(any[i], 0x11111111u << (i & 3));
  const auto all = results("mov.u32 %r3, 4; match.all.sync.b32 %r2|%p1, %r3, -1;");
  EXPECT_EQ(all[3], ~0u);
  EXPECT_EQ(results("redux.sync.add.u32 %r2, %r1, -1;")[7], 496u);
  EXPECT_EQ(results("sub.s32 %r3, %r1, 5; redux.sync.min.s32 %r2, %r3, -1;")[7], ~0u - 4);
  EXPECT_EQ(results("redux.sync.xor.b32 %r2, %r1, -1;")[0], 0u);
  EXPECT_EQ(results("activemask.b32 %r2;", 20)[3], (1u << 20) - 1);
}

TEST(ExecutorWarp, PartsOfAWarpSynchroniseSideBySide) {
  // Each lane names its own half, quarter, ... : %r3 is the part's mask.
  const auto halves = [](const std::string& body) {
    return results("setp.lt.u32 %p1, %r1, 16; selp.b32 %r3, 65535, -65536, %p1;" + body);
  };
  const auto shuffled = halves("shfl.sync.down.b32 %r2, %r1, 3, 0x100f, %r3;");
  const auto sums = halves("redux.sync.add.u32 %r2, %r1, %r3;");
  const auto ballots = halves("setp.lt.u32 %p2, %r1, 20; vote.sync.ballot.b32 %r2, %p2, %r3;");
  const auto synced = halves("bar.warp.sync %r3; mov.u32 %r2, %r1;");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(shuffled[i], i % 16 >= 13 ? i : i + 3) << i;
    EXPECT_EQ(sums[i], i < 16 ? 120u : 376u) << i;
    EXPECT_EQ(ballots[i], i < 16 ? 0xffffu : 0xf0000u) << i;
    EXPECT_EQ(synced[i], i) << i;
  }
  // Guarded lanes go on; the upper half waits for four lanes that arrive elsewhere.
  const auto late = halves(R"(mov.u32 %r2, 7; setp.ge.u32 %p2, %r1, 28; @%p2 bra LATE;
      setp.ne.u32 %p3, %r1, 4; selp.b32 %r3, 65519, %r3, %p1;
      @%p3 redux.sync.add.u32 %r2, %r1, %r3; bra DONE;
    LATE: redux.sync.add.u32 %r2, %r1, %r3; add.u32 %r2, %r2, 1000;
    DONE:)");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(late[i], i == 4 ? 7u : i < 16 ? 116u : i < 28 ? 376u : 1376u) << i;
  }
}

TEST(ExecutorWarp, ARendezvousMeetsAcrossBranches) {
  const auto got = results(R"(
    setp.lt.u32 %p1, %r1, 10; @%p1 bra L;
    shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; bra M;
    L: add.s32 %r3, %r1, 100; shfl.sync.idx.b32 %r2, %r3, 20, 31, -1; M:)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 10 ? 20u : 100u) << i;
}

TEST(ExecutorWarp, BarrierReductionsOverTheBlock) {
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 37; bar.red.popc.u32 %r2, 0, %p1;", 70)[69], 37u);
  const std::string pick = "selp.u32 %r2, 1, 0, %p2;";
  EXPECT_EQ(results("setp.lt.u32 %p1, %r1, 70; bar.red.and.pred %p2, 0, %p1;" + pick, 70)[0], 1u);
  EXPECT_EQ(results("setp.eq.u32 %p1, %r1, 69; bar.red.or.pred %p2, 1, %p1;" + pick, 70)[0], 1u);
}

TEST(ExecutorWarp, ProducersArriveConsumersWait) {
  const auto got = results(R"(
    .shared .align 4 .b8 s[128];
    mov.u32 %r2, 0; mov.u32 %r5, s; and.b32 %r3, %r1, 31; shl.b32 %r3, %r3, 2; add.s32 %r5, %r5, %r3;
    setp.ge.u32 %p1, %r1, 32; @%p1 bra P;
    bar.sync 3, 64; ld.shared.u32 %r2, [%r5]; bra E;
    P: st.shared.u32 [%r5], %r1; bar.arrive 3, 64; E:)",
                           64);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i + 32);
}

/// As inline assembly writes them: a copy of a constant, which disappears, and a computed number.
TEST(ExecutorWarp, NumbersAndCountsOfBarriersInRegisters) {
  for (const char* numbers :
       {"mov.u32 %r4, 5; mov.u32 %r6, 64;", "mov.u32 %r7, 5; mov.u32 %r4, %r7; mov.u32 %r6, 64;",
        "shr.u32 %r4, %r1, 6; add.u32 %r4, %r4, 5; mov.u32 %r6, 64;"}) {
    const auto got = results(".shared .align 4 .b8 s[256]; " + std::string(numbers) + R"(
      mov.u32 %r5, s; shl.b32 %r3, %r1, 2; add.s32 %r3, %r5, %r3; st.shared.u32 [%r3], %r1;
      bar.sync %r4, %r6; xor.b32 %r3, %r1, 63; shl.b32 %r3, %r3, 2; add.s32 %r3, %r5, %r3;
      ld.shared.u32 %r2, [%r3];)",
                             64);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], i ^ 63) << numbers;
  }
}

TEST(ExecutorWarp, MissingThreadAtABarrierIsAHang) {
  Runner r(Runner::kernel(std::string(kIndex) + R"(
    setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 1; bra M; L: bar.sync 2; M:)"));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(64));
  EXPECT_EQ(r.run({a, a}, threads(64)), RunStatus::hang);
  ASSERT_EQ(r.count(DiagnosticKind::hang), 1);
  EXPECT_EQ(r.diagnostics()[0].details.size(), 2u);
}

TEST(ExecutorWarp, AtomicsReturnTheOldValue) {
  const std::string counter = ".global .u32 n = 100;";
  const auto got = results("atom.global.add.u32 %r2, [n], 2;", 32, counter);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], 100 + 2 * i);
}

TEST(ExecutorWarp, AtomicOperations) {
  const auto apply = [](Atom op, Type type, uint64_t old, uint64_t b, uint64_t c = 0) {
    return atomic_result(op, type, old, b, c, false);
  };
  EXPECT_EQ(apply(Atom::inc, Type::u32, 5, 5), 0u);
  EXPECT_EQ(apply(Atom::inc, Type::u32, 4, 5), 5u);
  EXPECT_EQ(apply(Atom::dec, Type::u32, 0, 5), 5u);
  EXPECT_EQ(apply(Atom::dec, Type::u32, 9, 5), 5u);
  EXPECT_EQ(apply(Atom::dec, Type::u32, 3, 5), 2u);
  EXPECT_EQ(apply(Atom::cas, Type::b32, 3, 3, 8), 8u);
  EXPECT_EQ(apply(Atom::cas, Type::b32, 3, 4, 8), 3u);
  EXPECT_EQ(apply(Atom::max, Type::s32, 0xffffffffu, 1), 1u);
  EXPECT_EQ(apply(Atom::max, Type::u32, 0xffffffffu, 1), 0xffffffffu);
  EXPECT_EQ(apply(Atom::min, Type::s64, ~0ull, 1), ~0ull);
  EXPECT_EQ(apply(Atom::add, Type::f32, 0x3f800000, 0x40000000), 0x40400000u);
  EXPECT_EQ(apply(Atom::add, Type::f16x2, 0x3c003c00, 0x3c004000), 0x40004200u);
  EXPECT_EQ(apply(Atom::add, Type::bf16, 0x3f80, 0x3f80), 0x4000u);
  // 2^-140 + 0: kept on shared memory, flushed on global memory (PTX ISA, atom).
  EXPECT_EQ(atomic_result(Atom::add, Type::f32, 1 << 9, 0, 0, false), 1u << 9);
  EXPECT_EQ(atomic_result(Atom::add, Type::f32, 1 << 9, 0, 0, true), 0u);
}

TEST(ExecutorWarp, DivergentLoopsEndWithTheRightCounts) {
  const auto got = results(R"(
    mov.u32 %r2, 0; mov.u32 %r3, 0;
    L: add.s32 %r2, %r2, %r1; add.s32 %r3, %r3, 1; setp.le.u32 %p1, %r3, %r1; @%p1 bra L;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i * (i + 1));
}

TEST(ExecutorWarp, DeviceFunctionsTakeAndReturnParameters) {
  const std::string function = R"(
    .func (.param .b32 out) twice(.param .b32 in) {
      .reg .pred %q<2>; .reg .b32 %s<4>;
      ld.param.u32 %s1, [in]; setp.gt.u32 %q1, %s1, 10; add.s32 %s2, %s1, %s1;
      @%q1 add.s32 %s2, %s2, 1000; st.param.b32 [out], %s2; ret; })";
  const auto got = results(R"(
    mov.u32 %r2, 5; setp.lt.u32 %p1, %r1, 20; @!%p1 bra E;
    { .param .b32 p; st.param.b32 [p], %r1; .param .b32 q; call.uni (q), twice, (p);
      ld.param.b32 %r2, [q]; } E:)",
                           32, function);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[i], i >= 20 ? 5 : 2 * i + (i > 10 ? 1000 : 0)) << i;
  }
}

TEST(ExecutorWarp, IndexedBranches) {
  const auto got = results(R"(
    and.b32 %r3, %r1, 3; ts: .branchtargets A, B, A, C; brx.idx %r3, ts;
    A: mov.u32 %r2, 10; bra E; B: mov.u32 %r2, 20; bra E; C: mov.u32 %r2, 30; E:)");
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[i], (i & 3) == 1 ? 20u : (i & 3) == 3 ? 30u : 10u) << i;
  }
}

TEST(ExecutorWarp, SpecialRegistersAndPacking) {
  EXPECT_EQ(
      results("mov.u32 %r3, %ntid.x; mov.u32 %r4, %warpid; mad.lo.s32 %r2, %r4, 100, %r3;", 70)[69],
      270u);
  EXPECT_EQ(results("mov.u32 %r2, %lanemask_lt;")[5], 31u);
  const auto swapped = results(R"(
    mov.b32 {%h1, %h2}, %r1; mov.b32 %r2, {%h2, %h1};)");
  EXPECT_EQ(swapped[3], 3u << 16);
}

TEST(ExecutorWarp, WithASeedWarpsLieInOtherPlaces) {
  // PTX promises of %warpid only that it tells the warps of a multiprocessor apart.
  LaunchConfig config;
  for (uint32_t seed = 0; seed < 8; ++seed) {
    config.warp_seed = seed;
    const auto got = results("mov.u32 %r2, %warpid;", 1024, "", config);
    std::set<uint32_t> places;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i], got[i / 32 * 32]) << "one of a warp";
      EXPECT_LT(got[i], 64u);
      places.insert(got[i]);
    }
    EXPECT_EQ(places.size(), 32u) << seed;
    bool in_order = true;
    for (uint32_t warp = 0; warp < 4; ++warp) in_order &= got[32 * warp] == warp;
    EXPECT_EQ(in_order, seed == 0) << seed;
  }
}

TEST(ExecutorWarp, SecondPredicateOfAComparison) {
  const auto got = results(R"(
    setp.lt.u32 %p1|%p2, %r1, 5; selp.u32 %r2, 1, 0, %p1; @%p2 add.s32 %r2, %r2, 10;)");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 5 ? 1u : 10u) << i;
}

TEST(ExecutorWarp, TrapIsAFault) {
  Runner r(Runner::kernel("trap;"));
  const uint64_t a = r.array<uint32_t>("a", {0});
  EXPECT_EQ(r.run({a}), RunStatus::fault);
  EXPECT_EQ(r.count(DiagnosticKind::trap), 1);
}

TEST(ExecutorWarp, OrderOfBlocksAndWarpsDoesNotChangeIndependentWork) {
  for (uint64_t seed : {0, 1, 99}) {
    Runner r(Runner::kernel(R"(
      ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
      mad.lo.s32 %r4, %r2, %r3, %r1; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd1, %rd1, %rd2;
      st.global.u32 [%rd1], %r4;)"));
    const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(7 * 96, 1));
    LaunchConfig config = threads(96, 7);
    config.block_seed = config.warp_seed = seed;
    ASSERT_EQ(r.run({a}, config), RunStatus::completed);
    for (uint32_t i = 0; i < 7 * 96; ++i) ASSERT_EQ(r.read<uint32_t>("a")[i], i);
  }
}

// Each block takes a ticket, says that it has come (1), walks back over those that have come to one
// that is done (2), and is done. Blocks that each end before the next one looks walk one step.
TEST(ExecutorWarp, BlocksThatWaitForEachOtherInterleaveByTheSeed) {
  int walked = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Runner r(Runner::kernel(R"(
      ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
      atom.global.add.u32 %r1, [%rd3], 1; mul.wide.u32 %rd4, %r1, 4;
      add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; mov.u64 %rd7, %rd5; mov.u32 %r2, 0;
      st.volatile.global.u32 [%rd5], 1;
      W: setp.eq.u32 %p1, %r1, 0; @%p1 bra D;
      sub.u32 %r1, %r1, 1; sub.s64 %rd7, %rd7, 4; add.u32 %r2, %r2, 1;
      L: ld.volatile.global.u32 %r4, [%rd7]; setp.eq.u32 %p2, %r4, 0; @%p2 bra L;
      setp.ne.u32 %p3, %r4, 2; @%p3 bra W;
      D: st.volatile.global.u32 [%rd5], 2; st.global.u32 [%rd6], %r2;)"));
    const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(40));
    const uint64_t b = r.array<uint32_t>("b", std::vector<uint32_t>(40));
    const uint64_t c = r.array<uint32_t>("c", {0});
    LaunchConfig config = threads(1, 40);
    config.block_seed = seed;
    ASSERT_EQ(r.run({a, b, c}, config), RunStatus::completed) << r.all_messages();
    const auto steps = r.read<uint32_t>("b");
    walked += *std::max_element(steps.begin(), steps.end()) > 1;
    EXPECT_EQ(r.read<uint32_t>("a"), std::vector<uint32_t>(40, 2));
  }
  EXPECT_GE(walked, 3);
}

TEST(ExecutorWarp, ASubsetOfBlocksLeavesTheRestUntouched) {
  Runner r(Runner::kernel(R"(
    ld.param.u64 %rd1, [a]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r2;)"));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(10, 77));
  LaunchConfig config = threads(1, 10);
  config.blocks = {2, 9};
  ASSERT_EQ(r.run({a}, config), RunStatus::completed);
  for (uint32_t i = 0; i < 10; ++i) {
    EXPECT_EQ(r.read<uint32_t>("a")[i], i == 2 || i == 9 ? i : 77) << i;
  }
}

}  // namespace
}  // namespace assay::ptx
