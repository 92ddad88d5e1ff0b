#include "fuzz/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fuzz/find_kernels.hpp"
#include "fuzz/workers.hpp"

namespace assay {
namespace {

const Contract& vector_add() {
  static const ContractPtr contract = load_kernels({"vector_add"}).front();
  return *contract;
}

TEST(Search, KeepsOnlyCasesWithANewFeature) {
  Search search(vector_add(), Seed{1});
  const Case c = search.next();
  EXPECT_TRUE(search.learn(c, {{5, 1}}));
  EXPECT_FALSE(search.learn(c, {{5, 1}}));
  EXPECT_TRUE(search.learn(c, {{5, 4}})) << "another level of the same counter";
  EXPECT_TRUE(search.learn(c, {{5, 1}, {6, 1}}));
  EXPECT_EQ(search.features(), 3u);
  EXPECT_EQ(search.kept(), 3u);
}

TEST(Search, IsDeterministicInItsSeed) {
  Search a(vector_add(), Seed{7}), b(vector_add(), Seed{7});
  for (uint32_t i = 0; i < 200; ++i) {
    const Case x = a.next(), y = b.next();
    ASSERT_EQ(print_case(x), print_case(y)) << i;
    a.learn(x, {{i % 40, 1}, {i / 3, 2}});
    b.learn(y, {{i % 40, 1}, {i / 3, 2}});
  }
}

TEST(Search, HalfOfItsCasesAreFresh) {
  // A mutant of the one kept case mostly has its value seed; a fresh case has one of its own.
  const Case one = covering_cases(vector_add()).front();
  Search search(vector_add(), Seed{3});
  for (size_t i = 0; i < covering_cases(vector_add()).size(); ++i) search.next();
  EXPECT_NE(search.next().value_seed, one.value_seed) << "nothing is kept yet";
  search.learn(one, {{1, 1}});
  int of_kept = 0;
  for (int i = 0; i < 1000; ++i) of_kept += search.next().value_seed == one.value_seed;
  EXPECT_GT(of_kept, 250) << "mutants: half, but for those whose value seed changed";
  EXPECT_LT(of_kept, 550);
}

TEST(Features, WhatACaseShows) {
  Workbench bench("ptx");
  Features features;
  const Case c = covering_cases(vector_add()).back();
  const CheckResult result = bench.checker(vector_add()).check(c);
  ASSERT_EQ(result.outcome, Outcome::pass) << result.verdict.message;
  const std::vector<Feature> once = features.of(result);
  EXPECT_EQ(once, features.of(result)) << "a program keeps its numbers";
  std::set<uint32_t> counters;
  for (const Feature& f : once) EXPECT_TRUE(counters.insert(f.counter).second) << f.counter;
  const Coverage& seen = result.run.coverage.at(0);
  const auto some = [](const auto& counts) {
    return static_cast<size_t>(
        std::count_if(counts.begin(), counts.end(), [](auto count) { return count != 0; }));
  };
  // One of the outcome, one of the output's share, those of blocks and edges; bits of the others.
  EXPECT_GE(once.size(), 2 + some(seen.blocks) + some(seen.edges) + some(seen.accesses) +
                             some(seen.results));
  EXPECT_GT(some(seen.results), 0u);
}

TEST(Features, CountsHaveTheLevelsOfLibFuzzer) {
  CheckResult result;
  result.run.coverage.resize(1);
  result.run.coverage[0].program = "p";
  result.run.coverage[0].blocks = {0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 127, 128, 4000000000};
  std::vector<int> levels;
  for (const Feature& f : Features().of(result)) levels.push_back(f.level);
  EXPECT_EQ(levels, (std::vector<int>{1, 1, 2, 3, 4, 4, 8, 16, 16, 32, 32, 128, 128}))
      << "the first is the outcome's";
}

TEST(Features, EachOutputHasItsShare) {
  const auto features_of = [](double y, double z) {
    static Features numbers;
    CheckResult result;
    result.verdict.outputs = {{.output = "y", .share = y}, {.output = "z", .share = z}};
    return numbers.of(result);
  };
  EXPECT_EQ(features_of(0.3, 0), features_of(0.26, 0)) << "one power of two";
  EXPECT_NE(features_of(0.3, 0), features_of(0.2, 0));
  EXPECT_NE(features_of(0.3, 0), features_of(0, 0.3));
}

TEST(Features, CountersOfLibFuzzerAreSet) {
  std::vector<uint8_t> counters(kFeatureCounters, 0);
  set_counters({{3, 1}, {static_cast<uint32_t>(kFeatureCounters) + 7, 32}}, counters.data());
  EXPECT_EQ(counters[3], 1);
  EXPECT_EQ(counters[7], 32) << "they wrap around";
  EXPECT_EQ(std::count(counters.begin(), counters.end(), 0), static_cast<int>(kFeatureCounters) - 2);
}

TEST(CaseSeed, DiffersByRunKernelAndNumber) {
  std::set<uint64_t> seeds;
  for (uint64_t run = 0; run < 3; ++run) {
    for (const char* kernel : {"a", "b", "ab"}) {
      for (uint64_t number = 0; number < 50; ++number) seeds.insert(case_seed(run, kernel, number));
    }
  }
  EXPECT_EQ(seeds.size(), 3u * 3 * 50);
}

}  // namespace
}  // namespace assay
