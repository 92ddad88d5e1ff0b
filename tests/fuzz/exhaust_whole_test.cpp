// `assay exhaust --whole`: all 2^32 inputs of a 32-bit operand, by units of the whole space.
#include "fuzz/exhaust.hpp"
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

constexpr const char* kF32 = R"(
__global__ void twice(float* y, const float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned bits = __float_as_uint(x[i]);
  float v = __uint_as_float(bits);
  y[i] = v + v;
}
)";

Kernel twice_of(const std::string& type, const std::string& from = "", const std::string& to = "") {
  return Kernel("twice", from.empty() ? kF32 : replaced(kF32, from, to),
                "  { name = \"y\", kind = \"output\", dtype = \"" + type +
                    "\", shape = [\"n\"] },\n  { name = \"x\", kind = \"input\", dtype = \"" +
                    type + "\", shape = [\"n\"] },\n",
                "y = \"x + x\"");
}

/// Runs inputs [first, first + count) of all.
UnitResult unit_of(const Kernel& kernel, int64_t first, int64_t count) {
  const Contract contract = load_contract(kernel.contract);
  const auto device = make_ptx_device();
  Checker checker(contract, *device);
  const InputSpace space = input_space(contract, {}, {.whole = true});
  return run_unit(checker, space, {0, first, count}, [] { return false; }).value();
}

TEST(ExhaustWhole, AllBitPatternsOfOne32BitOperandAreAsked) {
  const InputSpace sample = input_space(load_contract(twice_of("f32").contract), {}, {});
  EXPECT_EQ(sample.text(), "131072 sampled: 256 of each exponent and sign");
  for (const char* type : {"f32", "i32", "u32"}) {
    const Contract contract = load_contract(twice_of(type).contract);
    const InputSpace space = input_space(contract, {}, {.whole = true});
    EXPECT_EQ(space.size, int64_t{1} << 32) << type;
    EXPECT_EQ(space.text(), "4294967296") << type;
    EXPECT_FALSE(space.sampled());
  }
  // Wider ones stay a sample, narrower ones what they were.
  EXPECT_TRUE(input_space(load_contract(twice_of("f64").contract), {}, {.whole = true}).sampled());
  EXPECT_EQ(input_space(load_contract(twice_of("f16").contract), {}, {.whole = true}).size, 65536);
}

TEST(ExhaustWhole, OfTwoOperandsOneThatIsWideIsStillSampled) {
  const Kernel kernel("sums", kF32,
                      "  { name = \"y\", kind = \"output\", dtype = \"f32\", shape = [\"n\"] },\n"
                      "  { name = \"x\", kind = \"input\", dtype = \"f32\", shape = [\"n\"] },\n"
                      "  { name = \"w\", kind = \"input\", dtype = \"i8\", shape = [\"n\"] },\n",
                      "y = \"x + w\"");
  const InputSpace space = input_space(load_contract(kernel.contract), {}, {.whole = true});
  EXPECT_EQ(space.size, 512 * 4 * 256);
  EXPECT_TRUE(space.sampled());
}

TEST(ExhaustWhole, OneWrongPatternIsFoundWhereverItLies) {
  for (const int64_t wrong : {int64_t{0x00000001}, int64_t{0x3f812345}, int64_t{0xc2c80001}}) {
    const Kernel kernel =
        twice_of("f32", "v + v", "bits == " + std::to_string(wrong) + "u ? v + v + v : v + v");
    const int64_t first = wrong / 4096 * 4096;
    const UnitResult result = unit_of(kernel, first, 4096);
    ASSERT_EQ(result.outputs.size(), 1u);
    const ErrorStats& stats = result.outputs[0];
    EXPECT_EQ(stats.inputs, 4096);
    EXPECT_EQ(stats.correctly_rounded, 4095);
    EXPECT_EQ(stats.max_at.inputs, std::vector<uint64_t>{static_cast<uint64_t>(wrong)});
    ASSERT_EQ(result.findings.size(), 1u);
    const std::string text = print_case(result.findings[0].the_case);
    EXPECT_NE(text.find("values x patterns first=" + std::to_string(wrong) + "\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("sizes n=1\n"), std::string::npos) << text;
    // The unit's ends, by ascending number.
    const bool negative = wrong >= int64_t{1} << 31;
    EXPECT_EQ(stats.lowest.at(0).input, static_cast<uint64_t>(negative ? first + 4095 : first));
    EXPECT_EQ(stats.highest.at(1).input, static_cast<uint64_t>(negative ? first : first + 4095));
  }
}

TEST(ExhaustWhole, TheLastUnitOfAllMakesThemAll) {
  const Kernel kernel = twice_of("f32");
  // No time at all: the journal's first line.
  EXPECT_EQ(kernel.exhaust({"--whole", "--for", "1ms"}).status, 2);
  const std::string head = read_whole(kernel.journal("twice"));
  ASSERT_EQ(std::count(head.begin(), head.end(), '\n'), 1) << head;
  // As if all units but the sixth were done: what 64 NaN show, for each.
  constexpr int64_t kUnit = int64_t{1} << 20;
  UnitResult unit = unit_of(kernel, 0xffffff00, 64);
  ASSERT_EQ(unit.outputs.at(0).special, 64);
  unit.outputs[0].inputs = unit.outputs[0].special = unit.unit.count = kUnit;
  std::string journal = head;
  for (int64_t k = 0; k < 4096; ++k) {
    unit.unit.first = k * kUnit;
    if (k != 5) journal += unit_line(unit) + "\n";
  }
  kernel.folder.write("out/twice/journal.jsonl", journal);
  const Outcome outcome = kernel.exhaust({"--whole"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("  all 4294967296  "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("clean: twice, 4294967296 of 4294967296 inputs of 1 of 1 variant"),
            std::string::npos)
      << outcome.out;
  const json stats = kernel.report({"--whole"}).at("kernels")[0].at("results")[0].at("outputs")[0];
  EXPECT_EQ(stats.at("special"), (int64_t{1} << 32) - kUnit);
  EXPECT_EQ(stats.at("histogram")[0], kUnit);
  EXPECT_FALSE(stats.contains("lowest")) << "the ends are the units' own";
  // A sample is another space: results of both stay.
  const Outcome sample = kernel.exhaust({"--mantissas", "1"});
  EXPECT_NE(sample.out.find("512 sampled: 1 of each exponent and sign"), std::string::npos)
      << sample.out;
}

TEST(ExhaustWhole, AWholeSampleIsRefused) {
  const Kernel kernel = twice_of("f32");
  const Outcome outcome = kernel.exhaust({"--whole", "--mantissas", "4"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("--whole runs every input, --mantissas a sample"), std::string::npos)
      << outcome.err;
}

TEST(ExhaustWhole, AnIntegerTypeIsNamedWithTheOptionThatRunsIt) {
  const Outcome outcome = twice_of("i32").exhaust();
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("with --whole one operand of 32 bits"), std::string::npos)
      << outcome.err;
}

TEST(ExhaustWhole, AGpuRunsLargerCasesAndGivesUpSplittingSooner) {
  const UnitLimits emulator = unit_limits("ptx"), gpu = unit_limits("cuda");
  EXPECT_GT(gpu.case_inputs, emulator.case_inputs);
  EXPECT_LT(gpu.split_cost, emulator.split_cost);
  // Two buffers of a pair's widest types stay far below what a GPU fills for a case.
  EXPECT_LE(gpu.case_inputs * 3 * 8, int64_t{1} << 26);
  // Even so a single input at fault stands alone: a faulty run for each halving.
  EXPECT_GT(gpu.split_cost, 18);
}

}  // namespace
}  // namespace assay::testing
