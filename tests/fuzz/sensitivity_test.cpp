// Planted defects: how large they are, that each kind of kernel gets some, and that none of our
// kernels is judged weakly without saying why.
#include "fuzz/sensitivity.hpp"

#include <cmath>

#include "fuzz/find_kernels.hpp"
#include "fuzz/report.hpp"
#include "generators/generate.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

TEST(Sensitivity, SizesAreUlpsOfTheOutput) {
  const auto bits = [](DType type, double value) { return round_to_bits(type, value); };
  const DType half = DType::f16;
  EXPECT_EQ(difference_in_ulps(half, bits(half, 1), bits(half, 1)), 0);
  EXPECT_EQ(difference_in_ulps(half, bits(half, 1), bits(half, 1 + 0x1p-10)), 1);
  EXPECT_EQ(difference_in_ulps(half, bits(half, 2), bits(half, 2 - 0x1p-10)), 0.5);
  EXPECT_EQ(difference_in_ulps(half, bits(half, 0), bits(half, -1)), 1024);
  EXPECT_EQ(difference_in_ulps(half, 0x0000, 0x8000), 0) << "both zeros";
  EXPECT_EQ(difference_in_ulps(half, 0x7e00, 0x7e01), 0) << "both NaN";
  EXPECT_TRUE(std::isinf(difference_in_ulps(half, 0x7e00, bits(half, 1))));
  EXPECT_TRUE(std::isinf(difference_in_ulps(half, 0x7c00, 0xfc00))) << "inf and -inf";
  EXPECT_EQ(difference_in_ulps(DType::f64, bits(DType::f64, 1), bits(DType::f64, 1 + 0x1p-52)), 1);
  EXPECT_EQ(difference_in_ulps(DType::i32, 0xffffffff, 4), 5) << "-1 and 4";
}

TEST(Sensitivity, KeepsTheSmallestCaughtAndTheLargestMissed) {
  Sensitivity count;
  count.add(8, true);
  count.add(2, false);
  Sensitivity other;
  other.add(4, true);
  other.add(3, false);
  count.add(other);
  EXPECT_EQ(count.planted, 4);
  EXPECT_EQ(count.caught, 2);
  EXPECT_EQ(count.smallest_caught, 4);
  EXPECT_EQ(count.largest_missed, 3);
}

class SensitivityOf : public ::testing::TestWithParam<const char*> {};

// Gathered rows, windows, two parts, scans, and kernels that reduce nothing.
TEST_P(SensitivityOf, HasARowAndCatchesSomething) {
  const ContractPtr contract = load_kernels({GetParam()}).front();
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(*contract, *device);
  SensitivityTable table;
  int64_t caught = 0;
  for (uint64_t seed = 1; seed <= 60 && caught == 0; ++seed) {
    const Case c = generate_case(*contract, Seed{seed}, 1 << 11);
    EXPECT_TRUE(plant_defects(checker, c, seed << 8 | 1, table).empty());
    for (const auto& [key, count] : table) caught += count.caught;
  }
  EXPECT_GT(caught, 0);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SensitivityOf,
                         ::testing::Values("embedding_bag", "merge_attention", "pool2d",
                                           "log_softmax", "cumsum_exclusive", "cumsum_reversed",
                                           "vector_add"),
                         [](const auto& info) { return std::string(info.param); });

// An output of 66 GB, of which the kernel stores some rows: those alone are compared.
TEST(Sensitivity, ComparesWhatIsStored) {
  const ContractPtr contract = load_kernels({"reshape_and_cache"}).front();
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(*contract, *device);
  SensitivityTable table;
  Case c;
  c.kernel = contract->name;
  c.types = {{"T", DType::f16}};
  c.sizes = {{"tokens", 4}, {"pages", 4'000'000}, {"heads", 8}, {"BS", 16}, {"D", 64}};
  for (const char* name : {"key", "value", "key_cache", "value_cache"})
    c.values[name] = {"normal", {}};
  c.values["slot_mapping"] = {"index_edges", {}};
  EXPECT_TRUE(plant_defects(checker, c, 257, table).empty());
  EXPECT_FALSE(table.empty());
}

class ShippedKernel : public ::testing::TestWithParam<std::string> {};

// JUDGING.md: a kernel of which more than 20 % is weakly judged says why (`weak_reason`).
TEST_P(ShippedKernel, IsSharplyJudgedOrSaysWhy) {
  const ContractPtr contract = load_kernels({GetParam()}).front();
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(*contract, *device);
  KernelReport report;
  report.weak_is_explained = !contract->accuracy.weak_reason.empty();
  std::set<std::string> variants;
  for (uint64_t seed = 1; seed <= 300 && report.cases < 16; ++seed) {
    const Case c = generate_case(*contract, Seed{seed}, 1 << 12);
    const std::string variant = c.variant().text();
    // Three variants: compiling is what takes long.
    if (!is_ordinary(c) || (variants.size() == 3 && !variants.contains(variant))) continue;
    variants.insert(variant);
    report.add(c, checker.check(c), 0);
  }
  EXPECT_GT(report.ordinary, 0);
  EXPECT_FALSE(report.too_weak()) << 100 * report.weak_share() << " % weak: state weak_reason in "
                                  << contract->path << " or sharpen it";
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const ContractPtr& contract : load_kernels({})) names.push_back(contract->name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, ShippedKernel, ::testing::ValuesIn(kernel_names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace assay::testing
