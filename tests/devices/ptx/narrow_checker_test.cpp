// The checker of narrow accumulation on compiled kernels: tests/data/narrow/wrong.cu, whose narrow
// sums it must find at their lines, and right.cu, which it must leave alone.
#include "devices/ptx/narrow_checker.hpp"

#include "tests/devices/ptx/running.hpp"

namespace assay::ptx {
namespace {

constexpr int kF32 = 24, kF64 = 53, kF16 = 11, kBf16 = 8;

class Narrow : public ::testing::Test {
 protected:
  static std::string text(const char* name) { return read_file(data_folder() / "narrow" / name); }
  Runner right{text("right.ptx")};
  Runner wrong{text("wrong.ptx")};

  /// Halves (or anything of two bytes) that are ordinary numbers in f16 and in bf16, from 1 to 4.
  static uint64_t halves(Runner& r, const char* name, int n) {
    std::vector<uint16_t> v(static_cast<size_t>(n));
    for (int i = 0; i < n; ++i) v[i] = static_cast<uint16_t>(0x3f80 + i % 64);
    return r.array<uint16_t>(name, v);
  }
  static uint64_t floats(Runner& r, const char* name, int n) {
    return r.array<float>(name, std::vector<float>(static_cast<size_t>(n), 1.5f));
  }
  static uint64_t doubles(Runner& r, const char* name, int n) {
    return r.array<double>(name, std::vector<double>(static_cast<size_t>(n), 1.5));
  }

  /// Findings of a run of `entry` in which sums must have `precision` bits.
  static std::vector<Diagnostic> findings(Runner& r, const char* entry, int precision,
                                          const std::vector<uint64_t>& params,
                                          const LaunchConfig& config) {
    const Function* function = r.module().find(entry);
    if (function == nullptr) {
      ADD_FAILURE() << "no kernel " << entry;
      return {};
    }
    const auto chains = chains_of(r.module(), *function, precision);
    NarrowLaunch narrow(r.module(), chains, "f32", {});
    r.machine().observe(narrow.observer());
    EXPECT_EQ(r.run(params, config, entry), RunStatus::completed) << r.all_messages();
    r.machine().observe({});
    std::vector<Diagnostic> found;
    narrow.report(r.machine().block_hits(r.module()), found);
    return found;
  }
  void clean(const char* entry, const std::vector<uint64_t>& params, const LaunchConfig& config,
             int precision = kF32) {
    for (const Diagnostic& d : findings(right, entry, precision, params, config))
      ADD_FAILURE() << entry << ": " << d.message << " at line " << d.line;
  }
  /// Expects one finding, at the line whose comment names the kernel.
  std::vector<Diagnostic> found(const char* entry, const std::vector<uint64_t>& params,
                                const LaunchConfig& config, int precision = kF32) {
    int line = 0, number = 0;
    std::istringstream lines(text("wrong.cu"));
    for (std::string at; std::getline(lines, at);) {
      ++number;
      const std::string mark = std::string("// ") + entry;
      if (at.size() >= mark.size() && at.compare(at.size() - mark.size(), mark.size(), mark) == 0)
        line = number;
    }
    EXPECT_GT(line, 0) << entry;
    std::vector<Diagnostic> all = findings(wrong, entry, precision, params, config);
    EXPECT_EQ(all.size(), 1u) << entry;
    if (all.size() != 1) {
      for (const Diagnostic& d : all) ADD_FAILURE() << d.message << " at line " << d.line;
      return {};
    }
    EXPECT_EQ(all[0].line, line) << entry;
    EXPECT_EQ(all[0].file, "wrong.cu") << entry;
    EXPECT_GE(all[0].steps.size(), 1u) << entry;
    return all;
  }
};

TEST_F(Narrow, FindsSumsAroundLoops) {
  const uint64_t x = halves(wrong, "x", 256), w = halves(wrong, "w", 256);
  const uint64_t f = floats(wrong, "f", 256), y = floats(wrong, "y", 256);
  const auto loop = found("half_loop", {y, x, 256}, threads(32));
  ASSERT_EQ(loop.size(), 1u);
  EXPECT_EQ(
      loop[0].message,
      "a sum is rounded to f16 on each turn of a loop, where the contract accumulates in f32");
  ASSERT_EQ(loop[0].steps.size(), 3u);
  EXPECT_EQ(loop[0].steps[0].instruction, "add.f16");
  EXPECT_EQ(loop[0].steps[1].what, "back around the loop");
  EXPECT_EQ(loop[0].steps[2].what, "stored");
  EXPECT_EQ(loop[0].steps[2].line, loop[0].line + 1);
  found("bf16_loop", {y, x, 256}, threads(32));
  found("half2_dot", {y, x, w, 128}, threads(32));
  const auto rounded = found("rounded_each_turn", {y, f, 256}, threads(32));
  ASSERT_EQ(rounded.size(), 1u);
  EXPECT_EQ(rounded[0].steps[1].what, "rounded to f16");
  found("tf32_each_turn", {y, f, 256}, threads(32));
  found("half_online", {y, x, w, 256}, threads(32));
}

TEST_F(Narrow, FindsTreesAndUnrolledSums) {
  const uint64_t x = halves(wrong, "x", 1024), f = floats(wrong, "f", 256);
  const uint64_t y = floats(wrong, "y", 256);
  found("half_warp", {y, f}, threads(32));
  found("half_warp_by_hand", {y, f}, threads(32));
  found("half_tree", {y, f}, threads(128));
  found("half_tree_by_hand", {y, f}, threads(64));
  found("half_in_shared", {y, x, 64}, threads(32));
  found("half_unrolled", {y, x}, threads(32));
}

TEST_F(Narrow, FindsMatrixProducts) {
  const uint64_t a = halves(wrong, "a", 4096), b = halves(wrong, "b", 4096);
  const uint64_t y = floats(wrong, "y", 256);
  found("half_products", {y, a, b, 128}, threads(32));
  found("half_wmma_unrolled", {y, a, b}, threads(32));
}

TEST_F(Narrow, FindsAtomics) {
  const uint64_t x = halves(wrong, "x", 32), y = halves(wrong, "y", 32);
  found("half_atomics", {y, x}, threads(32));
  found("bf16_atomics", {y, x}, threads(32));
}

TEST_F(Narrow, LeavesNarrowArithmeticAlone) {
  const uint64_t x = halves(right, "x", 256), r = halves(right, "r", 256);
  const uint64_t b = halves(right, "b", 256), c = halves(right, "c", 256);
  const uint64_t y = halves(right, "y", 256), f = floats(right, "f", 256);
  clean("float_loop", {f, x, 256}, threads(32));
  clean("residual", {y, x, r, 256}, threads(32));
  clean("four_operands", {y, x, r, b, c, 256}, threads(32));
  clean("polynomial", {y, x, 64}, threads(32));
  clean("polynomial_loop", {y, x, 6}, threads(32));
  clean("half_maximum", {y, x, 256}, threads(32));
  clean("half_counter", {y, x, 256}, threads(32));
  clean("products_rounded", {f, x, r, 64}, threads(32));
  clean("online", {y, f, x, 256}, threads(32));
  LaunchConfig with_row = threads(32);
  with_row.shared_bytes = 512;
  clean("in_place", {y, x, b, 256}, with_row);
  clean("transposed", {y, x, r, b}, threads(32));
  clean("scattered", {y, x}, threads(32));
  clean("rotation", {y, x, r, b, 256}, threads(32));
  clean("newton", {y, x, 8}, threads(32));
  clean("one_product", {y, x, r}, threads(32));
  clean("dead_path", {f, x, 256}, threads(32));
}

TEST_F(Narrow, GoesByWhatTheContractAccumulatesIn) {
  const uint64_t x = halves(wrong, "x", 256);
  const uint64_t y = doubles(wrong, "y", 256), d = doubles(wrong, "d", 256);
  found("float_loop", {y, d, 256}, threads(32), kF64);
  EXPECT_TRUE(findings(wrong, "float_loop", kF32, {y, d, 256}, threads(32)).empty());
  EXPECT_TRUE(findings(wrong, "half_loop", kF16, {y, x, 256}, threads(32)).empty());
  EXPECT_TRUE(findings(wrong, "bf16_loop", kBf16, {y, x, 256}, threads(32)).empty());
  found("bf16_loop", {y, x, 256}, threads(32), kF16);
  const uint64_t sums = doubles(right, "sums", 256), terms = floats(right, "terms", 256);
  clean("double_loop", {sums, terms, 256}, threads(32), kF64);
}

TEST_F(Narrow, TellsOnlyWhatRan) {
  // No turn is taken, so nothing is added: the block of the loop is not entered.
  const uint64_t x = halves(wrong, "x", 256), y = floats(wrong, "y", 256);
  EXPECT_TRUE(findings(wrong, "half_loop", kF32, {y, x, 0}, threads(32)).empty());
  // One turn adds one number to 0; a second adds to the sum.
  EXPECT_TRUE(findings(wrong, "half_loop", kF32, {y, x, 32}, threads(32)).empty());
  found("half_loop", {y, x, 64}, threads(32));
  wrong.options.switch_off_checkers();  // it needs no other reader of the counters
  wrong.options.narrow = true;
  found("half_loop", {y, x, 64}, threads(32));
  // Two additions to each element: one rounding more than none, which is no chain.
  const uint64_t z = halves(wrong, "z", 32);
  EXPECT_TRUE(findings(wrong, "half_atomics", kF32, {z, x}, threads(16)).empty());
  EXPECT_TRUE(findings(wrong, "bf16_atomics", kF32, {z, x}, threads(16)).empty());
}

TEST(NarrowContract, OnlySumsAccumulate) {
  const auto precision = [](const std::string& formula, const std::string& accumulate) {
    return summed_precision(parse_contract(
        R"(name = "k"
source = { cuda = ")" ASSAY_SOURCE_DIR R"(/tests/data/narrow/right.cu", entry = "k" }
sizes = { rows = { min = 0, max = 8 }, cols = { min = 0, max = 8 } }
launch = { grid = ["rows"], block = [32] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f16", shape = ["rows", "cols"] },
]
[formula]
y = ")" + formula +
            "\"\n[accuracy]\naccumulate = \"" + accumulate + "\"\n",
        "k.toml"));
  };
  EXPECT_EQ(precision("sum(x, cols)", "f32"), 24);
  EXPECT_EQ(precision("1 + sqrt(mean(x * x, cols))", "f32"), 24);
  EXPECT_EQ(precision("sum(x, cols)", "f16"), 11);
  EXPECT_EQ(precision("sum(x, cols)", "f64"), 53);
  EXPECT_EQ(precision("max(x, cols)", "f32"), 0);
  EXPECT_EQ(precision("sum(x, cols)", "i64"), 0);
}

}  // namespace
}  // namespace assay::ptx
