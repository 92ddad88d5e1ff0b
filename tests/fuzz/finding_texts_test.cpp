// What a finding says by itself, before `repro` is run: where it comes from, both values, what to
// look at first; and which findings are one.
#include "fuzz/program_name.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

int64_t count_of(const std::string& text, const std::string& part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

/// A user's kernel k(y, x, n) of blocks of 128 threads, and its contract.
class Texts : public ::testing::Test {
 protected:
  void kernel(const std::string& body, const std::string& formula = "x",
              const std::string& block = "128") {
    folder_.write("k.cu", "__global__ void k(float* y, const float* x, int n) {\n" + body + "}\n");
    contract_ = folder_.write("k.toml", R"toml(name = "k"
source = { cuda = "k.cu", entry = "k" }
sizes = { n = { min = 0, max = 5000 } }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
formula = { y = ")toml" + formula + R"toml(" }
policy = { nan = "propagate", range = "naive", subnormals = "maybe" }
[[launch]]
grid = ["ceil_div(n, 128)"]
block = [)toml" + block + "]\n");
  }
  Outcome smoke() {
    return run_assay({"smoke", contract_, "--cases", "40", "--jobs", "1", "--out", folder_ / "out"});
  }
  Outcome repro(const std::string& case_text) {
    const std::string file = folder_.write("f.case", case_text);
    return run_assay({"repro", file, "--contract", contract_});
  }

  TemporaryFolder folder_;
  std::string contract_;
};

constexpr const char* kOneBlock = "assay-case 1\nkernel k\nsizes n=100\nvalues x normal\nend\n";

TEST_F(Texts, OneOriginIsOneFindingAndNamesItself) {
  kernel("  __shared__ float held[128];\n"
         "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
         "  if (i < n) held[threadIdx.x] = x[i];\n"
         "  __syncthreads();\n"
         "  const float v = held[127 - threadIdx.x];\n"  // line 6
         "  float r = v;\n"
         "  if (v > 4.f) r = __sinf(v);\n"
         "  if (v < -4.f) r = held[int(v) & 7];\n"
         "  if (i < n) y[i] = r;\n");  // line 10
  const Outcome o = smoke();
  ASSERT_EQ(o.status, 1) << o.out << o.err;
  EXPECT_EQ(count_of(o.out, "k: uninitialised: "), 1) << o.out;
  EXPECT_TRUE(has(o.out, " shared memory that nothing wrote: held + ")) << o.out;
  EXPECT_TRUE(has(o.out, " bytes, loaded at k.cu:6")) << o.out;
  // What it leads to stands after it, as in fuzz and repro.
  EXPECT_TRUE(has(o.out, "with the above, in the same case: " + folder_ / "k.cu:10: k: mismatch"))
      << o.out;
  EXPECT_TRUE(has(o.out, "2 findings, 1 distinct by case")) << o.out;
  const Outcome one = repro(kOneBlock);
  EXPECT_TRUE(has(one.out, "  also: ")) << one.out;
}

TEST_F(Texts, ARaceOfALoadThatComesTooEarlySaysSo) {
  kernel("  __shared__ float held[128];\n"
         "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
         "  if (threadIdx.x >= 64) held[threadIdx.x] = i < n ? x[i] : 0.f;\n"
         "  if (threadIdx.x < 64) held[threadIdx.x] = held[threadIdx.x + 64];\n"
         "  __syncthreads();\n"
         "  if (i < n) y[i] = held[threadIdx.x];\n");
  const Outcome o = repro(kOneBlock);
  EXPECT_TRUE(has(o.out, "by thread (0,0,0) of block (0,0,0): nothing written yet\n")) << o.out;
  EXPECT_FALSE(has(o.out, "-nan")) << o.out;
}

TEST_F(Texts, AHangStandsWhereSomeLeftTheWay) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n"
         "  float v = i < n ? x[i] : 0.f;\n"
         "  if (threadIdx.x < 16) v += __shfl_xor_sync(0xffffffffu, v, 8);\n"  // line 4
         "  __syncthreads();\n"
         "  if (i < n) y[i] = v;\n");
  const Outcome o = repro(kOneBlock);
  EXPECT_TRUE(has(o.out, "k: hang at k.cu:4: no thread of the block can go on: lanes 0-15 of warp 0 "
                         "wait at shfl.sync.bfly.b32 at k.cu:4; missing: lanes 16-31 of warp 0, "
                         "waiting at k.cu:5\n"))
      << o.out;
}

TEST_F(Texts, AHangOfThreadsThatSpinStandsAtTheirLoop) {
  kernel("  __shared__ volatile int left;\n"
         "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
         "  left = 3;\n"
         "  __syncthreads();\n"
         "  if (threadIdx.x == 40) {\n"
         "    while (left > 0) {\n"  // line 7
         "      __nanosleep(20);\n"
         "    }\n"
         "  }\n"
         "  __syncthreads();\n"
         "  if (i < n) y[i] = x[i];\n");
  const Outcome o = repro(kOneBlock);
  EXPECT_TRUE(has(o.out, "k: hang at k.cu:7: no thread progresses: all wait, and nothing in memory "
                         "changes: lane 8 of warp 1 goes round the loop at k.cu:7\n"))
      << o.out;
  EXPECT_TRUE(has(o.out, "  goes round the loop at k.cu:7 (")) << o.out;
  EXPECT_TRUE(has(o.out, "warp 1 lane 8 waits for memory that no thread changes at k.cu:")) << o.out;
}

TEST_F(Texts, ALaunchLimitStandsAtTheNumberAndIsNoLargestRun) {
  kernel("  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i];\n", "x",
         "\"n > 4000 ? 2048 : 128\"");
  const Outcome o = smoke();
  ASSERT_EQ(o.status, 1) << o.out << o.err;
  EXPECT_TRUE(has(o.out, folder_ / "k.toml:13: k: launch_limit (block.x): ")) << o.out;
  EXPECT_FALSE(has(o.out, "not shrunk fully")) << o.out;
  EXPECT_TRUE(has(o.out, "largest run: n ")) << o.out;
  const Outcome one = repro("assay-case 1\nkernel k\nsizes n=4500\nvalues x normal\nend\n");
  EXPECT_TRUE(has(one.out, "checker   launch_limit: ")) << one.out;
  EXPECT_FALSE(has(one.out, "thread [0, 0, 0]")) << one.out;
}

TEST_F(Texts, AnExpectedNaNNamesItsTerm) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) y[i] = 0.f;\n", "log(x) + 1");
  const Outcome made = repro("assay-case 1\nkernel k\nsizes n=2\nvalues x equal value=-1\nend\n");
  EXPECT_TRUE(has(made.out, "  exact     NaN: log(x) makes it\n")) << made.out;
  const Outcome held =
      repro("assay-case 1\nkernel k\nsizes n=2\nvalues x equal value=1\nset x[1] = nan\nend\n");
  EXPECT_TRUE(has(held.out, "  exact     NaN: x holds it\n")) << held.out;
}

TEST_F(Texts, AMismatchThatDoesNotShowIsNamedWhereItWasStored) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) y[i] = x[i];\n");
  const Outcome o = repro("assay-case 1\n# the worst element is stored at k.cu:3\n# y: wrong\nkernel k\n"
                          "sizes n=4\nvalues x normal\nrecorded kind=mismatch rule=R4 at=k.cu:1\nend\n");
  EXPECT_TRUE(has(o.out, "recorded  the recorded failure does not show: mismatch R4 stored at k.cu:3\n"))
      << o.out;
}

/// What an inout held before passes for a wrong value where no thread stores.
TEST_F(Texts, WrongElementsThatNobodyStoredAreCalledSo) {
  kernel(
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  if (i < n / 4 * 4) y[i] = y[i] + x[i];\n",
      "x + y.before");
  folder_.write("k.toml", replaced(read_whole(contract_), "kind = \"output\"", "kind = \"inout\""));
  const Outcome text = smoke();
  EXPECT_TRUE(has(text.out, " elements wrong, none of them stored")) << text.out;
  EXPECT_FALSE(has(text.out, "distinct by case") && !has(text.out, "not stored either"))
      << text.out;
  EXPECT_TRUE(has(text.out, "1 finding:") || has(text.out, ", 1 distinct by case")) << text.out;
  kernel(
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  if (i < n) y[i] = x[i] * 2.f;\n");
  EXPECT_FALSE(has(smoke().out, "none of them stored"));
}

TEST_F(Texts, SharedMemoryThatALaunchDoesNotGiveNamesTheKey) {
  kernel(
      "  extern __shared__ float held[];\n"
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  held[threadIdx.x] = 0.f;\n"
      "  if (i < n) y[i] = x[i] + held[threadIdx.x];\n");
  const Outcome text = smoke();
  EXPECT_TRUE(has(text.out, "the contract's key is 'shared'")) << text.out;
}

TEST_F(Texts, AWrongStoreOfAnotherBlocksElementNamesTheLineThatSaysWhose) {
  kernel(
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  if (i < n) y[i] = x[i];\n");
  folder_.write("k.toml", replaced(read_whole(contract_),
                                   "formula =", "owns = { y = \"n / 64 == block.x\" }\nformula ="));
  const std::string file = folder_.write("f.case", replaced(kOneBlock, "end", "blocks 0\nend"));
  const Outcome text = run_assay({"repro", file, "--contract", contract_, "--json"});
  EXPECT_TRUE(has(text.out, "stray_write")) << text.out;
  EXPECT_TRUE(has(text.out, "by 'owns' of the contract, y = ")) << text.out;
}

/// What nobody judged has not passed: one exit status for every command that meets it.
TEST_F(Texts, ACaseThatIsNotJudgedIsNoPass) {
  kernel(
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  if (i < n) y[i] = logf(x[i] * 0.3f - x[i] * 0.3f);\n",
      "log(x * 0.3 - x * 0.3)");  // the logarithm of what may be 0 has no bound
  const std::string text = replaced(kOneBlock, "x normal", "x normal scale=2");
  const Outcome shown = repro(text);
  EXPECT_EQ(shown.status, 4) << shown.out;
  EXPECT_TRUE(has(shown.out, "not judged: ")) << shown.out;
  EXPECT_EQ(run_assay({"shrink", folder_ / "f.case", "--contract", contract_}).status, 4);
  const Outcome misspelt = repro(replaced(text, "scale=", "skale="));
  EXPECT_TRUE(has(misspelt.err, "has no parameter 'skale' (did you mean 'scale'?); it has "))
      << misspelt.err;
}

/// The larger case's message says what the smaller one no longer shows.
TEST_F(Texts, AShrunkCaseHasItsOwnMessage) {
  kernel(
      "  const int i = blockIdx.x * 128 + threadIdx.x;\n"
      "  if (i < n - 1) y[i] = x[i];\n");
  const std::string file = folder_.write(
      "f.case",
      replaced(kOneBlock, "kernel k", "# found by hand\n# y: 99 of 100 elements wrong\nkernel k"));
  const Outcome small = run_assay({"shrink", file, "--contract", contract_});
  EXPECT_EQ(small.status, 0) << small.err;
  EXPECT_FALSE(has(small.out, "99 of 100")) << small.out;
  EXPECT_TRUE(has(small.out, "# found by hand, made smaller by `assay shrink`")) << small.out;
  EXPECT_TRUE(has(small.out, "1 element unwritten")) << small.out;
}

TEST_F(Texts, ARunOfWhichNothingIsJudgedIsNotClean) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n"
         "  if (i < n) ((int*)y)[i] = 7 - ((const int*)x)[i];\n");
  const std::string whole = replaced(
      replaced(replaced(read_whole(contract_), "dtype = \"f32\"", "dtype = \"i32\""),
               "dtype = \"f32\"", "dtype = \"i32\""),
      "y = \"x\"", "y = \"div_trunc(x, 0)\"");
  folder_.write("k.toml", whole);
  const Outcome none = smoke();
  EXPECT_EQ(none.status, 4) << none.out << none.err;
  EXPECT_TRUE(has(none.out, "no findings, but no case of k was judged (no documented bound for any "
                            "element (R10)): 40 cases"))
      << none.out;
  // Where a few are judged it is clean, and says that most are not.
  folder_.write("k.toml", replaced(whole, "div_trunc(x, 0)",
                                   "where(size(n) < 10, 7 - x, div_trunc(x, 0))"));
  const Outcome most = smoke();
  EXPECT_EQ(most.status, 0) << most.out << most.err;
  EXPECT_TRUE(has(most.out, "clean as far as it was judged, but not judged were ")) << most.out;
  EXPECT_TRUE(has(most.out, " of 40 cases of k (no documented bound for any element (R10)): 40 cases"))
      << most.out;
}

TEST_F(Texts, CommandsNameTheProgramAsItWasTyped) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) y[i] = x[i] + 1.f;\n");
  set_program_name("my build/assay");
  const Outcome o = smoke();
  const Outcome one = repro(kOneBlock);
  set_program_name("assay");
  EXPECT_TRUE(has(o.out, "  'my build/assay' repro ")) << o.out;
  EXPECT_TRUE(has(one.out, "repeat    'my build/assay' repro ")) << one.out;
}

TEST_F(Texts, ACaseIsNoKernel) {
  kernel("");
  const std::string file = folder_.write("x.case", kOneBlock);
  const Outcome o = run_assay({"smoke", file});
  EXPECT_EQ(o.status, 2);
  EXPECT_EQ(o.err, "assay: " + file + ": is a case, not a kernel: `assay repro " + file + "` runs it\n");
}

TEST_F(Texts, AKnobThatIsNotThereNamesThoseThatAre) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) y[i] = x[i];\n");
  folder_.write("k.toml", "knobs = { SPLIT = [1, 2] }\n" + read_whole(contract_));
  const Outcome o =
      repro("assay-case 1\nkernel k\nsizes n=4\nknobs SPLIT=3\nvalues x normal\nend\n");
  EXPECT_EQ(o.status, 2) << o.out;
  EXPECT_TRUE(has(o.err, "kernel 'k' has no SPLIT=3; it has 1, 2")) << o.err;
}

TEST_F(Texts, CheckSaysHowItsCasesRan) {
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n  if (i < n) y[i] = x[i];\n");
  const Outcome right = run_assay({"check", contract_});
  EXPECT_EQ(right.status, 0) << right.out << right.err;
  EXPECT_TRUE(has(right.out, "k: no remarks; of ")) << right.out;
  EXPECT_TRUE(has(right.out, " cases that ran none fails\n")) << right.out;
  EXPECT_EQ(count_of(right.out, "\nit passes\n"), 3) << right.out;
  // Wrong where there are many elements, in fewer than half of its cases.
  kernel("  const int i = blockIdx.x * 128 + threadIdx.x;\n"
         "  if (i < n) y[i] = i < 700 ? x[i] : 9.f;\n");
  const Outcome wrong = run_assay({"check", contract_});
  EXPECT_EQ(wrong.status, 0) << wrong.out << wrong.err;
  EXPECT_TRUE(has(wrong.out, "k: no remarks, but ")) << wrong.out;
  EXPECT_TRUE(has(wrong.out, " cases that ran fail, most often: mismatch: y: ")) << wrong.out;
  EXPECT_TRUE(has(wrong.out, "; `assay smoke " + contract_ + "` finds and shrinks them\n"))
      << wrong.out;
}

TEST_F(Texts, OneWrongEntryIsOneRemark) {
  folder_.write("k.cu", "template <typename T, int N> __global__ void k(T* y, const T* x, int n) {}\n");
  contract_ = folder_.write("k.toml", R"toml(name = "k"
source = { cuda = "k.cu", entry = "kk<{T}, {N}>" }
types = { T = ["f32", "f64"] }
knobs = { N = [1, 2, 3] }
sizes = { n = { min = 0, max = 5000 } }
launch = { grid = ["ceil_div(n, 128)"], block = [128] }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["n"] },
  { name = "x", kind = "input", dtype = "T", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
formula = { y = "x" }
policy = { nan = "propagate" }
)toml");
  const Outcome o = run_assay({"check", contract_});
  EXPECT_EQ(o.status, 1) << o.out << o.err;
  EXPECT_EQ(count_of(o.out, ": compile: "), 1) << o.out;
  EXPECT_TRUE(has(o.out, " and 5 other variants do not compile: ")) << o.out;
  EXPECT_TRUE(has(o.out, "; none of its cases has been run\n")) << o.out;
}

}  // namespace
}  // namespace assay::testing
