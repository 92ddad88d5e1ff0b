// Layouts of operands of which some strides are free and others follow from sizes.
#include <gtest/gtest.h>

#include "generators/generate.hpp"
#include "generators/reach.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// x[b, s, p, d] with the given strides.
Contract strided(const std::string& strides) {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { b = { min = 0, max = 4096 }, s = { min = 1, max = 64 }, d = { min = 1, max = 256 } }
launch = { grid = ["b"], block = [128] }
owns = { y = "b == block.x" }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["b", "s", "p: 3", "d"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["b", "s", "p: 3", "d"], strides = [)toml" +
                strides + R"toml(] },
]
[formula]
y = "x"
)toml");
}

/// What the layouts of x do in some case of many.
struct Seen {
  bool inner = false;    ///< s steps over more than its elements
  bool outer = false;    ///< b does, s does not
  bool swapped = false;  ///< b lies within s
  bool far = false;      ///< past 2^31 elements
};

Seen look(const Contract& contract) {
  std::vector<Case> cases = covering_cases(contract);
  for (uint64_t seed = 0; seed < 600; ++seed) cases.push_back(generate_case(contract, Seed{seed}));
  Seen seen;
  for (const Case& c : cases) {
    const Instance instance = instantiate(contract, c);
    const Tensor& x = *instance.find("x");
    if (x.shape[0] < 2 || x.shape[1] < 2 || x.shape[3] < 2) continue;
    const int64_t row = x.strides[2] * x.shape[2];
    seen.inner |= x.strides[1] > row && x.strides[1] < x.strides[0];
    seen.outer |= x.strides[1] == row && x.strides[0] > row * x.shape[1];
    seen.swapped |= x.strides[0] >= row && x.strides[0] < x.strides[1];
    seen.far |= x.storage_elements > int64_t{1} << 31;
  }
  return seen;
}

TEST(Layouts, StridesBesideFixedOnesAreVaried) {
  for (const char* strides : {R"s("any", "any", "d", 1)s", R"s("any", "any", "align_up(d, 4)", 1)s",
                              R"s("any", "any", "any", 1)s"}) {
    const Seen seen = look(strided(strides));
    EXPECT_TRUE(seen.inner) << strides;
    EXPECT_TRUE(seen.outer) << strides;
    EXPECT_TRUE(seen.swapped) << strides;
    EXPECT_TRUE(seen.far) << strides;
  }
}

TEST(Layouts, FixedStridesStayAsTheContractSays) {
  const Contract contract = strided(R"s("any", "3 * d + 1", "d", 1)s");
  bool padded = false;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Instance instance = instantiate(contract, generate_case(contract, Seed{seed}));
    const Tensor& x = *instance.find("x");
    EXPECT_EQ(x.strides[1], 3 * x.shape[3] + 1);
    EXPECT_EQ(x.strides[2], x.shape[3]);
    padded |= x.shape[0] > 1 && x.strides[0] > x.strides[1] * x.shape[1];
  }
  EXPECT_TRUE(padded);
}

TEST(Layouts, ACheckTellsOfStridesThatAreNeverVaried) {
  const auto notes = reach_notes(strided(R"s("any", "any", "stride(x, 3) * d", 1)s"));
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("strides \"any\" of x are never varied"), std::string::npos) << notes[0];
  EXPECT_TRUE(reach_notes(strided(R"s("any", "any", "d", 1)s")).empty());
}

}  // namespace
}  // namespace assay
