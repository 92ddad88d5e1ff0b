// `assay score` over a pair of the test's own.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

constexpr const char* kFault = R"(class = 3
mutation_of = "scale_rows"
fault = "the last element is left out"
seen = [{ by = "R1", at = "__global__ void scale_rows(T* y, const T* x, int n) {" }]
)";

/// planted/tail: buggy.toml, twin.toml, witness.case, fault.pair.
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
    folder.write("planted/tail/fault.pair", kFault);
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
  EXPECT_TRUE(pair.at("as_expected")) << pair;
  EXPECT_EQ(pair.at("planted").at("origin"), "mutation of scale_rows");
  ASSERT_EQ(report.at("classes").size(), 1u);
  EXPECT_EQ(report.at("classes")[0].at("class"), 3);
  EXPECT_EQ(report.at("classes")[0].at("as_expected"), 1);
}

TEST(Score, TellsAMismatchByTheLineOfItsStore) {
  // The second element of four is the wrong one; its store stands below the entry's line.
  const PlantedProject project(
      replaced(kScaleSource, "y[i] = x[i] + x[i];", "{\n  y[i] = x[i] + x[i - i % 4 / 3];\n  }"));
  project.folder.write("planted/tail/fault.pair",
                       replaced(replaced(kFault, "R1", "R4"),
                                "__global__ void scale_rows(T* y, const T* x, int n) {",
                                "y[i] = x[i] + x[i - i % 4 / 3];"));
  const auto report = project.score("500");
  EXPECT_EQ(report.at("exit"), 0) << report;
  const auto& pair = report.at("pairs")[0];
  EXPECT_TRUE(pair.at("as_expected")) << pair;
  EXPECT_EQ(pair.at("by").at("line"), 5);
}

TEST(Score, ABugFoundOtherwiseThanItSaysIsShownAndFails) {
  const PlantedProject project;
  const auto outcome = [&](const std::string& from, const std::string& to) {
    project.folder.write("planted/tail/fault.pair", replaced(kFault, from, to));
    return run_assay({"score", "--planted", project.folder / "planted", "--cases", "500"});
  };
  const Outcome by_another = outcome("R1", "wrap");
  EXPECT_EQ(by_another.status, 1);
  EXPECT_NE(by_another.out.find("NO: wrap :2"), std::string::npos) << by_another.out;
  EXPECT_NE(by_another.out.find("1 of 1 found: 0 by the expected check (0.0 %), 0 at the expected "
                                "line too (0.0 %), FEWER THAN 95 %"),
            std::string::npos)
      << by_another.out;
  const Outcome elsewhere =
      outcome("__global__ void scale_rows(T* y, const T* x, int n) {", "template <typename T>");
  EXPECT_EQ(elsewhere.status, 1);
  EXPECT_NE(elsewhere.out.find("1 by the expected check (100.0 %), 0 at"), std::string::npos)
      << elsewhere.out;
}

TEST(Score, ABadFaultIsBadInput) {
  const PlantedProject project;
  project.folder.write("planted/tail/fault.pair", replaced(kFault, "class = 3", "class = 0"));
  const Outcome outcome = run_assay({"score", "--planted", project.folder / "planted"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("fault.pair:1:9: classes are 1 to 13"), std::string::npos)
      << outcome.err;
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
