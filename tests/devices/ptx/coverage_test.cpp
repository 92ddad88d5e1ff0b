// What coverage counts of small kernels, and where it places the counters in the source.
#include <cmath>
#include <limits>

#include "devices/ptx/coverage_map.hpp"
#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// %rd1 = a + 4 * tid, %r1 = tid.
const char* const kIndex = R"(
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd1, %rd1, %rd3;
)";

Runner make(const std::string& body, const std::string& before = "") {
  return Runner(Runner::kernel(kIndex + body, before));
}

/// What a run of one module showed. The array `a` is an operand of 32 words.
Coverage seen(Runner& r, LaunchConfig config, bool every_result = true) {
  RegionSpec a;
  a.name = "a";
  a.base = (uint64_t{1} << 44) + 64;
  a.bytes = a.operand_bytes = 32 * 4;
  a.element_bytes = 4;
  r.region(a);
  r.options.every_result = every_result;
  EXPECT_EQ(r.run({a.base}, config), RunStatus::completed) << r.all_messages();
  std::vector<Coverage> all = r.machine().take_coverage();
  EXPECT_EQ(all.size(), 1u);
  return all.at(0);
}

/// Classes of what one instruction on all of these values gives; each lane has one.
template <class T>
uint8_t classes(const std::string& body, const std::vector<T>& values) {
  Runner r(Runner::kernel("ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x;"
                          "mul.wide.u32 %rd3, %r1, " +
                          std::to_string(sizeof(T)) + "; add.s64 %rd1, %rd1, %rd3;" + body));
  const uint64_t a = r.array<T>("a", values);
  r.options.every_result = true;
  EXPECT_EQ(r.run({a}, threads(static_cast<int64_t>(values.size()))), RunStatus::completed)
      << r.all_messages();
  const Coverage seen = r.machine().take_coverage().at(0);
  EXPECT_EQ(seen.results.size(), 1u);
  return seen.results.at(0);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Coverage, EdgesTellHowABlockWasEntered) {
  // Block 0 leads to 1 (on) and 2 (taken); 1 falls into 2.
  const std::string body =
      "setp.lt.u32 %p1, %r1, LIMIT; @%p1 bra L; mov.u32 %r2, 1; L: mov.u32 %r3, 2;";
  const auto run = [&](const std::string& limit) {
    std::string text = body;
    text.replace(text.find("LIMIT"), 5, limit);
    Runner r = make(text);
    return seen(r, threads(64));
  };
  const Coverage all = run("64"), none = run("0"), half = run("16"), one_warp = run("32");
  using Counts = std::vector<uint32_t>;
  // The entry, 0 to 1, 0 to 2, 1 to 2.
  EXPECT_EQ(all.edges, (Counts{2, 0, 2, 0}));
  EXPECT_EQ(none.edges, (Counts{2, 2, 0, 2}));
  EXPECT_EQ(one_warp.edges, (Counts{2, 1, 1, 1}));
  EXPECT_EQ(half.edges, (Counts{2, 2, 1, 2})) << "diverged lanes take both";
  EXPECT_EQ(all.blocks, (Counts{2, 0, 2}));
  EXPECT_EQ(none.blocks, (Counts{2, 2, 2}));
  EXPECT_EQ(half.blocks, (Counts{2, 2, 3}));
}

TEST(Coverage, LoopsCallsAndIndexedBranchesHaveEdges) {
  const std::string callee =
      ".func f() {\n.reg .b32 %r<4>;\nmov.u32 %r1, 1;\nret;\n}\n";
  Runner loop = make("mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 5;"
                     "@%p1 bra L;");
  EXPECT_EQ(seen(loop, threads(32)).edges, (std::vector<uint32_t>{1, 1, 1, 4}));
  Runner call = make("call f, (); call f, ();", callee);
  EXPECT_EQ(seen(call, threads(32)).edges, (std::vector<uint32_t>{2, 1})) << "f, then the kernel";
  Runner indexed = make("and.b32 %r2, %r1, 1; T: .branchtargets A, B; brx.idx %r2, T;"
                        "A: mov.u32 %r3, 1; bra C; B: mov.u32 %r3, 2; C: mov.u32 %r4, 3;");
  // The entry, to A, to B, A to C, B to C.
  EXPECT_EQ(seen(indexed, threads(32)).edges, (std::vector<uint32_t>{1, 1, 1, 1, 1}));
  EXPECT_EQ(seen(indexed, threads(1)).edges, (std::vector<uint32_t>{1, 1, 0, 1, 0}));
}

TEST(Coverage, MaskStatesOfGuardedAccesses) {
  const auto masks = [](const std::string& limit, int64_t n) {
    Runner r = make("setp.lt.u32 %p1, %r1, " + limit + "; @%p1 ld.global.u32 %r2, [%rd1];");
    return seen(r, threads(n)).accesses.at(0) & (kNoLane | kSomeLanes | kAllLanes);
  };
  EXPECT_EQ(masks("0", 32), kNoLane);
  EXPECT_EQ(masks("5", 32), kSomeLanes);
  EXPECT_EQ(masks("32", 32), kAllLanes);
  EXPECT_EQ(masks("20", 20), kAllLanes) << "all lanes that there are";
  EXPECT_EQ(masks("32", 64), kAllLanes | kNoLane) << "one warp each";
}

TEST(Coverage, LanesOfABranchAreSome) {
  Runner r = make("setp.lt.u32 %p1, %r1, 7; @%p1 bra L; ld.global.u32 %r2, [%rd1]; L: mov.u32 %r3, 1;");
  EXPECT_EQ(seen(r, threads(32)).accesses.at(0), kSomeLanes | kLastElement);
}

TEST(Coverage, EndsOfAnOperand) {
  const auto ends = [](const std::string& body, int64_t n) {
    Runner r = make(body);
    return seen(r, threads(n)).accesses.at(0) & (kFirstElement | kLastElement);
  };
  const std::string load = "ld.global.u32 %r2, [%rd1];";
  EXPECT_EQ(ends(load, 32), kFirstElement | kLastElement) << "whole rows";
  EXPECT_EQ(ends(load, 31), kFirstElement);
  EXPECT_EQ(ends("ld.global.u32 %r2, [%rd1+4];", 31), kLastElement);
  EXPECT_EQ(ends("ld.global.u32 %r2, [%rd1+4];", 30), 0);
  EXPECT_EQ(ends("st.global.u32 [%rd1], %r1;", 32), kFirstElement | kLastElement);
  EXPECT_EQ(ends("atom.global.add.u32 %r2, [%rd1], 1;", 31), kFirstElement);
  EXPECT_EQ(ends("ld.param.u64 %rd4, [a]; ld.global.u32 %r2, [%rd4+124];", 32), kLastElement)
      << "one address for all";
  EXPECT_EQ(ends("ld.param.u64 %rd4, [a]; ld.u8 %r2, [%rd4+127];", 32), kLastElement) << "generic";
}

TEST(Coverage, WhatIsNoOperandHasNoEnds) {
  Runner r = make("ld.global.u32 %r2, [%rd1];");
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(32));
  ASSERT_EQ(r.run({a}, threads(32)), RunStatus::completed);
  EXPECT_EQ(r.machine().take_coverage().at(0).accesses.at(0), kAllLanes);
}

TEST(Coverage, CopiesAndMatricesAreAccesses) {
  Runner r(Runner::kernel(
      "ld.param.u64 %rd1, [a]; mov.u32 %r1, s; cp.async.ca.shared.global [%r1], [%rd1], 16;"
      "cp.async.wait_all; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1];",
      ".shared .align 16 .b8 s[512];"));
  const Coverage all = seen(r, threads(32));
  ASSERT_EQ(all.accesses.size(), 2u);
  EXPECT_EQ(all.accesses[0], kAllLanes | kFirstElement);
  EXPECT_EQ(all.accesses[1], kAllLanes) << "shared memory is no operand";
}

TEST(Coverage, ResultClassesOfEachFormat) {
  const std::string f32 = "ld.global.f32 %f1, [%rd1]; add.f32 %f2, %f1, %f1;";
  EXPECT_EQ(classes<float>(f32, {1, 2, -3, 1e30f}), kNormalResult);
  EXPECT_EQ(classes<float>(f32, {0, -0.0f}), kZeroResult);
  EXPECT_EQ(classes<float>(f32, {1e-40f}), kSubnormalResult);
  EXPECT_EQ(classes<float>(f32, {0x1p-127f, -0x1p-127f}), kNormalResult) << "the smallest";
  EXPECT_EQ(classes<float>(f32, {0x1.fffffep126f, -0x1p126f}), kLargestResult);
  EXPECT_EQ(classes<float>(f32, {0x1.fffffep125f}), kNormalResult);
  EXPECT_EQ(classes<float>(f32, {-0x1p127f}), kInfiniteResult) << "it overflows";
  EXPECT_EQ(classes<float>(f32, {std::nanf("")}), kNanResult);
  EXPECT_EQ(classes<float>(f32, {0, 1, kInfinity, 1e-40f, -std::nanf(""), 0x1p126f}), 63);
  const std::string f64 = "ld.global.f64 %fd1, [%rd1]; add.f64 %fd2, %fd1, %fd1;";
  EXPECT_EQ(classes<double>(f64, {0x1p1022, 1}), kLargestResult | kNormalResult);
  EXPECT_EQ(classes<double>(f64, {0x1p-1074, 0x1p1023}), kSubnormalResult | kInfiniteResult);
  const std::string f16 = "ld.global.b16 %h1, [%rd1]; add.f16 %h2, %h1, %h1;";
  EXPECT_EQ(classes<uint16_t>(f16, {0x7800, 0x7400}), kInfiniteResult | kLargestResult);
  EXPECT_EQ(classes<uint16_t>(f16, {0x0001, 0x8000}), kSubnormalResult | kZeroResult);
  const std::string bf16 = "ld.global.b16 %h1, [%rd1]; fma.rn.bf16 %h2, %h1, %h1, %h1;";
  EXPECT_EQ(classes<uint16_t>(bf16, {0x3f80, 0x7fc0}), kNormalResult | kNanResult);
  const std::string f16x2 = "ld.global.b32 %r2, [%rd1]; add.f16x2 %r3, %r2, %r2;";
  EXPECT_EQ(classes<uint32_t>(f16x2, {0x7c003c00}), kInfiniteResult | kNormalResult);
  EXPECT_EQ(classes<uint32_t>("ld.global.f32 %f1, [%rd1]; cvt.rn.f16.f32 %h1, %f1;",
                              {0x49742400, 0x33000000}),
            kInfiniteResult | kZeroResult)
      << "the class is that of the narrower format";
}

TEST(Coverage, OnlyActiveLanesHaveResults) {
  const std::string body =
      "ld.global.f32 %f1, [%rd1]; setp.lt.u32 %p1, %r1, 2; @%p1 add.f32 %f2, %f1, %f1;";
  EXPECT_EQ(classes<float>(body, {1, 2, kInfinity, 0}), kNormalResult);
  EXPECT_EQ(classes<float>(body, {0, 2, kInfinity}), kNormalResult | kZeroResult);
}

TEST(Coverage, MovesComparisonsAndIntegersHaveNoResults) {
  Runner r = make("mov.f32 %f1, 0f7f800000; selp.f32 %f2, %f1, %f1, %p1; setp.lt.f32 %p2, %f1, %f2;"
                  "add.u32 %r2, %r1, %r1; cvt.rzi.s32.f32 %r3, %f1;");
  EXPECT_TRUE(seen(r, threads(32)).results.empty());
}

TEST(Coverage, MatrixProductsHaveResults) {
  Runner r(Runner::kernel(
      "mov.f32 %f1, 0f7f7fffff; mov.b32 %r2, 0;"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f2, %f3, %f4, %f5}, {%r2, %r2}, {%r2},"
      "{%f1, %f1, %f1, %f1};"));
  EXPECT_EQ(seen(r, threads(32)).results, std::vector<uint8_t>{kLargestResult});
}

/// A long loop in whose last turns the sum becomes infinite.
const char* const kLateOverflow =
    "mov.u32 %r2, 0; mov.f32 %f1, 0f00000000;"
    "L: setp.gt.u32 %p2, %r2, 199000; selp.f32 %f2, 0f7f7fffff, 0f3f800000, %p2;"
    "add.f32 %f1, %f1, %f2; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 200000; @%p1 bra L;";

TEST(Coverage, ASampleSeesLongRunsAsWell) {
  Runner r = make(kLateOverflow);
  const Coverage whole = seen(r, threads(32)), sample = seen(r, threads(32), false);
  EXPECT_EQ(whole.results.at(0) & kInfiniteResult, kInfiniteResult);
  EXPECT_EQ(sample.results.at(0) & kInfiniteResult, kInfiniteResult);
  EXPECT_EQ(sample.results.at(0) & ~whole.results.at(0), 0);
  EXPECT_EQ(sample.edges, whole.edges);
}

TEST(Coverage, LookingChangesNothingElse) {
  // Divergent loops, a barrier and a spin: the order of lanes must not depend on who looks.
  const std::string body =
      "mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; cvt.rn.f32.u32 %f1, %r2; setp.lt.u32 %p1, %r2, %r1;"
      "activemask.b32 %r5; @%p1 bra L; bar.sync 0; atom.global.exch.b32 %r3, [%rd1], %r5;";
  std::vector<std::vector<uint32_t>> results;
  std::vector<int64_t> instructions;
  for (const auto& [coverage, every] :
       {std::pair{false, false}, std::pair{true, false}, std::pair{true, true}}) {
    Runner r = make(body);
    const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(256));
    r.options.coverage = coverage;
    r.options.every_result = every;
    ASSERT_EQ(r.run({a}, threads(256)), RunStatus::completed) << r.all_messages();
    results.push_back(r.read<uint32_t>("a"));
    instructions.push_back(r.machine().lane_instructions());
    EXPECT_EQ(r.machine().take_coverage().empty(), !coverage);
  }
  // With every switch off nothing is counted at all.
  Runner r = make(body);
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(256));
  r.options.switch_off_checkers();
  ASSERT_EQ(r.run({a}, threads(256)), RunStatus::completed) << r.all_messages();
  results.push_back(r.read<uint32_t>("a"));
  instructions.push_back(r.machine().lane_instructions());
  for (const uint32_t entries : r.machine().block_hits(r.module())) EXPECT_EQ(entries, 0u);
  for (size_t i = 1; i < results.size(); ++i) {
    EXPECT_EQ(results[0], results[i]) << i;
    EXPECT_EQ(instructions[0], instructions[i]) << i;
  }
}

CompareSeen compared(const std::string& body, int64_t n = 32) {
  Runner r = make(body);
  const Coverage all = seen(r, threads(n));
  EXPECT_FALSE(all.compares.empty());
  return all.compares.back();
}

TEST(Coverage, ComparisonsTellOutcomesAndDistance) {
  constexpr uint8_t kHeld = CompareSeen::kHeld, kNot = CompareSeen::kDidNotHold;
  using C = CompareSeen;
  EXPECT_EQ(compared("setp.lt.u32 %p1, %r1, 40;"), (C{kHeld, 9})) << "31 and 40";
  EXPECT_EQ(compared("setp.lt.u32 %p1, %r1, 16;"), (C{kHeld | kNot, 0}));
  EXPECT_EQ(compared("setp.eq.u32 %p1, %r1, 100; selp.u32 %r2, 1, 2, %p1;"), (C{kNot, 69}))
      << "no branch depends on it";
  EXPECT_EQ(compared("sub.s32 %r2, %r1, 50; setp.gt.s32 %p1, %r2, -60;"), (C{kHeld, 10}))
      << "-50 and -60";
  EXPECT_EQ(compared("setp.lt.u32 %p2, %r1, 10; @%p2 setp.eq.u32 %p1, %r1, 31;"), (C{kNot, 22}))
      << "active lanes only";
  EXPECT_EQ(compared("sub.s32 %r2, 0, 1; setp.gt.u32 %p1, %r2, 2;"), (C{kHeld, 0xfffffffdu}));
  EXPECT_EQ(compared("mov.b64 %rd5, -3; setp.lt.s64 %p1, %rd5, 4;"), (C{kHeld, 7}));
}

TEST(Coverage, FloatingNumbersAreApartByTheNumbersBetween) {
  using C = CompareSeen;
  constexpr uint8_t kHeld = CompareSeen::kHeld;
  EXPECT_EQ(compared("mov.f32 %f1, 0f3f800003; setp.gt.f32 %p1, %f1, 0f3f800000;"), (C{kHeld, 3}));
  EXPECT_EQ(compared("mov.f32 %f1, 0f00000002; setp.gt.f32 %p1, %f1, 0f80000001;"), (C{kHeld, 3}))
      << "across zero, whose two signs are one number";
  EXPECT_EQ(compared("mov.f64 %fd1, 0d3ff0000000000005; setp.gt.f64 %p1, %fd1, 0d3ff0000000000000;"),
            (C{kHeld, 5}));
}

TEST(Coverage, TurnsOfALoopInARow) {
  // The inner loop takes 1, 2, ... 5 turns, its back edge one less; the outer one is never taken
  // twice in a row but behind the first.
  const std::string nested =
      "mov.u32 %r2, 0; O: mov.u32 %r3, 0; I: add.u32 %r3, %r3, 1; setp.le.u32 %p1, %r3, %r2; @%p1 bra I;"
      "add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra O;";
  Runner r = make(nested);
  EXPECT_EQ(seen(r, threads(32)).turns, (std::vector<uint32_t>{4, 1}));
  Runner lanes = make("mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;");
  EXPECT_EQ(seen(lanes, threads(32)).turns, std::vector<uint32_t>{30}) << "lane 31 goes on alone";
}

TEST(Coverage, NothingIsComparedOrTurnedWithoutIt) {
  Runner r = make(kLateOverflow);
  r.options.coverage = false;
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(32));
  ASSERT_EQ(r.run({a}, threads(32)), RunStatus::completed);
  EXPECT_TRUE(r.machine().take_coverage().empty());
}

TEST(Coverage, NotableConstantsAreWhatIsComparedAndDividedBy) {
  Runner r = make("setp.lt.u32 %p1, %r1, 255; setp.eq.s32 %p2, %r1, -7; and.b32 %r2, %r1, 63;"
                  "and.b32 %r3, %r1, 12; rem.u32 %r4, %r1, 12; div.u32 %r5, %r1, 1; add.u32 %r6, %r1, 500;"
                  "mov.f32 %f1, 0f3f800000; setp.lt.f32 %p3, %f1, 0f40000000;"
                  "and.b64 %rd2, %rd1, 0x7fffffffffffffff; and.b64 %rd2, %rd1, -1;");
  EXPECT_EQ(*seen(r, threads(32)).constants, (std::vector<int64_t>{12, 64, 255}));
}

TEST(CoverageMap, PlacesAreLinesOfTheUser) {
  const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry other() { .loc 1 90 1
ret; }
.visible .entry k(.param .u64 a)
{
.reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .f32 %f<8>;
ld.param.u64 %rd1, [a];
.loc 1 10 3
mov.u32 %r1, %tid.x;
setp.lt.u32 %p1, %r1, 7;
@%p1 bra L;
.loc 1 12 3
@%p1 ld.global.f32 %f1, [%rd1];
.loc 2 300 3, function_name $s, inlined_at 1 13 5
add.f32 %f2, %f1, %f1;
L:
.loc 1 14 1
st.shared.u32 [%r1], %r1;
ret;
}
.file 1 "mine.cu"
.file 2 "/usr/local/cuda/include/cuda_fp16.hpp"
.section .debug_str
{
$s:
.b8 0
}
)";
  const Module module = decode(text, "test.ptx");
  const CoverageMap map = map_coverage(module, {"k"});
  const auto line = [&](int place) {
    EXPECT_EQ(map.places.at(static_cast<size_t>(place)).file, "mine.cu");
    return map.places.at(static_cast<size_t>(place)).line;
  };
  ASSERT_EQ(map.blocks.size(), 4u);
  EXPECT_FALSE(map.blocks[0].reachable) << "no entry names it";
  EXPECT_EQ(map.edges[0], kUnreachable);
  ASSERT_EQ(map.blocks[2].places.size(), 2u);
  EXPECT_EQ(line(map.blocks[2].places[0]), 12);
  EXPECT_EQ(line(map.blocks[2].places[1]), 13) << "a header of the toolkit counts where it is used";
  ASSERT_EQ(map.edges.size(), 5u);
  EXPECT_EQ(map.edges[1], kNoPlace) << "an entry";
  EXPECT_EQ(line(map.edges[2]), 10);
  EXPECT_EQ(line(map.edges[4]), 13);
  ASSERT_EQ(map.accesses.size(), 2u);
  EXPECT_EQ(line(map.accesses[0].place), 12);
  EXPECT_TRUE(map.accesses[0].guarded && map.accesses[0].may_be_operand);
  EXPECT_EQ(line(map.accesses[1].place), 14);
  EXPECT_FALSE(map.accesses[1].guarded || map.accesses[1].may_be_operand);
  ASSERT_EQ(map.results.size(), 1u);
  EXPECT_EQ(line(map.results[0]), 13);
}

TEST(CoverageMap, WithoutALineTableThePtxIsTheSource) {
  const Module module = decode(Runner::kernel("mov.u32 %r1, 1;"), "test.ptx");
  const CoverageMap map = map_coverage(module, {"k"});
  ASSERT_EQ(map.blocks.size(), 1u);
  ASSERT_EQ(map.blocks[0].places.size(), 2u);
  EXPECT_EQ(map.places[0], (SourcePlace{"", module.functions[0].code[0].ptx_line}));
}

}  // namespace
}  // namespace assay::ptx
