#include "fuzz/search.hpp"

#include <gtest/gtest.h>

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
  std::vector<uint8_t> counters(kFeatureCounters, 0);
  counters[5] = 1;
  const Case c = search.next();
  EXPECT_TRUE(search.learn(c, counters.data()));
  EXPECT_FALSE(search.learn(c, counters.data()));
  counters[5] = 4;  // another level of the same counter
  EXPECT_TRUE(search.learn(c, counters.data()));
  counters[5] = 1;
  counters[6] = 1;
  EXPECT_TRUE(search.learn(c, counters.data()));
  EXPECT_EQ(search.features(), 3);
  EXPECT_EQ(search.kept().size(), 3u);
}

TEST(Search, IsDeterministicInItsSeed) {
  Search a(vector_add(), Seed{7}), b(vector_add(), Seed{7});
  std::vector<uint8_t> counters(kFeatureCounters, 0);
  for (size_t i = 0; i < 60; ++i) {
    const Case x = a.next(), y = b.next();
    ASSERT_EQ(print_case(x), print_case(y)) << i;
    counters[i % 40] = 1;
    a.learn(x, counters.data());
    b.learn(y, counters.data());
  }
}

TEST(Features, ACaseSetsBlocksMasksAndShares) {
  Workbench bench("ptx");
  Features features;
  const Case c = covering_cases(vector_add()).back();
  const CheckResult result = bench.checker(vector_add()).check(c);
  ASSERT_EQ(result.outcome, Outcome::pass) << result.verdict.message;
  std::vector<uint8_t> once(kFeatureCounters, 0), again(kFeatureCounters, 0);
  features.collect(result, once.data());
  features.collect(result, again.data());
  EXPECT_EQ(once, again) << "a program keeps its numbers";
  EXPECT_GT(std::count_if(once.begin(), once.end(), [](uint8_t v) { return v > 0; }), 4);
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
