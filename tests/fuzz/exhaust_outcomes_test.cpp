// What `assay exhaust` says of inputs that cannot be judged: faults, skips, contracts without a
// case, an end before its time. Nothing counts as done that nothing looked at.
#include "fuzz/exhaust.hpp"
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

/// Every input of a variant is counted once.
void expect_sums(const json& stats, int64_t size = 65536) {
  int64_t measured = 0;
  for (const auto& count : stats.at("histogram")) measured += count.get<int64_t>();
  const auto of = [&](const char* key) { return stats.at(key).get<int64_t>(); };
  EXPECT_EQ(of("inputs"), measured + of("special") + of("incomparable") + of("no_bound")) << stats;
  EXPECT_EQ(of("inputs") + of("outside_domain") + of("faulted") + of("not_alone") + of("unwritten"),
            size)
      << stats;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExhaustFaults, OneInputAtFaultStandsAloneAndTheOthersAreMeasured) {
  const Kernel kernel =
      twice("y[i] = ", "if (bits == 0x1234) y[i + 100000000] = x[i]; else y[i] = ");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.out, "  65535 of 65536  ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "1 input on which the kernel faults")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "1 finding: twice, 65535 of 65536 inputs")) << outcome.out;
  const json report = kernel.report();
  const json stats = report.at("kernels")[0].at("results")[0].at("outputs")[0];
  expect_sums(stats);
  EXPECT_EQ(stats.at("faulted"), 1);
  EXPECT_EQ(stats.at("inputs"), 65535);
  EXPECT_EQ(report.at("kernels")[0].at("inputs_done"), 65535);
  EXPECT_EQ(report.at("kernels")[0].at("inputs_lost"), 1);
  ASSERT_EQ(report.at("findings").size(), 1u);
  EXPECT_EQ(report.at("findings")[0].at("kind"), "out_of_bounds");
  const std::string text = read_whole(report.at("findings")[0].at("case"));
  EXPECT_TRUE(has(text, "values x patterns first=4660")) << text;
  EXPECT_TRUE(has(text, "sizes n=1\n")) << text;
}

TEST(ExhaustFaults, ManyInputsAtFaultAreBoundedAndTheOthersAreMeasured) {
  const Kernel kernel =
      twice("y[i] = ", "if (bits & 0x8000) y[i + 100000000] = x[i]; else y[i] = ");
  const json stats = kernel.stats();
  expect_sums(stats);
  EXPECT_EQ(stats.at("inputs"), 32768);
  EXPECT_EQ(stats.at("faulted").get<int>() + stats.at("not_alone").get<int>(), 32768);
  EXPECT_GT(stats.at("not_alone"), 0);
}

TEST(ExhaustFaults, AFaultThatNeedsManyElementsLosesNoInput) {
  const Kernel kernel = twice("y[i] = ", "y[i < 40000 ? i : i + 100000000] = ");
  const json report = kernel.report();
  const json stats = report.at("kernels")[0].at("results")[0].at("outputs")[0];
  expect_sums(stats);
  EXPECT_EQ(stats.at("inputs"), 65536);
  ASSERT_EQ(report.at("findings").size(), 1u);
  EXPECT_EQ(report.at("exit"), 1);
}

TEST(ExhaustFaults, RelationsThatAdmitFewElementsTakeMoreCases) {
  const Kernel kernel = twice();
  kernel.change("launch =", "require = [\"n <= 1000\"]\nlaunch =");
  const json report = kernel.report();
  expect_sums(report.at("kernels")[0].at("results")[0].at("outputs")[0]);
  EXPECT_EQ(report.at("kernels")[0].at("inputs_done"), 65536);
  EXPECT_GE(report.at("cases"), 65536 / 1000);
  EXPECT_EQ(report.at("exit"), 0);
}

TEST(ExhaustFaults, SizesThatCannotBeHalvedKeepTheirInputsTogether) {
  const Kernel kernel =
      twice("y[i] = ", "if (bits == 0x1234) y[i + 100000000] = x[i]; else y[i] = ");
  kernel.change("launch =", "require = [\"n % 256 == 0\"]\nlaunch =");
  const json stats = kernel.stats();
  expect_sums(stats);
  EXPECT_EQ(stats.at("not_alone"), 256);
  EXPECT_EQ(stats.at("inputs"), 65536 - 256);
}

TEST(ExhaustFaults, ARefusedLaunchJudgesNothing) {
  const Kernel kernel = twice();
  kernel.change("block = [128]", "block = [2048]");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.out, "  0 of 65536  ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "launch_limit")) << outcome.out;
  expect_sums(kernel.stats());
  EXPECT_EQ(kernel.stats().at("inputs"), 0);
}

TEST(ExhaustFaults, AnOutputThatIsNotWrittenIsNotDone) {
  const Kernel kernel = twice("y[i] = ", "if (bits != 0x1234) y[i] = ");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.out, "  65535 of 65536  ")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "1 input whose output the kernel does not write")) << outcome.out;
  expect_sums(kernel.stats());
  EXPECT_EQ(kernel.stats().at("unwritten"), 1);
}

TEST(ExhaustFaults, InfinityForANumberIsNotComparable) {
  const Kernel kernel = twice("v + v", "bits == 0x3c00 ? v / 0.f : v + v");
  EXPECT_EQ(kernel.exhaust().status, 1);
  expect_sums(kernel.stats());
  EXPECT_EQ(kernel.stats().at("incomparable"), 1);
}

TEST(ExhaustNothing, AFunctionWithoutABoundIsNotClean) {
  // Fast tangents have no documented error.
  const Kernel kernel = twice("", "", ", domain = \"4..100\"");
  kernel.change("entry = \"twice\"", "entry = \"twice\", flags = [\"-use_fast_math\"]");
  kernel.change("x + x", "tan(x + 3)");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 2) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "clean")) << outcome.out;
  EXPECT_TRUE(has(outcome.err, "no input of 'twice' was judged")) << outcome.err;
  // [4, 100]: 4 binades of 1,024 up to 64, then 577 numbers.
  EXPECT_TRUE(has(outcome.err, "4673 where nothing is documented (rule R10)")) << outcome.err;
  const json kernel_row = kernel.report().at("kernels")[0];
  EXPECT_EQ(kernel_row.at("inputs_judged"), 0);
  EXPECT_EQ(kernel_row.at("inputs_done"), 4673);
  const json stats = kernel.stats();
  expect_sums(stats);
  EXPECT_EQ(stats.at("no_bound"), 4673);
}

TEST(ExhaustNothing, OnlyWhatTheContractAdmitsIsDone) {
  const Kernel kernel = twice("", "", ", domain = \"1..1\"");
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "all 1 admitted of 65536")) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "clean: twice, 1 of 65536 inputs")) << outcome.out;
  EXPECT_FALSE(has(outcome.out, "time was over")) << outcome.out;
  EXPECT_EQ(kernel.report().at("kernels")[0].at("inputs_done"), 1);
}

/// Products of i8, and of i16, whose 2^32 pairs take an hour.
Kernel wide_product() {
  Kernel kernel = product();
  kernel.folder.write(
      "product.cu",
      replaced(replaced(replaced(kPairs, "__global__", "template <typename T> __global__"),
                        "signed char", "T"),
               "signed char", "T"));
  kernel.change("entry = \"product\"", "entry = \"product<{T}>\"");
  kernel.change("sizes =", "types = { T = [\"i8\", \"i16\"] }\nsizes =");
  kernel.change("dtype = \"i8\"", "dtype = \"T\"");
  kernel.change("dtype = \"i8\"", "dtype = \"T\"");
  return kernel;
}

TEST(ExhaustNothing, ATimeInWhichNoUnitEndsProvesNothing) {
  const Kernel kernel = wide_product();
  const Outcome none = kernel.exhaust({"--only", "T=i16", "--for", "1ms"});
  EXPECT_EQ(none.status, 2) << none.out;
  EXPECT_TRUE(has(none.err, "no input was run before the time was over: nothing is proven"))
      << none.err;
}

TEST(ExhaustNothing, ATimeThatIsOverLeavesTheRestForLater) {
  const Kernel kernel = wide_product();
  EXPECT_EQ(kernel.exhaust({"--only", "T=i8"}).status, 0);
  const Outcome outcome = kernel.exhaust({"--for", "1ms"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(has(outcome.out, "clean: product, 65536 of 4295032832 inputs of 1 of 2 variants"))
      << outcome.out;
  EXPECT_TRUE(has(outcome.out, "; the time was over\n")) << outcome.out;
  const json row = kernel.report({"--for", "1ms"}).at("kernels")[0];
  EXPECT_EQ(row.at("inputs_total"), 65536 + (int64_t{1} << 32));
  EXPECT_EQ(row.at("inputs_done"), 65536);
}

struct NoCase {
  const char *what, *from, *to, *expected;
};
class ExhaustNoCase : public ::testing::TestWithParam<NoCase> {};

TEST_P(ExhaustNoCase, TheContractsOwnErrorIsSaid) {
  const Kernel kernel = twice();
  kernel.change(GetParam().from, GetParam().to);
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(has(outcome.err, GetParam().expected)) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Contracts, ExhaustNoCase,
    ::testing::Values(
        NoCase{"grid", "ceil_div(n, 128)", "n / 0", "twice.toml:4:23: division by 0"},
        NoCase{"too_large", "min = 0, max = 70000", "min = 200000, max = 300000",
               "twice.toml:3:11: no case of at most 65536 elements: the smallest that was tried "
               "has 200000"},
        NoCase{"empty", "max = 70000", "max = 0", "twice.toml:3:11: no case has an element"},
        NoCase{"relation", "launch =", "require = [\"n == n + 1\"]\nlaunch =", "n == n + 1"},
        NoCase{"domain", "kind = \"input\", dtype = \"f16\", shape = [\"n\"]",
               "kind = \"input\", dtype = \"f16\", shape = [\"n\"], domain = \"70000..80000\"",
               "twice.toml:7:13: 'x': the domain is empty in f16"}),
    [](const auto& info) { return info.param.what; });

/// With a variant whose instruction the emulator lacks.
Kernel with_unsupported() {
  Kernel kernel = twice();
  kernel.folder.write(
      "twice.cu",
      replaced(
          replaced(kF16, "__global__", "template <int V> __global__"), "  int i",
          "  if (V == 2) asm volatile(\"discard.global.L2 [%0], 128;\" :: \"l\"(y));\n  int i"));
  kernel.change("entry = \"twice\"", "entry = \"twice<{V}>\"");
  kernel.change("sizes =", "knobs = { V = [1, 2] }\nsizes =");
  return kernel;
}

TEST(ExhaustSkips, WhatTheDeviceLacksIsSkippedByName) {
  const Kernel kernel = with_unsupported();
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 4) << outcome.out;
  EXPECT_TRUE(has(outcome.out, "V=2: skipped: not supported")) << outcome.out;
  EXPECT_TRUE(has(outcome.out,
                  "no findings, but 1 variant skipped: twice, 65536 of 65536 inputs of 1 of 2 "
                  "variants"))
      << outcome.out;
  EXPECT_FALSE(has(outcome.out, "time was over")) << outcome.out;
  const json report = kernel.report();
  EXPECT_EQ(report.at("skipped"), 1);
  EXPECT_EQ(report.at("variants"), 1);
  EXPECT_EQ(report.at("variants_total"), 2);
  EXPECT_EQ(report.at("exit"), 4);
  EXPECT_TRUE(has(report.at("kernels")[0].at("skipped").at("V=2"), "discard"));
  EXPECT_EQ(kernel.exhaust({"--only", "V=1"}).status, 0);
  EXPECT_EQ(kernel.exhaust({"--only", "V=2"}).status, 4);
  const Outcome smoke = run_assay({"smoke", kernel.contract, "--cases", "40"});
  EXPECT_EQ(smoke.status, 4);
  EXPECT_TRUE(has(smoke.out, "1 of 2 variants reached")) << smoke.out;
}

TEST(ExhaustSkips, AWideVariantIsLeftOutAndTheOthersRun) {
  Kernel kernel = twice();
  kernel.folder.write("twice.cu",
                      "template <typename T> __global__ void twice(T* y, const T* x, "
                      "int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                      "  if (i < n) y[i] = x[i] ^ x[i];\n}\n");
  kernel.change("entry = \"twice\"", "entry = \"twice<{T}>\"");
  kernel.change("sizes =", "types = { T = [\"i32\", \"i8\"] }\nsizes =");
  kernel.change("dtype = \"f16\"", "dtype = \"T\"");
  kernel.change("dtype = \"f16\"", "dtype = \"T\"");
  kernel.change("x + x", "x - x");
  const Outcome all = kernel.exhaust();
  EXPECT_EQ(all.status, 4) << all.err;
  EXPECT_TRUE(has(all.out, "T=i32: skipped: ")) << all.out;
  EXPECT_TRUE(has(all.out, "'x' of type i32 has too many values")) << all.out;
  EXPECT_TRUE(has(all.out, "256 of 256 inputs of 1 of 2 variants")) << all.out;
  EXPECT_EQ(kernel.report().at("skipped"), 1);
  EXPECT_EQ(kernel.exhaust({"--only", "T=i8"}).status, 0);
  const Outcome wide = kernel.exhaust({"--only", "T=i32"});
  EXPECT_EQ(wide.status, 2);
  EXPECT_TRUE(has(wide.err, "too many values")) << wide.err;
}

TEST(ExhaustFormats, JsonHasTheKeysThatEveryCommandHas) {
  const Kernel kernel = twice("v + v", "bits == 0x9a3c ? v : v + v");
  const json report = kernel.report();
  EXPECT_EQ(report.at("cases"), 1);
  EXPECT_GE(report.at("seconds"), 0);
  EXPECT_EQ(report.at("skipped"), 0);
  EXPECT_EQ(report.at("exit"), 1);
  const json row = report.at("findings").at(0);
  EXPECT_EQ(row.at("kernel"), "twice");
  EXPECT_EQ(row.at("kind"), "mismatch");
  EXPECT_EQ(row.at("rule"), "R4");
  EXPECT_TRUE(has(row.at("file"), "/twice.cu"));
  EXPECT_EQ(row.at("line"), 7);
  EXPECT_EQ(row.at("variant"), "");
  EXPECT_TRUE(has(row.at("command"), "assay repro " + row.at("case").get<std::string>()));
  EXPECT_EQ(report.at("kernels")[0].at("finding_count"), 1);
}

TEST(ExhaustFormats, AnnotationsStandWhereTheValueWasStored) {
  const Kernel kernel = twice("v + v", "bits == 0x9a3c ? v : v + v");
  const Outcome outcome = kernel.exhaust({"--format", "github"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(has(outcome.out, "::error file=" + kernel.folder.path() +
                                   "/twice.cu,line=7,title=twice%3A mismatch R4::"))
      << outcome.out;
}

TEST(ExhaustFormats, JUnitHasASuiteWithItsFailuresAndSkips) {
  const Kernel wrong = twice("v + v", "bits == 0x9a3c ? v : v + v");
  const std::string failed = wrong.exhaust({"--format", "junit"}).out;
  EXPECT_TRUE(has(failed, "<testsuite name=\"twice\" tests=\"2\" failures=\"1\"")) << failed;
  EXPECT_TRUE(has(failed, "line=\"7\"")) << failed;
  const Kernel kernel = with_unsupported();
  const std::string some = kernel.exhaust({"--format", "junit"}).out;
  EXPECT_TRUE(has(some, "failures=\"0\"")) << some;
  EXPECT_TRUE(has(some, "1 of 2 variants reached")) << some;
  EXPECT_TRUE(has(some, "skipped=\"1\"")) << some;
  const std::string none = kernel.exhaust({"--only", "V=2", "--format", "junit"}).out;
  EXPECT_TRUE(has(none, "<skipped message=")) << none;
}

}  // namespace
}  // namespace assay::testing
