// Grids that do not grow with their rows past a limit: with a loop over what is left, and without.
#include <nlohmann/json.hpp>

#include "fuzz/find_kernels.hpp"
#include "fuzz/workers.hpp"
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
        y[row * cols + i] = FACTOR * x[row * cols + i];
}
)cu";

struct Grid {
  bool loop = false;
  int rows_per_block = 1;
  std::string owns;  ///< "" for none
  bool in_place = false;  ///< whether a host may call it so
  const char* factor = "2.0f";
};

/// Writes the kernel and its contract; the contract's path.
std::string project(const TemporaryFolder& folder, const Grid& grid, int limit) {
  folder.write("twice.cu", replaced(kSource, "FACTOR", grid.factor));
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
  if (grid.in_place)
    contract = replaced(contract, "\"cols\"] },", "\"cols\"], may_alias = [\"x\"] },");
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

/// In place, rows that no block owns hold what x held: one fault, whichever memory y has.
TEST(ClampedGrid, InPlaceTheyAreTheSameFinding) {
  for (const int limit : {65535, 50}) {
    for (const char* owns : {"rows == block.x", ""}) {
      if (limit == 65535 && *owns == 0) continue;  // whole grids are small
      const auto report = smoke({false, 1, owns, true}, limit);
      if (report.is_null()) GTEST_SKIP() << "no compiler";
      ASSERT_EQ(report.at("findings").size(), 1u) << report.dump(1);
      EXPECT_EQ(report.at("findings")[0].at("kind"), "unwritten") << report.dump(1);
      EXPECT_EQ(report.at("findings")[0].at("rule"), "R1");
    }
  }
}

/// What one case of the kernel shows: 60 rows of 3, on 50 blocks, in place where that is admitted.
Finding found_in_60_rows(const Grid& grid) {
  const TemporaryFolder folder;
  const ContractPtr contract = load_kernels({project(folder, grid, 50)}).front();
  Workbench bench("ptx");
  Case c;
  c.kernel = "twice";
  c.sizes = {{"rows", 60}, {"cols", 3}};
  if (grid.in_place) c.aliases = {{"y", "x"}};
  c.values["x"] = {"equal", {}};
  const CheckResult result = bench.checker(*contract).check(c);
  EXPECT_EQ(result.findings.size(), 1u);
  return result.findings.empty() ? Finding{} : result.findings.front();
}

TEST(ClampedGrid, InPlaceTheFindingSaysThatTheyWereLeftAlone) {
  const Finding unowned = found_in_60_rows({false, 1, "rows == block.x", true});
  EXPECT_EQ(unowned.kind, "unwritten");
  EXPECT_EQ(unowned.message,
            "y: 30 of 180 elements wrong; nothing was stored to y[50, 0], which holds what x held; "
            "y[50, 0] is owned by no block of grid [50, 1, 1], and cols=3 rows=60 are admitted");
  const Finding plain = found_in_60_rows({false, 1, "", true});
  EXPECT_EQ(plain.identity(), unowned.identity());
  EXPECT_EQ(plain.message.find("owned by no block"), std::string::npos) << plain.message;
}

/// By this contract rows 50 to 59 have no owner. The kernel stores them, and rightly: what is wrong
/// in another row has nothing to do with it.
TEST(ClampedGrid, AWrongValueElsewhereIsNotPutDownToTheOwners) {
  for (const bool in_place : {false, true}) {
    const Finding stored = found_in_60_rows(
        {true, 1, "rows == block.x", in_place, "(row == 7 ? 3.0f : 2.0f)"});
    EXPECT_EQ(stored.kind, "mismatch");
    EXPECT_EQ(stored.message, "y: 3 of 180 elements wrong");
  }
  const Finding both = found_in_60_rows({false, 1, "rows == block.x", true, "3.0f"});
  EXPECT_EQ(both.kind, "mismatch") << "wrong values are more than rows that are left alone";
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
