// `assay exhaust`: every input is run once, each wrong one is found, and a run goes on where it was
// killed.
#include "fuzz/exhaust.hpp"

#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

TEST(Exhaust, RunsEveryPatternOfATypeOnce) {
  const Kernel kernel = twice();
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("  all 65536  "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("clean: twice, 65536 of 65536 inputs of 1 of 1 variant in "),
            std::string::npos)
      << outcome.out;
  const json stats = kernel.stats();
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
  const json report = json::parse(outcome.out);
  const json result = report.at("kernels")[0].at("results")[0];
  ASSERT_EQ(report.at("findings").size(), 1u) << report;
  const std::string file = report.at("findings")[0].at("case");
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
  const json stats = kernel.stats();
  EXPECT_EQ(stats.at("breaks"), 1);
  EXPECT_EQ(stats.at("first_breaks")[0].at("lower").at("inputs")[0], 0x3c0f);
  EXPECT_EQ(stats.at("first_breaks")[0].at("upper").at("inputs")[0], 0x3c10);
}

TEST(Exhaust, WhatTheContractDoesNotAdmitIsNotCounted) {
  // x in [1, 2] holds 1,025 patterns.
  const Kernel kernel = twice("v + v", "v < 1.f ? 7.f : v + v", ", domain = \"1..2\"");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  const json stats = kernel.stats();
  EXPECT_EQ(stats.at("inputs"), 1025);
  EXPECT_EQ(stats.at("outside_domain"), 65536 - 1025);
}

TEST(Exhaust, RunsEveryPairOfBytes) {
  const Kernel right = product();
  EXPECT_EQ(right.exhaust().status, 0);
  EXPECT_EQ(right.stats().at("inputs"), 65536);
  const Kernel wrong = product("x[i] * w[i]", "x[i] * w[i] + (x[i] == -7 && w[i] == 113)");
  const Outcome outcome = wrong.exhaust({"--json"});
  EXPECT_EQ(outcome.status, 1);
  const json result = json::parse(outcome.out).at("kernels")[0].at("results")[0];
  EXPECT_EQ(result.at("outputs")[0].at("max_at").at("inputs"), json({0xf9, 113}));
  EXPECT_EQ(result.at("outputs")[0].at("correctly_rounded"), 65535);
  const std::string file = json::parse(outcome.out).at("findings")[0].at("case");
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

}  // namespace
}  // namespace assay::testing
