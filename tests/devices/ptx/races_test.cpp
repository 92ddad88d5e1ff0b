// The race checker on compiled kernels: tests/data/races/right.cu, which it must leave alone, and
// wrong.cu, whose races it must find at their lines.
#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

class Races : public ::testing::Test {
 protected:
  static std::string text(const char* name) {
    return read_file(data_folder() / "races" / name);
  }
  Runner right{text("right.ptx")};
  Runner wrong{text("wrong.ptx")};

  static uint64_t floats(Runner& r, const char* name, int n) {
    std::vector<float> v(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) v[i] = static_cast<float>(i + 1);
    return r.array<float>(name, v);
  }
  /// Runs under several orders of blocks and warps; nothing but notes may be told.
  void clean(const char* entry, const std::vector<uint64_t>& params, LaunchConfig config) {
    for (uint64_t seed : {0, 1, 2}) {
      config.block_seed = config.warp_seed = seed;
      clean_once(entry, params, config);
    }
  }
  void clean_once(const char* entry, const std::vector<uint64_t>& params,
                  const LaunchConfig& config) {
    ASSERT_EQ(right.run(params, config, entry), RunStatus::completed) << right.all_messages();
    EXPECT_EQ(right.count(DiagnosticKind::race), 0) << entry << "\n" << right.all_messages();
  }
  /// Runs, and expects one race between the lines whose comments say `entry first` and `second`.
  void found(const char* entry, const std::vector<uint64_t>& params, LaunchConfig config,
             const std::string& between) {
    ASSERT_EQ(wrong.run(params, config, entry), RunStatus::completed) << wrong.all_messages();
    ASSERT_GE(wrong.count(DiagnosticKind::race), 1) << entry << "\n" << wrong.all_messages();
    const std::string source = text("wrong.cu");
    int first = 0, second = 0, line = 1;
    std::istringstream lines(source);
    for (std::string at; std::getline(lines, at); ++line) {
      const size_t mark = at.find(std::string("// ") + entry + " ");
      if (mark == std::string::npos) continue;
      if (at.find("first", mark) != std::string::npos) first = line;
      if (at.find("second", mark) != std::string::npos) second = line;
    }
    bool told = false;
    for (const Diagnostic& d : wrong.diagnostics()) {
      if (d.kind != DiagnosticKind::race || d.note) continue;
      const std::string place = " at wrong.cu:";
      const auto names = [&](int n) {
        return d.message.find(place + std::to_string(n) + ",") != std::string::npos;
      };
      // The place is the later line, whichever access came first.
      told |= d.message.find("race between " + between) == 0 &&
              d.line == std::max(first, second) && names(std::min(first, second));
    }
    EXPECT_TRUE(told) << entry << "\n" << wrong.all_messages();

    wrong.options.races = false;
    ASSERT_EQ(wrong.run(params, config, entry), RunStatus::completed);
    EXPECT_EQ(wrong.count(DiagnosticKind::race), 0) << "off must be off";
    wrong.options.races = true;
  }
};

TEST_F(Races, LeavesLockFreeCodeAlone) {
  const uint64_t y = floats(right, "y", 512), part = floats(right, "part", 512);
  const uint64_t x = floats(right, "x", 512);
  const uint64_t zero = right.array<int>("zero", std::vector<int>(64, 0));
  const uint64_t total = right.array<int>("total", std::vector<int>(64, 0));
  const uint64_t prefix = right.array<int>("prefix", std::vector<int>(64, 0));
  clean("last_block", {y, part, x}, threads(64, 8));
  clean("last_block_acquires", {y, part, x}, threads(64, 8));
  clean("ticketed", {y, zero}, threads(64, 8));
  clean("look_back", {y, zero, total, prefix, x}, threads(32, 16));
  clean("spin_lock", {zero, y}, threads(64, 3));
  clean("cas_loop", {zero}, threads(64, 3));
  clean("block_scope", {zero}, threads(64, 3));
  for (int n : {2, 5}) {  // counters start from 0, and two are left where they ended
    const uint64_t counters = right.array<unsigned>("counters", {0, 0});
    clean_once("grid_barrier", {y, part, x, counters, counters + 4}, threads(32, n));
    const uint64_t sums = right.array<int>("sums", {0, 0});
    clean_once("red_then_flag", {y, sums, sums + 4}, threads(32, n));
  }
}

TEST_F(Races, LeavesSynchronisedCodeAlone) {
  const uint64_t y = floats(right, "y", 512), x = floats(right, "x", 512);
  clean("warp_synchronous", {y, x}, threads(64));
  clean("half_warps", {y, x}, threads(32));
  clean("one_value", {y, x}, threads(64, 3));
  clean("double_buffer", {y, x, 5}, threads(64));
  clean("copies", {y, x, 5}, threads(64));
  clean("narrow", {y, x}, threads(64, 2));
  clean("named", {y, x}, threads(128));
  clean("arrivals", {y, x}, threads(64));
  clean("shuffled", {y, x}, threads(64));
  clean("broadcast", {y, x}, threads(64));
  clean("one_value_unrolled", {y, x}, threads(64, 3));
  clean("tile_in_part", {y, x}, threads(64, 5));
}

TEST_F(Races, VolatileAmongTheLanesOfAWarpIsANote) {
  const uint64_t y = floats(right, "y", 64), x = floats(right, "x", 64);
  clean("volatile_warp", {y, x}, threads(64));
  bool note = false;
  for (const Diagnostic& d : right.diagnostics()) {
    note |= d.note && d.message.find("relies on volatile") == 0;
  }
  EXPECT_TRUE(note) << right.all_messages();
}

TEST_F(Races, FindsThoseWithinABlock) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  found("no_barrier", {y, x}, threads(64), "threads of a block");
  found("store_then_load", {y, x}, threads(128), "threads of a block");
  found("no_syncwarp", {y, x}, threads(32), "lanes of a warp");
  found("reused", {y, x, 3}, threads(64), "threads of a block");
  found("lanes_differ", {y}, threads(32), "lanes of a warp");
  found("copies_differ", {y, x}, threads(64), "threads of a block");
  found("early_copy", {y, x}, threads(64), "threads of a block");
  found("broadcast_reused", {y, x, 3}, threads(64), "threads of a block");
}

TEST_F(Races, FindsThoseBetweenBlocks) {
  const uint64_t y = floats(wrong, "y", 512), part = floats(wrong, "part", 512);
  const uint64_t x = floats(wrong, "x", 512);
  const uint64_t zero = wrong.array<int>("zero", {0});
  found("no_fence", {y, part, x}, threads(32, 8), "blocks");
  found("fence_of_one", {y, part, x}, threads(64, 8), "blocks");
  found("block_fence", {y, part, x}, threads(32, 8), "blocks");
  found("plain_flag", {y, zero, part}, threads(1, 2), "blocks");
  found("one_element", {y}, threads(1, 2), "blocks");
  found("in_place_stencil", {y, 128}, threads(64, 2), "blocks");
  found("unlocked", {zero, y}, threads(32, 2), "blocks");
  const uint64_t counts = wrong.array<int>("counts", std::vector<int>(32, 0));
  found("clearing", {counts}, threads(32, 2), "blocks");
  found("block_atomics", {counts}, threads(32, 2), "blocks");
  found("load_beside_atomic", {y, counts}, threads(1, 2), "blocks");
}

TEST_F(Races, TellsBothValues) {
  const uint64_t y = wrong.array<int>("y", {7});
  ASSERT_EQ(wrong.run({y}, threads(1, 2), "one_element"), RunStatus::completed);
  ASSERT_EQ(wrong.count(DiagnosticKind::race), 1) << wrong.all_messages();
  const Diagnostic& d = wrong.diagnostics()[0];
  ASSERT_EQ(d.steps.size(), 2u);
  EXPECT_EQ(d.steps[0].block, (std::array<int64_t, 3>{0, 0, 0}));
  EXPECT_EQ(d.steps[0].value, "0");
  EXPECT_EQ(d.steps[1].block, (std::array<int64_t, 3>{1, 0, 0}));
  EXPECT_EQ(d.steps[1].value, "1");
  EXPECT_NE(d.steps[1].text().find(" by thread (0,0,0) of block (1,0,0): 1"), std::string::npos)
      << d.steps[1].text();
}

TEST_F(Races, ThePlaceIsTheSameUnderEverySchedule) {
  int line = 0;
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  for (uint64_t seed : {0, 1, 2, 3, 4, 5}) {
    LaunchConfig config = threads(64);
    config.warp_seed = seed;
    ASSERT_EQ(wrong.run({y, x, 3}, config, "reused"), RunStatus::completed);
    ASSERT_EQ(wrong.count(DiagnosticKind::race), 1) << wrong.all_messages();
    if (line == 0) line = wrong.diagnostics()[0].line;
    EXPECT_EQ(wrong.diagnostics()[0].line, line) << seed;
    const std::string& message = wrong.diagnostics()[0].message;
    EXPECT_EQ(message.find("race between threads of a block, shared memory"), 0u) << message;
    EXPECT_NE(message.find(": load by "), std::string::npos) << message;
    EXPECT_NE(message.find(" and store by "), std::string::npos) << message;
  }
}

// Many read; the one that is named is another than the thread that stores, and not in its warp.
TEST_F(Races, NamesAReaderThatIsNotOrdered) {
  const uint64_t y = floats(wrong, "y", 512), x = floats(wrong, "x", 512);
  ASSERT_EQ(wrong.run({y, x, 3}, threads(64), "broadcast_reused"), RunStatus::completed);
  ASSERT_EQ(wrong.count(DiagnosticKind::race), 1) << wrong.all_messages();
  EXPECT_NE(wrong.diagnostics()[0].message.find(": load by thread (32,0,0)"), std::string::npos)
      << wrong.all_messages();
}

// Even lanes swap a value for itself: theirs succeeds at once, beside the plain read of others.
TEST_F(Races, ALoopOfCompareAndSwapMayEndInItsFirstTurn) {
  Runner r(Runner::kernel(R"(
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 1; ld.global.u32 %r3, [%rd1];
    L: add.u32 %r4, %r3, %r2; atom.global.cas.b32 %r5, [%rd1], %r3, %r4;
    setp.ne.u32 %p1, %r5, %r3; mov.u32 %r3, %r5; @%p1 bra L;)"));
  const uint64_t a = r.array<uint32_t>("a", {0});
  for (const int warps : {1, 3}) {
    ASSERT_EQ(r.run({a}, threads(32 * warps)), RunStatus::completed) << r.all_messages();
    EXPECT_EQ(r.count(DiagnosticKind::race), 0) << r.all_messages();
    EXPECT_EQ(r.read<uint32_t>("a")[0], 16u * static_cast<uint32_t>(warps));
  }
}

// ld.global.nc of what the launch has stored, by another thread behind a barrier or by itself.
TEST_F(Races, ReadOnlyLoadsOfWhatTheLaunchStored) {
  const std::string own = R"(
    ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;
    sub.u32 %r2, 63, %r1; mul.wide.u32 %rd6, %r2, 4; add.s64 %rd7, %rd1, %rd6;)";
  const std::string store = "st.global.u32 [%rd4], %r1;", barrier = "bar.sync 0;";
  struct Body {
    std::string text;
    int races;
  };
  const Body bodies[] = {
      {store + barrier + "ld.global.nc.u32 %r3, [%rd7];", 1},
      {store + "ld.global.nc.u32 %r3, [%rd4];", 1},
      {store + barrier + "ld.global.nc.u8 %r3, [%rd7+3];", 1},
      {store + barrier + "ld.global.u32 %r3, [%rd7];", 0},
      {"ld.global.nc.u32 %r3, [%rd7];" + barrier + store, 0},  // before: the value was right
      {"st.global.u16 [%rd4], 7; ld.global.nc.u16 %h1, [%rd4+2]; cvt.u32.u16 %r3, %h1;", 0},
  };
  for (const auto& [text, races] : bodies) {
    Runner r(Runner::kernel(own + text + "st.global.u32 [%rd5], %r3;"));
    const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(64, 1));
    const uint64_t b = r.array<uint32_t>("b", std::vector<uint32_t>(64, 1));
    ASSERT_EQ(r.run({a, b}, threads(64)), RunStatus::completed) << r.all_messages();
    EXPECT_EQ(r.count(DiagnosticKind::race), races) << text << "\n" << r.all_messages();
    if (races == 0) continue;
    const Diagnostic& d = r.diagnostics()[0];
    EXPECT_EQ(d.message.find("read-only load of what this launch has stored, a, element"), 0u)
        << d.message;
    ASSERT_EQ(d.steps.size(), 2u);
    EXPECT_EQ(d.steps[0].what, "store");
    EXPECT_EQ(d.steps[1].what, "load");
  }
}

}  // namespace
}  // namespace assay::ptx
