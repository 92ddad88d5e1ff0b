// Sizes that are drawn beside each other: tiles along several of them, one long among least ones;
// flags and labels where sizes are largest; blocks that own an element past 2^32.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "generators/generate.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// y[M, N] = sum(x w, K), tiles of 32 rows and `tile` columns, counted one way or the other.
Contract product(const std::string& derive, const std::string& grid) {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { M = { min = 0, max = 20000 }, N4 = { min = 0, max = 5000 }, K = { min = 0, max = 20000 } }
)toml" + derive +
                "launch = { grid = [" + grid + R"toml(], block = [128] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["M", "N"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["M", "K"] },
  { name = "w", kind = "input", dtype = "f32", shape = ["K", "N"] },
]
[formula]
y = "sum(x * w, K)"
)toml");
}

int64_t tiles(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

TEST(JointSizes, TilesOfSeveralSizesComeTogether) {
  for (const auto& [derive, grid] :
       {std::pair<const char*, const char*>{"derive = { N = \"4 * N4\" }\n",
                                            R"s("ceil_div(M, 32) * ceil_div(N, 64)")s"},
        {"derive = { N = \"4 * N4\", down = \"ceil_div(M, 32)\", across = \"ceil_div(N, 64)\" }\n",
         R"s("across", "down")s"}}) {
    const Contract contract = product(derive, grid);
    std::set<std::pair<int64_t, int64_t>> seen;
    std::vector<Case> cases = covering_cases(contract);
    const size_t covering = cases.size();
    for (uint64_t seed = 0; seed < 400; ++seed)
      cases.push_back(generate_case(contract, Seed{seed}));
    bool early = false;
    for (size_t i = 0; i < cases.size(); ++i) {
      const int64_t down = tiles(cases[i].sizes.at("M"), 32);
      const int64_t across = tiles(4 * cases[i].sizes.at("N4"), 64);
      seen.emplace(down, across);
      early |= i < covering && down > 8 && across > 1 && down % 8 != 0;
    }
    EXPECT_TRUE(early) << grid << ": past a group of eight, more than one across";
    for (const int64_t down : {2, 9, 17})
      EXPECT_TRUE(seen.contains({down, 2}) || seen.contains({down, 9})) << grid << " " << down;
  }
}

TEST(JointSizes, EachSizeIsLongAndRaggedBesideLeastOnes) {
  const Contract contract =
      product("derive = { N = \"4 * N4\" }\n", R"s("ceil_div(M, 32)", "ceil_div(N, 64)")s");
  std::map<std::string, std::set<int64_t>> residues;
  std::vector<Case> cases = covering_cases(contract);
  std::set<std::string> early;
  const size_t covering = cases.size();
  for (uint64_t seed = 0; seed < 1500; ++seed) cases.push_back(generate_case(contract, Seed{seed}));
  for (size_t i = 0; i < cases.size(); ++i) {
    for (const auto& [size, value] : cases[i].sizes) {
      const bool alone =
          std::all_of(cases[i].sizes.begin(), cases[i].sizes.end(),
                      [&](const auto& other) { return other.first == size || other.second <= 5; });
      if (!alone || value < 64) continue;
      residues[size].insert(value % 8);
      if (i < covering) early.insert(size);
    }
  }
  for (const char* size : {"M", "N4", "K"}) {
    EXPECT_TRUE(early.contains(size)) << size;
    EXPECT_GE(residues[size].size(), 6u) << size;
  }
}

TEST(JointSizes, FlagsAndLabelsMeetTheLargestSizes) {
  const Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k<{mean}>" }
sizes = { rows = { min = 0, max = 1000 }, names = { min = 1, max = 60000 } }
flags = ["mean"]
launch = { grid = ["rows"], block = [128] }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "names"] },
  { name = "at", kind = "index", dtype = "i32", shape = ["rows"], domain = "-1..-1 | 0..names - 1", repeats = true },
]
[formula]
y = "where(at < 0, 0, mean ? sum(x, names) / names : max(x, names))"
)toml");
  std::set<int64_t> flags;
  for (const Case& c : covering_cases(contract)) {
    if (c.sizes.at("names") != 60000 || c.values.at("at").name != "index_uniform") continue;
    const Instance instance = instantiate(contract, c);
    const Tensor& at = *instance.find("at");
    int32_t label = 0;
    logical_values(instance, at, at.elements() - 1, 1, reinterpret_cast<uint8_t*>(&label));
    if (label >= 0) flags.insert(c.flags.at("mean"));
  }
  EXPECT_EQ(flags, (std::set<int64_t>{0, 1}));
}

/// The block of a grid-stride loop that owns the element past 2^32 is none of the grid's ends, nor
/// at its fraction of the grid.
TEST(JointSizes, TheBlockThatOwnsTheFarElementRuns) {
  const Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { a = { min = 0, max = 2000000 }, b = { min = 1, max = 3000000 } }
launch = { grid = ["min(a, 30000)", "min(ceil_div(b, 256), 300)"], block = [256] }
owns = { y = "a % 30000 == block.x && b / 256 % 300 == block.y" }
args = [
  { name = "y", kind = "output", dtype = "u8", shape = ["a", "b"] },
  { name = "x", kind = "input", dtype = "u8", shape = ["a", "b"] },
]
[formula]
y = "x"
)toml");
  int64_t owned = 0;
  for (const Case& c : covering_cases(contract)) {
    if (c.blocks.empty()) continue;
    const Instance instance = instantiate(contract, c);
    const Tensor& y = *instance.find("y");
    for (const Box& box : owned_elements(instance, y)) {
      if (box.elements() == 0) continue;
      owned = std::max(owned, (box.ranges[0].second - 1) * y.shape[1] + box.ranges[1].second);
    }
  }
  EXPECT_GT(owned, int64_t{1} << 32);
}

/// Thousands of keys whose weights are small and alike, beside one of weight 1.
TEST(JointSizes, LongSumsOfExponentsMeetAPeak) {
  const Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { queries = { min = 1, max = 512 }, keys = { min = 1, max = 8192 }, d = { in = [16, 64] } }
launch = { grid = ["queries"], block = [32] }
args = [
  { name = "o", kind = "output", dtype = "f32", shape = ["queries", "d"] },
  { name = "q", kind = "input", dtype = "f32", shape = ["queries", "d"] },
  { name = "k", kind = "input", dtype = "f32", shape = ["keys", "d"] },
  { name = "v", kind = "input", dtype = "f32", shape = ["keys", "d"] },
]
[formula]
s = "sum(q * k, d)"
o = "sum(exp(s - max(s, keys)) * v, keys) / sum(exp(s - max(s, keys)), keys)"
)toml");
  int64_t longest = 0;
  for (const Case& c : covering_cases(contract)) {
    if (c.values.at("k").name == "peak_rows" &&
        c.values.at("q") == ValueRecipe{"equal", {{"value", 1}}})
      longest = std::max(longest, c.sizes.at("keys"));
  }
  EXPECT_GT(longest, 500);
}

}  // namespace
}  // namespace assay
