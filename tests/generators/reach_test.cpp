// How far sizes reach, and that the first cases go there.
#include "generators/reach.hpp"

#include <algorithm>

#include "generators/generate.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// A grid-stride loop whose counter is an int: past 2^31 - grid * 256 it steps over the end.
Contract grid_stride(const std::string& most_blocks, const std::string& scalar = "i32",
                     const std::string& owns = "owns = { y = \"n / 256 % blocks == block.x\" }") {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { n = { min = 0, max = 10000000000 } }
derive = { blocks = "min(ceil_div(n, 256), )toml" +
                most_blocks + R"toml()" }
launch = { grid = ["blocks"], block = [256] }
)toml" + owns + R"toml(
args = [
  { name = "x", kind = "input", dtype = "f16", shape = ["n"] },
  { name = "y", kind = "output", dtype = "f16", shape = ["n"] },
  { name = "n", kind = "scalar", dtype = ")toml" +
                scalar + R"toml(", value = "n" },
]
[formula]
y = "x"
)toml");
}

int64_t largest_covering(const Contract& contract, const std::string& size) {
  int64_t most = 0;
  for (const Case& c : covering_cases(contract)) most = std::max(most, c.sizes.at(size));
  return most;
}

TEST(Reach, AScalarCutsASize) {
  const Contract contract = grid_stride("1024");
  const auto reaches = size_reaches(contract);
  ASSERT_EQ(reaches.size(), 1u);
  EXPECT_EQ(reaches[0].admitted, 10000000000);
  EXPECT_EQ(reaches[0].possible, 2147483647);
  ASSERT_NE(reaches[0].limited_by, nullptr);
  EXPECT_EQ(reaches[0].limited_by->name, "n");
  const auto notes = reach_notes(contract);
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("sizes n above 2147483647 can never run: scalar n is i32"),
            std::string::npos)
      << notes[0];
  EXPECT_NE(notes[0].find(":11:"), std::string::npos) << "the scalar's line: " << notes[0];
  EXPECT_TRUE(reach_notes(grid_stride("1024", "i64")).empty());
  EXPECT_TRUE(reach_notes(parsed(kSoftmax)).empty());
}

TEST(Reach, TheLargestCountThatAScalarCarriesIsCovered) {
  // One block of 1,024 owns 2 M elements.
  for (const char* most : {"1024", "4096", "16384", "65536"})
    EXPECT_EQ(largest_covering(grid_stride(most), "n"), 2147483647) << most;
}

TEST(Reach, WithoutOwnershipSizesGoAsFarAsTheyAreAffordable) {
  const int64_t most = largest_covering(grid_stride("1024", "i32", ""), "n");
  EXPECT_GT(most, 100000);
  EXPECT_LT(most, 10000000);
}

TEST(Reach, EverySizeIsMostOnceWhereBlocksCanBeChosen) {
  const Contract contract = parsed(kSoftmax);
  bool together = false;
  for (const Case& c : covering_cases(contract))
    together |= c.sizes.at("rows") == 70000 && c.sizes.at("cols") == 32768;
  EXPECT_TRUE(together);
  EXPECT_EQ(largest_covering(contract, "rows"), 70000);
  EXPECT_EQ(largest_covering(contract, "cols"), 32768);
  EXPECT_EQ(most_elements(contract, *contract.find_operand("x")), int64_t{70000} * 32768);
}

/// Extents that are expressions: a derived size, a product of sizes, a multiple of one.
TEST(Reach, ExpressionsGrowPast2To31AsSizesDo) {
  struct Form {
    const char* sizes;
    const char* shape;
    const char* grid;
  };
  for (const Form& form :
       {Form{"rows = { min = 0, max = 1000000 }, c8 = { min = 1, max = 2048 } }\n"
             "derive = { cols = \"8 * c8\"",
             "\"rows\", \"cols\"", "rows"},
        Form{"rows = { min = 0, max = 1000000 }, c8 = { min = 1, max = 2048 }",
             "\"rows\", \"cols: 8 * c8\"", "rows"},
        Form{"b = { min = 0, max = 1000 }, s = { min = 0, max = 1000 }, cols = { min = 1, max = "
             "16384 }",
             "\"rows: b * s\", \"cols\"", "b * s"}}) {
    const Contract contract = parsed(
        std::string("name = \"k\"\nsource = { cuda = \"kernel.cu\", entry = \"k\" }\nsizes = { ") +
        form.sizes + " }\nlaunch = { grid = [\"" + form.grid +
        "\"], block = [128] }\nowns = { y = \"rows == block.x\" }\nargs = [\n"
        "{ name = \"y\", kind = \"output\", dtype = \"f32\", shape = [" + form.shape +
        "] },\n{ name = \"x\", kind = \"input\", dtype = \"f32\", shape = [" + form.shape +
        "] },\n]\n[formula]\ny = \"x\"\n");
    int64_t most = 0;
    for (const Case& c : covering_cases(contract)) {
      if (!c.blocks.empty())
        most = std::max(most, instantiate(contract, c).find("y")->elements());
    }
    EXPECT_GT(most, int64_t{1} << 31) << form.sizes;
  }
}

/// 41 rows fail as 9 do when the last warp's tail is wrong.
TEST(Reach, SimplerSizesKeepTheResidue) {
  const Contract contract = parsed(kSoftmax);
  Case c;
  c.kernel = "softmax";
  c.types = {{"T", DType::f32}};
  c.knobs = {{"BLOCK", 128}};
  c.sizes = {{"rows", 41}, {"cols", 1000}};
  const std::vector<Case> simpler = simpler_cases(contract, c);
  const auto has = [&](const char* size, int64_t value) {
    return std::any_of(simpler.begin(), simpler.end(),
                       [&](const Case& s) { return s.sizes.at(size) == value; });
  };
  EXPECT_TRUE(has("rows", 9));
  EXPECT_TRUE(has("cols", 1000 % 128));
  EXPECT_TRUE(has("cols", 127));
  EXPECT_TRUE(has("cols", 129));
}

}  // namespace
}  // namespace assay
