// Outputs written by index: what each writer gives, what nobody names, sums, and how far is valid.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;

/// out[slots, cols] (`kind`, `type`), index[n], x[n, cols] f32, w[n] i32, live[1] i32 output.
Contract contract_of(const std::string& kind, const std::string& type, const std::string& formula,
                     const std::string& more = "") {
  return parse_contract(R"(
name = "scatter"
source = { cuda = "row_sum.cu", entry = "scatter" }
sizes = { n = { min = 0, max = 100 }, slots = { min = 1, max = 100 }, cols = { min = 1, max = 9 } }
launch = { grid = ["n"], block = ["32"] }
args = [
  { name = "out", kind = ")" +
                            kind + R"(", dtype = ")" + type + R"(", shape = ["slots", "cols"] )" +
                            more + R"( },
  { name = "live", kind = "output", dtype = "i32", shape = [1] },
  { name = "index", kind = "index", dtype = "i32", shape = ["n"], domain = "-1..slots" },
  { name = "x", kind = "input", dtype = "f32", shape = ["n", "cols"] },
  { name = "w", kind = "input", dtype = "i32", shape = ["n"] },
]
[formula]
live = "2"
)" + formula + "\n",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/s.toml");
}

struct Scatter {
  Experiment experiment;
  Judge judge;
  int cols = 2;

  Scatter(const Contract& contract, const std::vector<double>& index, int64_t slots)
      : experiment(contract), judge(experiment.contract) {
    const auto n = static_cast<int64_t>(index.size());
    experiment.the_case.sizes = {{"n", n}, {"slots", slots}, {"cols", cols}};
    experiment.put("index", {n}, DType::i32, index);
    std::vector<double> x;
    std::vector<double> w;
    for (int64_t i = 0; i < n; ++i) {
      w.push_back(static_cast<double>(i + 1));
      for (int c = 0; c < cols; ++c) x.push_back(static_cast<double>(10 * i + c) + 0.5);
    }
    experiment.put("x", {n, cols}, DType::f32, x);
    experiment.put("w", {n}, DType::i32, w);
  }

  /// A run that left everything as it was, as far as the judge can see.
  FakeRun untouched(const Instance& instance) const {
    FakeRun run(instance);
    const Tensor& out = *instance.find("out");
    std::vector<uint8_t> bits(static_cast<size_t>(out.storage_bytes()));
    logical_values(instance, out, 0, out.elements(), bits.data());
    for (int64_t k = 0; k < out.elements(); ++k) {
      uint64_t element = 0;
      std::memcpy(&element, bits.data() + k * byte_size(out.dtype),
                  static_cast<size_t>(byte_size(out.dtype)));
      run.set("out", k, element);
      run.unwrite("out", k);
    }
    run.set("live", 0, 2);
    return run;
  }
};

constexpr const char* kMove = "\"out[slots = index]\" = \"x\"";

// e^89 overflows in f32, a third of it does not: that third or infinity, and nothing between.
TEST(Scatter, WhatFollowsFromAnOverflow) {
  const Scatter scatter(contract_of("output", "f32",
                                    "\"out[slots = index]\" = \"exp(x * 178) / 3\"\n"
                                    "[policy]\nrange = \"naive\""),
                        {0}, 1);
  const Instance instance = scatter.experiment.instance();
  const auto judged = [&](float first) {
    FakeRun run = scatter.untouched(instance);
    for (const int64_t k : {0, 1}) {
      run.set("out", k, f32_bits(k == 0 ? first : INFINITY));
      run.write("out", k);
    }
    return scatter.judge.judge(instance, run);
  };
  const auto exact = static_cast<float>(std::exp(89.0) / 3);
  for (const float got : {exact, INFINITY}) EXPECT_EQ(judged(got).outcome, Outcome::pass) << got;
  EXPECT_EQ(judged(INFINITY).widened, 1);
  for (const float got : {exact * 1.01f, 3e38f, 1e38f, -INFINITY, NAN})
    EXPECT_EQ(judged(got).wrong, 1) << got;
}

// NaN of infinities that meet, where the exact value is 0: no interval holds it.
TEST(Scatter, NanFollowsFromAnOverflow) {
  const std::string line = "\"out[slots = index]\" = \"max(exp(x * 178) - exp(x * 178), 0)\"\n";
  for (const char* range : {"naive", "safe"}) {
    const Scatter scatter(
        contract_of("output", "f32",
                    line + "[policy]\nrange = \"" + range + "\"\nnan = \"propagate\""),
        {0}, 1);
    const Instance instance = scatter.experiment.instance();
    const auto judged = [&](float got) {
      FakeRun run = scatter.untouched(instance);
      for (const int64_t k : {0, 1}) {
        run.set("out", k, f32_bits(k == 0 ? got : 0.0f));
        run.write("out", k);
      }
      return scatter.judge.judge(instance, run);
    };
    const bool naive = std::string(range) == "naive";
    EXPECT_EQ(judged(0).outcome, Outcome::pass) << range;
    EXPECT_EQ(judged(NAN).wrong, naive ? 0 : 1) << range;
    for (const float got : {3e38f, -INFINITY})
      EXPECT_EQ(judged(got).wrong, 1) << range << " " << got;
  }
}

// A row of -inf: the definition's value is NaN, its limit -inf.
TEST(Scatter, LimitsOfADefinitionAreAccepted) {
  Scatter scatter(
      contract_of("output", "f32",
                  "\"out[slots = index]\" = \"logsumexp(where(w == 1, -inf, 0), cols)\"\n"
                  "[policy]\nrange = \"safe\""),
      {1, 0}, 2);
  const Instance instance = scatter.experiment.instance();
  const auto judged = [&](float first) {
    FakeRun run = scatter.untouched(instance);
    const float other = std::log(2.0f);
    for (const int64_t k : {0, 1, 2, 3}) {
      run.set("out", k, f32_bits(k < 2 ? other : first));
      run.write("out", k);
    }
    return scatter.judge.judge(instance, run);
  };
  for (const float got : {-INFINITY, NAN}) EXPECT_EQ(judged(got).outcome, Outcome::pass) << got;
  for (const float got : {0.0f, INFINITY, -3e38f}) EXPECT_EQ(judged(got).wrong, 2) << got;
}

TEST(Scatter, NamedElementsHoldTheirWriterAndOthersWhatTheyHeld) {
  const Scatter scatter(contract_of("inout", "f32", kMove), {3, -1, 0}, 5);
  const Instance instance = scatter.experiment.instance();
  FakeRun run = scatter.untouched(instance);
  const auto put = [&](FakeRun& to, int64_t k, float v) {
    to.set("out", k, f32_bits(v));
    to.write("out", k);
  };
  put(run, 6, 0.5f);
  put(run, 7, 1.5f);
  put(run, 0, 20.5f);
  put(run, 1, 21.5f);
  EXPECT_EQ(scatter.judge.judge(instance, run).outcome, Outcome::pass);
  EXPECT_EQ(scatter.judge.judge(instance, run).judged, 4 + 1);

  FakeRun wrong = run;  // the writer's element, but of the padded token
  put(wrong, 7, 11.5f);
  Verdict v = scatter.judge.judge(instance, wrong);
  EXPECT_EQ(v.rule, "R17");
  EXPECT_EQ(v.wrong_elements, (std::vector<int64_t>{7}));
  EXPECT_EQ(scatter.judge.explain(instance, wrong, "out", 7).rule, "R17");

  FakeRun stray = run;  // nobody names slot 4
  put(stray, 9, 1.0f);
  v = scatter.judge.judge(instance, stray);
  EXPECT_EQ(v.rule, "R18");
  EXPECT_EQ(v.wrong, 1);
  EXPECT_EQ(v.message, "out: 1 element stored to that had to keep their bits");
  EXPECT_NE(scatter.judge.explain(instance, stray, "out", 9).error_text.find("no index names it"),
            std::string::npos);

  put(stray, 7, 11.5f);
  v = scatter.judge.judge(instance, stray);
  EXPECT_EQ(v.message, "out: 1 of 4 elements wrong, 1 stored to that had to keep their bits");

  FakeRun missing = run;  // never stored to: it still holds what it held
  missing.set("out", 1, scatter.untouched(instance).get("out", 1));
  missing.unwrite("out", 1);
  v = scatter.judge.judge(instance, missing);
  EXPECT_EQ(v.rule, "R17");
  EXPECT_EQ(v.unwritten, 0);
  EXPECT_EQ(v.wrong_elements, (std::vector<int64_t>{1}));
  FakeRun same = run;  // its value was there already
  same.unwrite("out", 1);
  EXPECT_EQ(scatter.judge.judge(instance, same).outcome, Outcome::pass);
}

TEST(Scatter, NamedElementsOfAnOutputAreStored) {
  const Scatter scatter(contract_of("output", "f32", kMove), {0, 1}, 2);
  const Instance instance = scatter.experiment.instance();
  FakeRun run(instance);
  run.set("live", 0, 2);
  for (int k = 0; k < 4; ++k)
    run.set("out", k, f32_bits(static_cast<float>(10 * (k / 2) + k % 2) + 0.5f));
  EXPECT_EQ(scatter.judge.judge(instance, run).outcome, Outcome::pass);
  run.unwrite("out", 1);
  const Verdict v = scatter.judge.judge(instance, run);
  EXPECT_EQ(v.rule, "R1");
  EXPECT_EQ(v.unwritten, 1);
  EXPECT_EQ(v.message, "out: 1 element unwritten");
}

TEST(Scatter, OfSeveralWritersAnyMayWin) {
  const Scatter scatter(contract_of("output", "f32", kMove), {1, 1, 0}, 2);
  const Instance instance = scatter.experiment.instance();
  for (const float winner : {0.0f, 10.0f, 20.0f}) {
    FakeRun run(instance);
    run.set("live", 0, 2);
    for (int c = 0; c < 2; ++c) {
      run.set("out", c, f32_bits(20.5f + static_cast<float>(c)));
      run.set("out", 2 + c, f32_bits(winner + 0.5f + static_cast<float>(c)));
    }
    const Verdict v = scatter.judge.judge(instance, run);
    EXPECT_EQ(v.outcome, winner == 20.0f ? Outcome::mismatch : Outcome::pass) << winner;
    EXPECT_EQ(v.rule, winner == 20.0f ? "R17" : "");
  }
}

TEST(Scatter, IntegerSumsAreExact) {
  const Scatter scatter(contract_of("output", "i32", "\"out[slots = index]\" = \"add(w)\""),
                        {1, 1, 3, -1}, 3);  // 3 lies outside
  const Instance instance = scatter.experiment.instance();
  FakeRun run(instance);
  run.set("live", 0, 2);
  for (int c = 0; c < 2; ++c) run.set("out", 2 + c, 3);
  EXPECT_EQ(scatter.judge.judge(instance, run).outcome, Outcome::pass);
  FakeRun lost = run;  // one of two writers was lost
  lost.set("out", 3, 2);
  const Verdict v = scatter.judge.judge(instance, lost);
  EXPECT_EQ(v.rule, "R19");
  EXPECT_EQ(v.wrong_elements, (std::vector<int64_t>{3}));
  EXPECT_EQ(scatter.judge.explain(instance, lost, "out", 3).error_text, "off by -1");
  FakeRun uncleared = run;  // a bin that nobody names must be 0
  uncleared.set("out", 0, 7);
  EXPECT_EQ(scatter.judge.judge(instance, uncleared).rule, "R19");
  FakeRun unwritten = run;
  unwritten.unwrite("out", 4);
  EXPECT_EQ(scatter.judge.judge(instance, unwritten).rule, "R1");
}

// w / 3 * 3 in f32 is w or next to it, so that w = 1 belongs to slot 0 or 1 and w = 2 to 1 or 2.
TEST(Scatter, AnIndexThatMayGoEitherWayPutsItsSlotsInDoubt) {
  const auto judged_as = [](const std::string& kind, const std::string& value,
                            const std::vector<uint64_t>& slots) {
    const Scatter scatter(contract_of(kind, "i32",
                                      "i = \"cast(floor(w * 0.333333343 * 3.0), i32)\"\n"
                                      "\"out[slots = i]\" = \"" +
                                          value + "\""),
                          {0, 0}, 4);
    const Instance instance = scatter.experiment.instance();
    FakeRun run = kind == "inout" ? scatter.untouched(instance) : FakeRun(instance);
    run.set("live", 0, 2);
    const auto elements = kind == "inout" ? int64_t{6} : int64_t{8};
    for (int64_t k = 0; k < elements; ++k) run.set("out", k, slots[static_cast<size_t>(k / 2)]);
    return scatter.judge.judge(instance, run);
  };
  const auto judged = [&](const std::vector<uint64_t>& slots) {
    return judged_as("output", "add(w)", slots);
  };
  // What one of several writers stored: each element counts once.
  EXPECT_EQ(judged_as("inout", "w", {1, 2, 2}).outcome, Outcome::pass);
  EXPECT_EQ(judged_as("inout", "w", {1, 2, 2}).no_bound, 6);
  EXPECT_EQ(judged({0, 1, 2, 0}).outcome, Outcome::pass);
  EXPECT_EQ(judged({1, 2, 0, 0}).outcome, Outcome::pass);
  EXPECT_EQ(judged({1, 2, 0, 0}).no_bound, 6);
  EXPECT_EQ(judged({0, 1, 2, 1}).rule, "R19") << "no index reaches slot 3";
}

TEST(Scatter, RealSumsAllowAnyOrderAndNoMore) {
  Scatter scatter(contract_of("inout", "f32", "\"out[slots = index]\" = \"add(x)\""), {0, 0, 0}, 1);
  auto& overrides = scatter.experiment.the_case.overrides;
  std::erase_if(overrides, [](const PointOverride& p) { return p.operand == "x"; });
  // Column 0: 1e8 - 1e8 + 1 + 0.25 in some order; column 1 is exact in every order.
  scatter.experiment.put("x", {3, 2}, DType::f32, {1e8, 1, -1e8, 2, 1, 4});
  scatter.experiment.put("out", {1, 2}, DType::f32, {0.25, 8});
  const Instance instance = scatter.experiment.instance();
  const auto outcome = [&](float first, float second) {
    FakeRun run(instance);
    run.set("live", 0, 2);
    run.set("out", 0, f32_bits(first));
    run.set("out", 1, f32_bits(second));
    return scatter.judge.judge(instance, run).outcome;
  };
  EXPECT_EQ(outcome(1.25f, 15), Outcome::pass);
  EXPECT_EQ(outcome(0.0f, 15), Outcome::pass);        // 0.25 and 1 were absorbed
  EXPECT_EQ(outcome(100.0f, 15), Outcome::mismatch);  // three additions lose at most 36
  EXPECT_EQ(outcome(1.25f, 14), Outcome::mismatch);
  EXPECT_EQ(outcome(1.25f, 15.000001f), Outcome::mismatch);
}

// What a sum or a writer's value uses of its allowance is measured, and whether the allowance is
// wide.
TEST(Scatter, SharesAndWeakElementsAreCounted) {
  const std::string kept = "[policy]\nnan = \"propagate\"\nsubnormals = \"keep\"\nrange = \"safe\"";
  const auto judged = [&](const std::string& formula, const std::vector<double>& index,
                          const std::vector<double>& x, const std::vector<float>& got) {
    Scatter scatter(contract_of("output", "f32", formula + "\n" + kept), index, 1);
    scatter.experiment.the_case.sizes["cols"] = static_cast<int64_t>(got.size());
    std::erase_if(scatter.experiment.the_case.overrides,
                  [](const PointOverride& p) { return p.operand == "x"; });
    scatter.experiment.put("x", {static_cast<int64_t>(index.size()), std::ssize(got)}, DType::f32,
                           x);
    const Instance instance = scatter.experiment.instance();
    FakeRun run = scatter.untouched(instance);
    for (size_t k = 0; k < got.size(); ++k) {
      run.set("out", static_cast<int64_t>(k), f32_bits(got[k]));
      run.write("out", static_cast<int64_t>(k));
    }
    return scatter.judge.judge(instance, run);
  };
  const std::string add = "\"out[slots = index]\" = \"add(x)\"";
  // 1 + 2^-24 + 2^-24: both are lost. Of these 2 u one is the output's own rounding.
  Verdict v = judged(add, {0, 0, 0}, {1, 0x1p-24, 0x1p-24}, {1});
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_NEAR(v.share, 0.5, 1e-6);
  EXPECT_EQ(v.weak, 0);
  // 1e8 - 1e8 + 0.1: adding errs by up to 24, the sum is 0.1.
  v = judged(add, {0, 0, 0}, {1e8, -1e8, 0.1f}, {0});
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_EQ(v.weak, 1);
  EXPECT_EQ(v.share, 0) << "weak elements do not count";
  // A writer's own value: 2 ulp of exp, all used up and half of it.
  const auto exact = static_cast<float>(std::exp(1.5));
  const float off = std::nextafter(std::nextafter(exact, 9.0f), 9.0f);
  v = judged("\"out[slots = index]\" = \"exp(x)\"", {0}, {1.5, 1.5}, {exact, off});
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_GT(v.share, 0.4);
  EXPECT_LE(v.share, 1);
}

/// One element, `x` by `formula`, of what an inout operand held as `before`; tells what got is
/// worth.
struct OneElement {
  Scatter scatter;

  OneElement(const std::string& formula, const std::string& policy, double before,
             const std::vector<double>& x)
      : scatter(contract_of("inout", "f32", formula + "\n[policy]\nnan = \"propagate\"\n" + policy),
                std::vector<double>(x.size(), 0), 1) {
    Experiment& e = scatter.experiment;
    std::erase_if(e.the_case.overrides, [](const PointOverride& p) { return p.operand == "x"; });
    e.the_case.sizes["cols"] = 1;
    e.put("x", {static_cast<int64_t>(x.size()), 1}, DType::f32, x);
    e.put("out", {1, 1}, DType::f32, {before});
  }

  Verdict operator()(float got) const {
    const Instance instance = scatter.experiment.instance();
    FakeRun run(instance);
    run.set("live", 0, 2);
    run.set("out", 0, f32_bits(got));
    return scatter.judge.judge(instance, run);
  }
};

bool asks(const Verdict& v, const std::string& policy) {
  return std::any_of(v.missing_policies.begin(), v.missing_policies.end(),
                     [&](const std::string& line) { return line.starts_with(policy); });
}

TEST(Scatter, FlushedSumsAreWidenedAndAskedForWithoutAPolicy) {
  const std::string add = "\"out[slots = index]\" = \"add(x)\"";
  const std::string safe = "range = \"safe\"\n";
  const OneElement missing(add, safe, 0, {0x1p-127, 0x1.8p-127});
  const Verdict flushed = missing(0);
  EXPECT_EQ(flushed.outcome, Outcome::pass);
  EXPECT_EQ(flushed.widened, 1);
  EXPECT_TRUE(asks(flushed, "subnormals"));
  const Verdict kept = missing(0x1.4p-126f);
  EXPECT_EQ(kept.outcome, Outcome::pass);
  EXPECT_FALSE(asks(kept, "subnormals"));
  EXPECT_EQ(missing(0x1p-122f).outcome, Outcome::mismatch);  // beyond three flushed terms
  EXPECT_EQ(missing(0x1p-128f).outcome, Outcome::mismatch);  // subnormal: nothing was flushed
  EXPECT_EQ(OneElement(add, safe + "subnormals = \"keep\"", 0, {0x1p-127, 0x1.8p-127})(0).outcome,
            Outcome::mismatch);
  // What it held is flushed too, and the policy that says so is not asked for.
  const OneElement stated(add, safe + "subnormals = \"maybe\"", 0x1p-127, {0x1p-127});
  EXPECT_EQ(stated(0).outcome, Outcome::pass);
  EXPECT_FALSE(asks(stated(0), "subnormals"));
}

// Positive terms alone may pass the largest number upwards, and no other way.
TEST(Scatter, OverflowHasTheSignOfTheTerms) {
  const std::string add = "\"out[slots = index]\" = \"add(x)\"";
  const std::string naive = "range = \"naive\"\nsubnormals = \"keep\"\n";
  const float big = 3e38f;
  const auto accepts = [&](const std::vector<double>& x, const std::vector<float>& right,
                           const std::vector<float>& wrong, const std::string& policy) {
    const OneElement one(add, policy, 0, x);
    for (const float got : right) EXPECT_EQ(one(got).outcome, Outcome::pass) << got;
    for (const float got : wrong) EXPECT_EQ(one(got).outcome, Outcome::mismatch) << got;
  };
  accepts({big, big, -1}, {INFINITY}, {-INFINITY, NAN, 7}, naive);
  accepts({big, big, -big}, {big, INFINITY}, {-INFINITY, NAN, 7}, naive);
  accepts({-big, -big, big}, {-big, -INFINITY}, {INFINITY, NAN}, naive);
  accepts({big, big, -big, -big}, {0, INFINITY, -INFINITY, NAN}, {1e38f}, naive);
  accepts({INFINITY, -big}, {INFINITY}, {-INFINITY, NAN}, naive);
  accepts({INFINITY, -big, -big}, {INFINITY, NAN}, {-INFINITY}, naive);
  accepts({big, big, -big}, {big}, {INFINITY, NAN}, "range = \"safe\"\nsubnormals = \"keep\"\n");
}

TEST(Scatter, WritersAreReadAsThePoliciesLeaveOpen) {
  const std::string silu = "\"out[slots = index]\" = \"x / (1 + exp(-x))\"";
  // exp(100) is no f32: -100 / inf.
  EXPECT_EQ(OneElement(silu, "range = \"naive\"\nsubnormals = \"keep\"", 7, {-100})(-0.0f).outcome,
            Outcome::pass);
  EXPECT_EQ(OneElement(silu, "range = \"safe\"\nsubnormals = \"keep\"", 7, {-100})(-0.0f).rule,
            "R17");
  const OneElement half("\"out[slots = index]\" = \"x * 0.5\"", "range = \"safe\"", 7,
                        {0x1.8p-126});
  EXPECT_EQ(half(0).outcome, Outcome::pass);
  EXPECT_EQ(half(0).widened, 1);
  EXPECT_TRUE(asks(half(0), "subnormals"));
  EXPECT_EQ(half(0x1.1p-125f).rule, "R17");
}

TEST(Scatter, ValidIsReadFromWhatTheKernelWrote) {
  const Scatter scatter(
      contract_of("output", "i32", "out = \"slots\"", ", valid = \"[0:live[0], :]\""), {0}, 4);
  const Instance instance = scatter.experiment.instance();
  FakeRun run = scatter.untouched(instance);
  for (int64_t k = 0; k < 4; ++k) {
    run.set("out", k, static_cast<uint64_t>(k / 2));
    run.write("out", k);
  }
  EXPECT_EQ(scatter.judge.judge(instance, run).outcome, Outcome::pass);
  FakeRun past = run;  // right, had it been asked for
  past.set("out", 4, 2);
  past.write("out", 4);
  const Verdict v = scatter.judge.judge(instance, past);
  EXPECT_EQ(v.rule, "R18");
  EXPECT_EQ(v.wrong_elements, (std::vector<int64_t>{4}));
  EXPECT_EQ(scatter.judge.explain(instance, past, "out", 4).rule, "R18");
  EXPECT_EQ(scatter.judge.explain(instance, past, "out", 3).rule, "R3");
  FakeRun missing = run;
  missing.unwrite("out", 3);
  EXPECT_EQ(scatter.judge.judge(instance, missing).rule, "R1");
}

TEST(Scatter, WhatTheFormulaCannotMeanIsRefused) {
  const auto message = [](const std::string& formula, const std::string& more = "") -> std::string {
    try {
      const Judge judge(contract_of("inout", "f32", formula, more));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return "accepted";
  };
  EXPECT_NE(message("\"out[slots = w[n = 0]]\" = \"x\"")
                .find("varies over 'n', over which no index on the left varies"),
            std::string::npos);
  EXPECT_NE(message(kMove, ", valid = \"[0:1, :]\"").find("'valid' of an output without a plain"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
