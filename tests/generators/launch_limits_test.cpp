// Limits of launches: found for any admitted size and choice, and only where a case breaks them.
#include "generators/launch_limits.hpp"

#include "generators/generate.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// A contract with these lines of its own beside one output and one input.
Contract with(const std::string& lines, const std::string& shape = "\"rows\", \"cols\"") {
  return parsed("name = \"k\"\nsource = { cuda = \"kernel.cu\", entry = \"k\" }\n" + lines +
                "\nargs = [\n  { name = \"y\", kind = \"output\", dtype = \"f32\", shape = [" + shape +
                "] },\n  { name = \"x\", kind = \"input\", dtype = \"f32\", shape = [" + shape +
                "] },\n]\n[formula]\ny = \"x\"\n");
}

const char* const kTwoSizes =
    "sizes = { rows = { min = 0, max = 70000 }, cols = { min = 1, max = 4096 } }\n";

/// What breaks, as `launch_breach` says it.
std::vector<std::string> said(const Contract& contract) {
  std::vector<std::string> out;
  for (const Case& c : launch_edges(contract).breaking) {
    const Instance instance = instantiate(contract, c);
    std::optional<LaunchBreach> breach;
    for (const ResolvedLaunch& launch : instance.launches) {
      if (!breach) breach = launch_breach(instance, launch);
    }
    out.push_back(breach ? breach->message : "no limit is broken");
  }
  return out;
}

struct Row {
  const char* name;
  std::string lines;
  std::vector<std::string> expected;  ///< beginnings
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

class LaunchLimits : public ::testing::TestWithParam<Row> {};

TEST_P(LaunchLimits, AreFoundAndNoOthers) {
  const std::vector<std::string> got = said(with(GetParam().lines));
  ASSERT_EQ(got.size(), GetParam().expected.size()) << ::testing::PrintToString(got);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].substr(0, GetParam().expected[i].size()), GetParam().expected[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LaunchLimits,
    ::testing::Values(
        Row{"rows_on_grid_y",
            std::string(kTwoSizes) + "launch = { grid = [1, \"rows\"], block = [128] }",
            {"rows = 65536 is admitted and launches grid.y = 65536, more than the limit of 65535"}},
        Row{"rows_on_grid_x", std::string(kTwoSizes) + "launch = { grid = [\"rows\"], block = [128] }",
            {}},
        Row{"grid_x",
            "sizes = { rows = { max = 5000000000 }, cols = { in = [1] } }\n"
            "launch = { grid = [\"rows\"], block = [128] }",
            {"rows = 2147483648 is admitted and launches grid.x = 2147483648"}},
        Row{"clamped",
            std::string(kTwoSizes) + "launch = { grid = [1, \"min(rows, 65535)\"], block = [128] }",
            {}},
        Row{"clamped_by_a_derived_value",
            std::string(kTwoSizes) + "derive = { many = \"min(rows, 65535)\" }\n"
                                     "launch = { grid = [1, \"many\"], block = [128] }",
            {}},
        Row{"kept_off_by_a_relation",
            std::string(kTwoSizes) + "require = [\"rows <= 65535\"]\n"
                                     "launch = { grid = [1, \"rows\"], block = [128] }",
            {}},
        Row{"kept_off_by_when",
            std::string(kTwoSizes) +
                "launch = [{ grid = [1, \"rows\"], block = [128], when = \"rows <= 65535\" },\n"
                "          { grid = [\"rows\"], block = [128], when = \"rows > 65535\" }]",
            {}},
        Row{"a_product_of_two",
            std::string(kTwoSizes) + "launch = { grid = [1, 1, \"max(1, rows / 64 * cols)\"], block = [64] }",
            {"rows = 69952, cols = 60 are admitted and launch grid.z = 65580"}},
        Row{"by_a_knob",
            std::string(kTwoSizes) + "knobs = { TILE = [4, 2, 1] }\n"
                                     "launch = { grid = [1, \"ceil_div(rows, TILE)\"], block = [64] }",
            {"rows = 65536, TILE = 1 are admitted and launch grid.y = 65536"}},
        Row{"by_a_flag",
            std::string(kTwoSizes) + "flags = [\"flat\"]\nlaunch = { grid = [1, \"flat ? 1 : rows\"], "
                                     "block = [64] }",
            {"flat = 0, rows = 65536 are admitted"}},
        Row{"multiples_alone",
            std::string(kTwoSizes) + "require = [\"rows % 1000 == 17\", \"cols % 8 == 0\"]\n"
                                     "launch = { grid = [1, \"rows\"], block = [64] }",
            {"rows = 67017 is admitted"}},
        Row{"one_value_of_many",
            std::string(kTwoSizes) +
                "launch = { grid = [1, \"rows == 12345 ? 70000 : 1\"], block = [64] }",
            {"rows = 12345 is admitted and launches grid.y = 70000"}},
        Row{"block_of_a_size",
            std::string(kTwoSizes) + "launch = { grid = [\"rows\"], block = [\"cols\"] }",
            {"cols = 1025 is admitted and launches block.x = 1025, more than the limit of 1024"}},
        Row{"block_z", std::string(kTwoSizes) +
                           "launch = { grid = [\"rows\"], block = [1, 1, \"min(cols, 100)\"] }",
            {"cols = 65 is admitted and launches block.z = 65, more than the limit of 64"}},
        Row{"threads_of_all_axes",
            std::string(kTwoSizes) +
                "launch = { grid = [\"rows\"], block = [\"min(cols, 64)\", \"min(cols, 64)\"] }",
            {"cols = 33 is admitted and launches threads = 1089, more than the limit of 1024"}},
        Row{"no_threads",
            std::string(kTwoSizes) + "launch = { grid = [\"rows\"], block = [\"cols / 2\"] }",
            {"cols = 1 is admitted and launches block.x = 0, which no device launches",
             "cols = 2050 is admitted and launches block.x = 1025"}},
        Row{"shared", std::string(kTwoSizes) + "launch = { grid = [\"rows\"], block = [64], shared "
                                               "= \"64 * cols\" }",
            {"cols = 2609 is admitted and launches shared = 166976 bytes, more than the limit of "
             "166912"}},
        Row{"nothing_to_launch_where_nothing_is_written",
            std::string(kTwoSizes) + "launch = { grid = [\"rows\"], block = [64] }", {}},
        Row{"an_empty_grid_beside_elements",
            std::string(kTwoSizes) + "launch = { grid = [\"cols / 64\"], block = [64] }",
            {"cols = 1 is admitted and launches grid.x = 0, which no device launches"}},
        Row{"an_empty_grid_excluded",
            std::string(kTwoSizes) +
                "launch = { grid = [\"cols / 64\"], block = [64], when = \"cols >= 64\" }",
            {}},
        Row{"two_at_once",
            std::string(kTwoSizes) + "launch = { grid = [1, \"rows\", \"rows\"], block = [64] }",
            {"rows = 65536 is admitted and launches grid.y = 65536"}}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(LaunchEdges, ASecondLaunchHasItsOwn) {
  // The second of several launches, by its own limit.
  const Contract contract = with(
      "sizes = { rows = { min = 1, max = 70000 }, cols = { in = [8] } }\n"
      "launch = [{ grid = [\"rows\"], block = [64] }, { grid = [1, \"rows\"], block = [64] }]");
  const LaunchEdges edges = launch_edges(contract);
  ASSERT_EQ(edges.breaking.size(), 1u);
  const Instance instance = instantiate(contract, edges.breaking[0]);
  EXPECT_FALSE(launch_breach(instance, instance.launches[0]));
  EXPECT_TRUE(launch_breach(instance, instance.launches[1]));
}

TEST(LaunchEdges, ASizeThatAScalarCannotCarryBreaksNothing) {
  const std::string lines = "sizes = { n = { min = 0, max = 5000000000 } }\n"
                            "launch = { grid = [\"n\"], block = [64] }\n";
  const auto contract = [&](const std::string& type) {
    return parsed("name = \"k\"\nsource = { cuda = \"kernel.cu\", entry = \"k\" }\n" + lines +
                  "args = [{ name = \"y\", kind = \"output\", dtype = \"f32\", shape = [\"n\"] },\n"
                  "{ name = \"n\", kind = \"scalar\", dtype = \"" + type + "\", value = \"n\" }]\n"
                  "[formula]\ny = \"1\"\n");
  };
  EXPECT_EQ(said(contract("i64")).size(), 1u);
  EXPECT_EQ(said(contract("i32")).size(), 0u);
}

TEST(LaunchEdges, TheFirstCasesAreAtTheLimitAndBeyond) {
  const Contract contract = with(
      std::string(kTwoSizes) +
      "launch = { grid = [1, \"rows\"], block = [128] }\nowns = { y = \"rows == block.y\" }");
  const std::vector<Case> cases = covering_cases(contract);
  EXPECT_EQ(cases.front().sizes.at("rows"), 65536);
  EXPECT_TRUE(std::any_of(cases.begin(), cases.end(),
                          [](const Case& c) { return c.sizes.at("rows") == 65535; }));
}

TEST(LaunchEdges, TheLargestSharedMemoryRunsForEachVariant) {
  // With static shared memory of the program's own it may be too much: only a run tells.
  const Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k<{T}>" }
types = { T = ["f32", "f16"] }
sizes = { rows = { min = 1, max = 9 }, cols = { min = 1, max = 2600 } }
launch = { grid = ["rows"], block = [64], shared = "64 * cols" }
args = [{ name = "y", kind = "output", dtype = "T", shape = ["rows", "cols"] }]
[formula]
y = "1"
)toml");
  const LaunchEdges edges = launch_edges(contract);
  EXPECT_TRUE(edges.breaking.empty());
  ASSERT_EQ(edges.within.size(), 2u);
  for (const Case& c : edges.within) EXPECT_EQ(c.sizes.at("cols"), 2600);
  EXPECT_NE(edges.within[0].types, edges.within[1].types);
  const Instance instance = instantiate(contract, edges.within[0]);
  EXPECT_FALSE(launch_breach(instance, instance.launches[0]));
  EXPECT_TRUE(launch_breach(instance, instance.launches[0], 1024));
}

TEST(LaunchEdges, AreThoseOfTheTarget) {
  const auto at = [&](const std::string& target) {
    Contract contract = with(std::string(kTwoSizes) + "launch = { grid = [\"rows\"], block = [64], "
                                                      "shared = \"min(64 * cols, 200000)\" }");
    contract.source.target = target;
    return said(contract).size();
  };
  EXPECT_EQ(at("sm_80"), 1u);
  EXPECT_EQ(at("sm_89"), 1u);
  EXPECT_EQ(at("sm_90a"), 0u);
}

TEST(LaunchEdges, WhatIsNotDecidedIsSaid) {
  const Contract contract = with(
      "sizes = { rows = { max = 2000000000 }, cols = { max = 2000000000 } }\n"
      "launch = { grid = [1, \"rows * rows + 2 == cols * cols ? 65536 : 1\"], block = "
      "[64] }");
  const LaunchEdges edges = launch_edges(contract);
  EXPECT_TRUE(edges.breaking.empty());
  ASSERT_FALSE(edges.undecided.empty());
  EXPECT_NE(edges.undecided[0].find("whether grid.y of the launch at "), std::string::npos);
}

}  // namespace
}  // namespace assay
