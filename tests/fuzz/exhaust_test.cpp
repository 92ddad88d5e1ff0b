// `assay exhaust`: every input is run once, each wrong one is found, and a run goes on where it was
// killed.
#include "fuzz/exhaust.hpp"

#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

using nlohmann::json;

constexpr const char* kF16 = R"(#include <cuda_fp16.h>
__global__ void twice(__half* y, const __half* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned short bits = __half_as_ushort(x[i]);
  float v = __half2float(x[i]);
  y[i] = __float2half(v + v);
}
)";

constexpr const char* kPairs = R"(
__global__ void product(int* z, const signed char* x, const signed char* w, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] * w[i];
}
)";

/// A kernel and its contract in a folder of their own. `args` without the sizes' scalar.
struct Kernel {
  TemporaryFolder folder;
  std::string contract;
  std::string out = folder / "out";

  Kernel(const std::string& name, const std::string& source, const std::string& args,
         const std::string& formula, const std::string& most = "70000") {
    folder.write(name + ".cu", source);
    contract =
        folder.write(name + ".toml",
                     "name = \"" + name + "\"\nsource = { cuda = \"" + name + ".cu\", entry = \"" +
                         name + "\" }\nsizes = { n = { min = 0, max = " + most +
                         " } }\nlaunch = { grid = [\"ceil_div(n, 128)\"], block = [128] }"
                         "\nargs = [\n" +
                         args +
                         "  { name = \"n\", kind = \"scalar\", dtype = \"i32\", value = \"n\" },"
                         "\n]\n[formula]\n" +
                         formula + "\n[policy]\nnan = \"propagate\"\nrange = \"naive\"\n");
  }
  Outcome exhaust(std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"exhaust", contract, "--out", out, "--jobs", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_assay(arguments);
  }
  json result(std::vector<std::string> more = {}) const {
    more.push_back("--json");
    const Outcome outcome = exhaust(more);
    return json::parse(outcome.out).at("kernels")[0].at("results")[0];
  }
  std::string journal(const std::string& name) const { return out + "/" + name + "/journal.jsonl"; }
};

Kernel twice(const std::string& from = "", const std::string& to = "",
             const std::string& domain = "") {
  const std::string source = from.empty() ? kF16 : replaced(kF16, from, to);
  return Kernel("twice", source,
                "  { name = \"y\", kind = \"output\", dtype = \"f16\", shape = [\"n\"] },\n"
                "  { name = \"x\", kind = \"input\", dtype = \"f16\", shape = [\"n\"]" +
                    domain + " },\n",
                "y = \"x + x\"");
}

Kernel product(const std::string& from = "", const std::string& to = "",
               const std::string& most = "70000") {
  const std::string source = from.empty() ? kPairs : replaced(kPairs, from, to);
  return Kernel("product", source,
                "  { name = \"z\", kind = \"output\", dtype = \"i32\", shape = [\"n\"] },\n"
                "  { name = \"x\", kind = \"input\", dtype = \"i8\", shape = [\"n\"] },\n"
                "  { name = \"w\", kind = \"input\", dtype = \"i8\", shape = [\"n\"] },\n",
                "z = \"x * w\"", most);
}

TEST(Exhaust, RunsEveryPatternOfATypeOnce) {
  const Kernel kernel = twice();
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("all 65536"), std::string::npos) << outcome.out;
  const json stats = kernel.result().at("outputs")[0];
  EXPECT_EQ(stats.at("inputs"), 65536);
  int64_t sum = stats.at("special").get<int64_t>();
  for (const auto& count : stats.at("histogram")) sum += count.get<int64_t>();
  EXPECT_EQ(sum, 65536);
  EXPECT_EQ(stats.at("max_ulps"), 0);
  // 2 x 1,023 NaN and 2 infinities, and the 2,048 numbers whose double overflows.
  EXPECT_EQ(stats.at("special"), 2 * 1023 + 2 + 2048);
  EXPECT_EQ(stats.at("breaks"), 0);
  for (const char* file : {"report.txt", "report.json", "histogram.svg"}) {
    EXPECT_TRUE(fs::exists(kernel.out + "/twice/" + file)) << file;
  }
  EXPECT_NE(read_whole(kernel.out + "/twice/histogram.svg").find("</svg>"), std::string::npos);
}

TEST(Exhaust, OneWrongPatternOfAllIsACaseThatReproducesIt) {
  const Kernel kernel = twice("v + v", "bits == 0x9a3c ? v : v + v");
  const Outcome outcome = kernel.exhaust({"--json"});
  EXPECT_EQ(outcome.status, 1);
  const json result = json::parse(outcome.out).at("kernels")[0].at("results")[0];
  ASSERT_EQ(result.at("findings").size(), 1u) << result;
  const std::string file = result.at("findings")[0].at("case");
  const std::string text = read_whole(file);
  EXPECT_NE(text.find("values x patterns first=39484"), std::string::npos) << text;
  EXPECT_NE(text.find("sizes n=1"), std::string::npos) << text;
  const Outcome repro = run_assay({"repro", file, "--contract", kernel.contract});
  EXPECT_EQ(repro.status, 1);
  EXPECT_NE(repro.out.find("recorded  same"), std::string::npos) << repro.out;
  EXPECT_EQ(result.at("outputs")[0].at("max_at").at("inputs")[0], 0x9a3c);
  // Half of what is right: 1024 significand steps of the lower binade, 512 of its own.
  EXPECT_GT(result.at("outputs")[0].at("max_ulps"), 500);
}

TEST(Exhaust, AMonotonicityBreakIsCountedOnBothOfItsSides) {
  // One element too low: the step up to it falls, the next one rises again.
  const Kernel kernel = twice("v + v", "bits == 0x3c10 ? 1.f : v + v");
  const json stats = kernel.result().at("outputs")[0];
  EXPECT_EQ(stats.at("breaks"), 1);
  EXPECT_EQ(stats.at("first_breaks")[0].at("lower").at("inputs")[0], 0x3c0f);
  EXPECT_EQ(stats.at("first_breaks")[0].at("upper").at("inputs")[0], 0x3c10);
}

TEST(Exhaust, WhatTheContractDoesNotAdmitIsNotCounted) {
  // x in [1, 2] holds 1,025 patterns.
  const Kernel kernel = twice("v + v", "v < 1.f ? 7.f : v + v", ", domain = \"1..2\"");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json stats = kernel.result().at("outputs")[0];
  EXPECT_EQ(stats.at("inputs"), 1025);
  EXPECT_EQ(stats.at("outside_domain"), 65536 - 1025);
}

TEST(Exhaust, RunsEveryPairOfBytes) {
  const Kernel right = product();
  EXPECT_EQ(right.exhaust().status, 0);
  EXPECT_EQ(right.result().at("outputs")[0].at("inputs"), 65536);
  const Kernel wrong = product("x[i] * w[i]", "x[i] * w[i] + (x[i] == -7 && w[i] == 113)");
  const Outcome outcome = wrong.exhaust({"--json"});
  EXPECT_EQ(outcome.status, 1);
  const json result = json::parse(outcome.out).at("kernels")[0].at("results")[0];
  EXPECT_EQ(result.at("outputs")[0].at("max_at").at("inputs"), json({0xf9, 113}));
  EXPECT_EQ(result.at("outputs")[0].at("correctly_rounded"), 65535);
  const std::string file = result.at("findings")[0].at("case");
  EXPECT_EQ(run_assay({"repro", file, "--contract", wrong.contract}).status, 1);
}

TEST(Exhaust, SmallSizesTakeMoreCases) {
  // 300 elements a case at most, so rows of pairs end within cases and cases within rows.
  const Kernel kernel =
      product("x[i] * w[i]", "x[i] * w[i] + (x[i] == 100 && w[i] == -128)", "300");
  const Outcome outcome = kernel.exhaust({"--json"});
  EXPECT_EQ(outcome.status, 1);
  const json result = json::parse(outcome.out).at("kernels")[0].at("results")[0];
  EXPECT_EQ(result.at("outputs")[0].at("inputs"), 65536);
  EXPECT_EQ(result.at("outputs")[0].at("correctly_rounded"), 65535);
}

TEST(Exhaust, SamplesWideTypesByExponent) {
  const Project p;
  // Wrong in the binade of 2^-100 only, for negative numbers.
  p.folder.write("scale_rows.cu",
                 replaced(kScaleSource, "x[i] + x[i]",
                          "x[i] <= -0x1p-100f && x[i] > -0x1p-99f ? x[i] : x[i] + x[i]"));
  const Outcome outcome = run_assay({"exhaust", p.contract, "--out", p.out});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("131072 sampled: 256 of each exponent and sign"), std::string::npos);
  const Outcome few = run_assay({"exhaust", p.contract, "--mantissas", "2"});
  EXPECT_NE(few.out.find("1024 sampled: 2 of each exponent and sign"), std::string::npos);
}

TEST(Exhaust, GoesOnWhereItWasKilled) {
  const Kernel kernel = twice("v + v", "bits == 0x3c10 ? 1.f : v + v");
  kernel.folder.write("twice.toml", replaced(read_whole(kernel.contract),
                                             "sizes =", "knobs = { A = [1, 2, 3, 4] }\nsizes ="));
  EXPECT_EQ(kernel.exhaust().status, 1);
  const auto all_of_it = [&] {
    json report = json::parse(kernel.exhaust({"--json"}).out).at("kernels")[0];
    report.erase("seconds");
    for (auto& row : report.at("results")) row.erase("seconds");
    return report;
  };
  const json whole = all_of_it();
  const std::string journal = read_whole(kernel.journal("twice"));
  // Killed in the middle of writing its third line.
  size_t second = 0;
  for (int lines = 0; lines < 3; ++lines) second = journal.find('\n', second) + 1;
  kernel.folder.write("out/twice/journal.jsonl", journal.substr(0, second + 40));
  EXPECT_EQ(all_of_it(), whole);
  const std::string again = read_whole(kernel.journal("twice"));
  EXPECT_EQ(std::count(again.begin(), again.end(), '\n'), 5) << "a line a unit, and the first";
}

TEST(Exhaust, KilledAndContinuedUntilItIsDone) {
  const Kernel kernel = product();
  kernel.folder.write("product.toml", replaced(read_whole(kernel.contract), "sizes =",
                                               "knobs = { A = [1, 2, 3, 4, 5, 6] }\nsizes ="));
  const std::string command = std::string("timeout -s KILL 0.4 '" ASSAY_PROGRAM "' exhaust '") +
                              kernel.contract + "' --jobs 1 --out '" + kernel.out + "'";
  for (int i = 0; i < 3; ++i) run_shell(command);
  const Outcome last = kernel.exhaust({"--json"});
  EXPECT_EQ(last.status, 0) << last.err;
  const json report = json::parse(last.out).at("kernels")[0];
  EXPECT_EQ(report.at("inputs_done"), 6 * 65536);
  for (const auto& row : report.at("results")) {
    EXPECT_EQ(row.at("outputs")[0].at("inputs"), 65536) << row;
  }
  const std::string journal = read_whole(kernel.journal("product"));
  EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 7);
}

TEST(Exhaust, ResultsOfAnotherSourceAreRunAgain) {
  const Kernel kernel = twice();
  EXPECT_EQ(kernel.exhaust().status, 0);
  kernel.folder.write("twice.cu", replaced(kF16, "v + v", "v"));
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_NE(outcome.out.find("of an older source"), std::string::npos) << outcome.out;
}

TEST(Exhaust, ResultsOfAnotherContractAreRefused) {
  const Kernel kernel = twice();
  EXPECT_EQ(kernel.exhaust().status, 0);
  kernel.folder.write("twice.toml", read_whole(kernel.contract) + "# changed\n");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("of another contract"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST(Exhaust, ALineOfTheJournalReadsBack) {
  UnitResult result;
  result.unit = {0, 1 << 20, 77};
  result.variant = "T=f16";
  result.program = "abc";
  result.outputs.push_back({});
  result.outputs[0].output = "y";
  result.outputs[0].type = DType::f16;
  result.outputs[0].max_ulps = 0.1;
  result.outputs[0].max_at = {{1, 0xffffffffffffffff}, 3, HUGE_VAL};
  result.outputs[0].first_breaks.push_back({{{1}, 2, 0.3}, {{4}, 5, -0.6}});
  const auto again = parse_unit_line(unit_line(result));
  ASSERT_TRUE(again);
  EXPECT_EQ(unit_line(*again), unit_line(result));
  EXPECT_FALSE(parse_unit_line(unit_line(result).substr(0, 50)));
}

}  // namespace
}  // namespace assay::testing
