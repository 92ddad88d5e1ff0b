// Blocks are used again, with their memory, by launches of other shapes and programs.
#include <gtest/gtest.h>

#include <array>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

/// Each thread stores where it stands, at its number in the block.
const char* const kPlaces = R"(
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %tid.y;
  mov.u32 %r3, %tid.z;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %ntid.y;
  mad.lo.u32 %r6, %r3, %r5, %r2;
  mad.lo.u32 %r6, %r6, %r4, %r1;
  mul.wide.u32 %rd2, %r6, 4;
  add.u64 %rd1, %rd1, %rd2;
  shl.b32 %r7, %r2, 11;
  shl.b32 %r8, %r3, 22;
  or.b32 %r1, %r1, %r7;
  or.b32 %r1, %r1, %r8;
  st.global.u32 [%rd1], %r1;
)";

TEST(ExecutorStart, BlocksOfOtherShapesAreFitted) {
  Runner runner(Runner::kernel(kPlaces));
  const uint32_t untouched = 0xdeadbeef;
  const uint64_t address = runner.array<uint32_t>("y", std::vector<uint32_t>(1024, untouched));
  const std::array<int64_t, 3> shapes[] = {{256, 1, 1}, {16, 4, 2}, {5, 7, 3},   {1, 1, 64},
                                           {33, 1, 1},  {7, 1, 1},  {32, 32, 1}, {256, 1, 1}};
  for (const auto& shape : shapes) {
    LaunchConfig config = threads(1);
    config.block = shape;
    ASSERT_EQ(runner.run({address}, config), RunStatus::completed) << runner.all_messages();
    const auto places = runner.read<uint32_t>("y");
    for (uint32_t i = 0; i < places.size(); ++i) {
      const auto nx = static_cast<uint32_t>(shape[0]), ny = static_cast<uint32_t>(shape[1]);
      const bool exists = i < shape[0] * shape[1] * shape[2];
      const uint32_t expected = i % nx | i / nx % ny << 11 | i / (nx * ny) << 22;
      ASSERT_EQ(places[i], exists ? expected : untouched)
          << "thread " << i << " of " << shape[0] << " x " << shape[1] << " x " << shape[2];
    }
  }
}

/// What a register held in another program's blocks is undefined in this one's, and reads as 0.
TEST(ExecutorStart, RegistersOfAnotherProgramAreForgotten) {
  Runner runner(Runner::kernel(kPlaces) + R"(
.visible .entry reads(.param .u64 a) {
.reg .b32 %r<9>; .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [a];
  st.global.u32 [%rd1], %r1;
  ret;
})");
  const uint64_t address =
      runner.array<uint32_t>("y", std::vector<uint32_t>(1024, 1), true, false, true);
  for (const int64_t size : {64, 32, 128}) {
    ASSERT_EQ(runner.run({address}, threads(size)), RunStatus::completed);
    EXPECT_EQ(runner.count(DiagnosticKind::uninitialised), 0) << runner.all_messages();
    ASSERT_EQ(runner.run({address}, threads(size), "reads"), RunStatus::completed);
    EXPECT_EQ(runner.count(DiagnosticKind::uninitialised), 1) << runner.all_messages();
    EXPECT_EQ(runner.read<uint32_t>("y")[0], 0u);
  }
}

}  // namespace
}  // namespace assay::ptx
