// Indices, codes, cumulative sums and given(): what is accepted at the limit, and what is not.
#include "oracles/codes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// y over `shape`, x[rows, cols] f32, s[rows] an f32 output that formulas may read back.
Contract contract_of(const std::string& type, const std::string& shape, const std::string& formula,
                     const std::string& policy) {
  return parse_contract(R"(
name = "codes"
source = { cuda = "row_sum.cu", entry = "codes" }
sizes = { rows = { min = 0, max = 1000 }, cols = { min = 0, max = 1000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = ")" +
                            type + R"(", shape = )" + shape + R"( },
  { name = "s", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
]
[formula]
s = "max(x, cols) / 7"
y = ")" + formula + R"("
[policy]
)" + policy + "\n",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/codes.toml");
}

struct Judged {
  Experiment experiment;
  Judge judge;
  Judged(const std::string& type, const std::string& shape, const std::string& formula,
         const std::string& policy, const std::vector<double>& x)
      : experiment(contract_of(type, shape, formula, policy)), judge(experiment.contract) {
    const auto cols = static_cast<int64_t>(x.size());
    experiment.the_case.sizes = {{"rows", 1}, {"cols", cols}};
    experiment.put("x", {1, cols}, DType::f32, x);
    float top = -INFINITY;
    for (const double v : x) top = std::fmax(top, static_cast<float>(v));
    const bool nan = std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
    scale = nan && policy.find("propagate") != std::string::npos ? NAN : top / 7;
  }
  /// Verdict on y with these bits, s correct.
  Verdict operator()(const std::vector<uint64_t>& y) const {
    const Instance instance = experiment.instance();
    FakeRun run(instance);
    run.set("s", 0, f32_bits(scale));
    for (size_t k = 0; k < y.size(); ++k) run.set("y", static_cast<int64_t>(k), y[k]);
    return judge.judge(instance, run);
  }
  float scale = 0;
};

constexpr const char* kRow = "[\"rows\"]";
constexpr const char* kAll = "[\"rows\", \"cols\"]";

std::vector<int> accepted_indices(const Judged& judged, int n) {
  std::vector<int> out;
  for (int k = -1; k <= n; ++k) {
    const Verdict v = judged({static_cast<uint64_t>(static_cast<int64_t>(k))});
    if (v.outcome == Outcome::pass)
      out.push_back(k);
    else
      EXPECT_EQ(v.rule, "R14");
  }
  return out;
}

TEST(Indices, TiesOfExactScoresFollowThePolicy) {
  const std::vector<double> x = {1, 5, 2, 5, 5, 0};
  using Found = std::vector<int>;
  const std::string nan = "nan = \"propagate\"\n";
  const auto found = [&](const std::string& tie, const std::string& formula) {
    return accepted_indices(Judged("i64", kRow, formula, nan + tie, x), 6);
  };
  EXPECT_EQ(found("tie = \"first\"", "argmax(x, cols)"), Found({1}));
  EXPECT_EQ(found("tie = \"last\"", "argmax(x, cols)"), Found({4}));
  EXPECT_EQ(found("tie = \"free\"", "argmax(x, cols)"), Found({1, 3, 4}));
  EXPECT_EQ(found("tie = \"first\"", "argmin(x, cols)"), Found({5}));
}

TEST(Indices, AMissingTiePolicyIsAskedFor) {
  const Judged judged("i32", kRow, "argmax(x, cols)", "nan = \"propagate\"", {3, 3});
  const Verdict v = judged({1});
  EXPECT_EQ(v.outcome, Outcome::pass);
  ASSERT_EQ(v.missing_policies.size(), 1u);
  EXPECT_NE(v.missing_policies[0].find("tie"), std::string::npos);
}

TEST(Indices, NanByPolicy) {
  const std::vector<double> x = {1, kNan, 7, kNan};
  const std::string tie = "tie = \"first\"\n";
  EXPECT_EQ(
      accepted_indices(Judged("i64", kRow, "argmax(x, cols)", tie + "nan = \"propagate\"", x), 4),
      std::vector<int>({1}));
  EXPECT_EQ(
      accepted_indices(Judged("i64", kRow, "argmax(x, cols)", tie + "nan = \"ignore\"", x), 4),
      std::vector<int>({2}));
}

// x * x rounds: 1 + 2^-23 and 1 + 2^-22 differ by far more than that, their squares plus 2^24 do
// not.
TEST(Indices, InexactScoresThatMeetAreAllAccepted) {
  const std::vector<double> x = {1, 1 + 0x1p-23, 0.5, 1 + 0x1p-22};
  const std::string policy = "nan = \"propagate\"\ntie = \"first\"";
  EXPECT_EQ(accepted_indices(Judged("i64", kRow, "argmax(x * x + 16777216.0, cols)", policy, x), 4),
            std::vector<int>({0, 1, 2, 3}));
  EXPECT_EQ(accepted_indices(Judged("i64", kRow, "argmax(x, cols)", policy, x), 4),
            std::vector<int>({3}));
}

// 4097^2 - 16785410 = -1, but 0 where the square rounds up: NaN or 0 (R13), before or behind what
// is surely a number.
TEST(Indices, AScoreThatMayBeNanHasAnyRank) {
  const std::string tie = "tie = \"first\"\n";
  for (const char* nan : {"nan = \"propagate\"", "nan = \"ignore\""})
    EXPECT_EQ(accepted_indices(Judged("i64", kRow, "argmax(sqrt(x * x - 16785410.0), cols)",
                                      tie + nan, {4097, 5000}),
                               2),
              std::vector<int>({0, 1}))
        << nan;
}

std::vector<int> accepted_codes_of(const Judged& judged) {
  std::vector<int> out;
  for (int k = -128; k < 128; ++k)
    if (judged({static_cast<uint64_t>(static_cast<uint8_t>(k))}).outcome == Outcome::pass)
      out.push_back(k);
  return out;
}

TEST(Codes, NearestTruncatedAndSaturated) {
  using Found = std::vector<int>;
  const std::string nan = "nan = \"propagate\"\n";
  const auto found = [&](const std::string& formula, double x, const std::string& policy = "") {
    return accepted_codes_of(Judged("i8", kAll, formula, nan + policy, {x}));
  };
  EXPECT_EQ(found("quant(x, i8)", 2.5), Found({2}));  // a tie of an exact value: to even
  EXPECT_EQ(found("quant(x, i8)", 3.5), Found({4}));
  EXPECT_EQ(found("quant(x, i8)", -300), Found({-128}));
  EXPECT_EQ(found("quant(x, i8)", INFINITY), Found({127}));
  EXPECT_EQ(found("cast(x, i8)", -2.9), Found({-2}));
  EXPECT_EQ(found("cast(x, i8)", 300, "cast_overflow = \"saturate\""), Found({127}));
  EXPECT_EQ(found("quant(x * 1.5, i8)", 1.6666667), Found({2, 3}));  // 2.5 within a rounding
}

/// What rounds to a whole number first is that number, wherever its argument lies between two.
TEST(Codes, OfWholeNumbers) {
  using Found = std::vector<int>;
  const auto found = [&](const std::string& formula, double x) {
    return accepted_codes_of(Judged("i8", kAll, formula, "nan = \"propagate\"\n", {x}));
  };
  EXPECT_EQ(found("cast(floor(x * 1.5), i8)", 3.1), Found({4}));
  EXPECT_EQ(found("cast(floor(x * 1.5), i8)", -3.1), Found({-5}));
  EXPECT_EQ(found("cast(ceil(x * 1.5), i8)", 3.1), Found({5}));
  EXPECT_EQ(found("cast(trunc(x * 1.5), i8)", -3.1), Found({-4}));
  EXPECT_EQ(found("cast(rint(x * 1.5), i8)", 3.1), Found({5}));
  EXPECT_EQ(found("cast(max(floor(x * 1.5 - 9), 0), i8)", 3.1), Found({0}));
  // A kernel that flushes takes the floor of 0.
  const auto floor_of = [](double got) {
    const std::string policy = "nan = \"propagate\"\nsubnormals = \"flush\"";
    return Judged("f32", kAll, "floor(x)", policy, {-1e-39})({round_to_bits(DType::f32, got)});
  };
  for (const double got : {-1.0, 0.0}) EXPECT_EQ(floor_of(got).outcome, Outcome::pass) << got;
  for (const double got : {-2.0, 1.0}) EXPECT_EQ(floor_of(got).outcome, Outcome::mismatch) << got;
  const Found next_to_two = found("cast(floor(x * 1.5), i8)", 1.3333334);
  for (const int code : {1, 2})
    EXPECT_NE(std::find(next_to_two.begin(), next_to_two.end(), code), next_to_two.end()) << code;
}

/// Places that a formula computes are judged where they are known.
TEST(Codes, PickOperandsElements) {
  const std::vector<double> x{1, 2, 3, 4, 5, 6, 7, 8};
  const Judged judged("f32", kAll, "x[cols = cast(floor(max((cols + 0.5) * 0.7 - 0.5, 0)), i32)]",
                      "nan = \"propagate\"\n", x);
  std::vector<uint64_t> right;
  for (int k = 0; k < 8; ++k) {
    const int place = static_cast<int>(std::fmax((k + 0.5) * 0.7 - 0.5, 0));
    right.push_back(round_to_bits(DType::f32, x[static_cast<size_t>(place)]));
  }
  EXPECT_EQ(judged(right).outcome, Outcome::pass);
  EXPECT_EQ(judged(right).no_bound, 0);
  for (size_t k = 0; k < right.size(); ++k) {
    std::vector<uint64_t> wrong = right;
    wrong[k] = round_to_bits(DType::f32, 9);
    EXPECT_EQ(judged(wrong).outcome, Outcome::mismatch) << k;
  }
  // (cols + 0.5) * 6 - 1 is 2, 8, ...: a whole number, of products that are exact.
  const Judged whole("f32", kAll, "x[cols = min(cast(floor((cols + 0.5) * 6 - 1), i32), 7)]",
                     "nan = \"propagate\"\n", x);
  std::vector<uint64_t> third{round_to_bits(DType::f32, 3)};
  third.resize(8, round_to_bits(DType::f32, 8));
  EXPECT_EQ(whole(third).outcome, Outcome::pass);
  EXPECT_EQ(whole(third).no_bound, 0);
}

/// The bytes that cast(x, type) may give under "wrap".
std::vector<int> wrapped_bytes(const std::string& type, double x) {
  const bool is_signed = type == "i8";
  const Judged judged(type, kAll, "cast(x, " + type + ")",
                      "nan = \"propagate\"\ncast_overflow = \"wrap\"", {x});
  std::vector<int> out;
  for (int k = is_signed ? -128 : 0; k < (is_signed ? 128 : 256); ++k)
    if (judged({static_cast<uint64_t>(k) & 0xff}).outcome == Outcome::pass) out.push_back(k);
  return out;
}

// An f32 becomes a byte by cvt.rzi to 32 or 64 bits, which saturates, and its low byte.
TEST(Codes, WrappedByWayOfThirtyTwoBitsOrMore) {
  using Found = std::vector<int>;
  EXPECT_EQ(wrapped_bytes("i8", 300), Found({44}));
  EXPECT_EQ(wrapped_bytes("i8", 100), Found({100}));
  EXPECT_EQ(wrapped_bytes("i8", 70000), Found({112}));  // 0x11170
  EXPECT_EQ(wrapped_bytes("i8", 0x1p31), Found({-1, 0}));
  EXPECT_EQ(wrapped_bytes("i8", -0x1p32), Found({0}));
  EXPECT_EQ(wrapped_bytes("u8", 300), Found({44}));
  EXPECT_EQ(wrapped_bytes("u8", -2), Found({0, 254}));   // cvt.rzi.u32 gives 0
  EXPECT_EQ(wrapped_bytes("u8", 3e9), Found({0, 255}));  // 0xb2d05e00, by way of int 0x7fffffff
}

TEST(Codes, AWrappedValueIsNoOperandThatIsKnown) {
  const auto outcome = [](double x, uint64_t got) {
    const Judged judged("i32", kAll, "cast(x, i8) + 1",
                        "nan = \"propagate\"\ncast_overflow = \"wrap\"", {x});
    return judged({got});
  };
  EXPECT_EQ(outcome(100, 101).outcome, Outcome::pass);
  EXPECT_EQ(outcome(100, 102).outcome, Outcome::mismatch);
  EXPECT_EQ(outcome(300, 45).outcome, Outcome::pass);
  EXPECT_EQ(outcome(300, 128).outcome, Outcome::mismatch);
  EXPECT_EQ(outcome(0x1p31, 0).no_bound, 1);  // -1 or 0
}

TEST(Codes, OutsideTheTypeNothingIsDocumented) {
  const Judged judged("i8", kAll, "cast(x, i8)", "nan = \"propagate\"", {300});
  const Verdict v = judged({44});
  EXPECT_EQ(v.no_bound, 1);
  ASSERT_FALSE(v.missing_policies.empty());
  EXPECT_NE(v.missing_policies[0].find("cast_overflow"), std::string::npos);
}

// The code is judged against the scale that was written.
TEST(Codes, GivenScaleIsTheWrittenOne) {
  Judged judged("i8", kAll, "quant(x / given(s), i8)", "nan = \"propagate\"", {7, 3.5});
  EXPECT_EQ(judged({7, static_cast<uint64_t>(4)}).outcome, Outcome::pass);
  EXPECT_EQ(judged({7, 3}).rule, "R15");  // 7 / 7 is exact: 3.5 is a tie, to even
  EXPECT_EQ(judged({7, 5}).rule, "R15");
  EXPECT_EQ(judged({6, 4}).rule, "R15");
  judged.scale = 0.5f;  // a wrong scale is R4 at s; y = x / 0.5 alone is right for it
  const Verdict v = judged({14, 7});
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(v.first_output, "s");
}

// Each output has its own counts, the one with the first wrong element first.
TEST(Counts, AreOfOneOutputEach) {
  Judged judged("i8", kAll, "quant(x / given(s), i8)", "nan = \"propagate\"", {7, 3.5, 7});
  Verdict v = judged({7, 4, 7});
  ASSERT_EQ(v.outputs.size(), 2u);
  EXPECT_EQ(v.judged, 4);
  v = judged({6, 3, 7});
  EXPECT_EQ(v.message, "y: 2 of 3 elements wrong");
  judged.scale = 0.5f;
  v = judged({14, 7, 13});
  EXPECT_EQ(v.message, "y: 1 of 3 elements wrong; s: 1 of 1 elements wrong");
  EXPECT_EQ(v.wrong, 2);
}

TEST(Codes, Float8SaturatesWithQuant) {
  const auto outcome = [](double x, double got) {
    const Judged judged("e4m3", kAll, "quant(x, e4m3)", "nan = \"propagate\"", {x});
    return judged({round_to_bits(DType::e4m3, got)}).outcome;
  };
  EXPECT_EQ(outcome(448, 448), Outcome::pass);
  EXPECT_EQ(outcome(1e6, 448), Outcome::pass);
  EXPECT_EQ(outcome(INFINITY, 448), Outcome::pass);
  EXPECT_EQ(outcome(-1e6, 448), Outcome::mismatch);
  EXPECT_EQ(outcome(300, 448), Outcome::mismatch);
  EXPECT_EQ(outcome(1.06, 1.0), Outcome::pass);  // spacing 1/8: 1.0625 is the tie
  EXPECT_EQ(outcome(1.07, 1.0), Outcome::mismatch);
}

/// y = formula over x of another type, one element.
Verdict converted(const char* from, const char* to, const char* formula, const char* policy,
                  uint64_t x, uint64_t got, const char* source = "cuda = \"row_sum.cu\"") {
  const Contract contract = parse_contract(std::string("name = \"cast\"\nsource = { ") + source +
                                               R"(, entry = "cast" }
types = { S = [")" + from + "\"], D = [\"" + to +
                                               R"("] }
sizes = { n = { min = 0, max = 1000 } }
launch = { grid = ["n"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "D", shape = ["n"] },
  { name = "x", kind = "input", dtype = "S", shape = ["n"] },
]
[formula]
y = ")" + formula + "\"\n[policy]\nnan = \"propagate\"\n" +
                                               policy,
                                           std::string(ASSAY_SOURCE_DIR) +
                                               "/kernels_under_test/kernels/cast_test.toml");
  Experiment e(contract);
  e.the_case.sizes["n"] = 1;
  e.put_bits("x", {1}, 0, *parse_dtype(from), x);
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, got);
  return Judge(contract).judge(instance, run);
}

// 2^24 + 2^16 + 1 lies just above a tie of bf16; by way of f32 it lies on it, and goes to even.
TEST(Conversions, CastRoundsOnceRoundMayRoundTwice) {
  const uint64_t x = (1u << 24) + (1u << 16) + 1;
  const uint64_t above = round_to_bits(DType::bf16, 0x1p24 + 0x1p17);
  const uint64_t even = round_to_bits(DType::bf16, 0x1p24);
  EXPECT_EQ(converted("i32", "bf16", "cast(x, D)", "", x, above).outcome, Outcome::pass);
  EXPECT_EQ(converted("i32", "bf16", "cast(x, D)", "", x, even).outcome, Outcome::mismatch);
  for (const uint64_t got : {above, even})
    EXPECT_EQ(converted("i32", "bf16", "round(x, D)", "", x, got).outcome, Outcome::pass);
}

TEST(Conversions, SixtyFourBitIntegersAreExact) {
  const uint64_t x = (uint64_t{1} << 62) + (uint64_t{1} << 38) + 1;  // above a tie of f32
  const uint64_t above = round_to_bits(DType::f32, 0x1p62 + 0x1p39);
  EXPECT_EQ(converted("i64", "f32", "cast(x, D)", "", x, above).outcome, Outcome::pass);
  EXPECT_EQ(converted("i64", "f32", "cast(x, D)", "", x, above - 1).outcome, Outcome::mismatch);
}

/// Which of these bytes cast(x, i8) may give under "wrap".
std::vector<int> wrapped_from(const char* from, const char* formula, double x,
                              const std::vector<int>& candidates) {
  std::vector<int> out;
  for (const int k : candidates)
    if (converted(from, "i8", formula, "cast_overflow = \"wrap\"",
                  round_to_bits(*parse_dtype(from), x), static_cast<uint64_t>(k) & 0xff)
            .outcome == Outcome::pass)
      out.push_back(k);
  return out;
}

// Headers convert halves by cvt.rzi.s8.f16, or saturate by hand; wider floats go by 32 bits.
TEST(Conversions, HalvesSaturateAtEightBitsAndFloatsDoNot) {
  using Found = std::vector<int>;
  const Found all = {-128, -64, -1, 0, 44, 127};
  EXPECT_EQ(wrapped_from("f32", "cast(x, D)", 300, all), Found({44}));
  EXPECT_EQ(wrapped_from("f64", "cast(x, D)", 300, all), Found({44}));
  EXPECT_EQ(wrapped_from("f16", "cast(x, D)", 300, all), Found({44, 127}));
  EXPECT_EQ(wrapped_from("bf16", "cast(x, D)", 300, all), Found({44, 127}));
  EXPECT_EQ(wrapped_from("e5m2", "cast(x, D)", -320, all), Found({-128, -64}));      // -0x140: 0xc0
  EXPECT_EQ(wrapped_from("bf16", "cast(x, D)", 0x12000, all), Found({-1, 0, 127}));  // 0x7fff: -1
  EXPECT_EQ(wrapped_from("f32", "cast(x, D)", 0x12000, all), Found({0}));
}

// LLVM's back end has no registers of 8 bits: cvt.rzi.s16.f32.
TEST(Conversions, PtxOfOtherCompilersSaturatesAtSixteenBits) {
  const auto outcome = [](const char* source, uint64_t got) {
    return converted("f32", "i8", "cast(x, D)", "cast_overflow = \"wrap\"", f32_bits(70000), got,
                     source)
        .outcome;
  };
  EXPECT_EQ(outcome("ptx = \"row_sum.cu\"", 0xff), Outcome::pass);
  EXPECT_EQ(outcome("ptx = \"row_sum.cu\"", 112), Outcome::pass);
  EXPECT_EQ(outcome("ptx = \"row_sum.cu\"", 127), Outcome::mismatch);
  EXPECT_EQ(outcome("cuda = \"row_sum.cu\"", 0xff), Outcome::mismatch);
}

// What selects keeps the type of a half; arithmetic is done in f32, unless it is rounded to f16.
TEST(Conversions, TheTypeThatIsConvertedDecidesTheWidth) {
  using Found = std::vector<int>;
  const Found all = {44, 127};
  EXPECT_EQ(wrapped_from("f16", "cast(max(x, 0), D)", 300, all), Found({44, 127}));
  EXPECT_EQ(wrapped_from("f16", "cast(trunc(abs(x)), D)", 300, all), Found({44, 127}));
  EXPECT_EQ(wrapped_from("f16", "cast(x * 2, D)", 150, all), Found({44}));
  EXPECT_EQ(wrapped_from("f16", "cast(round(x * 2, f16), D)", 150, all), Found({44, 127}));
  EXPECT_EQ(wrapped_from("f32", "cast(max(x, 0), D)", 300, all), Found({44}));
}

TEST(Conversions, WrappedIntegersOfOtherWidths) {
  const auto outcome = [](const char* to, double x, uint64_t got) {
    return converted("f32", to, "cast(x, D)", "cast_overflow = \"wrap\"",
                     f32_bits(static_cast<float>(x)), got)
        .outcome;
  };
  EXPECT_EQ(outcome("i16", 0x1.8p31, 0xffff), Outcome::pass);      // the low half of 2^31 - 1
  EXPECT_EQ(outcome("i16", 0x1.8p31, 0x7fff), Outcome::mismatch);  // no compiler saturates there
  EXPECT_EQ(outcome("i16", 0x1.8p31, 0), Outcome::pass);
  EXPECT_EQ(outcome("i16", 0x1.8p31, 1), Outcome::mismatch);
  EXPECT_EQ(outcome("i16", 33000, 33000), Outcome::pass);
  EXPECT_EQ(outcome("i16", 33000, 0xffff), Outcome::mismatch);  // 32 bits hold it
  EXPECT_EQ(outcome("i32", 0x1p31, 0x80000000), Outcome::pass);
  EXPECT_EQ(outcome("i32", 0x1p31, 0x7fffffff), Outcome::pass);
  EXPECT_EQ(outcome("i32", 0x1p31, 0x7ffffffe), Outcome::mismatch);
  EXPECT_EQ(outcome("u32", -1, 0xffffffff), Outcome::pass);
  EXPECT_EQ(outcome("u32", -1, 0), Outcome::pass);
  EXPECT_EQ(outcome("u32", -1, 1), Outcome::mismatch);
}

TEST(Conversions, AFormulaMayAskForTypes) {
  const char* formula = "S == f32 || S == f16 ? 2 * x : D == i32 ? x + 1 : x";
  EXPECT_EQ(converted("f32", "f32", formula, "", f32_bits(3), f32_bits(6)).outcome, Outcome::pass);
  EXPECT_EQ(converted("i32", "i32", formula, "", 3, 4).outcome, Outcome::pass);
  EXPECT_EQ(converted("i64", "i64", formula, "", 3, 3).outcome, Outcome::pass);
  EXPECT_EQ(converted("i64", "i64", formula, "", 3, 4).outcome, Outcome::mismatch);
}

// 464 is the tie between 448 and what e4m3 lacks: 448 is even, and stays.
TEST(Conversions, OverflowOfE4m3) {
  const auto outcome = [](double x, uint64_t got) {
    return converted("f32", "e4m3", "cast(x, D)", "", f32_bits(static_cast<float>(x)), got).outcome;
  };
  EXPECT_EQ(outcome(464, 0x7e), Outcome::pass);
  EXPECT_EQ(outcome(464, 0x7f), Outcome::mismatch);
  EXPECT_EQ(outcome(0x1.d00002p8, 0x7f), Outcome::pass);
  EXPECT_EQ(outcome(0x1.d00002p8, 0x7e), Outcome::mismatch);
}

TEST(CumulativeSums, ExactPrefixesBindAndRoundingIsAllowed) {
  const auto verdict = [](const std::vector<double>& x, const std::vector<double>& y) {
    const Judged judged("f32", kAll, "cumsum(x, cols)", "nan = \"propagate\"\nrange = \"naive\"",
                        x);
    std::vector<uint64_t> bits;
    for (const double v : y) bits.push_back(f32_bits(static_cast<float>(v)));
    return judged(bits);
  };
  EXPECT_EQ(verdict({1, 2, 3, -4}, {1, 3, 6, 2}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({1, 2, 3, -4}, {1, 3, 6, 2 + 0x1p-22}).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict({1, 2, 3, -4}, {1, 3, 2, 2}).wrong, 1);
  // 16777216 + 1 rounds; a later prefix may carry that, the first two elements may not.
  EXPECT_EQ(verdict({0x1p24, 1, 1}, {0x1p24, 0x1p24, 0x1p24}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({0x1p24, 1, 1}, {0x1p24 + 2, 0x1p24, 0x1p24 + 2}).wrong, 1);
  EXPECT_EQ(verdict({1, kNan, 3}, {1, kNan, kNan}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({1, INFINITY, -INFINITY}, {1, INFINITY, kNan}).outcome, Outcome::pass);
  EXPECT_EQ(verdict({1, INFINITY, 3}, {1, INFINITY, 4}).wrong, 1);
}

TEST(CumulativeSums, ExclusiveAndReversed) {
  const auto verdict = [](const char* formula, const std::vector<double>& x,
                          const std::vector<double>& y) {
    const Judged judged("f32", kAll, formula, "nan = \"propagate\"\nrange = \"naive\"", x);
    std::vector<uint64_t> bits;
    for (const double v : y) bits.push_back(f32_bits(static_cast<float>(v)));
    return judged(bits);
  };
  const char* exclusive = "cumsum_exclusive(x, cols)";
  const char* reversed = "cumsum_reversed(x, cols)";
  EXPECT_EQ(verdict(exclusive, {1, 2, 3, -4}, {0, 1, 3, 6}).outcome, Outcome::pass);
  EXPECT_EQ(verdict(exclusive, {1, 2, 3, -4}, {1, 3, 6, 2}).wrong, 4);
  EXPECT_EQ(verdict(reversed, {1, 2, 3, -4}, {2, 1, -1, -4}).outcome, Outcome::pass);
  EXPECT_EQ(verdict(reversed, {1, 2, 3, -4}, {2, 2, -1, -4}).wrong, 1);
  // An infinity reaches only the sums that it is part of: cumsum(x) - x would be NaN at its place.
  EXPECT_EQ(verdict(exclusive, {1, INFINITY, 3}, {0, 1, INFINITY}).outcome, Outcome::pass);
  EXPECT_EQ(verdict(exclusive, {1, INFINITY, 3}, {0, kNan, INFINITY}).wrong, 1);
  EXPECT_EQ(verdict(reversed, {1, kNan, 3}, {kNan, kNan, 3}).outcome, Outcome::pass);
  EXPECT_EQ(verdict(exclusive, {0x1p24, 1, 1}, {0, 0x1p24, 0x1p24}).outcome, Outcome::pass);
}

// The higher tiers find the same prefixes.
TEST(CumulativeSums, TiersAgree) {
  for (const std::string kind : {"", "_exclusive", "_reversed"}) {
    std::vector<double> x;
    for (int k = 0; k < 37; ++k) x.push_back(static_cast<double>(static_cast<float>(std::sin(k))));
    const Judged judged("f32", kAll, "cumsum" + kind + "(x, cols)",
                        "nan = \"propagate\"\nrange = \"safe\"", x);
    const Instance instance = judged.experiment.instance();
    for (const double off : {0.0, 1e-4}) {
      FakeRun run(instance);
      run.set("s", 0, f32_bits(judged.scale));
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const size_t k = kind == "_reversed" ? x.size() - 1 - i : i;
        if (kind != "_exclusive") sum += x[k];
        run.set("y", static_cast<int64_t>(k),
                f32_bits(static_cast<float>(sum + (k == 20 ? off : 0))));
        if (kind == "_exclusive") sum += x[k];
      }
      for (const Tier tier : {Tier::running_double, Tier::double_double, Tier::multiprecision}) {
        JudgeOptions options;
        options.first_tier = tier;
        EXPECT_EQ(judged.judge.judge(instance, run, options).wrong, off == 0 ? 0 : 1) << kind;
      }
    }
  }
}

}  // namespace
}  // namespace assay
