// Each property by a right and a wrong kernel. The wrong ones are wrong in nothing else where that
// can be: each of their runs alone is within the allowance.
#include <nlohmann/json.hpp>

#include "fuzz/report.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/workers.hpp"
#include "generators/generate.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

constexpr const char* kSums = R"cu(
template <int BLOCK>
__global__ void sums(float* y, const float* x, long long pitch, int rows, int cols) {
  __shared__ float total;
  const float* row = x + blockIdx.x * pitch;
  if (threadIdx.x == 0) total = 0.0f;
  __syncthreads();
#if DEFECT == 1  // lanes add in any order
  for (int i = threadIdx.x; i < cols; i += BLOCK) atomicAdd(&total, row[i]);
#else
  if (threadIdx.x == 0) {
    for (int i = 0; i < cols; ++i) {
      int at = i;
#if DEFECT == 2  // large batches backwards
      if (rows > 20) at = cols - 1 - i;
#endif
      total += row[at];
    }
#if DEFECT == 3  // what lies behind the row, unless it is NaN
    const bool behind = cols > 0 && pitch > cols && blockIdx.x + 1 < gridDim.x;
    if (behind && row[cols] == row[cols]) total += row[cols];
#endif
#if DEFECT == 4
    if (pitch == cols && cols > 1) total += 1.0f;
#endif
#if DEFECT == 5
    if (BLOCK == 64) total += 1.0f;
#endif
#if DEFECT == 6  // an instruction that the emulator lacks
    if (BLOCK == 64) asm volatile("{ .reg .u32 r; vabsdiff4.u32.u32.u32 r, 0, 0, 0; }");
#endif
  }
#endif
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = total;
}
)cu";

constexpr const char* kSumsContract = R"toml(name = "sums"
source = { cuda = "sums.cu", entry = "sums<{BLOCK}>", defines = { DEFECT = 0 } }
sizes = { rows = { min = 0, max = 300 }, cols = { min = 0, max = 500 } }
knobs = { BLOCK = [32, 64] }
launch = { grid = ["rows"], block = ["BLOCK"] }
owns = { y = "rows == block.x" }
properties = ["rows_independent", "padding_free", "repeatable", "layout_free", "knobs_free"]
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"], strides = ["any", 1] },
  { name = "pitch", kind = "scalar", dtype = "i64", value = "stride(x, 0)" },
  { name = "rows", kind = "scalar", dtype = "i32", value = "rows" },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
y = "sum(x, cols)"
[policy]
nan = "propagate"
range = "naive"
)toml";

constexpr const char* kShares = R"cu(
__global__ void shares(float* y, const float* x, int cols) {
  x += (long long)blockIdx.x * cols;
  float m = -INFINITY, largest = 0.0f;
  for (int i = 0; i < cols; ++i) {
    m = fmaxf(m, x[i]);
    largest = fmaxf(largest, fabsf(x[i]));
  }
  for (int i = threadIdx.x; i < cols; i += 32) {
    float* out = y + (long long)blockIdx.x * cols + i;
#if SCALED
    *out = x[i] / (largest + (DEFECT ? 1e-6f : 0.0f));
#else
    *out = DEFECT ? expf(x[i]) * expf(-m) : expf(x[i] - m);
#endif
  }
}
)cu";

std::string shares_contract(bool scaled) {
  const std::string text = R"toml(name = "shares"
source = { cuda = "shares.cu", entry = "shares", defines = { SCALED = @S, DEFECT = 0 } }
sizes = { rows = { min = 0, max = 300 }, cols = { min = 1, max = 500 } }
launch = { grid = ["rows"], block = [32] }
owns = { y = "rows == block.x" }
properties = ["@P(x)"]
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
y = "@F"
[policy]
nan = "exclude"
range = "naive"
)toml";
  return replaced(replaced(replaced(text, "@S", scaled ? "1" : "0"), "@P",
                           scaled ? "scale_invariant" : "shift_invariant"),
                  "@F", scaled ? "x / max(abs(x), cols)" : "exp(x - max(x, cols))");
}

/// A kernel with a defect (0: none), ready to check cases.
class Kernel {
 public:
  Kernel(const std::string& name, const char* source, const std::string& contract, int defect) {
    folder_.write(name + ".cu", source);
    path_ = folder_.write(name + ".toml", replaced(contract, "DEFECT = 0",
                                                   "DEFECT = " + std::to_string(defect)));
    contract_ = load_kernels({path_}).front();
    bench_ = std::make_unique<Workbench>("ptx");
  }
  static Kernel sums(int defect) { return {"sums", kSums, kSumsContract, defect}; }

  Checker& checker() { return bench_->checker(*contract_); }
  const Contract& contract() const { return *contract_; }
  const std::string& path() const { return path_; }

  CheckResult check(const std::string& body) {
    return checker().check(parse_case("assay-case 1\nkernel " + contract_->name + "\n" + body +
                                          "values x normal\nseeds values=0x5\nend\n",
                                      "f.case"));
  }
  static Finding found(const CheckResult& result, const std::string& rule) {
    for (const Finding& finding : result.findings)
      if (finding.kind == "property" && finding.rule == rule) return finding;
    return {};
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
  ContractPtr contract_;
  std::unique_ptr<Workbench> bench_;
};

struct Sample {
  const char* rule;
  int defect;
  const char* body;
  int64_t compared;
  std::vector<const char*> says;  ///< in the finding's message
};

class EveryRun : public ::testing::TestWithParam<Sample> {};

TEST_P(EveryRun, PassesAloneAndOnlyTheComparisonTells) {
  const Sample& sample = GetParam();
  Kernel right = Kernel::sums(0);
  const CheckResult good = right.check(sample.body);
  EXPECT_TRUE(good.findings.empty()) << good.findings.front().message;
  ASSERT_TRUE(good.property);
  ASSERT_FALSE(good.property->runs.empty()) << good.property->why_none;
  for (const ComparedRun& run : good.property->runs) EXPECT_EQ(run.compared, sample.compared);

  Kernel wrong = Kernel::sums(sample.defect);
  const CheckResult bad = wrong.check(sample.body);
  EXPECT_EQ(bad.verdict.outcome, assay::Outcome::pass) << bad.verdict.message;
  ASSERT_EQ(bad.findings.size(), 1u) << bad.findings.back().message;
  Finding finding = Kernel::found(bad, sample.rule);
  ASSERT_EQ(finding.kind, "property") << bad.findings.front().identity();
  wrong.checker().locate(bad, finding);
  EXPECT_GT(finding.stored_line, 30) << "the line that stores y: " << finding.message;
  for (const char* says : sample.says)
    EXPECT_NE(finding.message.find(says), std::string::npos) << says << "\n" << finding.message;
  Case plain = finding.the_case;
  plain.property = {};
  EXPECT_TRUE(wrong.checker().check(plain).findings.empty()) << "without its property it passes";
}

INSTANTIATE_TEST_SUITE_P(
    Properties, EveryRun,
    ::testing::Values(
        Sample{"repeatable", 1,
               "sizes rows=3 cols=200\nknobs BLOCK=32\nproperty repeatable blocks=1 warps=5\n", 3,
               {"repeatable: another order of blocks and warps (blocks 1, warps 5) gives y[",
                ", the case's own (blocks 0, warps 0) gives ",
                "; likely by the floating-point atomics at sums.cu:9, which add in the order in "
                "which threads come"}},
        Sample{"rows_independent", 2,
               "sizes rows=30 cols=200\nknobs BLOCK=32\n"
               "property rows_independent(rows) count=2 first=17\n",
               2,
               {"rows_independent(rows): a batch of rows 17 to 18 gives y[", ", the batch of 30 gives "}},
        Sample{"rows_independent", 2,
               "sizes rows=30 cols=200\nknobs BLOCK=32\n"
               "property rows_independent(rows) count=1 first=4\n",
               1,
               {"rows_independent(rows): row 4 alone gives y[4] = ", ", as row 4 of 30 it gives "}},
        Sample{"padding_free", 3,
               "sizes rows=3 cols=9\nknobs BLOCK=32\nlayout x strides=12,1\n"
               "property padding_free poison=largest\n",
               3,
               {"padding_free: padding that holds largest gives y[",
                ", padding that holds NaN gives "}}));

// Layouts and knobs: the other run is judged by itself, and its finding is of its own case.
TEST(Properties, OtherLayoutsAndKnobsAreJudgedAlone) {
  const struct {
    int defect;
    const char* body;
  } samples[] = {
      {4, "sizes rows=3 cols=9\nknobs BLOCK=32\nlayout x strides=12,1\nproperty layout_free\n"},
      {5, "sizes rows=3 cols=9\nknobs BLOCK=32\nproperty knobs_free BLOCK=64\n"}};
  for (const auto& sample : samples) {
    Kernel right = Kernel::sums(0);
    const CheckResult good = right.check(sample.body);
    EXPECT_TRUE(good.findings.empty()) << good.findings.front().message;
    EXPECT_EQ(good.property->runs.size(), 1u);
    Kernel wrong = Kernel::sums(sample.defect);
    const CheckResult bad = wrong.check(sample.body);
    ASSERT_EQ(bad.findings.size(), 1u);
    const Finding& finding = bad.findings.front();
    EXPECT_EQ(finding.kind, "mismatch");
    EXPECT_TRUE(finding.the_case.property.name.empty());
    const CheckResult alone = wrong.checker().check(finding.the_case);
    ASSERT_EQ(alone.findings.size(), 1u) << "the case says it all";
    EXPECT_EQ(alone.findings.front().identity(), finding.identity());
  }
}

TEST(Properties, AShiftAndAScaleChangeNothing) {
  for (const bool scaled : {false, true}) {
    const std::string rule = scaled ? "scale_invariant" : "shift_invariant";
    const std::string body = "sizes rows=3 cols=9\nproperty " + rule + "(x) " +
                             (scaled ? "exponent=4" : "by=8") + "\n";
    const std::string text = "assay-case 1\nkernel shares\n" + body +
                             "values x exact limit=8 step=1\nseeds values=0x5\nend\n";
    Kernel right("shares", kShares, shares_contract(scaled), 0);
    const CheckResult good = right.checker().check(parse_case(text, "f.case"));
    EXPECT_TRUE(good.findings.empty()) << good.findings.front().message;
    ASSERT_EQ(good.property->runs.size(), 1u) << good.property->why_none;
    EXPECT_EQ(good.property->runs[0].compared, 27);
    Kernel wrong("shares", kShares, shares_contract(scaled), 1);
    const CheckResult bad = wrong.checker().check(parse_case(text, "f.case"));
    EXPECT_EQ(Kernel::found(bad, rule).kind, "property") << rule;
    // Normal values plus 8 are rounded: nothing could be concluded.
    const std::string rounded = replaced(text, "exact limit=8 step=1", "normal");
    if (!scaled) {
      const CheckResult none = right.checker().check(parse_case(rounded, "f.case"));
      EXPECT_TRUE(none.property->runs.empty());
      EXPECT_NE(none.property->why_none, "");
    }
  }
}

const char* const kTicketed = R"cu(
__device__ unsigned ticket = 0;
__global__ void ticketed(int* y, int* parts, const int* x, long long n) {
  const long long i = blockIdx.x * 32ll + threadIdx.x;
  int part = i < n ? x[i] : 0;
  for (int step = 16; step > 0; step /= 2) part += __shfl_xor_sync(0xffffffffu, part, step);
  if (threadIdx.x != 0) return;
  parts[blockIdx.x] = part;
  __threadfence();
  if (atomicAdd(&ticket, 1u) != gridDim.x - 1) return;
  __threadfence();
  int sum = 0;
  for (int block = 0; block < gridDim.x; ++block) sum += __ldcg(&parts[block]);
  if (!DEFECT) ticket = 0;
  y[0] = sum;
}
)cu";

// The second launch of a process finds variables as the first left them; each case begins anew.
TEST(Properties, ASecondRunFindsTheVariablesOfTheFirst) {
  const char* const contract = R"toml(name = "ticketed"
source = { cuda = "ticketed.cu", entry = "ticketed", defines = { DEFECT = 0 } }
sizes = { n = { min = 1, max = 3000 } }
derive = { blocks = "ceil_div(n, 32)" }
launch = { grid = ["blocks"], block = [32] }
properties = ["repeatable"]
args = [
  { name = "y", kind = "output", dtype = "i32", shape = [1] },
  { name = "parts", kind = "workspace", dtype = "i32", shape = ["blocks"] },
  { name = "x", kind = "input", dtype = "i32", shape = ["n"], domain = "-1000..1000" },
  { name = "n", kind = "scalar", dtype = "i64", value = "n" },
]
[formula]
y = "sum(x, n)"
[accuracy]
accumulate = "i32"
)toml";
  Kernel right("ticketed", kTicketed, contract, 0);
  Kernel wrong("ticketed", kTicketed, contract, 1);
  for (const char* sizes : {"sizes n=1\n", "sizes n=300\n"}) {
    const std::string body = std::string(sizes) + "property repeatable blocks=3 warps=1\n";
    for (int again = 0; again < 2; ++again) {
      const CheckResult good = right.check(body);
      EXPECT_TRUE(good.findings.empty()) << good.findings.front().message;
      EXPECT_EQ(good.property->runs.size(), 2u) << good.property->why_none;
      const CheckResult bad = wrong.check(body);
      ASSERT_EQ(bad.findings.size(), 1u);
      const Finding finding = Kernel::found(bad, "repeatable");
      EXPECT_NE(finding.message.find("the same run again gives y[0] = "), std::string::npos)
          << finding.message;
    }
  }
  // It is among the cases that open every run.
  int found = 0;
  for (const Case& c : covering_cases(wrong.contract())) {
    if (c.property.name != "repeatable") continue;
    for (const Finding& finding : wrong.checker().check(c).findings)
      found += finding.kind == "property";
  }
  EXPECT_GE(found, 1);
}

const char* const kNormed = R"cu(
__global__ void normed(float* y, float* r, const float* x, int n, float eps) {
  const int i = threadIdx.x + 32 * blockIdx.x;
  if (i >= n) return;
  const float v = x[i];
  r[i] = rsqrtf(v * v + eps);
  y[i] = DEFECT ? v * rsqrtf(v * v + 0.25f) : v * r[i];
}
)cu";

TEST(Properties, AScaleWithItsEpsilonChangesNothing) {
  const char* const contract = R"toml(name = "normed"
source = { cuda = "normed.cu", entry = "normed", defines = { DEFECT = 0 } }
sizes = { n = { min = 0, max = 300 } }
launch = { grid = ["ceil_div(n, 32)"], block = [32] }
properties = ["scale_invariant(x, eps: 2, r: -1)"]
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "r", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
  { name = "eps", kind = "scalar", dtype = "f32", value = [0.25, 1e-5] },
]
[formula]
r = "rsqrt(x * x + eps)"
y = "x * r"
[policy]
nan = "exclude"
range = "naive"
)toml";
  const std::string text =
      "assay-case 1\nkernel normed\nsizes n=50\nproperty scale_invariant(x) exponent=3\n"
      "values x exact limit=8 step=1\nseeds values=0x5\nend\n";
  Kernel right("normed", kNormed, contract, 0);
  const CheckResult good = right.checker().check(parse_case(text, "f.case"));
  EXPECT_TRUE(good.findings.empty()) << good.findings.front().message;
  ASSERT_EQ(good.property->runs.size(), 1u) << good.property->why_none;
  EXPECT_EQ(good.property->runs[0].compared, 100) << "r, too, an eighth";
  Kernel wrong("normed", kNormed, contract, 1);
  const CheckResult bad = wrong.checker().check(parse_case(text, "f.case"));
  EXPECT_EQ(bad.verdict.outcome, assay::Outcome::pass) << "with eps = 0.25 nothing else shows";
  const Finding finding = Kernel::found(bad, "scale_invariant");
  EXPECT_EQ(finding.kind, "property");
  EXPECT_NE(finding.message.find("x times 2^3, eps times 2^6, r times 2^-3 gives y[0]"),
            std::string::npos)
      << finding.message;
}

TEST(Properties, AnOtherRunThatTheEmulatorLacksIsSaid) {
  Kernel lacking = Kernel::sums(6);
  const CheckResult result = lacking.checker().check(
      parse_case("assay-case 1\nkernel sums\nsizes rows=3 cols=5\nknobs BLOCK=32\n"
                 "property knobs_free BLOCK=64\nvalues x ramp\nend\n",
                 "f.case"));
  EXPECT_TRUE(result.findings.empty()) << result.findings.front().message;
  ASSERT_TRUE(result.property);
  EXPECT_TRUE(result.property->runs.empty()) << "no comparison that compared nothing";
  EXPECT_NE(result.property->why_none.find("vabsdiff4"), std::string::npos)
      << result.property->why_none;
  KernelReport report;
  report.add(result.instance->the_case, result, 0);
  EXPECT_TRUE(std::any_of(report.notes.begin(), report.notes.end(), [](const std::string& note) {
    return note.find("knobs_free not compared: ") == 0;
  }));
}

TEST(Properties, ShrinkingKeepsTheFailure) {
  Kernel wrong = Kernel::sums(2);
  const CheckResult bad = wrong.check(
      "sizes rows=257 cols=200\nknobs BLOCK=64\nlayout x strides=300,1\n"
      "property rows_independent(rows) count=16 first=100\n");
  ASSERT_EQ(Kernel::found(bad, "rows_independent").kind, "property");
  const ShrinkResult small = shrink(wrong.checker(), bad.findings.front(), {4000, 60});
  EXPECT_EQ(small.finding.identity(), bad.findings.front().identity());
  EXPECT_EQ(small.the_case.property.name, "rows_independent");
  EXPECT_EQ(small.the_case.property.numbers.at("count"), 1);
  EXPECT_EQ(small.the_case.sizes.at("rows"), 21) << "the least that is summed backwards";
  EXPECT_TRUE(small.the_case.layouts.empty());
  EXPECT_EQ(small.the_case.recorded.kind, "property");
  EXPECT_EQ(small.the_case.recorded.rule, "rows_independent");
  const CheckResult again =
      wrong.checker().check(parse_case(print_case(small.the_case), "small.case"));
  ASSERT_FALSE(again.findings.empty());
  EXPECT_EQ(again.findings.front().identity(), small.finding.identity());
}

TEST(Properties, ReproListsTheLaunchesThatDiffer) {
  Kernel wrong = Kernel::sums(2);
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "rows.case",
      "assay-case 1\nkernel sums\nsizes rows=30 cols=200\nknobs BLOCK=32\nvalues x normal\n"
      "seeds values=0x5\nproperty rows_independent(rows) count=1 first=4\nend\n");
  const Outcome outcome = run_assay({"repro", file, "--contract", wrong.path()});
  EXPECT_NE(outcome.out.find("  other run: row 4 alone\n    grid [30, 1, 1], here [1, 1, 1]\n"),
            std::string::npos)
      << outcome.out;
}

TEST(Properties, ReproShowsBothRuns) {
  Kernel wrong = Kernel::sums(3);
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "padding.case",
      "assay-case 1\nkernel sums\nsizes rows=2 cols=9\nknobs BLOCK=32\nlayout x strides=12,1\n"
      "values x zeros negative=0\nproperty padding_free poison=one\nend\n");
  const Outcome outcome = run_assay({"repro", file, "--contract", wrong.path()});
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  for (const char* line :
       {"sums: property (padding_free) at sums.cu:", "compared  padding_free poison=one",
        "other run: padding that holds one",
        "1 of 2 elements differ, the first y[0]", "this run   0 (0x00000000)",
        "other run  1 (0x3f800000)", "stored    by block [0, 0, 0] thread [0, 0, 0] at sums.cu:"})
    EXPECT_NE(outcome.out.find(line), std::string::npos) << line << "\n" << outcome.out;
}

TEST(Properties, SmokeComparesEachAndSaysSo) {
  Kernel right = Kernel::sums(0);
  const TemporaryFolder folder;
  const Outcome outcome =
      run_assay({"smoke", right.path(), "--cases", "300", "--json", "--out", folder / "out"});
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report.at("exit"), 0) << outcome.out;
  const auto& kernel = report.at("kernels")[0];
  int64_t compared = 0;
  for (const Property& property : right.contract().properties) {
    const std::string text = std::string(name(property.kind)) +
                             (property.of.empty() ? "" : "(" + property.of + ")");
    ASSERT_TRUE(kernel.at("properties").contains(text)) << text;
    EXPECT_GE(kernel.at("properties").at(text), 2) << text;
    compared += kernel.at("properties").at(text).get<int64_t>();
  }
  EXPECT_LE(compared, 60) << "at most a fifth of the cases";
}

TEST(Properties, SmokeFindsWhatOnlyAComparisonShows) {
  for (const auto& [defect, rule] :
       {std::pair{1, "repeatable"}, {2, "rows_independent"}, {3, "padding_free"}}) {
    Kernel wrong = Kernel::sums(defect);
    const TemporaryFolder folder;
    const auto report = nlohmann::json::parse(
        run_assay({"smoke", wrong.path(), "--cases", "400", "--json", "--out", folder / "out"})
            .out);
    // Sums that do not repeat are not those of another batch either.
    bool found = false;
    for (const auto& finding : report.at("findings")) {
      if (finding.at("rule") != rule) continue;
      found = true;
      EXPECT_GT(finding.at("line"), 30) << "the store";
    }
    EXPECT_TRUE(found) << rule << report.at("findings");
  }
}

TEST(Properties, TheEmulatorItselfIsRepeatable) {
  Kernel atomics = Kernel::sums(1);
  const std::string body = "sizes rows=3 cols=200\nknobs BLOCK=32\n";
  const Case plain = atomics.check(body).instance->the_case;
  Case compared = plain;
  compared.property = {"repeatable", "", {{"blocks", 0}, {"warps", 0}}, ""};
  EXPECT_TRUE(atomics.checker().check(compared).findings.empty()) << "the same schedule twice";
}

TEST(Properties, WhichOutputsAreCopiesOrIntegers) {
  const auto contract = [](const char* name) { return *load_kernels({name}).front(); };
  const auto exact = [&](const char* name, const char* output, Variant variant) {
    return is_exact_output(contract(name), variant, output);
  };
  const Variant f32{{{"T", DType::f32}, {"I", DType::i32}}, {}, {}};
  const Variant i32{{{"T", DType::i32}, {"I", DType::i32}}, {}, {}};
  EXPECT_TRUE(exact("transpose", "y", f32));
  EXPECT_TRUE(exact("gather", "y", f32));
  EXPECT_TRUE(exact("argmax", "index", f32));
  EXPECT_TRUE(exact("int_divide", "q", i32));
  EXPECT_FALSE(exact("row_max", "y", f32)) << "of +0 and -0 either may come out";
  EXPECT_FALSE(exact("vector_add", "z", f32));
  EXPECT_FALSE(exact("softmax", "y", f32));
  EXPECT_FALSE(exact("quantize_int8", "q", f32));
  EXPECT_FALSE(exact("histogram", "counts", i32)) << "written by index";
}

}  // namespace
}  // namespace assay::testing
