#include "generators/pairwise.hpp"

#include <gtest/gtest.h>

#include <set>

#include "generators/generate.hpp"
#include "kernels_under_test/variants.hpp"
#include "tests/generators/contracts.hpp"
#include "tests/generators/pairs.hpp"

namespace assay {
namespace {

using namespace testing_contracts;

Contract wide_contract() {
  Contract contract = parsed(kVectorAdd);
  contract.knobs = {{"A", {1, 2, 3, 4}, {}}, {"B", {1, 2, 3}, {}}, {"BLOCK", {64, 256}, {}}};
  contract.flags = {"p", "q", "r"};
  return contract;
}

std::vector<Variant> all_variants(const Contract& contract) {
  std::vector<Variant> all;
  for_variants(contract, [&](const Variant& v) { return all.push_back(v), true; });
  return all;
}

TEST(Pairwise, ShowsEveryPairThatTheProductShows) {
  const Contract contract = wide_contract();
  const std::vector<Variant> few = pairwise_variants(contract);
  const std::vector<Variant> all = all_variants(contract);
  EXPECT_EQ(all.size(), 2u * 4 * 3 * 2 * 2 * 2 * 2);
  EXPECT_EQ(pairs_of(few), pairs_of(all));
  EXPECT_LE(few.size(), 20u) << "12 is the least: four times three";
  EXPECT_EQ(pairwise_variants(contract), few);
}

TEST(Pairwise, TheFirstVariantsShowEachChoice) {
  const Contract contract = wide_contract();
  std::vector<Variant> first = pairwise_variants(contract);
  first.resize(4);  // as many as the largest knob has values
  for (const std::string& pair : pairs_of(all_variants(contract))) {
    if (pair.find(' ') == std::string::npos) {
      EXPECT_TRUE(pairs_of(first).contains(pair)) << pair;
    }
  }
}

TEST(Pairwise, ListedSizesMeetOncePerPair) {
  Contract contract = parsed(kVectorAdd);
  EXPECT_EQ(pairwise_listed_sizes(contract).size(), 1u) << "no list: one empty choice";
  SizeSpec a = contract.sizes[0], b = contract.sizes[0], d = contract.sizes[0];
  a.name = "a", a.in = {1, 2, 8};
  b.name = "b", b.in = {1, 3, 4, 8};
  d.name = "d", d.in = {5, 6};
  contract.sizes.insert(contract.sizes.end(), {a, b, d});
  std::set<std::pair<int64_t, int64_t>> ab, bd, ad;
  const auto rows = pairwise_listed_sizes(contract);
  for (const auto& row : rows) {
    EXPECT_EQ(row.size(), 3u);
    ab.emplace(row.at("a"), row.at("b"));
    bd.emplace(row.at("b"), row.at("d"));
    ad.emplace(row.at("a"), row.at("d"));
  }
  EXPECT_EQ(ab.size(), 12u);
  EXPECT_EQ(bd.size(), 8u);
  EXPECT_EQ(ad.size(), 6u);
  EXPECT_LE(rows.size(), 14u) << "12 is the least";
}

TEST(Pairwise, KeepsToTheRelations) {
  Contract contract = wide_contract();
  for (const char* relation : {"A != B", "!p || T == f16", "q + r < 2", "n > A"}) {
    contract.require.push_back({relation, parse_expression(relation, {}), {}});
  }
  const std::vector<Variant> few = pairwise_variants(contract);
  for (const Variant& v : few) {
    EXPECT_NE(v.knobs.at("A"), v.knobs.at("B"));
    EXPECT_TRUE(v.flags.at("p") == 0 || v.types.at("T") == DType::f16);
    EXPECT_LT(v.flags.at("q") + v.flags.at("r"), 2);
  }
  EXPECT_EQ(pairs_of(few), pairs_of(all_variants(contract)));
}

TEST(Pairwise, NothingToChooseIsOneVariantAndNothingAdmittedIsNone) {
  Contract contract = wide_contract();
  contract.require.push_back({"A > 7", parse_expression("A > 7", {}), {}});
  EXPECT_TRUE(pairwise_variants(contract).empty());
  contract.types.clear();
  contract.knobs.clear();
  contract.flags.clear();
  contract.require.clear();
  EXPECT_EQ(pairwise_variants(contract).size(), 1u);
}

TEST(Pairwise, CoveringCasesShowEveryPair) {
  const Contract contract = wide_contract();
  std::vector<Variant> ran;
  for (const Case& c : covering_cases(contract)) ran.push_back(c.variant());
  EXPECT_EQ(pairs_of(ran), pairs_of(all_variants(contract)));
}

TEST(Variants, AreCountedAndChosen) {
  Contract contract = wide_contract();
  EXPECT_EQ(count_variants(contract), 384);
  EXPECT_EQ(chosen_variants(contract, {"T=f16", "A=3", "q=1"}, 100).size(), 24u);
  EXPECT_THROW(chosen_variants(contract, {}, 100), InputError);
  EXPECT_THROW(chosen_variants(contract, {"A=9"}, 100), InputError);
}

}  // namespace
}  // namespace assay
