// Terms of which nothing is known, such as 0 times what overflows: whatever is made of them has no
// bound either (docs/judging/overflow.md, "Numbers beyond double").
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/extrema.hpp"
#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"
#include "tests/oracles/wide_cases.hpp"

namespace assay {
namespace {

using testing::judge_row;
using testing::judged;
using testing::kNaive;
using testing::kSafe;
using testing::Line;
using testing::line_contract;
using testing::row_contract;

TEST(UnknownTerms, AnUnknownBoundStaysUnknown) {
  const double nan = std::nan("");
  for (const double x : {-1.0, 0.0, 1.0, HUGE_VAL, -HUGE_VAL}) {
    EXPECT_TRUE(std::isnan(larger(x, nan)) && std::isnan(larger(nan, x))) << x;
    EXPECT_TRUE(std::isnan(smaller(x, nan)) && std::isnan(smaller(nan, x))) << x;
  }
  EXPECT_TRUE(std::isnan(positive_part(nan)));
  EXPECT_EQ(larger(1, 2), 2);
  EXPECT_EQ(larger(2, 1), 2);
  EXPECT_EQ(smaller(1, 2), 1);
  EXPECT_EQ(smaller(2, 1), 1);
  EXPECT_EQ(positive_part(-3), 0);
  EXPECT_EQ(positive_part(3), 3);
}

// e^1000 x 0 is NaN in every kernel; so is the sum, the mean, and whatever else is added to it.
TEST(UnknownTerms, SumsWithATermThatIsZeroTimesAnOverflow) {
  const std::string zero = "exp(x) * (x - 1000)";
  for (const char* rest : {"", " + 1", " - exp(x - 1000)", " + x * 1e30"}) {
    const std::string term = zero + rest;
    for (const std::string& policy : {kSafe, kNaive}) {
      for (const std::string& formula :
           {"sum(" + term + ", cols)", "mean(" + term + ", cols)", "sum(" + term + ", cols) + 3",
            "sum(" + term + ", cols) - sum(x, cols)", "log(abs(sum(" + term + ", cols)))"}) {
        for (const std::vector<float>& x :
             std::vector<std::vector<float>>{{1000, 1200}, {1200, 1000}, {1, 1000, 1200, 1300}}) {
          const Verdict v = judge_row(row_contract(formula, policy), x, NAN);
          EXPECT_EQ(v.no_bound, 1) << formula << testing::told(v);
          EXPECT_EQ(v.wrong, 0) << formula;
        }
      }
    }
  }
}

TEST(UnknownTerms, ExtremaBesideThem) {
  for (const char* formula :
       {"max(abs(exp(x) * (x - 1000)), cols)", "min(exp(x) * (1000 - x), cols)",
        "max(exp(x) * (x - 1000), cols) - 1"})
    for (const std::vector<float>& x :
         std::vector<std::vector<float>>{{1000, 1200}, {1200, 1, 1000}})
      EXPECT_EQ(judge_row(row_contract(formula, kNaive), x, NAN).no_bound, 1) << formula;
  judged(judge_row(row_contract("max(exp(x) * (x - 900), cols)", kNaive), {1000, 1200}, NAN),
         Outcome::mismatch, "known");
}

// No term is 0: the sum is beyond every accumulator, and neither NaN nor a number.
TEST(UnknownTerms, WhereNoneIsZeroTheSumIsKnown) {
  for (const char* formula : {"sum(exp(x) * (x - 900), cols)", "mean(exp(x) * (x - 900), cols)"}) {
    const Contract contract = row_contract(formula, kNaive);
    judged(judge_row(contract, {1000, 1200}, INFINITY), Outcome::pass, formula);
    for (const float got : {NAN, 1.0f, -INFINITY})
      judged(judge_row(contract, {1000, 1200}, got), Outcome::mismatch, formula);
  }
}

TEST(UnknownTerms, CumulativeSumsFromThatTermOn) {
  for (const std::string& policy : {kSafe, kNaive}) {
    Line line(line_contract("f32", "cumsum(exp(x) * (x - 1000), cols)", policy), {0, 1000, 1200});
    const Verdict v = line({-1000, NAN, NAN});
    EXPECT_EQ(v.outcome, Outcome::pass) << testing::told(v);
    EXPECT_EQ(v.no_bound, 2);
    EXPECT_EQ(line({-1001, NAN, NAN}).wrong, 1);
    Line after(line_contract("f32", "cumsum(exp(x) * (x - 900), cols)", policy), {0, 1, 1000});
    EXPECT_EQ(after({-900, -3343.73535f, INFINITY}).outcome, Outcome::pass);
    EXPECT_EQ(after({-900, -3344.5f, INFINITY}).outcome, Outcome::mismatch);
  }
}

// The condition may go both ways, x * 0.1 being 80 in f32; in the other branch a kernel has NaN.
TEST(UnknownTerms, ABranchThatAKernelMayTake) {
  const std::string rest = " > 80, 1, exp(x) * (x - 800))";
  Line either(line_contract("f32", "where(x * 0.1" + rest, kSafe), {800});
  EXPECT_EQ(either({NAN}).no_bound, 1);
  EXPECT_EQ(either({1}).outcome, Outcome::skipped);
  Line surely(line_contract("f32", "where(x * 0.2" + rest, kSafe), {800});
  judged(surely({1}), Outcome::pass, "");
  judged(surely({NAN}), Outcome::mismatch, "");
}

}  // namespace
}  // namespace assay
