// The order of the units of `assay exhaust`: what a run has done when its time is over lies all
// over the space, and a later run goes on from there.
#include <set>

#include "fuzz/exhaust.hpp"
#include "tests/fuzz/exhaust_kernels.hpp"

namespace assay::testing {
namespace {

/// The units of a space in the order in which they run.
std::vector<int64_t> scattered(int64_t units) {
  std::vector<int64_t> order;
  for (int64_t turn = 0; turn < units; ++turn) order.push_back(turn * scatter_step(units) % units);
  return order;
}

TEST(ExhaustOrder, EachUnitComesOnce) {
  for (const int64_t units : {1, 2, 3, 4, 5, 6, 7, 16, 30, 64, 97, 100, 210, 1000, 4096, 4097}) {
    const std::vector<int64_t> order = scattered(units);
    EXPECT_EQ(std::set<int64_t>(order.begin(), order.end()).size(), static_cast<size_t>(units));
    EXPECT_EQ(*std::max_element(order.begin(), order.end()), units - 1);
  }
  EXPECT_EQ(scatter_step(4096), 2539) << "journals of earlier runs go on in the same order";
}

/// The largest gap between units that are done, in terms of the mean one, at the worst moment.
double largest_gap(int64_t units) {
  double worst = 0;
  std::set<int64_t> done;
  for (const int64_t unit : scattered(units)) {
    done.insert(unit);
    int64_t gap = *done.begin() + units - *done.rbegin();  // round the end
    for (auto at = done.begin(), next = std::next(at); next != done.end(); at = next++)
      gap = std::max(gap, *next - *at);
    worst = std::max(worst, static_cast<double>(gap) * static_cast<double>(done.size()) /
                                static_cast<double>(units));
  }
  return worst;
}

TEST(ExhaustOrder, WhatIsDoneLiesAllOverTheSpaceAtAnyMoment) {
  EXPECT_LT(largest_gap(4096), 2.2);  // 2^32 inputs
  // Spaces of other sizes, which samples of two operands have.
  for (int64_t units = 2; units <= 200; ++units) EXPECT_LT(largest_gap(units), 2.6) << units;
  EXPECT_LT(largest_gap(1000), 2.6);
  EXPECT_LT(largest_gap(2047), 3);
}

constexpr int64_t kUnits = 4096;

/// A kernel of 2^32 inputs, and a journal of all its units but those of some turns, in the order of
/// bits: as units did run once.
struct NearlyDone {
  Kernel kernel{"twice",
                "__global__ void twice(float* y, const float* x, int n) {\n"
                "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "  if (i < n) y[i] = x[i] + x[i];\n}\n",
                "  { name = \"y\", kind = \"output\", dtype = \"f32\", shape = [\"n\"] },\n"
                "  { name = \"x\", kind = \"input\", dtype = \"f32\", shape = [\"n\"] },\n",
                "y = \"x + x\""};
  std::string head;
  UnitResult unit;

  explicit NearlyDone(const std::set<int64_t>& left_out) {
    EXPECT_EQ(kernel.exhaust({"--whole", "--for", "1ms"}).status, 2);
    head = read_whole(kernel.journal("twice"));
    const Contract contract = load_contract(kernel.contract);
    const auto device = make_ptx_device();
    Checker checker(contract, *device);
    const InputSpace space = input_space(contract, {}, {.whole = true});
    // What 64 NaN show, for each.
    unit = run_unit(checker, space, {0, 0xffffff00, 64}, [] { return false; }).value();
    unit.unit.count = kUnitInputs;
    unit.outputs.at(0).inputs = unit.outputs[0].special = kUnitInputs;
    std::string journal = head;
    for (int64_t k = 0; k < kUnits; ++k) {
      if (!left_out.contains(k)) journal += line(k * kUnitInputs);
    }
    kernel.folder.write("out/twice/journal.jsonl", journal);
  }
  std::string line(int64_t first) {
    unit.unit.first = first;
    return unit_line(unit) + "\n";
  }
  std::vector<int64_t> units_of_journal() const {
    std::istringstream in(read_whole(kernel.journal("twice")));
    std::vector<int64_t> units;
    for (std::string text; std::getline(in, text);) {
      if (const auto result = parse_unit_line(text))
        units.push_back(result->unit.first / kUnitInputs);
    }
    return units;
  }
};

TEST(ExhaustOrder, AJournalInTheOrderOfBitsGoesOnInTheScatteredOne) {
  const std::vector<int64_t> order = scattered(kUnits);
  ASSERT_GT(order[1], order[2]) << "not the order of bits";
  const std::vector<int64_t> expected{order[1], order[2], order[5]};
  const NearlyDone done({expected.begin(), expected.end()});
  const Outcome outcome = run_assay(
      {"exhaust", done.kernel.contract, "--out", done.kernel.out, "--whole", "--jobs", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("  all 4294967296  "), std::string::npos) << outcome.out;
  const std::vector<int64_t> units = done.units_of_journal();
  ASSERT_EQ(std::ssize(units), kUnits) << "nothing was run again";
  EXPECT_EQ(std::vector<int64_t>(units.end() - 3, units.end()), expected);
}

TEST(ExhaustOrder, UnitsOfAnotherSizeAreRefused) {
  NearlyDone done({});
  const auto refused = [&] {
    const Outcome outcome = done.kernel.exhaust({"--whole", "--for", "1ms"});
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    const bool told = outcome.err.find("expected units of 1048576 inputs: give another --out") !=
                      std::string::npos;
    return outcome.status == 2 && told;
  };
  EXPECT_FALSE(refused());
  done.kernel.folder.write("out/twice/journal.jsonl", done.head + done.line(64));
  EXPECT_TRUE(refused()) << "begins within a unit";
  done.unit.unit.count = kUnitInputs / 2;
  done.kernel.folder.write("out/twice/journal.jsonl", done.head + done.line(0));
  EXPECT_TRUE(refused()) << "half a unit";
}

}  // namespace
}  // namespace assay::testing
