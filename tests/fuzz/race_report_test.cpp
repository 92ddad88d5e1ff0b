// Races as findings: the planted ones by their check and line, and what every report says of one.
#include <nlohmann/json.hpp>

#include "fuzz/check_case.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/workers.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

std::string example(const std::string& file) {
  return std::string(ASSAY_SOURCE_DIR) + "/docs/examples/" + file;
}

TEST(RaceReports, PlantedRacesAreFoundByTheRaceCheckAtTheirLine) {
  const std::vector<std::string> races{
      "sum_without_barrier", "warp_exchange",     "reused_partials",      "early_stage",
      "round_trip",          "zeroing_block",     "overwritten_tile",     "flag_without_fence",
      "lost_count",          "ticket_without_fence", "count_without_atomic"};
  std::vector<std::string> arguments{"score", "--cases", "60", "--json"};
  arguments.insert(arguments.end(), races.begin(), races.end());
  const auto report = nlohmann::json::parse(run_assay(arguments).out);
  ASSERT_EQ(report.at("pairs").size(), races.size());
  for (const auto& pair : report.at("pairs")) {
    EXPECT_EQ(pair.at("false_alarms"), 0) << pair;
    ASSERT_TRUE(pair.at("found")) << pair;
    EXPECT_EQ(pair.at("by").at("kind"), "race") << pair;
    EXPECT_TRUE(pair.at("as_expected")) << pair;
  }
}

TEST(RaceReports, EveryFormatNamesBothLinesAndBothThreads) {
  const std::string contract = example("race_in_a_warp/row_max.toml");
  const TemporaryFolder folder;
  const auto smoke = [&](const std::vector<std::string>& format) {
    std::vector<std::string> arguments{"smoke", contract,          "--cases", "20",
                                       "--out", folder / "smoke"};
    arguments.insert(arguments.end(), format.begin(), format.end());
    const Outcome outcome = run_assay(arguments);
    EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
    return outcome.out;
  };
  const auto report = nlohmann::json::parse(smoke({"--json"}));
  ASSERT_EQ(report.at("findings").size(), 1u) << report;
  const auto& finding = report.at("findings")[0];
  EXPECT_EQ(finding.at("kind"), "race");
  EXPECT_EQ(finding.at("line"), 11);
  ASSERT_EQ(finding.at("steps").size(), 2u) << finding;
  EXPECT_EQ(finding.at("steps")[0].at("what"), "store");
  EXPECT_EQ(finding.at("steps")[0].at("line"), 8);
  EXPECT_EQ(finding.at("steps")[1].at("line"), 11);
  for (const auto& step : finding.at("steps")) {
    EXPECT_FALSE(step.at("value").get<std::string>().empty()) << finding;
    EXPECT_EQ(step.at("thread").size(), 3u) << finding;
  }
  EXPECT_NE(smoke({"--format", "junit"}).find("store at row_max.cu:8 (st.shared.f32) by thread ("),
            std::string::npos);
  for (const std::string& text : {finding.at("message").get<std::string>(), smoke({}),
                                  smoke({"--format", "github"}), smoke({"--format", "junit"})}) {
    for (const char* part : {"race between lanes of a warp", "load by thread (", "store by thread (",
                             ") of block (", "at row_max.cu:8"}) {
      EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
    }
  }
}

/// A barrier is missing between the store and the neighbour's load. Within the first warp the two
/// are met first.
TEST(RaceReports, WhoRacesSaysWhatWouldOrderThem) {
  const TemporaryFolder folder;
  folder.write("next.cu", R"(
extern "C" __global__ void next(float* y, const float* x, int n) {
  __shared__ float held[64];
  const int i = threadIdx.x;
  if (i < n) held[i] = x[i];
  // Missing here: __syncthreads();
  if (i < n) y[i] = held[i + 1 < n ? i + 1 : i];
}
)");
  const std::string contract = R"(name = "next"
source = { cuda = "next.cu", entry = "next" }
sizes = { n = { min = 1, max = 64 } }
derive = { last = "n - 1" }
launch = { grid = [1], block = [BLOCK] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
y = "x[n = min(n + 1, last)]"
[policy]
nan = "propagate"
)";
  const auto told = [&](const char* block, const char* n) {
    const std::string path = folder.write("next.toml", replaced(contract, "BLOCK", block));
    const std::string file =
        folder.write("next.case", "assay-case 1\nkernel next\nsizes n=" + std::string(n) +
                                      "\nvalues x ramp modulus=64\nend\n");
    const Outcome outcome = run_assay({"repro", file, "--contract", path, "--json"});
    EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
    std::string races;
    const auto report = nlohmann::json::parse(outcome.out);
    for (const auto& finding : report.at("findings")) {
      if (finding.at("kind") == "race") races += finding.at("message").get<std::string>() + "\n";
    }
    return races;
  };
  const std::string whole = told("64", "64");
  EXPECT_EQ(whole.find("race between threads of a block, shared memory"), 0u) << whole;
  EXPECT_NE(whole.find("(31,0,0)"), std::string::npos) << "the pair across warps: " << whole;
  EXPECT_NE(whole.find("(32,0,0)"), std::string::npos) << whole;
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 1) << whole;
  const std::string few = told("64", "2");
  EXPECT_EQ(few.find("race between threads of a block, here of one warp, shared memory"), 0u)
      << few;
  const std::string one = told("32", "32");
  EXPECT_EQ(one.find("race between lanes of a warp, shared memory"), 0u) << one;
}

TEST(RaceReports, NeighboursAtAMisalignedAddressAreNoRace) {
  const TemporaryFolder folder;
  folder.write("pairs.cu", R"(
#include <cuda_fp16.h>
extern "C" __global__ void pairs(__half* y, const __half* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < n) reinterpret_cast<__half2*>(y)[i] = __halves2half2(x[2 * i], x[2 * i + 1]);
  else if (2 * i < n) y[2 * i] = x[2 * i];
}
)");
  const std::string contract = folder.write("pairs.toml", R"toml(
name = "pairs"
source = { cuda = "pairs.cu", entry = "pairs" }
sizes = { n = { min = 0, max = 1000 } }
launch = { grid = ["max(1, ceil_div(n, 256))"], block = [128] }
args = [
  { name = "y", kind = "output", dtype = "f16", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f16", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
y = "x"
[policy]
nan = "propagate"
)toml");
  const Outcome outcome =
      run_assay({"smoke", contract, "--cases", "300", "--json", "--out", folder / "out"});
  const auto report = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(report.at("findings").size(), 1u) << report;
  EXPECT_EQ(report.at("findings")[0].at("kind"), "misaligned");
}

TEST(RaceReports, ReproRepeatsBitForBitAndShrinkKeepsTheRace) {
  const std::string file = example("race_between_blocks/total.case");
  const Outcome first = run_assay({"repro", file}), second = run_assay({"repro", file});
  EXPECT_EQ(first.status, 1);
  EXPECT_EQ(first.out, second.out);

  const auto contract = load_kernels({example("race_between_blocks/total.toml")}).front();
  Workbench bench("ptx");
  Checker& checker = bench.checker(*contract);
  Case c = load_case(file);
  c.sizes["n"] = 1000;
  const CheckResult result = checker.check(c);
  ASSERT_FALSE(result.findings.empty());
  ASSERT_EQ(result.findings.front().kind, "race");
  const ShrinkResult smaller = shrink(checker, result.findings.front());
  EXPECT_TRUE(smaller.fixpoint);
  EXPECT_EQ(smaller.finding.identity(), result.findings.front().identity());
  EXPECT_LT(smaller.the_case.sizes.at("n"), 200);  // two blocks are needed
  EXPECT_GT(smaller.the_case.sizes.at("n"), 64);
}

TEST(RaceReports, TheSwitchTurnsTheCheckOffAlone) {
  const auto contract = load_kernels({example("race_in_a_warp/row_max.toml")}).front();
  Workbench bench("ptx");
  Checker& checker = bench.checker(*contract);
  const Case c = load_case(example("race_in_a_warp/row_max.case"));
  RunOptions options = case_options();
  EXPECT_EQ(checker.check(c, options).findings.size(), 1u);
  options.races = false;
  EXPECT_EQ(checker.check(c, options).outcome, assay::Outcome::pass);
}

}  // namespace
}  // namespace assay::testing
