// Facts of [accuracy] that apply to nothing in a formula are told by `assay check`.
#include <algorithm>

#include "fuzz/find_kernels.hpp"
#include "fuzz/lint.hpp"
#include "tests/fuzz/run_assay.hpp"

namespace assay::testing {
namespace {

std::string contract_text(const std::string& formula, const std::string& accuracy) {
  return R"toml(name = "facts"
source = { cuda = "facts.cu", entry = "facts<{T}>" }
types = { T = ["f16", "f32"] }
knobs = { MODE = [0, 1] }
sizes = { rows = { min = 1, max = 100 }, n = { min = 1, max = 100 } }
launch = { grid = ["rows"], block = [32] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "n"] },
  { name = "v", kind = "input", dtype = "T", shape = ["rows", "n"] },
  { name = "sink", kind = "input", dtype = "f32", shape = [1] },
]
[formula]
)toml" + formula +
         "\n[accuracy]\n" + accuracy + "\n";
}

/// The names of the facts that are idle, and their lines.
std::string idle(const std::string& formula, const std::string& accuracy) {
  const TemporaryFolder folder;
  folder.write("facts.cu", "");
  const std::string path = folder.write("facts.toml", contract_text(formula, accuracy));
  std::string out;
  for (const Lint& lint : idle_facts(load_contract(path))) {
    EXPECT_EQ(lint.kind, "unused");
    EXPECT_GT(lint.where.line, 15);
    out += lint.message.substr(0, lint.message.find(" of [accuracy]")) + ";";
  }
  return out;
}

const std::string kAll = R"toml(online = 16
exp = "prescaled"
variance = "welford"
depth = "5"
mma = "m16n8k16")toml";

TEST(IdleFacts, OfAFormulaWithoutSums) {
  EXPECT_EQ(idle("y = \"sink[0] + 0 * rows\"", kAll), "`online`;`exp`;`variance`;`depth`;`mma`;");
}

TEST(IdleFacts, EachWhereItApplies) {
  const auto none = [](const std::string& y, const std::string& fact) {
    return idle("y = \"" + y + "\"", fact);
  };
  const std::string weights = "sum(exp(x - max(x, n)) * v, n)";
  const std::string sink = "sum(exp(x - max(max(x, n), sink[0])) * v, n)";
  const std::string other = "sum(exp(x - max(v, n)) * v, n)";
  EXPECT_EQ(none(weights, "online = 4"), "");
  EXPECT_EQ(none(sink, "online = 4"), "");
  EXPECT_EQ(none(other, "online = 4"), "`online`;");
  EXPECT_EQ(none("sum(x * v, n)", "online = 4"), "`online`;");
  EXPECT_EQ(none(weights, "exp = \"prescaled\""), "");
  EXPECT_EQ(none("sum(exp2(x), n)", "exp = \"prescaled\""), "`exp`;");
  EXPECT_EQ(none("sum(x, n)", "exp = \"direct\"\nvariance = \"two_pass\""), "");  // the defaults
  EXPECT_EQ(none("var(x, n)", "variance = \"one_pass\""), "");
  EXPECT_EQ(none("mean(x, n)", "variance = \"one_pass\""), "`variance`;");
  EXPECT_EQ(none("mean(x, n)", "variance = \"welford\""), "");
  EXPECT_EQ(none("max(x, n)", "variance = \"welford\""), "`variance`;");
  EXPECT_EQ(none("sum(x * v, n)", "depth = \"n / 32 + 5\""), "");
  EXPECT_EQ(none("max(x, n)", "depth = \"n / 32 + 5\""), "`depth`;");
  EXPECT_EQ(none("sum(x, n)", "depth = { n = \"5\" }"), "");
  EXPECT_EQ(none("max(x, n)", "depth = { n = \"5\" }"), "`depth` along 'n';");
  EXPECT_EQ(none("sum(x * v, n)", "mma = \"m16n8k16\""), "");  // of f16
  EXPECT_EQ(none("sum(x, n)", "mma = \"m16n8k16\""), "`mma`;");
  EXPECT_EQ(none("sum(x * v, n)", "mma = \"m16n8k16\"\naccumulate = \"f64\""), "`mma`;");
  // One variant is enough.
  EXPECT_EQ(none("MODE == 1 ? sum(x * v, n) : max(x, n)", "depth = \"5\""), "");
}

TEST(IdleFacts, NoneInOurOwnContracts) {
  for (const ContractPtr& contract : load_kernels({})) {
    std::string told;
    for (const Lint& lint : idle_facts(*contract)) told += lint.message + "\n";
    EXPECT_EQ(told, "") << contract->path;
  }
}

TEST(IdleFacts, CheckTellsThem) {
  const TemporaryFolder folder;
  folder.write("scale_rows.cu", kScaleSource);
  const std::string path =
      folder.write("scale_rows.toml", std::string(kScaleContract) + "[accuracy]\nonline = 16\n");
  const Outcome outcome = run_assay({"check", path});
  EXPECT_NE(outcome.out.find("unused: `online` of [accuracy] applies to nothing"),
            std::string::npos)
      << outcome.out << outcome.err;
}

}  // namespace
}  // namespace assay::testing
