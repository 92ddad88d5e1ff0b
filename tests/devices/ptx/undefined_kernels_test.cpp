// Undefined values in compiled kernels: tests/data/undefined/right.cu, of which nothing may be
// told, and wrong.cu, where the finding stands at the use and its steps begin at the read.
#include <numeric>

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

constexpr int kFilled = 20;  ///< elements of a tile that hold something

class UndefinedKernels : public ::testing::Test {
 protected:
  static std::string text(const char* name) {
    return read_file(data_folder() / "undefined" / name);
  }

  /// Output of 4-byte elements (or halves), input of 512 ones, order 0 to 63.
  static std::vector<uint64_t> arrays(Runner& r, const std::string& entry) {
    const bool halves = entry == "matrix" || entry == "half_pair";
    const bool indexed = entry == "index" || entry == "gather_in_warp";
    const uint64_t y = r.array<uint32_t>("y", std::vector<uint32_t>(256), true, true, true);
    const uint64_t x = halves
                           ? r.array<uint16_t>("x", std::vector<uint16_t>(512, 0x3c00), false)
                           : r.array<uint32_t>("x", std::vector<uint32_t>(512, 0x3f800000), false);
    std::vector<uint32_t> order(64);
    std::iota(order.begin(), order.end(), 0);
    const uint64_t o = r.array<uint32_t>("order", order, false);
    const uint64_t n = entry == "matrix" || entry == "integer_matrix" ? 10 : kFilled;
    return indexed ? std::vector<uint64_t>{y, x, o, n} : std::vector<uint64_t>{y, x, n};
  }
  static LaunchConfig shape(const std::string& entry) {
    const bool block =
        entry == "arithmetic" || entry == "branch" || entry == "index" || entry == "handed_on";
    return threads(block ? 64 : 32);
  }

  /// The line of wrong.cu whose comment says "`entry` `word`".
  static int line_of(const std::string& entry, const std::string& word) {
    std::istringstream lines(text("wrong.cu"));
    int number = 1;
    for (std::string line; std::getline(lines, line); ++number) {
      const size_t comment = line.find("// ");
      if (comment != line.npos && line.find(entry + " " + word, comment) != line.npos)
        return number;
    }
    ADD_FAILURE() << entry << " " << word;
    return 0;
  }

  void clean(const std::string& entry) {
    Runner r(text("right.ptx"));
    for (uint64_t seed : {0, 1, 2}) {
      LaunchConfig config = shape(entry);
      config.warp_seed = seed;
      ASSERT_EQ(r.run(arrays(r, entry), config, entry), RunStatus::completed)
          << entry << "\n" << r.all_messages();
      for (const Diagnostic& d : r.diagnostics()) {
        EXPECT_TRUE(d.note) << entry << "\n" << r.all_messages();
      }
    }
  }

  /// The one finding of a kernel: at its use, its first step at the read.
  Diagnostic found(const std::string& entry) {
    Runner r(text("wrong.ptx"));
    EXPECT_EQ(r.run(arrays(r, entry), shape(entry), entry), RunStatus::completed)
        << entry << "\n"
        << r.all_messages();
    std::vector<Diagnostic> all;
    for (const Diagnostic& d : r.diagnostics()) {
      if (d.kind == DiagnosticKind::uninitialised) all.push_back(d);
    }
    EXPECT_EQ(all.size(), 1u) << entry << "\n" << r.all_messages();
    if (all.empty()) return {};
    const Diagnostic& d = all[0];
    std::string steps = d.message + "\n";
    for (const Step& step : d.steps) steps += "  " + step.text() + "\n";
    SCOPED_TRACE(entry + ": " + steps);
    if (std::getenv("ASSAY_SHOW_STEPS") != nullptr)
      std::printf("%s: %s", entry.c_str(), steps.c_str());
    EXPECT_EQ(d.file, "wrong.cu");
    EXPECT_EQ(d.line, line_of(entry, "use"));
    EXPECT_GE(d.steps.size(), 2u);
    if (d.steps.size() < 2) return d;
    EXPECT_EQ(d.steps.front().line, line_of(entry, "read"));
    EXPECT_EQ(d.steps.back().line, line_of(entry, "use"));
    EXPECT_EQ(d.steps.back().thread, d.thread);

    r.options.definedness = false;
    EXPECT_EQ(r.run(arrays(r, entry), shape(entry), entry), RunStatus::completed);
    EXPECT_EQ(r.count(DiagnosticKind::uninitialised), 0) << entry;
    return d;
  }
};

TEST_F(UndefinedKernels, RightTwinsAreLeftAlone) {
  for (const char* entry : {"arithmetic", "shuffle_reduction", "matrix", "integer_matrix", "branch",
                            "index", "handed_on", "copy_not_awaited", "half_pair", "atomic_sum",
                            "ballot", "gather_in_warp", "integer_masks"}) {
    clean(entry);
  }
}

TEST_F(UndefinedKernels, Arithmetic) {
  const Diagnostic d = found("arithmetic");
  ASSERT_EQ(d.steps.size(), 3u);  // the read, the quotient, the store
  const std::string byte = std::to_string(4 * d.thread[0]);
  EXPECT_EQ(d.steps[0].what, "load of what nothing wrote");
  EXPECT_EQ(d.steps[0].value, "shared memory, byte " + byte + " of 256 (tile + " + byte + ")");
  EXPECT_EQ(d.steps[0].thread, d.thread);
  EXPECT_EQ(d.steps[0].block, (std::array<int64_t, 3>{0, 0, 0}));
  EXPECT_EQ(d.steps[1].what, "computed with");
  EXPECT_EQ(d.steps[1].line, line_of("arithmetic", "step"));
  EXPECT_GE(d.thread[0], kFilled);
  EXPECT_EQ(d.operand, "y");
}

TEST_F(UndefinedKernels, ShuffleReduction) {
  const Diagnostic d = found("shuffle_reduction");
  ASSERT_EQ(d.steps.size(), 3u);  // five shuffles of one line are one step
  EXPECT_GE(d.steps[0].thread[0], kFilled);
  EXPECT_EQ(d.steps[1].what, "shuffled");
  EXPECT_EQ(d.steps[1].line, line_of("shuffle_reduction", "step"));
  EXPECT_EQ(d.thread, (std::array<int64_t, 3>{0, 0, 0}));
}

TEST_F(UndefinedKernels, Matrix) {
  const Diagnostic d = found("matrix");
  ASSERT_EQ(d.steps.size(), 3u);
  EXPECT_EQ(d.steps[1].what, "multiplied");
  EXPECT_EQ(d.steps[1].line, line_of("matrix", "step"));
  EXPECT_NE(d.steps[0].value.find("(tile + 320)"), std::string::npos) << d.steps[0].value;
}

TEST_F(UndefinedKernels, Branch) { found("branch"); }

TEST_F(UndefinedKernels, Index) {
  const Diagnostic d = found("index");
  EXPECT_EQ(d.message.find("the address of "), 0u) << d.message;
}

TEST_F(UndefinedKernels, ThroughSharedMemoryAndAnotherThread) {
  const Diagnostic d = found("handed_on");
  ASSERT_EQ(d.steps.size(), 4u);  // read and stored by one thread, loaded and stored by another
  EXPECT_EQ(d.steps[1].what, "stored");
  EXPECT_EQ(d.steps[2].what, "loaded");
  EXPECT_EQ(d.steps[0].thread[0], 63 - d.thread[0]);
}

TEST_F(UndefinedKernels, CopyThatNobodyWaitsFor) {
  const Diagnostic d = found("copy_not_awaited");
  ASSERT_GE(d.steps.size(), 2u);
  EXPECT_EQ(d.steps[0].what, "load of what an asynchronous copy has not written yet");
}

TEST_F(UndefinedKernels, HalfOfAPair) { found("half_pair"); }

TEST_F(UndefinedKernels, Atomic) { found("atomic_sum"); }

TEST_F(UndefinedKernels, RegisterThatNothingWrote) {
  Runner r(Runner::kernel(R"(
    ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd1, %rd1, %rd3; add.s32 %r2, %r9, %r1; st.global.u32 [%rd1], %r2;)"));
  const uint64_t a = r.array<uint32_t>("a", std::vector<uint32_t>(32), true, true, true);
  ASSERT_EQ(r.run({a}, threads(32)), RunStatus::completed);
  ASSERT_EQ(r.diagnostics().size(), 1u) << r.all_messages();
  const std::vector<Step>& steps = r.diagnostics()[0].steps;
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0].what, "read of register %r9, which nothing wrote,");
  EXPECT_EQ(steps[0].instruction, "add.s32");
  EXPECT_EQ(steps[1].instruction, "st.global.u32");
}

}  // namespace
}  // namespace assay::ptx
