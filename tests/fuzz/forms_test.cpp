// One operation in two forms that round at different places: each kernel passes under the contract
// that states its form, and the coarser one fails under the other's.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

constexpr const char* kKernels = ASSAY_SOURCE_DIR "/kernels_under_test/kernels/";

/// A shipped contract that launches `entry`, cut to few variants; findings of its smoke run.
int64_t findings(const std::string& contract, const std::string& source, const std::string& entry) {
  const TemporaryFolder folder;
  for (const std::string& file : {source, std::string("device_helpers.cuh")})
    folder.write(file, read_whole(kKernels + file));
  std::string text = read_whole(kKernels + contract + ".toml");
  const size_t begin = text.find("entry = \"") + 9;
  text.replace(begin, text.find('"', begin) - begin, entry);
  text = replaced(text, "I = [\"i64\", \"i32\"]", "I = [\"i32\"]");
  text = replaced(text, "BLOCK = [128, 256]", "BLOCK = [128]");
  const std::string path = folder.write(contract + ".toml", text);
  const Outcome outcome =
      run_assay({"smoke", path, "--cases", "150", "--json", "--out", folder / "out"});
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report.at("cases"), 150) << outcome.err;
  for (const auto& finding : report.at("findings")) {
    EXPECT_TRUE(finding.at("kind") == "mismatch" || finding.at("kind") == "property") << finding;
  }
  return static_cast<int64_t>(report.at("findings").size());
}

TEST(Forms, RotaryProductsRoundedToTheType) {
  const std::string once = "rope<{T}, {I}, true, {BLOCK}>";
  const std::string each = "rope<{T}, {I}, true, {BLOCK}, true>";
  EXPECT_EQ(findings("rope_neox_rounded", "rope.cu", each), 0);
  EXPECT_GT(findings("rope_neox", "rope.cu", each), 0);
  EXPECT_EQ(findings("rope_neox", "rope.cu", once), 0);
  EXPECT_EQ(findings("rope_neox_rounded", "rope.cu", once), 0) << "closer to the exact value";
}

TEST(Forms, CrossEntropyByLogsumexp) {
  const std::string shifted = "cross_entropy<{T}, {I}, {smooth}, {BLOCK}>";
  const std::string by_lse = "cross_entropy<{T}, {I}, {smooth}, {BLOCK}, true>";
  EXPECT_EQ(findings("cross_entropy_lse", "cross_entropy.cu", by_lse), 0);
  EXPECT_GT(findings("cross_entropy", "cross_entropy.cu", by_lse), 0);
  EXPECT_EQ(findings("cross_entropy", "cross_entropy.cu", shifted), 0);
}

}  // namespace
}  // namespace assay::testing
