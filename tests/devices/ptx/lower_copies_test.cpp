// Copies go where the copy equals its source at every read, and only there.
#include <algorithm>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

const char* const kIndex = R"(
  ld.param.u64 %rd2, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd2, %rd3;
)";

std::string whole(const std::string& body) {
  return Runner::kernel(kIndex + body + "st.global.u32 [%rd1], %r2;");
}

int64_t copies(const std::string& body) {
  const Module module = decode(whole(body), "test.ptx");
  const auto code = lower(module, "k", use_avx2());
  return std::count_if(code->ops.begin(), code->ops.end(),
                       [](const MicroOp& op) { return op.is_copy; });
}

std::vector<uint32_t> results(const std::string& body) {
  Runner r(whole(body));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(32, 0xdead), true, true, true);
  EXPECT_EQ(r.run({a}, threads(32)), RunStatus::completed) << r.all_messages();
  EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();
  return r.read<uint32_t>("a");
}

TEST(LowerCopies, SingleWritesGo) {
  const std::string body = R"(
    mov.f32 %f1, 0f3F800000; cvt.rn.f32.u32 %f2, %r1; add.f32 %f3, %f2, %f1;
    mov.b32 %r3, %f3; shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1; mov.b32 %f4, %r4; mov.f32 %f5, %f4;
    cvt.rzi.u32.f32 %r2, %f5;)";
  EXPECT_EQ(copies(body), 0);
  const auto got = results(body);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], (i ^ 1) + 1) << i;
}

TEST(LowerCopies, TheValueOfTheRoundBeforeStays) {
  // Fibonacci: %r8 keeps what %r5 was, and every lane leaves after rounds of its own.
  const std::string body = R"(
    mov.u32 %r4, 0; mov.u32 %r5, 1; mov.u32 %r6, 0;
    again: add.u32 %r7, %r4, %r5; mov.u32 %r8, %r5; mov.u32 %r5, %r7; mov.u32 %r4, %r8;
    add.u32 %r6, %r6, 1; setp.le.u32 %p1, %r6, %r1; @%p1 bra again;
    mov.u32 %r2, %r4;)";
  const auto got = results(body);
  uint32_t previous = 1, current = 1;
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(got[i], previous) << i;
    const uint32_t next = previous + current;
    previous = current;
    current = next;
  }
}

TEST(LowerCopies, GuardedAndRepeatedWritesStay) {
  const std::string swap = R"(
    add.u32 %r3, %r1, 100; mov.u32 %r4, %r1; mov.u32 %r5, %r4; mov.u32 %r4, %r3; mov.u32 %r3, %r5;
    sub.u32 %r2, %r4, %r3;)";
  EXPECT_EQ(results(swap)[7], 100u);
  const std::string guarded = R"(
    mov.u32 %r2, 5; setp.lt.u32 %p1, %r1, 8; @%p1 mov.u32 %r2, %r1;)";
  EXPECT_EQ(copies(guarded), 2);
  EXPECT_EQ(results(guarded)[7], 7u);
  EXPECT_EQ(results(guarded)[8], 5u);
}

TEST(LowerCopies, WhatIsReadBeforeItsCopyIsStillUninitialised) {
  Runner r(whole(R"(
    mov.u32 %r6, 0; mov.u32 %r2, 0;
    again: add.u32 %r2, %r2, %r9; mov.u32 %r9, %r1;
    add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 2; @%p1 bra again;)"));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(32, 0xdead), true, true, true);
  r.run({a}, threads(32));
  EXPECT_GT(r.count(DiagnosticKind::uninitialised), 0);
}

}  // namespace
}  // namespace assay::ptx
