// What a run says about sizes that it did not reach, and about operands in a wrong order.
#include <nlohmann/json.hpp>

#include "fuzz/report.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

/// The counter of a grid-stride loop is an int: within 2^31 it steps past the end and wraps.
constexpr const char* kStrideSource = R"(#include <cuda_fp16.h>
__global__ void twice(__half* y, const __half* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    y[i] = x[i] + x[i];
}
)";
constexpr const char* kStrideContract = R"toml(name = "twice"
source = { cuda = "twice.cu", entry = "twice" }
sizes = { n = { min = 0, max = 10000000000 } }
derive = { blocks = "min(ceil_div(n, 256), 1024)" }
launch = { grid = ["blocks"], block = [256] }
owns = { y = "n / 256 % blocks == block.x" }
args = [
  { name = "y", kind = "output", dtype = "f16", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f16", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = "i32", value = "n" },
]
[formula]
y = "2 * x"
[policy]
nan = "propagate"
range = "naive"
)toml";

Outcome smoke(const TemporaryFolder& folder, const std::string& contract, const std::string& source,
              const std::string& cases) {
  folder.write("twice.cu", source);
  return run_assay({"smoke", folder.write("twice.toml", contract), "--cases", cases, "--json",
                    "--out", folder / "out"});
}

std::string notes(const nlohmann::json& report) {
  return report.at("kernels")[0].at("notes").dump();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ReachNotes, SmokeFindsACounterThatStepsPast2To31) {
  const TemporaryFolder folder;
  const Outcome o = smoke(folder, kStrideContract, kStrideSource, "100");
  if (o.status == 3) GTEST_SKIP() << o.err;
  ASSERT_EQ(o.status, 1) << o.out << o.err;
  const auto report = nlohmann::json::parse(o.out);
  EXPECT_EQ(report.at("findings")[0].at("kind"), "wrap") << o.out;
  EXPECT_TRUE(has(notes(report), "sizes n above 2147483647 can never run: scalar n is i32"));
  EXPECT_FALSE(has(notes(report), "largest run")) << notes(report);
}

TEST(ReachNotes, ACounterOf64BitsIsClean) {
  const TemporaryFolder folder;
  const Outcome o =
      smoke(folder, replaced(kStrideContract, "max = 10000000000", "max = 2147483647"),
            replaced(replaced(kStrideSource, "int i = blockIdx.x", "long long i = blockIdx.x"),
                     "i += gridDim.x", "i += (long long)gridDim.x"),
            "100");
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.status, 0) << o.out << o.err;
  EXPECT_EQ(notes(nlohmann::json::parse(o.out)), "[]");
}

TEST(ReachNotes, WithoutOwnershipTheReachIsTold) {
  const TemporaryFolder folder;
  const Outcome o = smoke(
      folder, replaced(kStrideContract, "owns = { y = \"n / 256 % blocks == block.x\" }\n", ""),
      kStrideSource, "100");
  if (o.status == 3) GTEST_SKIP() << o.err;
  const std::string text = notes(nlohmann::json::parse(o.out));
  EXPECT_TRUE(has(text, "largest run: n ")) << text;
  EXPECT_TRUE(has(text, " of 2147483647 (without `owns` of y every block of a case runs)")) << text;
}

TEST(ArgumentNotes, AWrongOrderIsNamedWithBothLists) {
  const TemporaryFolder folder;
  const Outcome o = smoke(
      folder, kStrideContract,
      replaced(kStrideSource, "__half* y, const __half* x", "const __half* x, __half* y"), "60");
  if (o.status == 3) GTEST_SKIP() << o.err;
  EXPECT_EQ(o.status, 1) << o.out;
  const std::string text = notes(nlohmann::json::parse(o.out));
  EXPECT_TRUE(has(text, "check the order and the types of `args`")) << text;
  EXPECT_TRUE(has(text, "(f16* y, f16* x, i32 n)")) << text;
  EXPECT_TRUE(has(text, "kernel (const __half* x, __half* y, int n)")) << text;
}

TEST(ArgumentNotes, AKernelThatIsWrongInItselfIsNotBlamedOnItsArguments) {
  const auto said = [](const std::string& kernel) {
    const TemporaryFolder folder;
    const Outcome o = smoke(folder, kStrideContract, kernel, "40");
    return o.status == 3 ? std::string("no compiler") : notes(nlohmann::json::parse(o.out));
  };
  const std::string past_the_end = replaced(kStrideSource, "x[i] + x[i]", "x[i] + x[i + n]");
  if (said(past_the_end) == "no compiler") GTEST_SKIP();
  EXPECT_FALSE(has(said(past_the_end), "check the order"));
  // A name that differs, or a type that does, leaves the question open.
  EXPECT_TRUE(has(said(replaced(replaced(past_the_end, "const __half* x", "const __half* in"),
                                "x[i] + x[i + n]", "in[i] + in[i + n]")),
                  "check the order"));
  EXPECT_TRUE(has(said(replaced(replaced(past_the_end, "const __half* x", "const float* x"),
                                "x[i] + x[i + n]", "__half(x[i] + x[i + n])")),
                  "check the order"));
}

TEST(Tally, ComesBackWhole) {
  KernelReport sent;
  sent.judged = 12;
  sent.ordinary = 10;
  sent.weak = 3;
  sent.no_bound = 4;
  sent.wrong_memory = 2;
  sent.skipped = {{"not supported: wgmma", 4}};
  sent.unjudged = {{"no element has a documented bound (R10)", 7}};
  sent.largest_sizes = {{"n", 5000000000}};
  sent.largest_operands = {{"x", 77}};
  sent.notes = {"policy missing in the contract, add under [policy]: nan = \"propagate\""};
  sent.variants = {"T=f16 BLOCK=128", "T=f32 BLOCK=128"};
  KernelReport got;
  got.largest_sizes = {{"n", 9}};
  got.read_tally(sent.tally());
  EXPECT_EQ(got.tally(), sent.tally());
  got.read_tally(sent.tally());
  EXPECT_EQ(got.judged, 24);
  EXPECT_EQ(got.unjudged.begin()->second, 14);
  EXPECT_EQ(got.variants.size(), 2u);
}

TEST(Report, AKernelOfFuzzWithoutACaseIsNotClean) {
  Report report;
  report.command = Command::fuzz;
  report.kernels.resize(2);
  report.kernels[0].kernel = "a";
  report.kernels[0].cases = report.kernels[0].judged = 5;
  report.kernels[1].kernel = "b";
  EXPECT_EQ(report.exit(), Exit::bad_input);
  EXPECT_EQ(unproven(report), std::vector<std::string>{"b"});
  const std::string text = text_report(report);
  EXPECT_TRUE(has(text, "no element of 1 kernel was judged")) << text;
  report.kernels[1].skipped["wgmma"] = 3;
  EXPECT_EQ(report.exit(), Exit::skipped);
}

}  // namespace
}  // namespace assay::testing
