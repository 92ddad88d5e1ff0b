// Loads and stores of each space, their bounds and alignment, and what is defined.
#include <array>
#include <numeric>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// %rd1 = a + 4 * tid, %rd2 = b + 4 * tid, %r1 = tid.
const char* const kIndex = R"(
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b];
  mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;
)";

std::vector<uint32_t> numbers(int n, uint32_t first = 0) {
  std::vector<uint32_t> v(static_cast<size_t>(n));
  std::iota(v.begin(), v.end(), first);
  return v;
}

Runner make(const std::string& body, const std::string& before = "") {
  return Runner(Runner::kernel(kIndex + body, before));
}

TEST(ExecutorMemory, CopiesWordsOfAnyWarpShape) {
  for (int n : {1, 31, 32, 33, 200}) {
    Runner r = make("ld.global.u32 %r2, [%rd2]; st.global.u32 [%rd1], %r2;");
    const uint64_t a = r.array<uint32_t>("a", numbers(n, 1000));
    const uint64_t b = r.array<uint32_t>("b", numbers(n), false);
    ASSERT_EQ(r.run({a, b}, threads(n)), RunStatus::completed) << r.all_messages();
    EXPECT_EQ(r.read<uint32_t>("a"), numbers(n));
  }
}

TEST(ExecutorMemory, LocalAddressesAtTheEndsOf64Bits) {
  // The last byte of an access at the highest addresses lies past 2^63.
  for (const char* address : {"0x7ffffffffffffffc", "0x8000000000000000", "0xfffffffffffffffc",
                              "0x7ffffffffffffff8"}) {
    const std::string start = std::string("mov.u64 %rd4, ") + address + ";";
    for (const char* access : {"ld.local.u32 %r2, [%rd4];", "st.local.u32 [%rd4], %r1;"}) {
      Runner r = make(".local .align 8 .b8 l[16];" + start + access);
      const uint64_t a = r.array<uint32_t>("a", numbers(32));
      EXPECT_EQ(r.run({a, a}, threads(32)), RunStatus::fault) << start << access;
      EXPECT_EQ(r.count(DiagnosticKind::out_of_bounds), 1) << r.all_messages();
    }
  }
}

TEST(ExecutorMemory, TheObserverSeesEachKindOfAccess) {
  Runner r = make(
      "ld.param.u64 %rd6, [b]; ld.global.v2.u32 {%r2, %r3}, [%rd6]; st.global.u32 [%rd1], %r2;"
      "atom.global.cas.b32 %r4, [%rd1], 5, 6;");
  std::vector<std::array<int, 4>> seen;  // bytes, read, write, atomic
  r.machine().observe([&](const AccessEvent& e) {
    seen.push_back({e.bytes, e.is_read, e.is_write, e.is_atomic});
  });
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  const uint64_t b = r.array<uint32_t>("b", numbers(64), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed) << r.all_messages();
  const std::vector<std::array<int, 4>> want{{8, 1, 0, 0}, {4, 0, 1, 0}, {4, 1, 1, 1}};
  EXPECT_EQ(seen, want);
}

TEST(ExecutorMemory, ExtendsNarrowLoads) {
  Runner r = make(R"(
    sub.s64 %rd4, %rd2, %rd3; cvt.u64.u32 %rd5, %r1; add.s64 %rd4, %rd4, %rd5;
    ld.global.s8 %r2, [%rd4]; ld.global.u8 %r3, [%rd4]; sub.s32 %r2, %r3, %r2;
    st.global.u32 [%rd1], %r2;)");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  std::vector<uint8_t> bytes(32);
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<uint8_t>(120 + i);
  const uint64_t b = r.array<uint8_t>("b", bytes, false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed) << r.all_messages();
  const auto got = r.read<uint32_t>("a");
  for (int i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 8 ? 0u : 256u) << i;
}

TEST(ExecutorMemory, VectorsOfTwoAndFour) {
  Runner r = make(R"(
    shl.b64 %rd4, %rd3, 2; ld.param.u64 %rd5, [b]; add.s64 %rd5, %rd5, %rd4;
    ld.param.u64 %rd6, [a]; add.s64 %rd6, %rd6, %rd4;
    ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd5];
    st.global.v2.u32 [%rd6], {%r5, %r4}; st.global.v2.u32 [%rd6+8], {%r3, %r2};)");
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(128, 0));
  const uint64_t b = r.array<uint32_t>("b", numbers(128), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed) << r.all_messages();
  const auto got = r.read<uint32_t>("a");
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(got[i], i / 4 * 4 + 3 - i % 4) << i;
}

TEST(ExecutorMemory, OutOfBoundsCountsElements) {
  Runner r = make("ld.global.u32 %r2, [%rd2+40]; st.global.u32 [%rd1], %r2;");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  const uint64_t b = r.array<uint32_t>("b", numbers(32), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::fault);
  ASSERT_EQ(r.count(DiagnosticKind::out_of_bounds), 1);
  const Diagnostic& d = r.diagnostics()[0];
  EXPECT_NE(d.message.find("b, element 32 (1 past the end)"), std::string::npos) << d.message;
  EXPECT_EQ(d.operand, "b");
  EXPECT_EQ(d.thread[0], 22);
}

TEST(ExecutorMemory, OnlyActiveLanesAddressesCount) {
  Runner r = make(R"(
    setp.lt.u32 %p1, %r1, 20; mov.u32 %r2, 7;
    @%p1 ld.global.u32 %r2, [%rd2]; st.global.u32 [%rd1], %r2;)");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  const uint64_t b = r.array<uint32_t>("b", numbers(20), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed) << r.all_messages();
  const auto got = r.read<uint32_t>("a");
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], i < 20 ? i : 7) << i;
  EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();
}

TEST(ExecutorMemory, MisalignedVectorIsAFault) {
  Runner r = make("ld.global.v2.u32 {%r2, %r3}, [%rd2]; st.global.u32 [%rd1], %r2;");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  const uint64_t b = r.array<uint32_t>("b", numbers(64), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::fault);
  EXPECT_EQ(r.count(DiagnosticKind::misaligned), 1) << r.all_messages();
}

TEST(ExecutorMemory, StoreToAnInputIsAStrayWrite) {
  Runner r = make("st.global.u32 [%rd2], %r1;");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  const uint64_t b = r.array<uint32_t>("b", numbers(32), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed);
  EXPECT_EQ(r.count(DiagnosticKind::stray_write), 1) << r.all_messages();
}

TEST(ExecutorMemory, SharedMemoryIsExactAndPoisoned) {
  const std::string shared = ".shared .align 4 .b8 s[128];";
  Runner good = make(shared + R"(
    mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.s32 %r3, %r3, %r4;
    ld.global.u32 %r2, [%rd2]; st.shared.u32 [%r3], %r2; bar.sync 0;
    mov.u32 %r5, s; sub.s32 %r5, %r5, %r4; ld.shared.u32 %r6, [%r5+124];
    st.global.u32 [%rd1], %r6;)");
  uint64_t a = good.array<uint32_t>("a", numbers(32), true, true, true);
  uint64_t b = good.array<uint32_t>("b", numbers(32), false);
  ASSERT_EQ(good.run({a, b}, threads(32)), RunStatus::completed) << good.all_messages();
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(good.read<uint32_t>("a")[i], 31 - i);
  EXPECT_TRUE(good.diagnostics().empty()) << good.all_messages();

  Runner past = make(shared + R"(
    mov.u32 %r3, s; shl.b32 %r4, %r1, 2; add.s32 %r3, %r3, %r4;
    st.shared.u32 [%r3+4], %r1;)");
  a = past.array<uint32_t>("a", numbers(32));
  ASSERT_EQ(past.run({a, a}, threads(32)), RunStatus::fault);
  EXPECT_EQ(past.diagnostics()[0].operand, "s") << past.all_messages();

  Runner unset = make(shared + "ld.shared.u32 %r2, [s+8]; st.global.u32 [%rd1], %r2;");
  a = unset.array<uint32_t>("a", numbers(32), true, true, true);
  ASSERT_EQ(unset.run({a, a}, threads(32)), RunStatus::completed);
  EXPECT_EQ(unset.count(DiagnosticKind::uninitialised), 1) << unset.all_messages();
}

TEST(ExecutorMemory, DynamicSharedMemoryHasTheLaunchsSize) {
  Runner r = make(R"(
    mov.u32 %r3, dyn; shl.b32 %r4, %r1, 2; add.s32 %r3, %r3, %r4; st.shared.u32 [%r3], %r1;
    ld.shared.u32 %r5, [%r3]; st.global.u32 [%rd1], %r5;)",
                  ".extern .shared .align 16 .b8 dyn[];");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  LaunchConfig config = threads(32);
  config.shared_bytes = 128;
  EXPECT_EQ(r.run({a, a}, config), RunStatus::completed) << r.all_messages();
  config.shared_bytes = 124;
  EXPECT_EQ(r.run({a, a}, config), RunStatus::fault);
}

TEST(ExecutorMemory, LocalMemoryIsEachLanesOwn) {
  Runner r = make(R"(
    .local .align 8 .b8 l[16];
    mov.u64 %rd4, l; cvta.local.u64 %rd5, %rd4;
    st.local.u32 [%rd4+4], %r1; ld.u32 %r2, [%rd5+4]; st.global.u32 [%rd1], %r2;)");
  const uint64_t a = r.array<uint32_t>("a", numbers(32, 50), true, true, true);
  ASSERT_EQ(r.run({a, a}, threads(32)), RunStatus::completed) << r.all_messages();
  EXPECT_EQ(r.read<uint32_t>("a"), numbers(32));
  EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();
}

TEST(ExecutorMemory, ModuleVariablesHoldTheirInitialValues) {
  Runner r = make(R"(
    mov.u64 %rd4, table; cvta.const.u64 %rd4, %rd4; ld.const.u32 %r2, [table+8];
    ld.global.u32 %r3, [counter]; add.s32 %r3, %r3, %r2; st.global.u32 [%rd1], %r3;)",
                  ".const .align 4 .u32 table[4] = {1, 2, 3, 4};\n.global .u32 counter = 40;");
  const uint64_t a = r.array<uint32_t>("a", numbers(32));
  ASSERT_EQ(r.run({a, a}, threads(32)), RunStatus::completed) << r.all_messages();
  EXPECT_EQ(r.read<uint32_t>("a")[5], 43u);
}

TEST(ExecutorMemory, UndefinedValuesAreToldOnlyWhereTheyArrive) {
  // %r2 stays unset in lanes 16 and up; it is shuffled and added, and only lanes below 16 store.
  const char* body = R"(
    setp.lt.u32 %p1, %r1, 16;
    @%p1 ld.global.u32 %r2, [%rd2]; add.s32 %r3, %r2, 1;
    @%p1 st.global.u32 [%rd1], %r3;)";
  Runner r = make(body);
  uint64_t a = r.array<uint32_t>("a", numbers(32), true, true, true);
  uint64_t b = r.array<uint32_t>("b", numbers(16), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed);
  EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();

  Runner stores = make(std::string(body) + "st.global.u32 [%rd1], %r3;");
  a = stores.array<uint32_t>("a", numbers(32), true, true, true);
  b = stores.array<uint32_t>("b", numbers(16), false);
  ASSERT_EQ(stores.run({a, b}, threads(32)), RunStatus::completed);
  EXPECT_EQ(stores.count(DiagnosticKind::uninitialised), 1) << stores.all_messages();

  Runner branches = make(std::string(body) + R"(
    setp.eq.s32 %p2, %r3, 5; @%p2 bra L; add.s32 %r3, %r3, 1; L:)");
  a = branches.array<uint32_t>("a", numbers(32), true, true, true);
  b = branches.array<uint32_t>("b", numbers(16), false);
  ASSERT_EQ(branches.run({a, b}, threads(32)), RunStatus::completed);
  EXPECT_EQ(branches.count(DiagnosticKind::uninitialised), 1) << branches.all_messages();

  branches.options.definedness = false;
  ASSERT_EQ(branches.run({a, b}, threads(32)), RunStatus::completed);
  EXPECT_TRUE(branches.diagnostics().empty()) << branches.all_messages();
}

TEST(ExecutorMemory, ADefinedFalseDecidesAnAnd) {
  Runner r = make(R"(
    setp.lt.u32 %p1, %r1, 16; @%p1 ld.global.u32 %r2, [%rd2];
    setp.gt.u32 %p2, %r2, 3; and.pred %p3, %p1, %p2;
    mov.u32 %r4, 0; @%p3 bra L; mov.u32 %r4, 1; L: st.global.u32 [%rd1], %r4;)");
  const uint64_t a = r.array<uint32_t>("a", numbers(32), true, true, true);
  const uint64_t b = r.array<uint32_t>("b", numbers(16), false);
  ASSERT_EQ(r.run({a, b}, threads(32)), RunStatus::completed);
  EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();
}

}  // namespace
}  // namespace assay::ptx
