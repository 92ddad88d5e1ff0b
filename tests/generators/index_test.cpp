#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "generators/instance.hpp"
#include "tests/generators/contracts.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

/// idx[n] or idx[b, n] with extra keys; lens[b] beside it.
Contract index_contract(const std::string& index, const std::string& lens = "0..20") {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { b = { min = 0, max = 1000000000000 }, n = { min = 0, max = 1000000000 }, v = { min = 0, max = 1000000000 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["v"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["v"] },
  { name = "lens", kind = "index", dtype = "i64", shape = ["b"], domain = ")toml" +
                lens + R"toml(" },
  { name = "idx", kind = "index", dtype = "i64", )toml" +
                index + R"toml( },
]
[formula]
y = "x"
)toml");
}

Case sized(int64_t b, int64_t n, int64_t v) {
  Case c;
  c.kernel = "k";
  c.sizes = {{"b", b}, {"n", n}, {"v", v}};
  return c;
}

std::vector<int64_t> values(const Instance& instance, const char* operand, int64_t first,
                            int64_t count) {
  std::vector<int64_t> out(count);
  logical_values(instance, *instance.find(operand), first, count,
                 reinterpret_cast<uint8_t*>(out.data()));
  return out;
}

TEST(IndexValues, StayInTheDomain) {
  const Contract contract = index_contract(R"(shape = ["n"], domain = "0..v - 1 | -1..-1")");
  for (const char* kind : {"index_uniform", "index_first", "index_last", "index_repeats",
                           "index_edges", "index_ramp"}) {
    Case c = sized(1, 1000, 37);
    c.values["idx"] = {kind, {}};
    const auto idx = values(instantiate(contract, c), "idx", 0, 1000);
    for (const int64_t i : idx) EXPECT_TRUE(i >= -1 && i < 37) << kind << i;
    const std::set<int64_t> distinct(idx.begin(), idx.end());
    if (std::string(kind) == "index_uniform" || std::string(kind) == "index_ramp") {
      EXPECT_EQ(distinct.size(), 38u);
    }
    if (std::string(kind) == "index_first") {
      EXPECT_EQ(*distinct.begin(), 0);
    }
    if (std::string(kind) == "index_last") {
      EXPECT_EQ(*distinct.begin(), -1);
    }
    if (std::string(kind) == "index_repeats") {
      EXPECT_LE(distinct.size(), 3u);
    }
    if (std::string(kind) == "index_edges") {
      EXPECT_EQ(distinct, (std::set<int64_t>{-1, 0, 36}));
    }
  }
}

TEST(IndexValues, DistinctOnesAreAPermutation) {
  const Contract contract =
      index_contract(R"(shape = ["n"], domain = "0..v - 1", distinct = true)");
  for (const int64_t n : {1, 2, 3, 64, 1000}) {
    const auto idx = values(instantiate(contract, sized(1, n, n)), "idx", 0, n);
    EXPECT_EQ(std::set<int64_t>(idx.begin(), idx.end()).size(), static_cast<size_t>(n));
    if (n > 3) {
      EXPECT_FALSE(std::is_sorted(idx.begin(), idx.end()));
    }
  }
  EXPECT_THROW(instantiate(contract, sized(1, 5, 4)), InputError);
  EXPECT_THROW(instantiate(contract, sized(1, 5, 0)), InputError);
}

TEST(IndexValues, SortedOnesAscend) {
  const Contract plain = index_contract(R"(shape = ["n"], domain = "0..v - 1", sorted = true)");
  const Contract distinct =
      index_contract(R"(shape = ["n"], domain = "0..v - 1", sorted = true, distinct = true)");
  for (const int64_t v : {1, 50, 100, 1000}) {
    const auto idx = values(instantiate(plain, sized(1, 100, v)), "idx", 0, 100);
    EXPECT_TRUE(std::is_sorted(idx.begin(), idx.end()));
    EXPECT_GE(idx.front(), 0);
    EXPECT_LT(idx.back(), v);
    if (v < 100) continue;
    const auto strict = values(instantiate(distinct, sized(1, 100, v)), "idx", 0, 100);
    EXPECT_EQ(std::adjacent_find(strict.begin(), strict.end(), std::greater_equal<>()),
              strict.end());
  }
}

TEST(IndexValues, PrefixSumsAddUpWithoutBeingMaterialised) {
  const Contract contract = index_contract(R"(shape = ["b + 1"], prefix_sum_of = "lens")", "3..20");
  Case c = sized(1000, 0, 1);
  c.overrides = {{"lens", {10}, 0, "20"}, {"lens", {700}, 0, "3"}};
  const Instance instance = instantiate(contract, c);
  const auto lens = values(instance, "lens", 0, 1000);
  const auto sums = values(instance, "idx", 0, 1001);
  EXPECT_EQ(sums[0], 0);
  std::set<int64_t> distinct;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(sums[i + 1] - sums[i], lens[i]);
    EXPECT_GE(lens[i], 3);
    EXPECT_LE(lens[i], 20);
    distinct.insert(lens[i]);
  }
  EXPECT_EQ(lens[10], 20);
  EXPECT_EQ(lens[700], 3);
  EXPECT_GT(distinct.size(), 10u);
  const int64_t far = 999999999000;
  const Instance huge = instantiate(contract, sized(1000000000000, 0, 1));
  const auto tail = values(huge, "idx", far, 2);
  EXPECT_EQ(tail[1] - tail[0], values(huge, "lens", far, 1)[0]);
}

TEST(IndexValues, DeadEntriesThatNameNothingAreMinusOne) {
  const Contract contract = index_contract(
      R"(shape = ["n"], domain = "0..v - 1", distinct = true, live = "n % 5 != 3", dead = "none")");
  const auto idx = values(instantiate(contract, sized(1, 100, 100)), "idx", 0, 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(idx[i] == -1, i % 5 == 3) << i;
}

TEST(IndexValues, DeadEntriesArePoisonOrInRange) {
  const std::string live = R"(shape = ["b", "n"], domain = "0..v - 1", live = "n < lens[b]")";
  for (const bool poison : {true, false}) {
    const Contract contract =
        index_contract(live + (poison ? R"(, dead = "poison")" : R"(, dead = "in_range")"));
    const Instance instance = instantiate(contract, sized(10, 16, 5));
    const auto lens = values(instance, "lens", 0, 10);
    const auto idx = values(instance, "idx", 0, 160);
    int dead = 0;
    for (int i = 0; i < 160; ++i) {
      const bool alive = i % 16 < lens[i / 16];
      dead += !alive;
      const bool in_range = idx[i] >= 0 && idx[i] < 5;
      EXPECT_EQ(in_range, alive || !poison) << i;
    }
    EXPECT_GT(dead, 10);
  }
}

TEST(InputValues, DeadEntriesArePoison) {
  const Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { b = { min = 0, max = 100 }, n = { min = 0, max = 100 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["b"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["b", "n"], live = "n < lens[b]" },
  { name = "z", kind = "input", dtype = "f32", shape = ["b", "n"], live = "n < lens[b]", dead = "in_range" },
  { name = "lens", kind = "index", dtype = "i64", shape = ["b"], domain = "0..n" },
]
[formula]
y = "sum(where(n < lens, x + z, 0), n)"
)toml");
  Case c;
  c.kernel = "k";
  c.sizes = {{"b", 10}, {"n", 16}};
  c.values["x"] = c.values["z"] = {"equal", {{"value", 3}}};
  const Instance instance = instantiate(contract, c);
  const auto lens = values(instance, "lens", 0, 10);
  std::vector<float> x(160), z(160);
  logical_values(instance, *instance.find("x"), 0, 160, reinterpret_cast<uint8_t*>(x.data()));
  logical_values(instance, *instance.find("z"), 0, 160, reinterpret_cast<uint8_t*>(z.data()));
  int dead = 0;
  for (int i = 0; i < 160; ++i) {
    const bool alive = i % 16 < lens[i / 16];
    dead += !alive;
    EXPECT_EQ(x[i] == 3, alive) << i;
    EXPECT_EQ(z[i], 3) << i;
  }
  EXPECT_GT(dead, 10);
}

/// A paged cache: k[page, slot, d], used where a token of some sequence lies.
Contract paged_contract(const std::string& live) {
  return parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { B = { min = 0, max = 100 }, token = { min = 0, max = 100 }, pages = { min = 1, max = 100 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["B", "d: 3"] },
  { name = "k", kind = "input", dtype = "f16", shape = ["page: pages", "slot: 4", "d: 3"], live = ")toml" +
                live + R"toml(" },
  { name = "table", kind = "index", dtype = "i64", shape = ["B", "W: ceil_div(token, 4)"], domain = "0..pages - 1", live = "W < ceil_div(lens[B], 4)" },
  { name = "lens", kind = "index", dtype = "i64", shape = ["B"], domain = "0..token" },
]
[formula]
y = "sum(where(token < lens, k[page = table[W = token / 4], slot = token % 4], 0), token)"
)toml");
}

TEST(InputValues, ElementsThatNoIndexNamesArePoison) {
  const Contract contract = paged_contract(
      "any(page == table[B, token / 4] && token % 4 == slot && token < lens[B], B, token)");
  int dead = 0, alive = 0;
  for (const int sequences : {0, 1, 3, 9}) {
    Case c;
    c.kernel = "k";
    c.sizes = {{"B", sequences}, {"token", 21}, {"pages", 20}};
    c.values["k"] = {"equal", {{"value", 3}}};
    c.value_seed = static_cast<uint64_t>(sequences);
    const Instance instance = instantiate(contract, c);
    const auto lens = values(instance, "lens", 0, sequences);
    const auto table = values(instance, "table", 0, 6 * sequences);
    std::vector<bool> used(80);
    for (int b = 0; b < sequences; ++b)
      for (int t = 0; t < lens[b]; ++t) used[table[6 * b + t / 4] * 4 + t % 4] = true;
    const auto bits = [&](int first, int count) {
      std::vector<uint16_t> out(static_cast<size_t>(count));
      logical_values(instance, *instance.find("k"), first, count,
                     reinterpret_cast<uint8_t*>(out.data()));
      return out;
    };
    const auto k = bits(0, 240);
    const uint64_t three = round_to_bits(DType::f16, 3);
    for (int i = 0; i < 240; ++i) {
      EXPECT_EQ(k[i], used[i / 3] ? three : poison_bits(DType::f16)) << i;
      (used[i / 3] ? alive : dead) += 1;
    }
    // One element at a time, backwards: the answer does not depend on the order.
    for (int i = 239; i >= 0; i -= 7) EXPECT_EQ(bits(i, 1)[0], k[i]) << i;
  }
  EXPECT_GT(dead, 100);
  EXPECT_GT(alive, 100);
}

TEST(InputValues, APlaceThatAnyUsedElementSharesIsNoPoison) {
  // All pages in one place: what a token of any page uses is used.
  Contract contract = parsed(R"toml(
name = "k"
source = { cuda = "kernel.cu", entry = "k" }
sizes = { b = { min = 0, max = 100 }, n = { min = 0, max = 100 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["b"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["b", "n"], strides = ["any", 1], live = "n < lens[b]" },
  { name = "k", kind = "input", dtype = "f32", shape = ["page: 9", "n"], strides = ["any", 1], live = "any(page == ids[b], b)" },
  { name = "lens", kind = "index", dtype = "i64", shape = ["b"], domain = "0..n" },
  { name = "ids", kind = "index", dtype = "i64", shape = ["b"], domain = "0..8" },
]
[formula]
y = "sum(where(n < lens, x + k[page = ids], 0), n)"
)toml");
  Case c;
  c.kernel = "k";
  c.sizes = {{"b", 2}, {"n", 4}};
  c.values["x"] = c.values["k"] = {"equal", {{"value", 3}}};
  c.layouts["x"].strides = c.layouts["k"].strides = {0, 1};
  c.values["lens"] = {"index_ramp", {{"step", 3}}};
  c.values["ids"] = {"index_last", {}};
  const Instance instance = instantiate(contract, c);
  ASSERT_EQ(values(instance, "lens", 0, 2), (std::vector<int64_t>{0, 3}));
  for (const char* operand : {"x", "k"}) {
    std::vector<float> read(4);
    storage_bytes(instance, *instance.find(operand), 0, 16, reinterpret_cast<uint8_t*>(read.data()));
    EXPECT_EQ(read, std::vector<float>(4, 3.0f)) << operand;
  }
}

TEST(InputValues, AnyIsAConjunctionThatNamesElements) {
  const auto refused = [](const std::string& live) {
    try {
      paged_contract(live);
    } catch (const InputError& error) {
      const std::string text = error.what();
      const size_t at = text.find(": ");
      return text.substr(at + 2, text.find("; expected any(") - at - 2);
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused("any(page == table[B, 0], B)"), "accepted");
  EXPECT_EQ(refused("any(page == table[B, 0])"), "'any' names no dimension");
  EXPECT_EQ(refused("any(token < lens[B], B, token)"), "'any' names no element of 'k'");
  EXPECT_EQ(refused("any(page < table[B, 0] && slot == 0, B)"),
            "'page < table[B, 0]' names an element of 'k' by more than an equality");
  EXPECT_EQ(refused("any(page == 1 && page == table[B, 0], B)"), "a second index for 'page'");
  EXPECT_EQ(refused("any(page == table[B, 0], slot)"),
            "'slot' is no dimension that 'any' can run over beside 'k'");
  EXPECT_EQ(refused("any(page == table[B, 0], seq)").substr(0, 50),
            std::string("unknown dimension 'seq' in 'live' of 'k'; expected one of").substr(0, 50));
  EXPECT_EQ(refused("!any(page == table[B, 0], B)").substr(0, 22), "unknown function 'any'");
}

}  // namespace
}  // namespace assay
