// `assay exhaust` runs each input once: not again for a launch of another shape.
#include "fuzz/exhaust.hpp"
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

constexpr const char* kLoop = R"(#include <cuda_fp16.h>
__global__ void twice(__half* y, const __half* x, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = __half2float(x[i]);
    y[i] = __float2half(v + v);
  }
}
)";

/// A loop over the grid, of few blocks or of many; a case of few has few elements.
Kernel few_or_many() {
  Kernel kernel = twice();
  kernel.folder.write("twice.cu", kLoop);
  kernel.change("sizes =",
                "knobs = { most_blocks = [2, 4096] }\n"
                "require = [\"most_blocks > 2 || n <= 8192\"]\n"
                "derive = { blocks = \"min(ceil_div(n, 128), most_blocks)\" }\nsizes =");
  kernel.change("ceil_div(n, 128)\"], block", "blocks\"], block");
  return kernel;
}

std::vector<std::string> knobs_of(const Kernel& kernel) {
  return launch_knobs(load_contract(kernel.contract));
}
const std::vector<std::string> kMostBlocks{"most_blocks"};

TEST(ExhaustVariants, AKnobOfTheLaunchAloneHasNoInputsOfItsOwn) {
  const Kernel kernel = few_or_many();
  EXPECT_EQ(knobs_of(kernel), kMostBlocks);
  const Outcome outcome = kernel.exhaust();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("clean: twice, 65536 of 65536 inputs of 1 of 2 variants"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("\nmost_blocks=4096  all 65536"), std::string::npos)
      << "the largest cases: " << outcome.out;
  EXPECT_NE(outcome.out.find("not run: 1 variant that differs from those above in most_blocks "
                             "alone, which shapes the launch and nothing else; --only "
                             "most_blocks=VALUE runs one\n"),
            std::string::npos)
      << outcome.out;
  // One that is asked for is run.
  const Outcome few = kernel.exhaust({"--only", "most_blocks=2"});
  EXPECT_NE(few.out.find("\nmost_blocks=2  all 65536"), std::string::npos) << few.out;
  EXPECT_EQ(few.out.find("not run"), std::string::npos) << few.out;
}

TEST(ExhaustVariants, AWrongElementIsFoundOnce) {
  const Kernel kernel = few_or_many();
  kernel.folder.write("twice.cu", replaced(kLoop, "v + v", "v == 3.f ? v : v + v"));
  const Outcome outcome = kernel.exhaust({"--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_EQ(json::parse(outcome.out).at("findings").size(), 1u);
}

TEST(ExhaustVariants, WhatTheKernelOrItsFormulaSeesStays) {
  const Kernel in_entry = few_or_many();
  in_entry.folder.write("twice.cu", replaced(kLoop, "__global__", "template <int M> __global__"));
  in_entry.change("entry = \"twice\"", "entry = \"twice<{most_blocks}>\"");
  EXPECT_TRUE(knobs_of(in_entry).empty());
  EXPECT_NE(in_entry.exhaust().out.find("131072 of 131072 inputs of 2 of 2 variants"),
            std::string::npos);

  const Kernel as_macro = few_or_many();
  as_macro.folder.write("twice.cu", replaced(kLoop, "v + v", "v + (most_blocks ? v : 0)"));
  EXPECT_TRUE(knobs_of(as_macro).empty());

  const Kernel in_macro = few_or_many();
  in_macro.change("entry = \"twice\"", "entry = \"twice\", defines = { STEP = \"most_blocks\" }");
  EXPECT_TRUE(knobs_of(in_macro).empty());

  const Kernel in_argument = few_or_many();  // by way of a derived value
  in_argument.change("  { name = \"n\"",
                     "  { name = \"b\", kind = \"scalar\", dtype = \"i32\", value = \"blocks\" },\n"
                     "  { name = \"n\"");
  EXPECT_TRUE(knobs_of(in_argument).empty());

  const Kernel in_formula = few_or_many();
  in_formula.change("\"x + x\"", "\"most_blocks > 2 ? x + x : 2 * x\"");
  EXPECT_TRUE(knobs_of(in_formula).empty());

  const Kernel in_shape = few_or_many();
  in_shape.change("shape = [\"n\"] },\n  { name = \"x\"",
                  "shape = [\"n\"], align = \"most_blocks\" },\n  { name = \"x\"");
  EXPECT_TRUE(knobs_of(in_shape).empty());

  // A knob that nothing uses is no launch's: `assay check` names it.
  const Kernel unused = few_or_many();
  unused.change("{ most_blocks =", "{ A = [1, 2], most_blocks =");
  EXPECT_EQ(knobs_of(unused), kMostBlocks);
}

TEST(ExhaustVariants, OurOwnElementwiseKernelsRunTheirInputsOnce) {
  for (const char* name : {"unary", "binary", "cast", "vector_add"}) {
    const Contract contract = load_contract(std::string(ASSAY_SOURCE_DIR) +
                                            "/kernels_under_test/kernels/" + name + ".toml");
    EXPECT_EQ(launch_knobs(contract), kMostBlocks) << name;
  }
}

}  // namespace
}  // namespace assay::testing
