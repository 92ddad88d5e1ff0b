#include "generators/row_map.hpp"

#include <gtest/gtest.h>

#include "generators/variation.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

constexpr const char* kText = R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { B = { min = 0, max = 50 }, most = { min = 1, max = 9 } }
launch = { grid = ["B"], block = [32] }
properties = ["rows_independent(B)"]
args = [
  { name = "y", kind = "output", dtype = "i32", shape = ["B"] },
  { name = "x", kind = "input", dtype = "i32", shape = ["pair: 2", "n: B * most", "D: 3"]@LIVE },
  { name = "lens", kind = "index", dtype = "i32", shape = ["B"], domain = "0..most" },
  { name = "cu", kind = "index", dtype = "i64", shape = ["B + 1"], prefix_sum_of = "lens" },
]
[formula]
y = "lens"
)toml";

Contract sequences(const std::string& live) {
  std::string text = kText;
  text.replace(text.find("@LIVE"), 5, live);
  return parsed(text);
}

std::vector<int64_t> values(const Instance& instance, const char* operand) {
  const Tensor& tensor = *instance.find(operand);
  const int size = byte_size(tensor.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(tensor.elements() * size));
  logical_values(instance, tensor, 0, tensor.elements(), bytes.data());
  std::vector<int64_t> out;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    out.push_back(to_integer(tensor.dtype, load_bits(bytes.data() + i * size, size)));
  return out;
}

TEST(RowMap, SequencesAloneAreThoseOfTheBatch) {
  const Contract contract = sequences(", live = \"n < cu[B]\"");
  const Case c = parse_case(
      "assay-case 1\nkernel k\nsizes B=20 most=6\nproperty rows_independent(B) count=3 first=11\n"
      "values x bits\nseeds values=0x9\nend\n",
      "f.case");
  const Instance batch = instantiate(contract, c);
  const Variations variations = vary(batch);
  ASSERT_EQ(variations.runs.size(), 1u) << variations.why_none;
  const Instance& alone = variations.runs[0].instance;
  const auto cu = values(batch, "cu"), mine = values(alone, "cu");
  ASSERT_EQ(mine.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(mine[i], cu[11 + i] - cu[11]);
  const auto lens = values(batch, "lens"), my_lens = values(alone, "lens");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(my_lens[i], lens[11 + i]);
  ASSERT_GT(mine[3], 0);
  const auto x = values(batch, "x"), my_x = values(alone, "x");
  const int64_t theirs = 20 * 6, ours = 3 * 6;
  for (int64_t pair = 0; pair < 2; ++pair) {
    for (int64_t n = 0; n < mine[3]; ++n) {
      for (int64_t d = 0; d < 3; ++d) {
        EXPECT_EQ(my_x[static_cast<size_t>((pair * ours + n) * 3 + d)],
                  x[static_cast<size_t>((pair * theirs + cu[11] + n) * 3 + d)]);
      }
    }
  }
  const RowMap map = row_map(batch, *batch.find("x"), "B", 11, 3);
  EXPECT_EQ(map.dimension, "n");
  EXPECT_EQ(map.first, cu[11]);
  EXPECT_EQ(map.count, mine[3]);
  EXPECT_TRUE(map.is_delimited);
}

TEST(RowMap, WithoutLiveTheContractIsTold) {
  try {
    sequences("");
    FAIL() << "the rows of n are no one's";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("live = \"n < SUMS[...]\""), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace assay
