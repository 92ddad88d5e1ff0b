// cp.async and mbarrier: what is seen before and after a wait.
#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// Lane t copies 16 bytes from a + 16 t to `tile` + 16 t; %r1 is the latter's address.
const std::string kStart =
    ".shared .align 16 .b8 tile[1024];\n.shared .align 8 .b64 object;\n"
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r0, %tid.x;\nshl.b32 %r2, %r0, 4;\n"
    "mov.u32 %r1, tile;\nadd.u32 %r1, %r1, %r2;\ncvt.u64.u32 %rd3, %r2;\n"
    "add.u64 %rd4, %rd1, %rd3;\nadd.u64 %rd5, %rd2, %rd3;\n";
const std::string kFinish =
    "ld.shared.v4.b32 {%r4, %r5, %r6, %r7}, [%r1];\n"
    "st.global.v4.b32 [%rd5], {%r4, %r5, %r6, %r7};\n";

class CpAsync : public ::testing::Test {
 protected:
  RunStatus run(const std::string& middle, const std::string& finish = kFinish) {
    runner = std::make_unique<Runner>(Runner::kernel(kStart + middle + finish));
    std::vector<uint32_t> x(128);
    for (uint32_t i = 0; i < 128; ++i) x[i] = i + 1;
    const uint64_t a = runner->array<uint32_t>("a", x, false);
    const uint64_t b = runner->array<uint32_t>("b", std::vector<uint32_t>(128), true, true, true);
    return runner->run({a, b}, threads(32));
  }
  void expect_copied(uint32_t words_of_four = 4) {
    EXPECT_TRUE(runner->diagnostics().empty()) << runner->all_messages();
    const std::vector<uint32_t> got = runner->read<uint32_t>("b");
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i % 4 < words_of_four ? i + 1 : 0) << i;
  }
  int uninitialised() { return runner->count(DiagnosticKind::uninitialised); }
  std::unique_ptr<Runner> runner;
};

TEST_F(CpAsync, IsSeenAfterEveryKindOfWait) {
  for (const char* wait :
       {"cp.async.wait_all;\n", "cp.async.commit_group;\ncp.async.wait_group 0;\n"}) {
    for (const char* way : {"cg", "ca"}) {
      ASSERT_EQ(run("cp.async." + std::string(way) + ".shared.global [%r1], [%rd4], 16;\n" + wait),
                RunStatus::completed)
          << runner->all_messages();
      expect_copied();
    }
  }
}

TEST_F(CpAsync, IsNotSeenBeforeTheWait) {
  for (const char* wait : {"", "cp.async.commit_group;\n", "cp.async.wait_group 0;\n",
                           "cp.async.commit_group;\ncp.async.wait_group 1;\n"}) {
    ASSERT_EQ(run("cp.async.cg.shared.global [%r1], [%rd4], 16;\n" + std::string(wait)),
              RunStatus::completed);
    EXPECT_EQ(uninitialised(), 1) << wait;
  }
}

TEST_F(CpAsync, OldBytesAreUndefinedUntilTheWait) {
  ASSERT_EQ(run("mov.b32 %r3, 7;\nst.shared.b32 [%r1], %r3;\nst.shared.b32 [%r1+4], %r3;\n"
                "st.shared.b32 [%r1+8], %r3;\nst.shared.b32 [%r1+12], %r3;\n"
                "cp.async.cg.shared.global [%r1], [%rd4], 16;\ncp.async.commit_group;\n"),
            RunStatus::completed);
  EXPECT_EQ(uninitialised(), 1);
  EXPECT_EQ(runner->read<uint32_t>("b")[0], 7u);
}

TEST_F(CpAsync, WaitGroupLeavesTheYoungestGroups) {
  // The first group brings two halves, the second overwrites the upper one with other data.
  const std::string copies =
      "cp.async.ca.shared.global [%r1], [%rd4], 8;\n"
      "cp.async.ca.shared.global [%r1+8], [%rd4+8], 8;\ncp.async.commit_group;\n"
      "cp.async.ca.shared.global [%r1+512], [%rd4], 4;\ncp.async.commit_group;\n";
  ASSERT_EQ(run(copies + "cp.async.wait_group 1;\n"), RunStatus::completed);
  expect_copied();
  const std::string second = "ld.shared.b32 %r4, [%r1+512];\nst.global.b32 [%rd5], %r4;\n";
  ASSERT_EQ(run(copies + "cp.async.wait_group 1;\n", second), RunStatus::completed);
  EXPECT_EQ(uninitialised(), 1);
  ASSERT_EQ(run(copies + "cp.async.wait_group 0;\n", second), RunStatus::completed);
  EXPECT_EQ(uninitialised(), 0);
}

TEST_F(CpAsync, SourceSizeFillsWithZeros) {
  ASSERT_EQ(run("mov.u32 %r3, 12;\ncp.async.cg.shared.global.L2::128B [%r1], [%rd4], 16, %r3;\n"
                "cp.async.wait_all;\n"),
            RunStatus::completed)
      << runner->all_messages();
  expect_copied(3);
}

TEST_F(CpAsync, NothingIsReadWhereTheSourceIsIgnored) {
  // An address that no array has.
  const std::string far = "mov.u64 %rd4, 0x123450;\n";
  ASSERT_EQ(run(far + "cp.async.cg.shared.global [%r1], [%rd4], 16, 0;\ncp.async.wait_all;\n"),
            RunStatus::completed)
      << runner->all_messages();
  expect_copied(0);
  ASSERT_EQ(run(far + "setp.ge.u32 %p1, %r0, 0;\n"
                      "cp.async.cg.shared.global [%r1], [%rd4], 16, %p1;\ncp.async.wait_all;\n"),
            RunStatus::completed)
      << runner->all_messages();
  expect_copied(0);
  ASSERT_EQ(run(far + "cp.async.cg.shared.global [%r1], [%rd4], 16;\ncp.async.wait_all;\n"),
            RunStatus::fault);
  EXPECT_EQ(runner->count(DiagnosticKind::out_of_bounds), 1);
}

TEST_F(CpAsync, BothAddressesAreChecked) {
  ASSERT_EQ(run("cp.async.cg.shared.global [%r1+1024], [%rd4], 16;\n"), RunStatus::fault);
  EXPECT_EQ(runner->count(DiagnosticKind::out_of_bounds), 1);
  ASSERT_EQ(run("cp.async.cg.shared.global [%r1+8], [%rd4], 16;\n"), RunStatus::fault);
  EXPECT_EQ(runner->count(DiagnosticKind::misaligned), 1);
  ASSERT_EQ(run("cp.async.cg.shared.global [%r1], [%rd4+4], 16;\n"), RunStatus::fault);
  EXPECT_EQ(runner->count(DiagnosticKind::misaligned), 1);
}

/// Lane 0 copies and arrives when its copy has; all wait on the object.
TEST_F(CpAsync, MbarrierArrivesAfterTheCopies) {
  const std::string start =
      "setp.eq.u32 %p1, %r0, 0;\n@%p1 mbarrier.init.shared.b64 [object], 32;\nbar.sync 0;\n"
      "cp.async.cg.shared.global [%r1], [%rd4], 16;\n";
  const std::string wait =
      "again:\nmbarrier.test_wait.shared.b64 %p2, [object], %rd7;\n@!%p2 bra again;\n";
  ASSERT_EQ(run(start +
                "cp.async.mbarrier.arrive.shared.b64 [object];\n"
                "mbarrier.arrive.shared.b64 %rd7, [object];\n" +
                wait),
            RunStatus::completed)
      << runner->all_messages();
  expect_copied();
  // With .noinc the arrivals are among the 32 that the object expects.
  ASSERT_EQ(run(start + "cp.async.mbarrier.arrive.noinc.shared.b64 [object];\n"
                        "parity:\nmbarrier.try_wait.parity.shared.b64 %p2, [object], 0;\n"
                        "@!%p2 bra parity;\n"),
            RunStatus::completed)
      << runner->all_messages();
  expect_copied();
  // Arriving by oneself says nothing about the copy.
  ASSERT_EQ(run(start + "mbarrier.arrive.shared.b64 %rd7, [object];\n" + wait),
            RunStatus::completed);
  EXPECT_EQ(uninitialised(), 1);
}

TEST(Mbarrier, PhasesCountArrivalsOfTwoWarps) {
  const std::string body =
      ".shared .align 8 .b64 object;\n.shared .align 4 .b8 value[512];\n"
      "ld.param.u64 %rd1, [a];\nmov.u32 %r0, %tid.x;\nsetp.eq.u32 %p1, %r0, 0;\n"
      "@%p1 mbarrier.init.shared::cta.b64 [object], 64;\nbar.sync 0;\nmov.u32 %r1, value;\n"
      "shl.b32 %r2, %r0, 2;\nadd.u32 %r1, %r1, %r2;\nmov.u32 %r3, 0;\n"
      // three rounds: write, arrive, wait, read the other warp's word
      "loop:\nadd.u32 %r4, %r0, %r3;\nshl.b32 %r5, %r3, 8;\nand.b32 %r5, %r5, 256;\n"
      "add.u32 %r6, %r1, %r5;\nst.shared.b32 [%r6], %r4;\n"
      "mbarrier.arrive.release.cta.shared.b64 %rd2, [object];\n"
      "mbarrier.pending_count.b64 %r10, %rd2;\n"
      "spin:\nmbarrier.try_wait.shared.b64 %p2, [object], %rd2;\n@!%p2 bra spin;\n"
      "xor.b32 %r7, %r2, 128;\nadd.u32 %r7, %r7, %r5;\nmov.u32 %r8, value;\n"
      "add.u32 %r8, %r8, %r7;\nld.shared.b32 %r9, [%r8];\n"
      "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p3, %r3, 3;\n@%p3 bra loop;\n"
      "mul.wide.u32 %rd3, %r0, 8;\nadd.u64 %rd1, %rd1, %rd3;\n"
      "st.global.v2.b32 [%rd1], {%r9, %r10};";
  Runner runner(Runner::kernel(body));
  const uint64_t y = runner.array<uint32_t>("y", std::vector<uint32_t>(128), true, true, true);
  ASSERT_EQ(runner.run({y}, threads(64)), RunStatus::completed) << runner.all_messages();
  EXPECT_TRUE(runner.diagnostics().empty()) << runner.all_messages();
  const std::vector<uint32_t> got = runner.read<uint32_t>("y");
  for (uint32_t t = 0; t < 64; ++t) {
    EXPECT_EQ(got[2 * t], (t ^ 32) + 2);
    EXPECT_GE(got[2 * t + 1], 1u);
    EXPECT_LE(got[2 * t + 1], 64u);
  }
}

TEST(Mbarrier, MisuseIsTold) {
  const char* const bodies[] = {
      "mbarrier.arrive.shared.b64 %rd1, [object];",
      "mbarrier.init.shared.b64 [object], 0;",
      "mbarrier.init.shared.b64 [object], 2;\nmbarrier.arrive.shared.b64 _, [object], 3;",
      ("mbarrier.init.shared.b64 [object], 2;\nmbarrier.inval.shared.b64 [object];\n"
       "mbarrier.test_wait.parity.shared.b64 %p1, [object], 0;"),
  };
  for (const char* body : bodies) {
    Runner runner(Runner::kernel(std::string(".shared .align 8 .b64 object;\n") + body));
    EXPECT_EQ(runner.run({}, threads(1)), RunStatus::fault) << body;
    EXPECT_EQ(runner.count(DiagnosticKind::barrier), 1) << body << runner.all_messages();
  }
}

}  // namespace
}  // namespace assay::ptx
