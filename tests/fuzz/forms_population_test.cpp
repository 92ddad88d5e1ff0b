// The second population of correct kernels, kernels_under_test/forms: a few cases of each pass, and
// of each most cases and most elements are judged.
#include <set>

#include <nlohmann/json.hpp>

#include "fuzz/find_kernels.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

constexpr const char* kForms = ASSAY_SOURCE_DIR "/kernels_under_test/forms";
constexpr int kCasesEach = 30;
/// Whose formulas have a term that the judge cannot bound for most inputs: a cast of what floor
/// gives of a rounded coordinate, a power of a rounded base.
const std::set<std::string> kWithoutABound{"resize_bilinear", "srgb_to_linear"};

TEST(FormsPopulation, EachIsCleanAndJudged) {
  const std::vector<std::string> contracts = contract_files(kForms);
  ASSERT_GE(contracts.size(), 40u);
  const TemporaryFolder folder;
  std::vector<std::string> arguments = {"smoke"};
  arguments.insert(arguments.end(), contracts.begin(), contracts.end());
  const std::string cases = std::to_string(kCasesEach * contracts.size());
  for (const char* text : {"--seed", "7", "--cases", cases.c_str(), "--json", "--out"})
    arguments.push_back(text);
  arguments.push_back(folder / "out");

  const Outcome outcome = run_assay(arguments);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  for (const auto& finding : report.at("findings")) ADD_FAILURE() << finding;
  ASSERT_EQ(report.at("kernels").size(), contracts.size());
  for (const auto& kernel : report.at("kernels")) {
    int64_t unjudged = 0;
    for (const auto& [reason, number] : kernel.at("unjudged").items())
      unjudged += number.get<int64_t>();
    EXPECT_GT(kernel.at("cases").get<int64_t>(), 0) << kernel.at("kernel");
    EXPECT_LT(unjudged, kernel.at("cases").get<int64_t>()) << kernel.at("kernel");
    if (kWithoutABound.contains(kernel.at("kernel").get<std::string>())) continue;
    EXPECT_LT(2 * unjudged, kernel.at("cases").get<int64_t>()) << kernel.at("kernel");
    EXPECT_LT(kernel.at("no_bound_share").get<double>(), 0.5) << kernel.at("kernel");
  }
}

/// A case here is found by its kernel's name: the two populations share none.
TEST(FormsPopulation, NamesAreNotThoseOfTheShippedKernels) {
  for (const std::string& file : contract_files(kForms)) {
    const std::string name = fs::path(file).stem();
    EXPECT_FALSE(fs::exists(ASSAY_SOURCE_DIR "/kernels_under_test/kernels/" + name + ".toml"));
    EXPECT_EQ(load_kernels({file}).front()->name, name);
  }
}

/// A report names such a case without its contract.
TEST(FormsPopulation, ACaseAnywhereFindsItsContract) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("a.case", "assay-case 1\nkernel lion\nsizes n=3\nvalues grad normal\nend\n");
  const Outcome outcome = run_assay({"repro", file});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

/// Replay runs the emulator's own rows alone; this showed with the erring ones of `calibrate`.
TEST(FormsPopulation, ASmallestExponentialErrsToNoNegativeNumber) {
  const std::string file =
      std::string(kForms) + "/corpus/fast_intrinsics/regressions/exp_near_its_smallest.case";
  const Outcome outcome = run_assay({"repro", file, "--adversarial", "2736127", "--fmad", "on"});
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
}

}  // namespace
}  // namespace assay::testing
