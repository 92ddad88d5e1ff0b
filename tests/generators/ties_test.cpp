// Sizes that `require` ties by an equality reach as far as sizes that nothing ties.
#include <gtest/gtest.h>

#include <algorithm>

#include "generators/generate.hpp"
#include "generators/instance.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// Running maxima: `j` is the row's length once more.
Contract running(const std::string& sizes, const std::string& relations) {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { rows = { min = 0, max = 2000 }, cols = { min = 1, max = 500 }, )toml" +
                sizes + " }\nrequire = [" + relations + R"toml(]
launch = { grid = ["rows"], block = [32] }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
]
[formula]
y = "max(where(j <= cols, x[cols = j], -inf), j)"
[policy]
nan = "exclude"
)toml");
}

struct Reach {
  int64_t covering = 0, drawn = 0;  ///< the largest `cols`
};

Reach reach_of(const Contract& contract) {
  Reach out;
  for (const Case& c : covering_cases(contract)) {
    EXPECT_NO_THROW(instantiate(contract, c));
    out.covering = std::max(out.covering, c.sizes.at("cols"));
  }
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Case c = generate_case(contract, Seed{seed});
    EXPECT_NO_THROW(instantiate(contract, c));
    out.drawn = std::max(out.drawn, c.sizes.at("cols"));
  }
  return out;
}

TEST(Ties, TiedSizesReachFar) {
  const std::string j = "j = { min = 1, max = 500 }";
  const std::pair<const char*, int64_t> kRelations[] = {{R"("j == cols")", 200},
                                                        {R"("cols == j")", 200},
                                                        {R"("j == 2 * cols")", 128},
                                                        {R"("2 * cols == j + 3")", 128},
                                                        {R"("j == cols + 1")", 200},
                                                        {R"("j >= 1 && j == cols")", 200}};
  for (const auto& [relation, least] : kRelations) {
    const Reach reach = reach_of(running(j, relation));
    EXPECT_GE(reach.covering, 65) << relation << ": past two warps";
    EXPECT_GE(reach.drawn, least) << relation;
  }
}

TEST(Ties, SeveralOfThemHoldTogether) {
  const Contract contract = running(
      "j = { min = 1, max = 500 }, q = { min = 1, max = 400 }, s = { in = [1, 2] }",
      R"("j == cols", "q == (cols + 2 * s - 3) / s + 1")");
  const Reach reach = reach_of(contract);
  EXPECT_GE(reach.covering, 96);
  EXPECT_GE(reach.drawn, 200);
}

TEST(Ties, SimplerCasesKeepToThem) {
  const Contract contract = running("j = { min = 1, max = 500 }", R"("j == cols")");
  Case c;
  c.kernel = "k";
  c.sizes = {{"rows", 3}, {"cols", 400}, {"j", 400}};
  const std::vector<Case> simpler = simpler_cases(contract, c);
  EXPECT_TRUE(std::any_of(simpler.begin(), simpler.end(),
                          [](const Case& one) { return one.sizes.at("cols") == 33; }));
}

TEST(Ties, MultiplesAreNotHeldToTheLeast) {
  const Contract contract =
      running("j = { min = 1, max = 500 }", R"("j == cols", "cols % 8 == 0")");
  const Reach reach = reach_of(contract);
  EXPECT_GE(reach.covering, 65);
  EXPECT_GE(reach.drawn, 200);
}

}  // namespace
}  // namespace assay
