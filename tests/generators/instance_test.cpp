#include "generators/instance.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

Case softmax_case(int64_t rows = 8, int64_t cols = 1000) {
  Case c;
  c.kernel = "softmax";
  c.types = {{"T", DType::f16}};
  c.sizes = {{"rows", rows}, {"cols", cols}};
  c.knobs = {{"BLOCK", 256}};
  return c;
}

TEST(Instantiate, ResolvesSoftmax) {
  const Contract contract = parsed(kSoftmax);
  Case c = softmax_case();
  c.layouts["x"] = {{1024, 1}, 1, 2};
  const Instance instance = instantiate(contract, c);
  const Tensor& x = *instance.find("x");
  EXPECT_EQ(x.shape, (std::vector<int64_t>{8, 1000}));
  EXPECT_EQ(x.strides, (std::vector<int64_t>{1024, 1}));
  EXPECT_EQ(x.storage_elements, 1 + 7 * 1024 + 1000);
  EXPECT_FALSE(x.is_contiguous());
  EXPECT_EQ(instance.find("x_stride")->scalar_bits, 1024u);
  EXPECT_EQ(instance.find("cols")->scalar_integer, 1000);
  ASSERT_EQ(instance.launches.size(), 1u);
  EXPECT_EQ(instance.launches[0].grid, (std::array<int64_t, 3>{8, 1, 1}));
  EXPECT_EQ(instance.launches[0].block, (std::array<int64_t, 3>{256, 1, 1}));
  EXPECT_EQ(instance.launches[0].args, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_TRUE(instance.find("y")->is_contiguous());
}

struct Wrong {
  const char* what;
  std::function<void(Case&)> change;
  const char* message;  ///< must be part of the error
};

class WrongCase : public testing::TestWithParam<Wrong> {};

TEST_P(WrongCase, IsOneInputError) {
  const Contract contract = parsed(kSoftmax);
  Case c = softmax_case();
  GetParam().change(c);
  try {
    check_case_against(contract, c, "f.case");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos)
        << error.what();
    EXPECT_TRUE(std::string(error.what()).starts_with("f.case")) << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongCase,
    testing::Values(
        Wrong{"kernel", [](Case& c) { c.kernel = "relu"; }, "this case is for kernel 'relu'"},
        Wrong{"type", [](Case& c) { c.types["T"] = DType::f64; },
              "no T=f64; it has f32, f16, bf16"},
        Wrong{"type name", [](Case& c) { c.types["U"] = DType::f32; }, "no type parameter 'U'"},
        Wrong{"no type", [](Case& c) { c.types.clear(); }, "gives no type T"},
        Wrong{"no size", [](Case& c) { c.sizes.erase("rows"); }, "gives no size rows"},
        Wrong{"size name", [](Case& c) { c.sizes["row"] = 1; }, "did you mean 'rows'?"},
        Wrong{"negative", [](Case& c) { c.sizes["rows"] = -1; }, "size rows=-1 is negative"},
        Wrong{"above", [](Case& c) { c.sizes["cols"] = 32769; }, "outside [1, 32768]"},
        Wrong{"knob", [](Case& c) { c.knobs["BLOCK"] = 64; }, "has no BLOCK=64"},
        Wrong{"no knob", [](Case& c) { c.knobs.clear(); }, "gives no knob BLOCK"},
        Wrong{"flag", [](Case& c) { c.flags["f"] = 1; }, "no flag 'f'"},
        Wrong{"operand", [](Case& c) { c.layouts["z"] = {}; }, "no operand 'z'"},
        Wrong{"rank", [](Case& c) { c.layouts["x"].strides = {1}; }, "has 2 dimensions"},
        Wrong{"rule",
              [](Case& c) {
                c.layouts["x"].strides = {4000, 2};
              },
              "in dimension 1 must be 1"},
        Wrong{"output",
              [](Case& c) {
                c.layouts["y"].strides = {2000, 1};
              },
              "must be contiguous"},
        Wrong{"overlap",
              [](Case& c) {
                c.layouts["x"].strides = {999, 1};
              },
              "overlap"},
        Wrong{"stride",
              [](Case& c) {
                c.layouts["x"].strides = {-1000, 1};
              },
              "is negative"},
        Wrong{"offset", [](Case& c) { c.layouts["x"].offset = -1; }, "out of range"},
        Wrong{"misalign", [](Case& c) { c.layouts["x"].misalign = 1; }, "alignment of 2 bytes"},
        Wrong{"huge",
              [](Case& c) {
                c.layouts["x"].strides = {int64_t{1} << 60, 1};
              },
              "64 TiB"},
        Wrong{"block", [](Case& c) { c.blocks = {8}; }, "beyond the grid of 8"},
        Wrong{"class", [](Case& c) { c.values["x"].name = "norml"; }, "did you mean 'normal'?"},
        Wrong{"class kind", [](Case& c) { c.values["x"].name = "index_first"; }, "is not for 'x'"},
        Wrong{"parameter",
              [](Case& c) {
                c.values["x"].parameters = {{"sigma", 1}};
              },
              "no parameter 'sigma'"},
        Wrong{"output values", [](Case& c) { c.values["y"] = {}; }, "takes no values"},
        Wrong{"set",
              [](Case& c) {
                c.overrides = {{"x", {8, 0}, 0, ""}};
              },
              "outside [0, 8)"},
        Wrong{"set rank",
              [](Case& c) {
                c.overrides = {{"x", {8}, 0, ""}};
              },
              "1 coordinates"},
        Wrong{"set bits",
              [](Case& c) {
                c.overrides = {{"x", {0, 0}, 0x10000, ""}};
              },
              "do not fit f16"},
        Wrong{"set scalar",
              [](Case& c) {
                c.overrides = {{"cols", {}, 0, ""}};
              },
              "takes no values"},
        Wrong{"scalar", [](Case& c) { c.scalars["cols"] = 1; }, "0 values to choose from"}),
    [](const auto& info) {
      std::string name = info.param.what;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

TEST(Instantiate, NamesThePlaceInTheCase) {
  const Contract contract = parsed(kSoftmax);
  const Case c = parse_case(
      "assay-case 1\nkernel softmax\ntypes T=f32\nsizes cols=5 rows=-4\nknobs BLOCK=128\nend\n",
      "bad.case");
  try {
    instantiate(contract, c, "bad.case");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "bad.case:4:14: size rows=-4 is negative");
  }
}

TEST(Instantiate, RefusesScalarsThatDoNotFit) {
  Contract contract = parsed(kSoftmax);
  contract.args[2].dtype = "i32";
  Case c = softmax_case(3, 8);
  c.layouts["x"].strides = {int64_t{1} << 31, 1};
  EXPECT_THROW(instantiate(contract, c), InputError);
  c.layouts["x"].strides = {(int64_t{1} << 31) - 1, 1};
  EXPECT_EQ(instantiate(contract, c).find("x_stride")->scalar_integer, (int64_t{1} << 31) - 1);
}

TEST(Instantiate, PrintsTheRelationThatFails) {
  Contract contract = parsed(kSoftmax);
  contract.require.push_back({"rows < cols", parse_expression("rows < cols", {}), {}});
  EXPECT_NO_THROW(instantiate(contract, softmax_case(3, 4)));
  try {
    instantiate(contract, softmax_case(4, 3));
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("requires rows < cols, which does not hold for "
                        "rows=4, cols=3"),
              std::string::npos)
        << error.what();
  }
}

TEST(TensorIndex, StorageAndLogicalAreInverse) {
  const Contract contract = parsed(kTranspose);
  for (const std::vector<int64_t>& strides :
       {std::vector<int64_t>{7, 1}, {1, 5}, {20, 3}, {2, 11}, {0, 1}, {1, 0}, {0, 0}, {100, 10}}) {
    Case c;
    c.kernel = "transpose";
    c.types = {{"T", DType::f32}};
    c.sizes = {{"rows", 5}, {"cols", 7}};
    c.layouts["x"] = {strides, 3, 0};
    const Instance instance = instantiate(contract, c);
    const Tensor& x = *instance.find("x");
    std::map<int64_t, int64_t> expected;
    for (int64_t i = x.elements(); i-- > 0;) expected[x.storage_of(i)] = i;  // lowest index wins
    EXPECT_EQ(expected.rbegin()->first + 1, x.storage_elements);
    for (int64_t s = 0; s < x.storage_elements + 5; ++s) {
      const auto logical = x.logical_of(s);
      ASSERT_EQ(logical.has_value(), expected.count(s) == 1) << s;
      if (logical) {
        EXPECT_EQ(*logical, expected[s]) << s;
      }
    }
  }
}

}  // namespace
}  // namespace assay
