// Loads and stores of whole rows at once do what lanes one after the other would, whatever lanes are
// active and however their addresses lie.
#include <array>
#include <functional>
#include <utility>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

constexpr int kElements = 64;

struct Shape {
  const char* name;
  std::function<uint32_t(uint32_t)> element;  ///< that a lane accesses
};
const std::vector<Shape> kShapes{
    {"side by side", [](uint32_t lane) { return lane + 3; }},
    {"one for all", [](uint32_t) { return 5u; }},
    {"two in turn", [](uint32_t lane) { return lane % 2 + 7; }},
    {"four in turn", [](uint32_t lane) { return lane % 4; }},
    {"eight in turn", [](uint32_t lane) { return lane % 8 + 1; }},
    {"sixteen in turn", [](uint32_t lane) { return lane % 16 + 9; }},
    {"three in turn", [](uint32_t lane) { return lane % 3; }},
    {"eight, the last lane elsewhere", [](uint32_t lane) { return lane == 31 ? 40 : lane % 8; }},
    {"pairs", [](uint32_t lane) { return lane / 2; }},
    {"backwards", [](uint32_t lane) { return 33 - lane; }},
    {"every other", [](uint32_t lane) { return 2 * lane; }},
};
const std::vector<uint32_t> kMasks{~0u,         1u,          0x80000000u, 0x000000ffu,
                                   0x00fffff0u, 0xfffe0000u, 0x0000f00fu, 0x7fffffffu};

struct Access {
  std::string suffix;  ///< of ld and st
  std::string registers;
  int parts;
  int bytes;  ///< of an element in memory
};
const std::vector<Access> kAccesses{
    {"u32", "%r10", 1, 4},
    {"v2.u32", "{%r10, %r11}", 2, 8},
    {"v4.u32", "{%r10, %r11, %r12, %r13}", 4, 16},
    {"u16", "%h10", 1, 2},
    {"v2.u16", "{%h10, %h11}", 2, 4},
    {"u64", "%rd10", 1, 8},
    {"v2.u64", "{%rd10, %rd11}", 2, 16},
    {"u8", "%r10", 1, 1},
};

/// A kernel around `middle`: %p1 says whether the lane is active, %rd5 is its place in c, %rd6 in a.
std::string around(const Access& access, const std::string& middle) {
  return Runner::kernel(
      "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];"
      "mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 8; add.s64 %rd2, %rd2, %rd4;"
      "ld.global.v2.u32 {%r2, %r3}, [%rd2]; setp.ne.u32 %p1, %r3, 0;"
      "mul.wide.u32 %rd5, %r2, " + std::to_string(access.bytes) + "; add.s64 %rd5, %rd3, %rd5;"
      "mul.wide.u32 %rd6, %r1, " + std::to_string(access.bytes) + "; add.s64 %rd6, %rd1, %rd6;" +
      middle);
}

std::vector<uint32_t> table(const Shape& shape, uint32_t mask) {
  std::vector<uint32_t> words;
  for (uint32_t lane = 0; lane < 32; ++lane) {
    words.push_back(shape.element(lane));
    words.push_back((mask >> lane) & 1);
  }
  return words;
}

std::vector<uint8_t> bytes_of(int count, int salt) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 + i / 251 + salt);
  return bytes;
}

/// Copies c to a, where lanes load from `shape` and store side by side or, with `stores`, the other
/// way round.
void copies(const Access& access, bool stores, bool avx2) {
  const std::string load = "ld.global." + access.suffix + " " + access.registers + ", ";
  const std::string store = "st.global." + access.suffix + " ";
  const std::string own = stores ? load + "[%rd6];" : store + "[%rd6], " + access.registers + ";";
  const std::string other =
      stores ? store + "[%rd5], " + access.registers + ";" : load + "[%rd5];";
  Runner r(around(access, stores ? own + "@%p1 " + other
                                 : load + "[%rd6]; @%p1 " + other + own), avx2);
  for (const Shape& shape : kShapes) {
    for (const uint32_t mask : kMasks) {
      const auto theirs = bytes_of(kElements * access.bytes, 11);
      const auto mine = bytes_of(32 * access.bytes, 99);
      const uint64_t c = r.array<uint8_t>("c", theirs);
      const uint64_t a = r.array<uint8_t>("a", mine);
      const uint64_t b = r.array<uint32_t>("b", table(shape, mask), false);
      r.options.races = false;  // lanes store to one place on purpose
      ASSERT_EQ(r.run({a, b, c}, threads(32)), RunStatus::completed) << r.all_messages();
      auto want = stores ? theirs : mine;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        if (((mask >> lane) & 1) == 0) continue;
        const auto place = static_cast<size_t>(shape.element(lane)) * access.bytes;
        const auto at = static_cast<size_t>(lane) * access.bytes;
        for (size_t i = 0; i < static_cast<size_t>(access.bytes); ++i) {
          if (stores) {
            want[place + i] = mine[at + i];
          } else {
            want[at + i] = theirs[place + i];
          }
        }
      }
      EXPECT_EQ(r.read<uint8_t>(stores ? "c" : "a"), want)
          << access.suffix << ", " << shape.name << ", mask " << std::hex << mask;
      EXPECT_TRUE(r.diagnostics().empty()) << r.all_messages();
    }
  }
}

TEST(ExecutorMemoryRows, LoadsAndStoresOfAnyShape) {
  for (const bool avx2 : {false, true}) {
    if (avx2 && !cpu_has_avx2()) continue;
    for (const Access& access : kAccesses) {
      copies(access, false, avx2);
      copies(access, true, avx2);
    }
  }
}

// One undefined byte among those of a row: only its lanes have undefined values, and only their use
// is told.
TEST(ExecutorMemoryRows, AnUndefinedElementIsItsLanes) {
  for (const Shape& shape : kShapes) {
    for (const uint32_t mask : kMasks) {
      Runner r(around(kAccesses[0], "mov.u32 %r10, 0; @%p1 ld.global.u32 %r10, [%rd5];"
                                    "st.global.u32 [%rd6], %r10;"));
      RegionSpec spec;
      spec.name = "c";
      spec.base = uint64_t{7} << 44;
      spec.bytes = kElements * 4;
      spec.element_bytes = 4;
      spec.undefined_from = 8 * 4;
      r.region(spec);
      const uint64_t a =
          r.array<uint32_t>("a", std::vector<uint32_t>(32), true, false, true);
      const uint64_t b = r.array<uint32_t>("b", table(shape, mask), false);
      ASSERT_EQ(r.run({a, b, spec.base}, threads(32)), RunStatus::completed) << r.all_messages();
      int64_t bad = 0;
      for (uint32_t lane = 0; lane < 32; ++lane) {
        bad += ((mask >> lane) & 1) != 0 && shape.element(lane) >= 8;
      }
      int64_t told = 0;
      for (const Diagnostic& d : r.diagnostics()) {
        if (d.kind == DiagnosticKind::uninitialised && !d.note) told += d.count;
      }
      EXPECT_EQ(told, bad) << shape.name << ", mask " << std::hex << mask << "\n"
                           << r.all_messages();
    }
  }
}

}  // namespace
}  // namespace assay::ptx
