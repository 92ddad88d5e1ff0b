// Grids that do not grow with their rows past a limit: with a loop over what is left, and without.
#include <nlohmann/json.hpp>

#include "tests/fuzz/run_assay.hpp"
#include "tests/fuzz/starting_findings.hpp"

namespace assay::testing {
namespace {

constexpr const char* kSource = R"cu(
__global__ void twice(float* y, const float* x, int rows, int cols) {
#if LOOP
  for (long long first = ROWS * (long long)blockIdx.x; first < rows; first += ROWS * (long long)gridDim.x)
#else
  const long long first = ROWS * (long long)blockIdx.x;
#endif
    for (long long row = first; row < first + ROWS && row < rows; ++row)
      for (int i = threadIdx.x; i < cols; i += blockDim.x)
        y[row * cols + i] = 2.0f * x[row * cols + i];
}
)cu";

struct Grid {
  bool loop = false;
  int rows_per_block = 1;
  std::string owns;  ///< "" for none
};

/// Writes the kernel and its contract; the contract's path.
std::string project(const TemporaryFolder& folder, const Grid& grid, int limit) {
  folder.write("twice.cu", kSource);
  std::string contract = R"toml(name = "twice"
source = { cuda = "twice.cu", entry = "twice", defines = { LOOP = @LOOP, ROWS = @ROWS } }
sizes = { rows = { min = 0, max = 300000 }, cols = { min = 1, max = 1000 } }
derive = { blocks = "min(ceil_div(rows, @ROWS), @LIMIT)" }
launch = { grid = ["blocks"], block = [64] }
@OWNS
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "rows", kind = "scalar", dtype = "i32", value = "rows" },
  { name = "cols", kind = "scalar", dtype = "i32", value = "cols" },
]
[formula]
y = "2 * x"
[policy]
nan = "propagate"
)toml";
  contract = replaced(contract, "@LOOP", grid.loop ? "1" : "0");
  contract = replaced(contract, "@OWNS",
                      grid.owns.empty() ? "" : "owns = { y = \"" + grid.owns + "\" }");
  for (int i = 0; i < 2; ++i) {
    contract = replaced(contract, "@ROWS", std::to_string(grid.rows_per_block));
  }
  contract = replaced(contract, "@LIMIT", std::to_string(limit));
  return folder.write("twice.toml", contract);
}

/// `smoke` of the kernel, as JSON.
nlohmann::json smoke(const Grid& grid, int limit) {
  const TemporaryFolder folder;
  const Outcome o = run_assay({"smoke", project(folder, grid, limit), "--cases", "200", "--json",
                               "--out", folder / "out"});
  return o.status == 3 ? nlohmann::json() : nlohmann::json::parse(o.out);
}

TEST(ClampedGrid, ALoopOverTheRestIsClean) {
  for (const Grid& grid : {Grid{true, 1, "rows % blocks == block.x"},
                           Grid{true, 4, "rows / 4 % blocks == block.x"}, Grid{true, 1, ""}}) {
    const auto report = smoke(grid, 65535);
    if (report.is_null()) GTEST_SKIP() << "no compiler";
    EXPECT_EQ(report.at("exit"), 0) << report.dump(1);
  }
}

TEST(ClampedGrid, RowsThatNoBlockOwnsAreFound) {
  const auto report = smoke({false, 1, "rows == block.x"}, 65535);
  if (report.is_null()) GTEST_SKIP() << "no compiler";
  ASSERT_EQ(report.at("findings").size(), 1u) << report.dump(1);
  const auto& finding = report.at("findings")[0];
  EXPECT_EQ(finding.at("kind"), "unwritten");
  EXPECT_EQ(finding.at("rule"), "R1");
  EXPECT_EQ(finding.at("message"),
            "y: 1 element unwritten; y[65535, 0] is owned by no block of grid [65535, 1, 1], and "
            "cols=1 rows=65536 are admitted");
  const auto tiles = smoke({false, 4, "rows / 4 == block.x"}, 65535);
  ASSERT_EQ(tiles.at("findings").size(), 1u) << tiles.dump(1);
  EXPECT_NE(tiles.at("findings")[0].at("message").get<std::string>().find("y[262140, 0]"),
            std::string::npos);
}

TEST(ClampedGrid, ALoopThatOnlyTheContractHasIsFound) {
  const auto report = smoke({false, 1, "rows % blocks == block.x"}, 65535);
  if (report.is_null()) GTEST_SKIP() << "no compiler";
  ASSERT_EQ(report.at("findings").size(), 1u) << report.dump(1);
  EXPECT_EQ(report.at("findings")[0].at("kind"), "unwritten");
}

TEST(ClampedGrid, WithoutOwnershipAWholeGridJustPastTheLimitRuns) {
  for (const int limit : {65535, 2000}) {
    const TemporaryFolder folder;
    const std::vector<Finding> found = starting_findings(project(folder, {false, 1, ""}, limit));
    ASSERT_EQ(found.size(), 1u) << limit;
    EXPECT_EQ(found.front().kind, "unwritten") << found.front().message;
  }
}

}  // namespace
}  // namespace assay::testing
