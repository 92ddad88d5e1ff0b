// `assay score` over a pair of the test's own.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

/// planted/tail: buggy.toml, twin.toml, witness.case.
struct PlantedProject {
  TemporaryFolder folder;
  explicit PlantedProject(const std::string& bug_source = buggy_source()) {
    folder.write("planted/tail/buggy.cu", bug_source);
    folder.write("planted/tail/right.cu", kScaleSource);
    const std::string base =
        replaced(kScaleContract, "name = \"scale_rows\"", "name = \"tail_buggy\"");
    folder.write("planted/tail/buggy.toml", replaced(base, "scale_rows.cu", "buggy.cu"));
    folder.write("planted/tail/twin.toml",
                 replaced(replaced(base, "tail_buggy", "tail_twin"), "scale_rows.cu", "right.cu"));
    folder.write("planted/tail/witness.case",
                 replaced(kScaleCase, "kernel scale_rows", "kernel tail_buggy"));
  }
  nlohmann::json score(const std::string& cases) const {
    return nlohmann::json::parse(
        run_assay({"score", "--planted", folder / "planted", "--cases", cases, "--json"}).out);
  }
};

TEST(Score, FindsAPlantedBugAndLeavesItsTwinAlone) {
  const auto report = PlantedProject().score("500");
  EXPECT_EQ(report.at("exit"), 0) << report;
  EXPECT_EQ(report.at("planted"), 1);
  EXPECT_EQ(report.at("found"), 1);
  EXPECT_EQ(report.at("false_alarms"), 0);
  const auto& pair = report.at("pairs")[0];
  EXPECT_EQ(pair.at("name"), "tail");
  EXPECT_EQ(pair.at("by").at("kind"), "unwritten");
  EXPECT_GE(pair.at("twin_cases"), 500);
}

TEST(Score, EveryShippedWitnessFailsOnItsBugAndPassesOnTheTwin) {
  // One searched case a pair: this is about the witnesses, `bench/run` searches.
  const auto report =
      nlohmann::json::parse(run_assay({"score", "--cases", "1", "--for", "20ms", "--json"}).out);
  EXPECT_GE(report.at("pairs").size(), 13u);
  for (const auto& pair : report.at("pairs")) {
    EXPECT_TRUE(pair.at("witness_fails")) << pair;
    EXPECT_TRUE(pair.at("witness_passes_on_twin")) << pair;
    EXPECT_EQ(pair.at("false_alarms"), 0) << pair;
  }
}

TEST(Score, FailsWhenTheBugIsMissing) {
  const auto report = PlantedProject(kScaleSource).score("50");
  EXPECT_EQ(report.at("exit"), 1);
  EXPECT_EQ(report.at("found"), 0);
  EXPECT_EQ(report.at("pairs")[0].at("witness_fails"), false);
}

}  // namespace
}  // namespace assay::testing
