// argmax and argmin of integers: compared as they are, however many bits f32 and f64 hold (rule
// R3).
#include <gtest/gtest.h>

#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::FakeRun;

class IntegerScores {
 public:
  IntegerScores(const std::string& type, const std::string& formula, const std::vector<int64_t>& x,
                const std::string& tie = "first")
      : experiment_(parse_contract(
            R"toml(
name = "scores"
source = { cuda = "row_sum.cu", entry = "row" }
sizes = { cols = { min = 0, max = 100000 } }
launch = { grid = [1], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "i64", shape = [1] },
  { name = "x", kind = "input", dtype = ")toml" +
                type + "\", shape = [\"cols\"] },\n]\n[formula]\ny = \"" + formula +
                "\"\n[policy]\ntie = \"" + tie + "\"\n",
            std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/scores.toml")) {
    const auto n = static_cast<int64_t>(x.size());
    experiment_.the_case.sizes["cols"] = n;
    for (int64_t k = 0; k < n; ++k)
      experiment_.put_bits("x", {n}, k, *parse_dtype(type),
                           static_cast<uint64_t>(x[static_cast<size_t>(k)]) &
                               (type == "i64" ? ~uint64_t{0} : 0xffffffffu));
  }

  Outcome operator()(uint64_t got) {
    const Instance instance = experiment_.instance();
    FakeRun run(instance);
    run.set("y", 0, got);
    return Judge(experiment_.contract).judge(instance, run, {}).outcome;
  }
  ElementReport explain(uint64_t got) {
    const Instance instance = experiment_.instance();
    FakeRun run(instance);
    run.set("y", 0, got);
    return Judge(experiment_.contract).explain(instance, run, "y", 0);
  }

 private:
  Experiment experiment_;
};

TEST(IntegerScores, NeighboursThatNoFloatTellsApart) {
  struct Row {
    const char* type;
    std::vector<int64_t> x;
  };
  const int64_t top = int64_t{1} << 62;
  for (const Row& row : {Row{"i32", {16777216, 16777217}}, Row{"i32", {2147483646, 2147483647}},
                         Row{"i64", {top, top + 1}}, Row{"i64", {-top - 1, -top}},
                         Row{"u32", {4294967294, 4294967295}}}) {
    IntegerScores largest(row.type, "argmax(x, cols)", row.x);
    EXPECT_EQ(largest(1), Outcome::pass) << row.type << row.x[0];
    EXPECT_EQ(largest(0), Outcome::mismatch) << row.type << row.x[0];
    EXPECT_EQ(largest(2), Outcome::mismatch) << row.type << row.x[0];
    IntegerScores smallest(row.type, "argmin(x, cols)", row.x);
    EXPECT_EQ(smallest(0), Outcome::pass) << row.type << row.x[0];
    EXPECT_EQ(smallest(1), Outcome::mismatch) << row.type << row.x[0];
  }
}

TEST(IntegerScores, TiesAreTies) {
  const std::vector<int64_t> x{5, 16777217, 16777216, 16777217};
  EXPECT_EQ(IntegerScores("i32", "argmax(x, cols)", x)(1), Outcome::pass);
  EXPECT_EQ(IntegerScores("i32", "argmax(x, cols)", x)(3), Outcome::mismatch);
  EXPECT_EQ(IntegerScores("i32", "argmax(x, cols)", x, "last")(3), Outcome::pass);
  EXPECT_EQ(IntegerScores("i32", "argmax(x, cols)", x, "last")(1), Outcome::mismatch);
  for (const uint64_t got : {1, 3})
    EXPECT_EQ(IntegerScores("i32", "argmax(x, cols)", x, "free")(got), Outcome::pass) << got;
  EXPECT_EQ(IntegerScores("i32", "argmax(x, cols)", x, "free")(2), Outcome::mismatch);
}

TEST(IntegerScores, AnIndexAsAnOperand) {
  IntegerScores next("i32", "argmax(x, cols) * 10", {16777216, 16777217, 1});
  EXPECT_EQ(next(10), Outcome::pass);
  EXPECT_EQ(next(0), Outcome::mismatch);
}

TEST(IntegerScores, AReportNamesThem) {
  const ElementReport report =
      IntegerScores("i32", "argmax(x, cols)", {16777216, 16777217}).explain(0);
  EXPECT_NE(report.exact.find("16777217"), std::string::npos) << report.exact;
  EXPECT_NE(report.error_text.find("16777216"), std::string::npos) << report.error_text;
  EXPECT_EQ(report.accepted.substr(0, 3), "{1}");
}

}  // namespace
}  // namespace assay
