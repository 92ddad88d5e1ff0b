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

TEST(Shadow, CombinedPredicatesAreDecidedByDefinedOnes) {
  const std::string unknown = "setp.eq.u32 %p2, %r9, 0;", give = "selp.u32 %r2, 1, 0, %p3;";
  EXPECT_EQ(undefined(unknown + "setp.gt.and.u32 %p3, %r1, 100, %p2;" + give), 0);
  EXPECT_EQ(undefined(unknown + "setp.lt.and.u32 %p3, %r1, 100, %p2;" + give), 1);
  EXPECT_EQ(undefined(unknown + "setp.lt.or.u32 %p3, %r1, 100, %p2;" + give), 0);
  EXPECT_EQ(undefined(unknown + "setp.lt.xor.u32 %p3, %r1, 100, %p2;" + give), 1);
  EXPECT_EQ(undefined("setp.gt.u32 %p1, %r1, 100; setp.eq.and.u32 %p3, %r9, 0, %p1;" + give), 0);
  EXPECT_EQ(undefined("setp.gt.u32 %p1, %r1, 100; setp.eq.or.u32 %p3, %r9, 0, %p1;" + give), 1);
  EXPECT_EQ(undefined(unknown + "setp.gt.u32 %p1, %r1, 100; and.pred %p3, %p1, %p2;" + give), 0);
  EXPECT_EQ(undefined(unknown + "setp.gt.u32 %p1, %r1, 100; or.pred %p3, %p1, %p2;" + give), 1);
  // The second result of setp is `not compared` and the operand.
  EXPECT_EQ(undefined(unknown + "setp.gt.and.u32 %p3|%p4, %r1, 100, %p2; selp.u32 %r2, 1, 0, %p4;"),
            1);
}

TEST(Shadow, CarriesGuardsAndCalls) {
  EXPECT_EQ(undefined("add.cc.u32 %r8, %r9, %r1; addc.u32 %r2, 0, 0;"), 1);
  EXPECT_EQ(undefined("add.cc.u32 %r8, %r9, 1; add.cc.u32 %r8, %r1, 1; addc.u32 %r2, 0, 0;"), 0);
  // Under a guard that nothing decides a register keeps its value or not.
  const std::string unknown = "setp.eq.u32 %p2, %r9, 0; mov.u32 %r2, 1;";
  EXPECT_EQ(undefined(unknown + "@%p2 mov.u32 %r2, 2;"), 1);
  EXPECT_EQ(undefined(unknown + "@%p2 mov.u32 %r3, 2;"), 0);
  EXPECT_EQ(undefined(unknown + "@%p2 bra L; mov.u32 %r2, 2; L:"), 1);
  // A saturating conversion looks at all of its operand, a plain one at its low bytes.
  const std::string half = "cvt.u16.u32 %h1, %r1; mov.b32 %r8, {%h1, %h9};";
  EXPECT_EQ(undefined(half + "cvt.sat.u16.s32 %h2, %r8; cvt.u32.u16 %r2, %h2;"), 1);
  EXPECT_EQ(undefined(half + "cvt.u16.s32 %h2, %r8; cvt.u32.u16 %r2, %h2;"), 0);
}

/// A second call finds registers and local memory of the first one, which are none of its own.
TEST(Shadow, ACalledFunctionBeginsWithNothing) {
  const auto calls = [](const std::string& body, int second) {
    const std::string function = R"(
      .func (.param .b32 r) f(.param .b32 first) {
        .reg .b32 %x; .reg .b32 %y; .reg .pred %q; .local .align 4 .b8 own[4];
        ld.param.u32 %y, [first]; setp.ne.u32 %q, %y, 0;)" +
                                 body + "st.param.b32 [r], %x; ret; }";
    const auto call = [](int argument) {
      return "{ .param .b32 p; .param .b32 v; st.param.b32 [p], " + std::to_string(argument) +
             "; call.uni (v), f, (p); ld.param.b32 %r2, [v]; }";
    };
    Runner r(Runner::kernel(
        "ld.param.u64 %rd1, [a];" + call(1) + call(second) + "st.global.u32 [%rd1], %r2;",
        function));
    const uint64_t a = r.array<uint32_t>("a", {0}, true, true, true);
    EXPECT_EQ(r.run({a}, threads(1)), RunStatus::completed) << r.all_messages();
    return r.count(DiagnosticKind::uninitialised);
  };
  for (const char* body :
       {"@%q mov.u32 %x, 7;", "@%q st.local.u32 [own], 7; ld.local.u32 %x, [own];"}) {
    EXPECT_EQ(calls(body, 1), 0) << body;
    EXPECT_EQ(calls(body, 0), 1) << body;
  }
}

TEST(Shadow, ParticipantsThatAreDefinedDecide) {
  const std::string unknown = "setp.eq.u32 %p2, %r9, 0;", give = "selp.u32 %r2, 1, 0, %p3;";
  // Undefined but in lane 5, where it is true.
  const std::string but_one = unknown + "setp.eq.or.u32 %p2, %r1, 5, %p2;";
  EXPECT_EQ(undefined(but_one + "vote.sync.any.pred %p3, %p2, -1;" + give), 0);
  EXPECT_EQ(undefined(but_one + "vote.sync.all.pred %p3, %p2, -1;" + give), 1);
  EXPECT_EQ(undefined(but_one + "bar.red.or.pred %p3, 0, %p2;" + give), 0);
  EXPECT_EQ(undefined(but_one + "bar.red.and.pred %p3, 0, %p2;" + give), 1);
  EXPECT_EQ(undefined(but_one + "bar.red.popc.u32 %r2, 0, %p2;"), 1);
  EXPECT_EQ(undefined(but_one + "bar.red.popc.u32 %r2, 0, %p2; and.b32 %r2, %r2, 64;"), 0);
  EXPECT_EQ(undefined(but_one + "vote.sync.ballot.b32 %r2, %p2, -1; and.b32 %r2, %r2, 32;"), 0);
  EXPECT_EQ(undefined(but_one + "vote.sync.ballot.b32 %r2, %p2, -1; and.b32 %r2, %r2, 48;"), 1);
  const std::string half = "cvt.u16.u32 %h1, %r1; mov.b32 %r8, {%h1, %h9};";
  EXPECT_EQ(undefined(half + "match.any.sync.b32 %r2, %r8, -1;"), 0);  // low halves all differ
  EXPECT_EQ(undefined(half + "redux.sync.and.b32 %r2, %r8, -1; and.b32 %r2, %r2, 255;"), 0);
  EXPECT_EQ(undefined(half + "redux.sync.add.u32 %r2, %r8, -1;"), 1);
}

TEST(Shadow, OperandsThatDecideWhoTakesPart) {
  EXPECT_EQ(undefined("bar.sync %r9; mov.u32 %r2, 0;"), 1);
  EXPECT_EQ(undefined("shfl.sync.idx.b32 %r2, %r1, 0, 31, %r9;"), 1);
  EXPECT_EQ(undefined("bar.warp.sync %r9; mov.u32 %r2, 0;"), 1);
  // Any lane may be named; what comes of it is undefined.
  EXPECT_EQ(undefined("shfl.sync.idx.b32 %r2, %r1, %r9, 31, -1;"), 1);
  EXPECT_EQ(undefined("shfl.sync.idx.b32 %r3, %r1, %r9, 31, -1; mov.u32 %r2, 0;"), 0);
  EXPECT_EQ(undefined("cvt.u64.u32 %rd5, %r9; isspacep.shared %p3, %rd5; selp.u32 %r2, 1, 0, %p3;"),
            1);
}

TEST(Shadow, AtomicsInSharedMemory) {
  const std::string cell = ".shared .align 4 .b8 s[4]; st.shared.u32 [s], 3; bar.sync 0;";
  const std::string give = "bar.sync 0; ld.shared.u32 %r2, [s];";
  EXPECT_EQ(undefined(cell + "red.shared.add.u32 [s], %r9;" + give), 1);
  EXPECT_EQ(undefined(cell + "red.shared.add.u32 [s], %r1;" + give), 0);
  EXPECT_EQ(undefined(cell + "atom.shared.exch.b32 %r3, [s], %r9; bar.sync 0; mov.u32 %r2, 0;"), 0);
  EXPECT_EQ(undefined(cell + "atom.shared.cas.b32 %r3, [s], 4, %r9;" + give), 0);  // not stored
  EXPECT_EQ(undefined(cell + "atom.shared.cas.b32 %r3, [s], 3, %r9;" + give), 1);
  EXPECT_EQ(undefined(".shared .align 4 .b8 s[4]; red.shared.and.b32 [s], 0;" + give), 0);
  EXPECT_EQ(undefined(".shared .align 4 .b8 s[4]; red.shared.and.b32 [s], 1;" + give), 1);
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

/// The wrap that a body with a line table makes from %r1 = 65536 and %r2 = 40000.
Diagnostic placed_wrap(const std::string& body) {
  Runner r(Runner::kernel(
      "ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [c]; ld.param.u32 %r2, [d];\n" + body,
      ".file 1 \"k.cu\"\n"));
  RegionSpec spec;
  spec.name = "everything";
  spec.base = uint64_t{1} << 45;
  spec.bytes = int64_t{1} << 46;
  spec.writable = true;
  r.region(spec);
  EXPECT_EQ(r.run({uint64_t{1} << 46, 0, 65536, 40000}, threads(1)), RunStatus::completed);
  EXPECT_EQ(r.count(DiagnosticKind::wrap), 1) << r.all_messages();
  return r.diagnostics().empty() ? Diagnostic() : r.diagnostics().front();
}

TEST(Shadow, WhatTheCompilerMovedHasTheLineOfItsUse) {
  const std::string offset = "mul.lo.s32 %r3, %r1, %r2;\n";
  const std::string address = "cvt.s64.s32 %rd5, %r3;\nadd.s64 %rd6, %rd1, %rd5;\n";
  const std::string load = "ld.global.u8 %r9, [%rd6];\n";
  const std::string between = ".loc 1 3 1\nmov.u32 %r7, 1;\n";  // uses nothing of it
  const std::string none = ".loc 1 0 0\n";
  const Diagnostic own = placed_wrap(".loc 1 4 1\n" + offset + ".loc 1 7 1\n" + address + load);
  EXPECT_EQ(own.line, 4);
  const Diagnostic first =
      placed_wrap(none + offset + between + ".loc 1 7 1\n" + address + ".loc 1 5 1\n" + load);
  EXPECT_EQ(first.file, "k.cu");
  EXPECT_EQ(first.line, 7) << "of the conversion";
  ASSERT_EQ(first.steps.size(), 2u);
  EXPECT_EQ(first.steps[0].line, 7);
  EXPECT_EQ(first.steps[1].line, 5);
  const Diagnostic later =
      placed_wrap(none + offset + between + none + address + ".loc 1 5 1\n" + load);
  EXPECT_EQ(later.line, 5) << "of the load, by way of its address";
  EXPECT_NE(later.message.find("used in the address of ld.global.u8 at k.cu:5: "),
            std::string::npos)
      << later.message;
  // A store sets nothing: the line of what it stores, or of its address, whichever comes last.
  const std::string store = "st.global.u8 [%rd6], %r8;\n";
  const Diagnostic merged = placed_wrap(".loc 1 4 1\n" + offset + address +
                                        ".loc 1 6 1\nmov.u32 %r8, 2;\n" + between + none + store);
  EXPECT_EQ(merged.line, 4);
  EXPECT_NE(merged.message.find("used in the address of st.global.u8 at k.cu:6: "),
            std::string::npos)
      << merged.message;
  // Nothing has a line.
  EXPECT_EQ(placed_wrap(none + offset + address + load).line, 0);
  EXPECT_EQ(placed_wrap(offset + address + load).line, 0);
}

}  // namespace
}  // namespace assay::ptx
