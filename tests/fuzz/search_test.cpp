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

TEST(Search, AnEighthMutatesRareCasesAndMoreOnlyWhereALadderCanBeClimbed) {
  // A mutant of the one kept case mostly has its value seed; a fresh case has one of its own.
  const Case one = covering_cases(vector_add()).front();
  Search search(vector_add(), Seed{3});
  for (size_t i = 0; i < covering_cases(vector_add()).size(); ++i) search.next();
  EXPECT_NE(search.next().value_seed, one.value_seed) << "nothing is kept yet";
  search.learn(one, {{1, 1}});
  Search climbing = search;
  int of_kept = 0, of_climbed = 0;
  for (int i = 0; i < 1000; ++i) of_kept += search.next().value_seed == one.value_seed;
  EXPECT_GT(of_kept, 60) << "but for those whose value seed changed";
  EXPECT_LT(of_kept, 160);
  climbing.learn(one, {{100, 1, Feature::Kind::turns, 2}});
  for (int i = 0; i < 100; ++i) of_climbed += climbing.next().value_seed == one.value_seed;
  EXPECT_GT(of_climbed, 25);
  EXPECT_LT(of_climbed, 60) << "half are fresh";
}

/// A case that is told from others by its value seed, which most mutants keep.
Case marked(uint64_t value_seed) {
  Case c = covering_cases(vector_add()).front();
  c.value_seed = value_seed;
  return c;
}

/// A search past its covering cases.
Search begun(uint64_t seed) {
  Search search(vector_add(), Seed{seed});
  for (size_t i = covering_cases(vector_add()).size(); i > 0; --i) search.next();
  return search;
}

/// How many of the next cases have the mark.
int count_marked(Search& search, uint64_t value_seed, int cases = 1000) {
  int count = 0;
  for (int i = 0; i < cases; ++i) count += search.next().value_seed == value_seed;
  return count;
}

Feature rung(uint32_t ladder, uint8_t rung, Feature::Kind kind = Feature::Kind::turns) {
  return {ladder + rung, 1, kind, rung};
}

TEST(Search, KeepsOnlyWhatClimbsALadder) {
  Search search(vector_add(), Seed{1});
  EXPECT_TRUE(search.learn(marked(1), {rung(100, 3)}));
  EXPECT_FALSE(search.learn(marked(2), {rung(100, 2)})) << "lower";
  EXPECT_FALSE(search.learn(marked(3), {rung(100, 3)})) << "as high";
  EXPECT_TRUE(search.learn(marked(4), {rung(100, 5)}));
  EXPECT_TRUE(search.learn(marked(5), {rung(200, 1)})) << "another ladder";
}

TEST(Search, MutatesTheCaseAtTheHighestRung) {
  Search search = begun(3);
  search.learn(marked(111), {rung(100, 1)});
  search.learn(marked(222), {rung(100, 9)});
  Search again = search;
  EXPECT_EQ(count_marked(search, 111), 0);
  EXPECT_GT(count_marked(again, 222, 300), 50) << "mutants, but for those whose value seed changed";
}

TEST(Search, OfCasesThatShowTheSameTheCheapIsMutated) {
  Search search = begun(3);
  search.learn(marked(111), {rung(100, 9)}, 1000);
  EXPECT_FALSE(search.learn(marked(222), {rung(100, 9)}, 501)) << "not cheap enough";
  EXPECT_FALSE(search.learn(marked(333), {rung(100, 8)}, 1)) << "not as high";
  Search before = search;
  EXPECT_GT(count_marked(before, 111, 300), 50);
  EXPECT_FALSE(search.learn(marked(444), {rung(100, 9)}, 499)) << "nothing new";
  EXPECT_GT(count_marked(search, 444, 300), 50);
}

TEST(Search, KindsOfFeaturesAreTakenAlike) {
  Search search = begun(3);
  for (uint32_t i = 0; i < 300; ++i) search.learn(marked(111), {{i, 1, Feature::Kind::flow}});
  search.learn(marked(222), {{1000, 1, Feature::Kind::result}});
  Search again = search;
  const int of_one = count_marked(search, 222), of_many = count_marked(again, 111);
  EXPECT_GT(3 * of_one, of_many) << "one of two kinds, though one of 301 features";
}

TEST(Search, LaddersThatAreNotClimbedGetLess) {
  Search search = begun(3);
  search.learn(marked(111), {rung(100, 9)});
  Search early = search;
  const int first = count_marked(early, 111, 200);
  for (int i = 0; i < 3000; ++i) search.next();
  Search late = search;
  EXPECT_LT(2 * count_marked(late, 111, 200), first) << "fresh cases have its place";
  search.learn(marked(222), {rung(200, 1)});
  Search again = search;
  EXPECT_GT(count_marked(search, 222, 200), 3 * count_marked(again, 111, 200));
}

TEST(Search, AComparisonOfEqualNumbersIsAtItsTop) {
  Search search = begun(3);
  search.learn(marked(111), {rung(100, kNearRungs, Feature::Kind::compare)});
  EXPECT_EQ(count_marked(search, 111), 0) << "nothing is left to climb";
}

TEST(Search, KeepsThePropertyOfACaseThatIsKeptForIt) {
  static const ContractPtr contract = load_kernels({"softmax"}).front();
  const std::vector<Case> covering = covering_cases(*contract);
  const auto compared = std::find_if(covering.begin(), covering.end(), [](const Case& c) {
    return c.property.name == "rows_independent";
  });
  ASSERT_NE(compared, covering.end());
  const auto inherited = [&](Feature::Kind kind) {
    Search search(*contract, Seed{3});
    for (size_t i = 0; i < covering.size(); ++i) search.next();
    search.learn(*compared, {{1, 1, kind}});
    int count = 0;
    for (int i = 0; i < 400; ++i) count += search.next().property == compared->property;
    return count;
  };
  EXPECT_GT(inherited(Feature::Kind::property), 60);
  EXPECT_LT(inherited(Feature::Kind::flow), 20) << "drawn anew";
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
  EXPECT_EQ(features_of(0.3, 0), features_of(0.31, 0)) << "a quarter of one power of two";
  EXPECT_NE(features_of(0.3, 0), features_of(0.2, 0));
  EXPECT_NE(features_of(0.3, 0), features_of(0, 0.3));
}

/// The rung that a result shows on its only ladder of a kind; 0: none.
int rung_of(const CheckResult& result, Feature::Kind kind) {
  int found = 0;
  for (const Feature& f : Features().of(result)) {
    if (f.kind == kind && f.rung > 0) found = f.rung;
  }
  return found;
}

TEST(Features, LaddersGoUpWithWhatTheyMeasure) {
  using Kind = Feature::Kind;
  const auto with_turns = [](uint32_t turns) {
    CheckResult result;
    result.run.coverage.resize(1);
    result.run.coverage[0].turns = {turns};
    return rung_of(result, Kind::turns);
  };
  EXPECT_EQ(with_turns(0), 0);
  for (uint32_t turns = 1; turns <= 16; ++turns) EXPECT_EQ(with_turns(turns), static_cast<int>(turns));
  EXPECT_EQ(with_turns(19), 16);
  EXPECT_EQ(with_turns(20), 17);
  EXPECT_EQ(with_turns(32), 20);
  EXPECT_EQ(with_turns(UINT32_MAX), 63);
  const auto with_distance = [](uint64_t distance) {
    CheckResult result;
    result.run.coverage.resize(1);
    result.run.coverage[0].compares = {{CompareSeen::kHeld, distance}};
    return rung_of(result, Kind::compare);
  };
  EXPECT_EQ(with_distance(0), 33);
  EXPECT_EQ(with_distance(1), 32);
  EXPECT_EQ(with_distance(2), 31);
  EXPECT_EQ(with_distance(3), 31);
  EXPECT_EQ(with_distance(1000), 23);
  EXPECT_EQ(with_distance(UINT64_MAX), 1);
  const auto with_share = [](double share) {
    CheckResult result;
    result.verdict.outputs = {{.output = "y", .share = share}};
    return rung_of(result, Kind::share);
  };
  EXPECT_EQ(with_share(0), 0);
  EXPECT_EQ(with_share(0x1p-40), 1);
  EXPECT_EQ(with_share(0.5), with_share(0.25) + 4);
  EXPECT_EQ(with_share(0.6), with_share(0.5) + 1);
  EXPECT_LT(with_share(1e6), 255);
}

TEST(Features, OutcomesOfComparisonsAreFeatures) {
  const auto count = [](uint8_t outcomes) {
    CheckResult result;
    result.run.coverage.resize(1);
    result.run.coverage[0].compares = {{outcomes, 5}};
    int flow = 0;
    for (const Feature& f : Features().of(result)) flow += f.kind == Feature::Kind::flow;
    return flow;
  };
  EXPECT_EQ(count(0), 0);
  EXPECT_EQ(count(CompareSeen::kHeld), 1);
  EXPECT_EQ(count(CompareSeen::kHeld | CompareSeen::kDidNotHold), 2);
}

/// Features of the kind `property` that a batch of 257 rows shows, sixteen of which run alone too.
int property_features(const std::string& contract_file) {
  const ContractPtr contract = load_kernels({source_root() + contract_file}).front();
  Case c = parse_case("assay-case 1\nkernel " + contract->name +
                          "\ntypes T=f32\nsizes cols=8 rows=257\nvalues x exact\n"
                          "property rows_independent(rows) count=16 first=17\nend\n",
                      "f.case");
  Workbench bench("ptx");
  const CheckResult result = bench.checker(*contract).check(c);
  EXPECT_TRUE(result.findings.empty()) << result.findings.front().message;
  int count = 0;
  for (const Feature& f : Features().of(result)) count += f.kind == Feature::Kind::property;
  return count;
}

TEST(Features, APropertysOtherRunMayGoAnotherWay) {
  const std::string folder = "/kernels_under_test/planted/threads_by_batch/";
  EXPECT_GT(property_features(folder + "buggy.toml"), 0)
      << "another number of threads a row, and the same sums of few exact numbers";
  EXPECT_EQ(property_features(folder + "twin.toml"), 0);
}

TEST(Features, NotableSizesOfEachProgramAreCollected) {
  Features features;
  CheckResult result;
  result.run.coverage.resize(1);
  const auto show = [&](const std::string& program, std::vector<int64_t> constants) {
    result.run.coverage[0].program = program;
    result.run.coverage[0].constants = std::make_shared<std::vector<int64_t>>(std::move(constants));
    features.of(result);
    return features.sizes();
  };
  EXPECT_EQ(show("p", {3, 64}), (std::vector<int64_t>{3, 64}));
  EXPECT_EQ(show("q", {2, 64, 90}), (std::vector<int64_t>{2, 3, 64, 90}));
  EXPECT_EQ(show("p", {3, 64}), (std::vector<int64_t>{2, 3, 64, 90}));
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
