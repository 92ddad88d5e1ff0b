#include "generators/generate.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "generators/facts.hpp"
#include "generators/hash.hpp"
#include "generators/pairwise.hpp"
#include "generators/values.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

class EveryContract : public testing::TestWithParam<const char*> {
 protected:
  Contract contract = parsed(GetParam());
};

std::string test_name(const testing::TestParamInfo<const char*>& info) {
  static constexpr std::array<const char*, 7> kNames = {
      "softmax", "vector_add", "transpose", "matmul", "gather", "divide", "related"};
  return kNames[info.index];
}
INSTANTIATE_TEST_SUITE_P(All, EveryContract,
                         testing::Values(kSoftmax, kVectorAdd, kTranspose, kMatmul, kGather,
                                         kDivide, kRelated),
                         test_name);

int64_t most_work(const Case& c, int64_t limit) {
  return c.property.name.empty() ? limit : kMostPropertyCost * limit;
}

TEST_P(EveryContract, GeneratedCasesFitAndRepeat) {
  constexpr int64_t kLimit = 1 << 14;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Case c = generate_case(contract, {seed}, kLimit);
    const Instance instance = instantiate(contract, c);
    EXPECT_LE(work_estimate(instance), most_work(c, kLimit)) << print_case(c);
    EXPECT_EQ(generate_case(contract, {seed}, kLimit), c);
    EXPECT_EQ(parse_case(print_case(c), "f"), c) << print_case(c);
  }
}

TEST_P(EveryContract, MutantsAndCrossesFitAndDiffer) {
  constexpr int64_t kLimit = 1 << 14;
  Case a = generate_case(contract, {1}, kLimit);
  Case b = generate_case(contract, {2}, kLimit);
  int changed = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    const Case mutant = mutate_case(contract, a, {seed}, {}, kLimit);
    EXPECT_LE(work_estimate(instantiate(contract, mutant)), most_work(mutant, kLimit));
    EXPECT_EQ(mutate_case(contract, a, {seed}, {}, kLimit), mutant);
    changed += mutant == a ? 0 : 1;
    const Case crossed = cross_cases(contract, mutant, b, {seed}, kLimit);
    EXPECT_LE(work_estimate(instantiate(contract, crossed)), most_work(crossed, kLimit));
    b = a;
    a = mutant;
  }
  EXPECT_GT(changed, 2850);
}

TEST(Mutate, TakesSizesFromTheKernelsOwn) {
  const Contract contract = parsed(kVectorAdd);
  const Case c = generate_case(contract, {1});
  const auto near = [&](const MutationHints& hints) {
    int count = 0;
    for (uint64_t seed = 0; seed < 2000; ++seed) {
      const Case mutant = mutate_case(contract, c, {seed}, hints);
      for (const auto& [name, value] : mutant.sizes) {
        count += value != c.sizes.at(name) && std::abs(value - 1999) <= 1;
      }
    }
    return count;
  };
  EXPECT_LT(near({}), 5);
  EXPECT_GT(near({{1999}, false}), 20);
}

/// Damaged text is refused with an InputError or is another valid case; nothing else happens.
TEST_P(EveryContract, DamagedTextIsRefusedOrValid) {
  static constexpr std::array<const char*, 18> kPieces = {"0",
                                                          "-1",
                                                          "9223372036854775807",
                                                          "-9223372036854775808",
                                                          "=",
                                                          ",",
                                                          "\n",
                                                          " ",
                                                          "1e300",
                                                          "inf",
                                                          "nan",
                                                          "4294967296",
                                                          "end",
                                                          "blocks 0-99999\n",
                                                          "witness",
                                                          "x",
                                                          "[",
                                                          "0x"};
  Random random(99);
  int valid = 0;
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    std::string text = print_case(generate_case(contract, {seed % 100}, 1 << 12));
    for (int64_t edits = random.between(1, 2); edits > 0; --edits) {
      const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(text.size())));
      switch (random.below(6)) {
        case 4:
        case 5:  // another digit
          if (const size_t digit = text.find_first_of("0123456789", at); digit != text.npos) {
            text[digit] = static_cast<char>('0' + random.below(10));
          }
          break;
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, static_cast<size_t>(random.between(1, 4)));
          break;
        default:
          text.replace(at, static_cast<size_t>(random.below(4)), random.pick(kPieces));
          break;
      }
    }
    try {
      const Case c = parse_case(text, "damaged");
      const Instance instance = instantiate(contract, c, "damaged");
      work_estimate(instance);
      for (const Tensor& tensor : instance.tensors) {
        if (tensor.is_scalar() || !tensor.present || tensor.elements() == 0) continue;
        uint8_t bytes[64 * 8];
        const int64_t count = std::min<int64_t>(tensor.elements(), 64);
        logical_values(instance, tensor, tensor.elements() - count, count, bytes);
      }
      ++valid;
    } catch (const InputError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    }
  }
  EXPECT_GT(valid, 30);
}

TEST_P(EveryContract, CoveringCasesTouchEveryChoice) {
  const std::vector<Case> cases = covering_cases(contract);
  EXPECT_EQ(cases, covering_cases(contract));
  std::set<std::pair<std::string, int64_t>> seen;
  std::set<std::string> classes;
  for (const Case& c : cases) {
    EXPECT_NO_THROW(instantiate(contract, c)) << print_case(c);
    EXPECT_EQ(parse_case(print_case(c), "f"), c);
    for (const auto& [parameter, type] : c.types)
      seen.emplace(parameter, static_cast<int64_t>(type));
    for (const auto& [knob, value] : c.knobs) seen.emplace(knob, value);
    for (const auto& [size, value] : c.sizes) seen.emplace(size, value);
    for (const auto& [operand, recipe] : c.values) classes.insert(recipe.name);
  }
  for (const TypeParameter& type : contract.types) {
    for (const DType kind : type.kinds) {
      EXPECT_TRUE(seen.contains({type.name, static_cast<int64_t>(kind)})) << name(kind);
    }
  }
  for (const Knob& knob : contract.knobs) {
    for (const int64_t value : knob.values) EXPECT_TRUE(seen.contains({knob.name, value})) << value;
  }
  for (const SizeSpec& size : contract.sizes) {
    for (const int64_t value : {0, 1, 2}) {
      if (value < size.min) continue;
      EXPECT_TRUE(seen.contains({size.name, value})) << size.name << value;
    }
  }
  const bool floating =
      resolve_dtype(
          contract.args.back().kind == OperandKind::scalar ? contract.args[1] : contract.args[0],
          cases[0].variant()) != DType::i8;
  if (floating) {
    for (const char* wanted :
         {"exact", "witness", "nans", "infs", "subnormal", "huge_mean", "ties"}) {
      EXPECT_TRUE(classes.contains(wanted)) << wanted;
    }
  }
}

TEST_P(EveryContract, SimplerCasesFitAndAreSimpler) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Case c = generate_case(contract, {seed}, 1 << 14);
    for (const Case& simpler : simpler_cases(contract, c)) {
      EXPECT_NO_THROW(instantiate(contract, simpler)) << print_case(simpler);
      EXPECT_NE(simpler, c);
      for (const auto& [size, value] : simpler.sizes) EXPECT_LE(value, c.sizes.at(size));
    }
  }
}

TEST_P(EveryContract, ShrinkingEnds) {
  // A failure that every case shows shrinks to something tiny in few steps.
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Case c = generate_case(contract, {seed}, 1 << 14);
    int steps = 0;
    for (std::vector<Case> next = simpler_cases(contract, c); !next.empty();
         next = simpler_cases(contract, c)) {
      c = next[0];
      ASSERT_LT(++steps, 200) << print_case(c);
    }
    EXPECT_TRUE(c.layouts.empty());
    EXPECT_TRUE(c.overrides.empty());
    EXPECT_EQ(c.value_seed, 0u);
  }
}

int64_t farthest(const Tensor& tensor) { return tensor.storage_elements; }

/// Row stride times row, for the rows that exist, passes each limit of 32-bit arithmetic.
TEST(Covering, ReachesFarOffsets) {
  for (const char* toml : {kSoftmax, kTranspose, kGather}) {
    const Contract contract = parsed(toml);
    bool exactly_31 = false, exactly_32 = false;
    for (const Case& c : covering_cases(contract)) {
      const Instance instance = instantiate(contract, c);
      for (const Tensor& tensor : instance.tensors) {
        if (tensor.shape.size() < 2) continue;
        for (size_t d = 0; d < 2; ++d) {
          for (int64_t i = 0; i < std::min<int64_t>(tensor.shape[d], 64); ++i) {
            exactly_31 |= i * tensor.strides[d] == int64_t{1} << 31;
            exactly_32 |= i * tensor.strides[d] == int64_t{1} << 32;
          }
        }
      }
    }
    EXPECT_TRUE(exactly_31) << contract.name;
    EXPECT_TRUE(exactly_32) << contract.name;
  }
}

TEST(Covering, ReachesFarCountsAndGridLimits) {
  const Contract add = parsed(kVectorAdd);
  bool past_32 = false;
  for (const Case& c : covering_cases(add)) {
    past_32 |= c.sizes.at("n") > int64_t{1} << 32;
  }
  EXPECT_TRUE(past_32);
  const Contract transpose = parsed(kTranspose);
  bool past_grid = false;
  for (const Case& c : covering_cases(transpose)) {
    past_grid |= instantiate(transpose, c).launches[0].grid[1] > 65535;
  }
  EXPECT_TRUE(past_grid);
}

/// The counter of a loop that ends at 2^31 - 1 may pass 2^31 on its way out.
TEST(Covering, ReachesTheLimitOfLargeSizes) {
  const Contract contract = parsed(R"toml(
name = "grid_stride"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { n = { min = 0, max = 2147483647 }, m = { min = 0, max = 1000 } }
derive = { blocks = "min(ceil_div(n, 128), 4096)" }
launch = { grid = ["blocks"], block = [128] }
owns = { y = "n / 128 % blocks == block.x" }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["n"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["n"] },
  { name = "v", kind = "input", dtype = "f32", shape = ["m"] },
]
[formula]
y = "x + sum(v, m)"
)toml");
  int at_limit = 0;
  for (const Case& c : covering_cases(contract)) {
    if (c.sizes.at("n") != 2147483647) continue;
    ++at_limit;
    EXPECT_FALSE(c.blocks.empty());
    EXPECT_LE(c.blocks.size(), 2u);
  }
  EXPECT_EQ(at_limit, 1);
}

/// A contract whose estimate of work is far too high has no cases but its least one.
TEST(Generate, EveryShippedKernelHasManyCases) {
  const std::string folder = std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels";
  int contracts = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".toml") continue;
    ++contracts;
    const Contract contract = load_contract(file.path().string());
    EXPECT_GE(covering_cases(contract).size(), 30u) << contract.name;
    std::set<std::map<std::string, int64_t>> sizes;
    for (uint64_t seed = 0; seed < 100; ++seed)
      sizes.insert(generate_case(contract, Seed{seed}).sizes);
    EXPECT_GE(sizes.size(), 25u) << contract.name;
  }
  EXPECT_GE(contracts, 20);
}

/// What a formula writes by index costs its writers' rows, however large the operand is.
TEST(Generate, WorkOfWhatIsWrittenByIndexIsThatOfItsWriters) {
  const Contract contract = load_contract(std::string(ASSAY_SOURCE_DIR) +
                                          "/kernels_under_test/kernels/reshape_and_cache.toml");
  Case c;
  c.kernel = contract.name;
  c.types = {{"T", DType::f16}};
  c.sizes = {{"tokens", 3}, {"pages", 1000000}, {"heads", 2}, {"D", 64}, {"BS", 16}};
  const int64_t threads = 3 * 128;
  EXPECT_EQ(work_estimate(instantiate(contract, c)), threads + 3 * 2 * 64);
}

TEST(Generate, OperandsWiderThanAnOutputLieBesideItsTies) {
  const Contract contract =
      load_contract(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/cast.toml");
  int drawn = 0;
  constexpr int kCases = 3000;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c = generate_case(contract, {seed}, 1 << 14);
    const ValueRecipe& recipe = c.values.at("x");
    if (recipe.name != "beside_ties") continue;
    ++drawn;
    const DType to = c.types.at("D");
    EXPECT_TRUE(is_floating(to)) << print_case(c);
    const double precision = recipe.parameters.at(0).second;
    EXPECT_TRUE(precision == format_of(to).precision || precision == 24) << print_case(c);
  }
  EXPECT_GT(drawn, kCases / 100);
}

/// A reduction over a size that no operand has costs work like any other: the keys of a paged
/// cache.
TEST(Generate, KeysThatNoOperandHasAreCostly) {
  const Contract contract = parsed(kGroupedHeads);
  const Facts facts(contract);
  for (size_t i = 0; i < contract.sizes.size(); ++i)
    EXPECT_EQ(facts.costly[i], contract.sizes[i].name != "pages") << contract.sizes[i].name;
}

/// Several heads in several groups: each map between them is told from the others only there.
TEST(Generate, ListedSizesMeetEachOther) {
  const Contract contract = parsed(kGroupedHeads);
  std::map<std::pair<int64_t, int64_t>, int> groups;
  int long_rows = 0;
  constexpr int kCases = 4000;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c = generate_case(contract, {seed});
    ++groups[{c.sizes.at("Hkv"), c.sizes.at("G")}];
    long_rows += c.sizes.at("token") > 16;  // more than a page
  }
  EXPECT_EQ(groups.size(), 3u * 4);
  for (const auto& [group, count] : groups)
    EXPECT_GT(count, kCases / 200) << group.first << ' ' << group.second;
  EXPECT_GT(long_rows, kCases / 5);
}

Contract shipped(const std::string& kernel) {
  return load_contract(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/" + kernel +
                       ".toml");
}

/// The largest of one long row is its last element: an index of 12 or 16 bits shows.
TEST(Covering, TheAnswerOfALongRowIsAtItsEnd) {
  for (const char* kernel : {"argmax", "topk", "row_max"}) {
    int at_end = 0;
    for (const Case& c : covering_cases(shipped(kernel))) {
      const ValueRecipe last{"peak", {{"from_end", 0}}};
      at_end += c.sizes.at("cols") > 65536 && c.values.at("x") == last ? 1 : 0;
    }
    EXPECT_GE(at_end, 1) << kernel;
  }
}

TEST(Generate, IndicesOfManyBitsAreDrawn) {
  for (const char* kernel : {"argmax", "topk"}) {
    const Contract contract = shipped(kernel);
    int long_rows = 0, at_end = 0;
    constexpr int kCases = 4000;
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      const Case c = generate_case(contract, {seed});
      if (c.sizes.at("rows") == 0 || c.sizes.at("cols") < 16384) continue;
      ++long_rows;
      const ValueRecipe& recipe = c.values.at("x");
      at_end += recipe.name == "peak" && recipe.parameters.size() == 2 ? 1 : 0;
    }
    EXPECT_GT(long_rows, kCases / 100) << kernel;
    EXPECT_GT(at_end, 0) << kernel;
  }
}

/// A loop over a capped grid runs twice in a case of any size that smoke affords.
TEST(Generate, CappedGridsAreFewerBlocksThanTheWorkAsks) {
  for (const char* kernel : {"unary", "cast", "vector_add", "dropout", "histogram"}) {
    const Contract contract = shipped(kernel);
    int twice = 0;
    constexpr int kCases = 1000;
    for (uint64_t seed = 0; seed < kCases; ++seed) {
      const Case c = generate_case(contract, {seed});
      const int64_t each = c.knobs.at("BLOCK") * (contract.name == "cast" ? 2 : 4);
      twice += c.sizes.at("n") > each * c.knobs.at("most_blocks");
    }
    EXPECT_GT(twice, kCases / 200) << kernel;
  }
}

TEST(Covering, ShowsEveryPairOfListedSizes) {
  for (const Contract& contract : {parsed(kGroupedHeads), shipped("attention_decode")}) {
    const auto pairs_of = [](const std::map<std::string, int64_t>& sizes) {
      std::set<std::string> pairs;
      for (const auto& a : sizes) {
        for (const auto& b : sizes)
          pairs.insert(a.first + std::to_string(a.second) + b.first + std::to_string(b.second));
      }
      return pairs;
    };
    std::set<std::string> shown;
    for (const Case& c : covering_cases(contract)) shown.merge(pairs_of(c.sizes));
    const auto rows = pairwise_listed_sizes(contract);
    EXPECT_LE(rows.size(), 20u);
    for (const auto& row : rows) {
      for (const std::string& pair : pairs_of(row)) EXPECT_TRUE(shown.contains(pair)) << pair;
    }
  }
}

TEST(Generate, ReachesEveryClassAndSize) {
  const Contract contract = parsed(kSoftmax);
  std::map<std::string, int> classes;
  std::set<int64_t> columns;
  int far = 0, subsets = 0, overrides = 0, padded = 0, exact = 0, empty = 0;
  constexpr int kCases = 20000;
  for (uint64_t seed = 0; seed < kCases; ++seed) {
    const Case c = generate_case(contract, {seed}, 1 << 14);
    const std::string& kind = c.values.at("x").name;
    ++classes[kind];
    columns.insert(c.sizes.at("cols"));
    empty += c.sizes.at("rows") == 0;
    subsets += !c.blocks.empty();
    overrides += !c.overrides.empty();
    padded += c.layouts.contains("x");
    exact += kind == "exact" || kind == "exact_logits" || kind == "equal_rows" || kind == "witness";
    far += farthest(*instantiate(contract, c).find("x")) >= int64_t{1} << 31;
  }
  for (const ValueClassInfo& info : value_classes()) {
    // What goes through a type in order is for covering cases and `exhaust`.
    const bool in_order = info.kind == ValueClass::exponents;
    const bool narrows = info.kind == ValueClass::beside_ties;  // no output is narrower than x
    if (info.for_floating && info.kind != ValueClass::witness && !in_order && !narrows) {
      EXPECT_GT(classes[info.name], kCases / 500) << info.name;
    }
  }
  for (const int64_t wanted : {1,   2,    31,   32,   33, 127, 128, 129, 255, 256, 257, 511, 512,
                               513, 1024, 1023, 1025, 40, 46,  72,  80,  96,  8,   24,  97}) {
    EXPECT_TRUE(columns.contains(wanted)) << wanted;
  }
  EXPECT_GT(far, kCases / 20);
  EXPECT_GT(subsets, kCases / 50);
  EXPECT_GT(overrides, kCases / 20);
  EXPECT_GT(padded, kCases / 4);
  EXPECT_GT(exact, kCases / 4);
  EXPECT_GT(empty, kCases / 500);
  EXPECT_LT(empty, kCases / 10);
}

TEST(Generate, AReducingKernelSeesWitnessAndExactData) {
  const Contract contract = parsed(kMatmul);
  int witness = 0, exact = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const Case c = generate_case(contract, {seed}, 1 << 14);
    witness += c.values.at("x").name == "witness" || c.values.at("w").name == "witness";
    exact += c.values.at("x").name == "exact" && c.values.at("w").name == "exact";
  }
  EXPECT_GT(witness, 100);
  EXPECT_GT(witness + exact, 500);
}

TEST(Generate, SatisfiesRelations) {
  Contract contract = parsed(kSoftmax);
  for (const char* relation : {"rows < cols", "cols % 8 == 0"}) {
    contract.require.push_back({relation, parse_expression(relation, {}), {}});
  }
  int nontrivial = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Case c = generate_case(contract, {seed}, 1 << 14);
    EXPECT_LT(c.sizes.at("rows"), c.sizes.at("cols"));
    EXPECT_EQ(c.sizes.at("cols") % 8, 0);
    nontrivial += c.sizes.at("rows") > 1;
  }
  EXPECT_GT(nontrivial, 100);
}

}  // namespace
}  // namespace assay
