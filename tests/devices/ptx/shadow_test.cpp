// How definedness and exact values pass through instructions, one rule after the other.
#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// Findings of a body in which %r9 is unset and %h9 is an unset half, and %r1 is tid; the body's
/// result %r2 is stored to a judged output.
int findings(const std::string& body, DiagnosticKind kind) {
  Runner r(Runner::kernel(R"(
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3;)" +
                          body + "\nst.global.u32 [%rd1], %r2;"));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(32), true, true, true);
  EXPECT_EQ(r.run({a, a}, threads(32)), RunStatus::completed) << r.all_messages();
  return r.count(kind);
}
int undefined(const std::string& body) { return findings(body, DiagnosticKind::uninitialised); }

TEST(Shadow, UndefinedBytes) {
  EXPECT_EQ(undefined("mov.u32 %r2, %r9;"), 1);
  EXPECT_EQ(undefined("add.s32 %r2, %r9, 1;"), 1);
  EXPECT_EQ(undefined("and.b32 %r2, %r9, 0;"), 0);
  EXPECT_EQ(undefined("or.b32 %r2, %r9, -1;"), 0);
  EXPECT_EQ(undefined("and.b32 %r2, %r9, 255;"), 1);
  EXPECT_EQ(undefined("xor.b32 %r2, %r9, %r1;"), 1);
  // Only the upper half is undefined; it is shifted out, masked away, or picked.
  const std::string half = "cvt.u16.u32 %h1, %r1; mov.b32 %r8, {%h1, %h9};";
  EXPECT_EQ(undefined(half + "shl.b32 %r2, %r8, 16;"), 0);
  EXPECT_EQ(undefined(half + "shr.u32 %r2, %r8, 16;"), 1);
  EXPECT_EQ(undefined(half + "and.b32 %r2, %r8, 65535;"), 0);
  EXPECT_EQ(undefined(half + "prmt.b32 %r2, %r8, 0, 0x4410;"), 0);
  EXPECT_EQ(undefined(half + "prmt.b32 %r2, %r8, 0, 0x4420;"), 1);
  EXPECT_EQ(undefined(half + "bfe.u32 %r2, %r8, 4, 8;"), 0);
  EXPECT_EQ(undefined(half + "bfe.u32 %r2, %r8, 12, 8;"), 1);
  EXPECT_EQ(undefined(half + "mov.b32 {%h2, %h3}, %r8; cvt.u32.u16 %r2, %h2;"), 0);
  EXPECT_EQ(undefined(half + "mov.b32 {%h2, %h3}, %r8; cvt.u32.u16 %r2, %h3;"), 1);
  EXPECT_EQ(undefined(half + "add.f16x2 %r8, %r8, %r8; and.b32 %r2, %r8, 65535;"), 0);
  // Carries go upwards only.
  EXPECT_EQ(undefined(half + "add.s32 %r8, %r8, %r8; and.b32 %r2, %r8, 65535;"), 0);
  EXPECT_EQ(undefined(half + "add.s32 %r8, %r8, %r8; shr.u32 %r2, %r8, 16;"), 1);
}

TEST(Shadow, SelectionFollowsThePredicate) {
  const std::string never = "setp.gt.u32 %p1, %r1, 100;";
  EXPECT_EQ(undefined(never + "selp.u32 %r2, %r9, %r1, %p1;"), 0);
  EXPECT_EQ(undefined(never + "selp.u32 %r2, %r1, %r9, %p1;"), 1);
  EXPECT_EQ(undefined("setp.eq.u32 %p2, %r9, 0; selp.u32 %r2, 1, 2, %p2;"), 1);
}

TEST(Shadow, UndefinedAddressesAndShuffles) {
  EXPECT_EQ(undefined("shfl.sync.idx.b32 %r2, %r9, 0, 31, -1;"), 1);
  EXPECT_EQ(undefined("and.b32 %r8, %r9, 60; cvt.u64.u32 %rd5, %r8; ld.param.u64 %rd6, [a];"
                      "add.s64 %rd6, %rd6, %rd5; ld.global.u32 %r7, [%rd6]; mov.u32 %r2, 0;"),
            1);
}

/// Wrap findings when the 64-bit offset %rd5 that the body makes from %r1 = 65536 and %r2 = 40000
/// is used in an address; everything within 2^45 bytes of the base is memory.
int wraps(const std::string& body) {
  Runner r(Runner::kernel("ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [c]; ld.param.u32 %r2, [d];" +
                          body + "add.s64 %rd6, %rd1, %rd5; ld.global.u8 %r9, [%rd6];"));
  RegionSpec spec;
  spec.name = "everything";
  spec.base = uint64_t{1} << 45;
  spec.bytes = int64_t{1} << 46;
  r.region(spec);
  const RunStatus status = r.run({uint64_t{1} << 46, 0, 65536, 40000}, threads(1));
  EXPECT_EQ(status, RunStatus::completed) << r.all_messages();
  return r.count(DiagnosticKind::wrap);
}

TEST(Shadow, ExactValuesReachAddresses) {
  const std::string wide = "cvt.s64.s32 %rd5, %r3;";
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2;" + wide), 1);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, 100;" + wide), 0);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2; and.b32 %r3, %r3, 255;" + wide), 0);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2; shr.u32 %r3, %r3, 8;" + wide), 0);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2; rem.u32 %r3, %r3, 100;" + wide), 0);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2; div.s32 %r3, %r3, 8;" + wide), 1);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2; shr.s32 %r3, %r3, 3;" + wide), 1);
  EXPECT_EQ(wraps("shl.b32 %r3, %r1, 16; or.b32 %r3, %r3, 1; mul.wide.s32 %rd5, %r3, 4;"), 1);
  EXPECT_EQ(wraps("setp.ne.u32 %p1, %r1, %r1; mad.lo.s32 %r3, %r1, %r2, 5; mov.u32 %r4, %r3;"
                  "selp.b32 %r3, %r4, %r1, %p1;" +
                  wide),
            0);
  EXPECT_EQ(wraps("setp.eq.u32 %p1, %r1, %r1; mad.lo.s32 %r3, %r1, %r2, 5; mov.u32 %r4, %r3;"
                  "selp.b32 %r3, %r4, %r1, %p1;" +
                  wide),
            1);
  EXPECT_EQ(wraps("mul.lo.s32 %r3, %r1, %r2; shfl.sync.idx.b32 %r3, %r3, 0, 31, 1;" + wide), 1);
  // There and back again: what wraps and unwraps is what the author meant.
  EXPECT_EQ(
      wraps("mul.lo.s32 %r3, %r1, %r2; sub.s32 %r3, %r3, 2147483647; sub.s32 %r3, %r3, 473956353;" +
            wide),
      0);
  EXPECT_EQ(wraps("sub.s32 %r3, %r2, %r1; neg.s32 %r3, %r3;" + wide), 0);
  EXPECT_EQ(wraps("cvt.s64.s32 %rd7, %r1; cvt.s64.s32 %rd8, %r2; mul.lo.s64 %rd5, %rd7, %rd8;"), 0);
}

TEST(Shadow, ExactValuesPassThroughSharedMemory) {
  const std::string body = R"(
    .shared .align 4 .b8 s[4]; mul.lo.s32 %r3, %r1, %r2; st.shared.u32 [s], %r3;
    ld.shared.u32 %r4, [s]; cvt.s64.s32 %rd5, %r4;)";
  EXPECT_EQ(wraps(body), 1);
}

}  // namespace
}  // namespace assay::ptx
