// A policy that matters and is missing is asked for and is no failure; one that does not matter is
// not asked for.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::asks_for;
using testing::judge_row;
using testing::Line;
using testing::line_contract;
using testing::row_contract;
using testing::told;

const char* const kNan = "[policy]\nnan = \"propagate\"\nrange = \"safe\"\n";

TEST(MissingPolicy, FlushedSubnormalsAreAskedFor) {
  const float x = 0x1.8p-126f;  // its half is subnormal
  Line line(line_contract("f32", "x * 0.5", kNan), {x});
  const Verdict flushed = line({0.0f});
  EXPECT_EQ(flushed.outcome, Outcome::pass) << told(flushed);
  EXPECT_EQ(flushed.widened, 1);
  EXPECT_TRUE(asks_for(flushed, "subnormals"));
  const Verdict kept = line({x * 0.5f});
  EXPECT_EQ(kept.outcome, Outcome::pass);
  EXPECT_FALSE(asks_for(kept, "subnormals"));
  EXPECT_EQ(line({0x1.1p-125f}).outcome, Outcome::mismatch);
  EXPECT_EQ(Line(line_contract("f32", "x * 0.5", kNan + std::string("subnormals = \"keep\"\n")),
                 {x})({0.0f})
                .outcome,
            Outcome::mismatch);
}

TEST(MissingPolicy, FlushedSubnormalsOfIntegerOutputsAreAskedForToo) {
  Line line(line_contract("u8", "x > 0", kNan), {0x1p-130f, 1.0f});
  const Verdict flushed = line({0, 1});
  EXPECT_EQ(flushed.outcome, Outcome::pass) << told(flushed);
  EXPECT_TRUE(asks_for(flushed, "subnormals"));
  EXPECT_EQ(line({0, 0}).outcome, Outcome::mismatch);
}

TEST(MissingPolicy, CompilerFlagsAnswerForSubnormals) {
  for (const char* flag : {"-ftz=true", "--use_fast_math"}) {
    const std::string flags = std::string(", flags = [\"") + flag + "\"]";
    Line line(line_contract("f32", "x * 0.5", kNan, "[\"cols\"]", flags), {0x1.8p-126f});
    const Verdict v = line({0.0f});
    EXPECT_EQ(v.outcome, Outcome::pass) << flag;
    EXPECT_FALSE(asks_for(v, "subnormals"));
  }
  const Contract fast =
      line_contract("f32", "exp(x)", kNan, "[\"cols\"]", ", flags = [\"-use_fast_math\"]");
  EXPECT_EQ(fast.accuracy.math, MathMode::fast);
  EXPECT_EQ(line_contract("f32", "exp(x)", "[accuracy]\nmath = \"precise\"\n", "[\"cols\"]",
                          ", flags = [\"-use_fast_math\"]")
                .accuracy.math,
            MathMode::precise);
}

TEST(MissingPolicy, ARowOfNanAloneIsAskedFor) {
  const Contract missing = row_contract("max(x, cols)", "[policy]\nrange = \"safe\"\n");
  for (const float got : {-INFINITY, NAN}) {
    const Verdict v = judge_row(missing, {NAN, NAN}, got);
    EXPECT_NE(v.outcome, Outcome::mismatch) << got;
    EXPECT_TRUE(asks_for(v, "nan"));
  }
  const Contract propagate = row_contract("max(x, cols)", kNan);
  EXPECT_EQ(judge_row(propagate, {NAN, NAN}, NAN).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(propagate, {NAN, NAN}, -INFINITY).outcome, Outcome::mismatch);
  // Begun with the first element, with -inf, with 0 where nothing is negative: all ignore NaN.
  const char* const ignore = "[policy]\nnan = \"ignore\"\nrange = \"safe\"\n";
  for (const float got : {-INFINITY, NAN, 0.0f}) {
    const Verdict v = judge_row(row_contract("max(abs(x), cols)", ignore), {NAN, NAN}, got);
    EXPECT_NE(v.outcome, Outcome::mismatch) << got;
    EXPECT_TRUE(v.missing_policies.empty());
  }
  EXPECT_EQ(judge_row(row_contract("max(x, cols)", ignore), {NAN, 2}, NAN).outcome,
            Outcome::mismatch);
}

TEST(MissingPolicy, AStatedPolicyIsNotAskedFor) {
  // inf - inf is NaN: none among the inputs.
  const Contract excluded =
      row_contract("max(x - x, cols)", "[policy]\nnan = \"exclude\"\nrange = \"safe\"\n");
  EXPECT_TRUE(judge_row(excluded, {INFINITY, 2}, 0).missing_policies.empty());
}

// R8 asks for NaN and infinities among what an element is made from; a `where` masks the rest off.
TEST(EmptyRows, AMaskedNanDoesNotCount) {
  const std::string policy = "[policy]\nnan = \"propagate\"\nempty = \"zero\"\n";
  const auto judged = [&](const std::string& formula, const std::vector<float>& x, float got) {
    Line line(line_contract("f32", formula, policy), x);
    return line(std::vector<float>(x.size(), got)).outcome;
  };
  const std::string none = "softmax(where(cols < 0, x, -inf), cols)";
  for (const float masked : {1.0f, NAN, INFINITY}) {
    EXPECT_EQ(judged(none, {masked, 2}, 0), Outcome::pass) << masked;
    EXPECT_EQ(judged(none, {masked, 2}, NAN), Outcome::pass) << masked;
    EXPECT_EQ(judged(none, {masked, 2}, 0.5f), Outcome::mismatch) << masked;
    EXPECT_EQ(judged("softmax(where(cols >= 0, -inf, x), cols)", {masked, 2}, 0), Outcome::pass);
  }
  const std::string first = "softmax(where(cols < 1, x, -inf), cols)";
  EXPECT_EQ(judged(first, {-INFINITY, NAN}, 0), Outcome::pass);
  for (const float counts : {NAN, INFINITY})
    EXPECT_EQ(judged(first, {counts, 2}, 0), Outcome::mismatch) << counts;
  // A condition chooses: NaN > 0 does not hold, and is no part of what is chosen.
  EXPECT_EQ(judged("softmax(where(x > 0, x, -inf), cols)", {NAN, -1}, 0), Outcome::pass);
  EXPECT_EQ(judged("softmax(where(x > 0, x, -inf), cols) + 0 * x", {NAN, NAN}, 0),
            Outcome::mismatch);
}

TEST(MissingPolicy, EmptyIsAskedForWhereARowCanBeEmpty) {
  // inf / inf of an infinite norm: no row is empty.
  Line norm(line_contract("f32", "x / (sqrt(sum(x * x, cols)) + 1e-6)", kNan), {-INFINITY});
  const Verdict wrong = norm({0.0f});
  EXPECT_EQ(wrong.outcome, Outcome::mismatch);
  EXPECT_FALSE(asks_for(wrong, "empty"));
  Line masked(line_contract("f32", "softmax(x, cols)", kNan), {-INFINITY, -INFINITY});
  const Verdict zero = masked({0.0f, 0.0f});
  EXPECT_EQ(zero.outcome, Outcome::pass) << told(zero);
  EXPECT_TRUE(asks_for(zero, "empty"));
  Line norm_of_zero(line_contract("f32", "x / sqrt(sum(x * x, cols))", kNan), {0.0f});
  EXPECT_TRUE(asks_for(norm_of_zero({0.0f}), "empty"));
}

}  // namespace
}  // namespace assay
