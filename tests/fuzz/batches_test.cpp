// rows_independent where a kernel changes its way: past a number of rows, and of sequences that
// follow each other in one dimension.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"
#include "tests/fuzz/starting_findings.hpp"

namespace assay::testing {
namespace {

constexpr const char* kSums = R"cu(
__global__ void sums(float* y, const float* x, int rows, int cols) {
  if (threadIdx.x != 0) return;
  float total = 0.0f;
  for (int i = 0; i < cols; ++i) total += x[blockIdx.x * cols + (BACKWARDS ? cols - 1 - i : i)];
  y[blockIdx.x] = total;
}
)cu";

std::vector<Finding> sums_findings(const std::string& backwards, const std::string& block) {
  const TemporaryFolder folder;
  folder.write("sums.cu", replaced(kSums, "BACKWARDS", backwards));
  const std::string contract = R"toml(name = "sums"
source = { cuda = "sums.cu", entry = "sums" }
sizes = { rows = { min = 0, max = 5000 }, cols = { min = 0, max = 500 } }
launch = { grid = ["rows"], block = [@BLOCK] }
properties = ["rows_independent"]
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "rows", kind = "scalar", dtype = "i32", value = "rows" },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
y = "sum(x, cols)"
[policy]
nan = "propagate"
range = "naive"
)toml";
  return starting_findings(folder.write("sums.toml", replaced(contract, "@BLOCK", block)));
}

TEST(Batches, OneWayForAllIsClean) {
  for (const char* block : {"32", "'rows > 2000 ? 64 : 32'"}) {
    for (const Finding& finding : sums_findings("false", block)) ADD_FAILURE() << finding.message;
  }
}

TEST(Batches, AnotherWayPastAThresholdIsFound) {
  const struct {
    const char* backwards;
    const char* block;
  } samples[] = {{"rows > 512", "32"},
                 {"rows > 1000", "32"},
                 {"rows > 3000", "32"},
                 {"blockDim.x > 32", "'rows > 2000 ? 64 : 32'"}};
  for (const auto& sample : samples) {
    const std::vector<Finding> found = sums_findings(sample.backwards, sample.block);
    ASSERT_EQ(found.size(), 1u) << sample.backwards;
    EXPECT_EQ(found.front().rule, "rows_independent");
  }
}

constexpr const char* kPacked = R"cu(
__global__ void packed(float* total, float* z, const float* x, const int* bounds, int sequences) {
  const int begin = bounds[blockIdx.x], end = bounds[blockIdx.x + 1];
  for (int t = begin + threadIdx.x; t < end; t += 32) {
    z[t] = DEFECT == 2 && begin % 2 != 0 ? __fmaf_rn(x[t], x[t], x[t])
                                         : __fadd_rn(__fmul_rn(x[t], x[t]), x[t]);
  }
  if (threadIdx.x != 0) return;
  float sum = 0.0f;
  for (int t = begin; t < end; ++t) sum += x[DEFECT == 1 && sequences > 8 ? begin + end - 1 - t : t];
  total[blockIdx.x] = sum;
}
)cu";

constexpr const char* kPackedContract = R"toml(name = "packed"
source = { cuda = "packed.cu", entry = "packed", defines = { DEFECT = 0 } }
sizes = { sequences = { min = 0, max = 300 }, most = { min = 1, max = 40 } }
properties = ["rows_independent(sequences)"]
args = [
  { name = "total", kind = "output", dtype = "f32", shape = ["sequences"] },
  { name = "z", kind = "output", dtype = "f32", shape = ["token: sequences * most"], valid = "[0:bounds[sequences]]" },
  { name = "x", kind = "input", dtype = "f32", shape = ["token: sequences * most"], live = "token < bounds[sequences]" },
  { name = "lengths", kind = "index", dtype = "i32", shape = ["sequences"], domain = "0..most" },
  { name = "bounds", kind = "index", dtype = "i32", shape = ["edge: sequences + 1"], prefix_sum_of = "lengths" },
  { name = "sequences", kind = "scalar", dtype = "i32", value = "sequences" },
]
[launch]
grid = ["sequences"]
block = [32]
args = ["total", "z", "x", "bounds", "sequences"]
[formula]
first = "bounds[edge = sequences]"
length = "bounds[edge = sequences + 1] - first"
j = "min(first + most, size(sequences) * size(most) - 1)"
total = "sum(where(most < length, x[token = j], 0), most)"
z = "x * x + x"
[policy]
nan = "propagate"
range = "naive"
)toml";

class Packed {
 public:
  explicit Packed(int defect) {
    folder_.write("packed.cu", kPacked);
    path_ = folder_.write("packed.toml", replaced(kPackedContract, "DEFECT = 0",
                                                  "DEFECT = " + std::to_string(defect)));
    contract_ = load_kernels({path_}).front();
    bench_ = std::make_unique<Workbench>("ptx");
  }
  CheckResult check(const std::string& property) {
    return bench_->checker(*contract_)
        .check(parse_case("assay-case 1\nkernel packed\nsizes sequences=30 most=20\nproperty " +
                              property + "\nvalues x normal\nseeds values=0x5\nend\n",
                          "p.case"));
  }
  nlohmann::json smoke() {
    return nlohmann::json::parse(
        run_assay({"smoke", path_, "--cases", "200", "--json", "--out", folder_ / "out"}).out);
  }

 private:
  TemporaryFolder folder_;
  std::string path_;
  ContractPtr contract_;
  std::unique_ptr<Workbench> bench_;
};

TEST(Sequences, ASequenceAloneIsThatOfTheBatch) {
  Packed right(0);
  for (const char* property : {"rows_independent(sequences) count=1 first=17",
                               "rows_independent(sequences) count=3 first=0",
                               "rows_independent(sequences) count=2 first=28"}) {
    const CheckResult result = right.check(property);
    EXPECT_TRUE(result.findings.empty()) << result.findings.front().message;
    ASSERT_EQ(result.property->runs.size(), 1u) << result.property->why_none;
    EXPECT_GT(result.property->runs[0].compared, 3) << "tokens, too";
  }
  EXPECT_EQ(right.smoke().at("exit"), 0);
}

TEST(Sequences, WhatDependsOnTheOthersIsFound) {
  for (const auto& [defect, output] : {std::pair{1, "total["}, {2, "z["}}) {
    Packed wrong(defect);
    bool found = false;
    for (int first = 1; first < 6 && !found; ++first) {
      const CheckResult result = wrong.check("rows_independent(sequences) count=1 first=" +
                                             std::to_string(first));
      EXPECT_EQ(result.verdict.outcome, assay::Outcome::pass) << result.verdict.message;
      if (result.findings.empty()) continue;
      found = true;
      EXPECT_EQ(result.findings.front().rule, "rows_independent");
      EXPECT_NE(result.findings.front().message.find(output), std::string::npos)
          << result.findings.front().message;
    }
    EXPECT_TRUE(found) << defect;
    const auto report = wrong.smoke();
    ASSERT_EQ(report.at("findings").size(), 1u) << report.dump(1);
    EXPECT_EQ(report.at("findings")[0].at("rule"), "rows_independent");
  }
}

}  // namespace
}  // namespace assay::testing
