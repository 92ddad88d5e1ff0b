// What the report of an index, a code, an undecided element and one without a bound says: never
// the contrary of the verdict.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/line_cases.hpp"

namespace assay {
namespace {

using testing::Line;
using testing::line_contract;

const char* const kFirst = "[policy]\nnan = \"propagate\"\nrange = \"safe\"\ntie = \"first\"\n";
constexpr const char* kOne = "[1]";

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ExplainIndex, CandidatesScoresAndTiesArePrinted) {
  Line line(line_contract("i64", "argmax(x, cols)", kFirst, kOne), {1, 5, 2, 5, 0});
  ASSERT_EQ(line({3}).rule, "R14");
  const ElementReport tied = line.explain();
  EXPECT_EQ(tied.rule, "R14");
  EXPECT_EQ(tied.accepted, "{1}: of 2 that tie, policy tie = \"first\"");
  EXPECT_EQ(tied.exact, "the largest x[cols=1] = 5");
  EXPECT_EQ(tied.error_text, "its score is x[cols=3] = 5");
  ASSERT_EQ(tied.candidates.size(), 1u);
  EXPECT_EQ(tied.candidates[0], "x[cols=1] = 5");
  ASSERT_EQ(line({7}).outcome, Outcome::mismatch);
  EXPECT_EQ(line.explain().error_text, "no index: cols has 5");
}

TEST(ExplainIndex, InexactScoresListAllThatMayBeTheLargest) {
  Line line(line_contract("i32", "argmax(x * x + 16777216.0, cols)", kFirst, kOne),
            {1, 1 + 0x1p-22f, 100, 100});
  ASSERT_EQ(line({0}).outcome, Outcome::mismatch);
  const ElementReport r = line.explain();
  EXPECT_EQ(r.accepted.substr(0, 6), "{2, 3}") << r.accepted;
  EXPECT_EQ(r.candidates.size(), 2u);
}

TEST(ExplainIndex, ALineWithoutAPolicyForNanNamesIt) {
  Line line(line_contract("i32", "argmax(x, cols)", "", kOne), {1, NAN});
  EXPECT_EQ(line({0}).outcome, Outcome::skipped);
  EXPECT_TRUE(has(line.explain().no_bound, "policy nan")) << line.explain().no_bound;
}

TEST(ExplainCode, IntegersShowTheValueBeforeTheConversion) {
  Line line(line_contract("i8", "quant(x / 7, i8)", kFirst), {9, 2000});
  const Verdict v = line({3, 127});
  ASSERT_EQ(v.rule, "R15");
  ASSERT_EQ(v.wrong, 1);
  const ElementReport r = line.explain(0);
  EXPECT_EQ(r.rule, "R15");
  EXPECT_EQ(r.accepted, "{1}");
  EXPECT_TRUE(has(r.exact, "1.2857142857142857 before it is converted to i8")) << r.exact;
  EXPECT_EQ(r.error_text, "off by 2");
  EXPECT_TRUE(has(r.allowance_text, "absolute")) << r.allowance_text;
  EXPECT_FALSE(r.terms.empty());
  EXPECT_EQ(line.explain(1).accepted, "{127}");
  EXPECT_EQ(line.explain(1).error_text, "");
}

TEST(ExplainCode, WrappedCodesAreListed) {
  const std::string policy = "[policy]\nnan = \"propagate\"\ncast_overflow = \"wrap\"\n";
  Line line(line_contract("i8", "cast(x, i8)", policy), {0x1p31, 5});
  EXPECT_EQ(line({-1, 5}).outcome, Outcome::pass);
  EXPECT_EQ(line.explain(0).error_text, "");
  ASSERT_EQ(line({1, 5}).wrong, 1);
  EXPECT_EQ(line.explain(0).accepted, "{0, -1}: wrapped, by way of what a conversion saturates to");
  EXPECT_EQ(line.explain(0).error_text, "none of these");
  Line inner(line_contract("i32", "cast(x, i8) + 1", policy), {0x1p31});
  EXPECT_EQ(inner({1}).no_bound, 1);
  EXPECT_TRUE(has(inner.explain().no_bound, "width of the conversion")) << inner.explain().no_bound;
}

TEST(ExplainCode, SaturatedFloatsAreAccepted) {
  Line line(line_contract("e4m3", "quant(x, e4m3)", kFirst), {1000, INFINITY, NAN});
  const Verdict v = line({240, 240, 448});
  EXPECT_EQ(v.wrong, 3);
  EXPECT_EQ(line.explain(0).accepted, "{448}");
  EXPECT_EQ(line.explain(1).accepted, "{448}: saturated");
  EXPECT_EQ(line.explain(2).accepted, "NaN");
  EXPECT_EQ(line({448, 448, NAN}).outcome, Outcome::pass);
}

TEST(ExplainNoBound, TheTermAndTheReasonAreNamed) {
  Line line(line_contract("f32", "x / (sum(x, cols) - 1)", kFirst), {0.25f, 0.75f + 0x1p-24f});
  const Verdict v = line({5, 5});
  ASSERT_EQ(v.outcome, Outcome::skipped);
  EXPECT_EQ(v.no_bound_output, "y");
  EXPECT_EQ(v.no_bound_element, 0);
  const ElementReport r = line.explain(0);
  EXPECT_EQ(r.rule, "R10");
  EXPECT_EQ(r.accepted, "anything: no bound is documented here");
  EXPECT_TRUE(has(r.no_bound, "(x / (sum(x, cols) - 1)): what divides may be 0")) << r.no_bound;
  ASSERT_FALSE(r.inputs.empty());
  EXPECT_TRUE(has(r.inputs[0].text, "x[0] = 0.25")) << r.inputs[0].text;
}

TEST(ExplainFormula, IndicesExtentsAndConditionsAreNamed) {
  Line line(line_contract("f32", "where(cols < 1, x, x * 3) / size(cols)", kFirst), {1, 1, 1});
  ASSERT_EQ(line({1, 1, 1}).outcome, Outcome::mismatch);
  std::string all;
  for (const AllowanceTerm& term : line.explain(0).terms) all += term.name + "\n";
  EXPECT_TRUE(has(all, "(where((cols < 1), x, (x * 3)) / size(cols))")) << all;
  EXPECT_FALSE(has(all, "expression")) << all;
}

TEST(TruthValues, IsNanAndIsInfAreConditions) {
  Line nan(line_contract("u8", "is_nan(x)", kFirst), {1, NAN, INFINITY});
  EXPECT_EQ(nan({0, 1, 0}).outcome, Outcome::pass);
  EXPECT_EQ(nan({0, 1, 1}).outcome, Outcome::mismatch);
  Line inf(line_contract("bool", "is_inf(x) && !is_nan(x)", kFirst), {1, NAN, -INFINITY});
  EXPECT_EQ(inf({0, 0, 1}).outcome, Outcome::pass);
  EXPECT_EQ(inf({0, 1, 1}).outcome, Outcome::mismatch);
  Line chosen(line_contract("f32", "where(is_nan(x), 0, x) + is_inf(x)", kFirst), {NAN, 2});
  EXPECT_EQ(chosen({0, 2}).outcome, Outcome::pass);
}

TEST(Undecided, TheFirstElementIsNoted) {
  Line line(line_contract("f32", "sqrt(x) * sqrt(x)", kFirst), {2});
  JudgeOptions options;
  options.last_tier = Tier::running_double;
  line({2});
  options.first_tier = Tier::double_double;  // no tier is left: nothing is decided
  options.last_tier = Tier::running_double;
  const Verdict v = line.judge.judge(*line.instance, *line.run, options);
  ASSERT_EQ(v.outcome, Outcome::undecided);
  EXPECT_EQ(v.undecided_output, "y");
  EXPECT_EQ(v.undecided_element, 0);
  const ElementReport r = line.explain(0);
  EXPECT_FALSE(r.terms.empty());
  EXPECT_EQ(r.accepted.substr(0, 1), "[");
}

}  // namespace
}  // namespace assay
