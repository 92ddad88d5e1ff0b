// nan = "ignore": maxima drop a NaN (rule R9), and what follows from that (rule R5).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

Outcome row(const char* formula, const std::vector<float>& x, float got) {
  const char* policy = "[policy]\nrange = \"safe\"\nsubnormals = \"keep\"\nnan = \"ignore\"\n";
  return testing::judge_row(testing::row_contract(formula, policy), x, got).outcome;
}

// fmaxf drops a NaN, exp does not: a kernel that sets an infinite maximum aside gives that, another
// NaN. What is made of the logarithm follows either.
TEST(IgnoredNan, LimitsWhereMaximaIgnoreNan) {
  const auto accepts = [&](const char* formula, const std::vector<float>& x,
                           const std::vector<float>& right, const std::vector<float>& wrong) {
    for (const float got : right) EXPECT_EQ(row(formula, x, got), Outcome::pass) << formula << got;
    for (const float got : wrong)
      EXPECT_EQ(row(formula, x, got), Outcome::mismatch) << formula << got;
  };
  const char* lse = "logsumexp(x, cols)";
  for (const float limit : {INFINITY, -INFINITY})
    accepts(lse, {NAN, limit}, {limit, NAN}, {-limit, 0, 1, -3e38f});
  accepts(lse, {NAN, 1, 2}, {NAN}, {INFINITY, 2, 2.3132617f});
  EXPECT_EQ(row(lse, {NAN, NAN}, 5), Outcome::skipped);  // R9
  // max(NaN, 0) is 0 here, and max(inf, 0) infinity.
  accepts("max(logsumexp(x, cols), 0)", {1, INFINITY}, {0, INFINITY}, {NAN, -INFINITY, 1});
  accepts("max(logsumexp(x, cols), 0)", {NAN, 1}, {0}, {INFINITY, NAN});
  accepts("where(logsumexp(x, cols) > 0, 1, 2)", {1, INFINITY}, {1, 2}, {NAN, 0, 1.5f});
}

// A row of NaN alone begins a maximum with NaN, -inf or 0: clipped from above, that differs.
TEST(IgnoredNan, ARowOfNanStaysWithoutABoundInAMaximum) {
  for (const char* formula :
       {"min(max(x, cols), 6)", "max(-max(x, cols), 0)", "max(max(x, cols), -5)"})
    for (const float got : {6.0f, -INFINITY, 0.0f})
      EXPECT_EQ(row(formula, {NAN, NAN}, got), Outcome::skipped) << formula;
  EXPECT_EQ(row("max(max(x, cols), 0.5)", {NAN, NAN}, 0.5f), Outcome::pass);
  EXPECT_EQ(row("max(max(x, cols), 0.5)", {NAN, NAN}, NAN), Outcome::mismatch);
  EXPECT_EQ(row("min(max(x, cols), 6)", {NAN, 7}, 6), Outcome::pass);
  EXPECT_EQ(row("min(max(x, cols), 6)", {NAN, 7}, 7), Outcome::mismatch);
}

}  // namespace
}  // namespace assay
