// Sums by index in f64: decided although their terms are known to a double alone, and judged by
// numbers where they leave double's range.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/oracles/fake_run.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::FakeRun;

constexpr double kLargest = std::numeric_limits<double>::max();

/// out[1] f64 += the formula of x[n] f64.
Contract contract_of(const std::string& term, const std::string& range) {
  return parse_contract(R"T(
name = "scatter"
source = { cuda = "row_sum.cu", entry = "scatter" }
sizes = { n = { min = 0, max = 100 } }
launch = { grid = ["n"], block = ["32"] }
args = [
  { name = "out", kind = "inout", dtype = "f64", shape = ["slots: 1"] },
  { name = "index", kind = "index", dtype = "i32", shape = ["n"], domain = "0..0" },
  { name = "x", kind = "input", dtype = "f64", shape = ["n"] },
]
[formula]
"out[slots = index]" = "add()T" +
                            term + R"T()"
[policy]
subnormals = "keep"
range = ")T" + range + "\"\n",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/s.toml");
}

struct Sum {
  Experiment experiment;
  Judge judge;
  Instance instance;

  Sum(const std::string& term, const std::vector<double>& x, double before = 0,
      const std::string& range = "safe")
      : experiment(with(contract_of(term, range), x, before)),
        judge(experiment.contract),
        instance(experiment.instance()) {}

  static Experiment with(const Contract& contract, const std::vector<double>& x, double before) {
    Experiment e(contract);
    const auto n = static_cast<int64_t>(x.size());
    e.the_case.sizes = {{"n", n}};
    e.put("x", {n}, DType::f64, x);
    e.put("index", {n}, DType::i32, std::vector<double>(x.size(), 0));
    e.put("out", {1}, DType::f64, {before});
    return e;
  }

  Outcome operator()(double got) const {
    FakeRun run(instance);
    run.set("out", 0, std::bit_cast<uint64_t>(got));
    return judge.judge(instance, run).outcome;
  }
};

double places(double x, int64_t k) { return std::bit_cast<double>(std::bit_cast<int64_t>(x) + k); }

// Each term errs by 1.5 ulp of exp, the sum by u more: every number near the total is decided,
// right next to it and wrong some places on.
TEST(ScatterF64, TermsThatNoDoubleHoldsAreDecided) {
  const Sum sum("exp(x)", {0.5, 10.5, -3.25});
  const double total = std::exp(0.5L) + std::exp(10.5L) + std::exp(-3.25L);
  bool was_right = false;
  for (int64_t k = -12; k <= 12; ++k) {
    const Outcome outcome = sum(places(total, k));
    EXPECT_TRUE(outcome == Outcome::pass || outcome == Outcome::mismatch) << k;
    if (k >= -1 && k <= 1) {
      EXPECT_EQ(outcome, Outcome::pass) << k;
    }
    if (k <= -9 || k >= 9) {
      EXPECT_EQ(outcome, Outcome::mismatch) << k;
    }
    was_right |= outcome == Outcome::pass;
  }
  EXPECT_TRUE(was_right);
  const Sum one("x * x", {1.0 / 3});  // a product, rounded or added as it is
  const double square = 1.0 / 9;
  for (int64_t k = -6; k <= 6; ++k) EXPECT_NE(one(places(square, k)), Outcome::undecided) << k;
  EXPECT_EQ(one((1.0 / 3) * (1.0 / 3)), Outcome::pass);
  EXPECT_EQ(one(places((1.0 / 3) * (1.0 / 3), 3)), Outcome::mismatch);
}

// Partial sums of both signs pass the largest number in one order or another; the total is finite.
TEST(ScatterF64, PartialSumsOverflowInSomeOrder) {
  const std::vector<double> terms = {kLargest, kLargest, -kLargest, -kLargest / 2};
  const double total = kLargest / 2;
  const Sum naive("x", terms, 0, "naive");
  EXPECT_EQ(naive(total), Outcome::pass);
  EXPECT_EQ(naive(INFINITY), Outcome::pass);
  EXPECT_EQ(naive(0), Outcome::mismatch);
  // Four additions (0 was there before) of 3.5 times the largest number, which is 2^53 - 1 places.
  EXPECT_EQ(naive(places(total, -35)), Outcome::mismatch);
  const Sum safe("x", terms);
  EXPECT_EQ(safe(total), Outcome::pass);
  EXPECT_EQ(safe(INFINITY), Outcome::mismatch);
  // Beyond double, below 0 in some order.
  const Sum beyond("x", {kLargest, kLargest, kLargest, kLargest, -kLargest, -kLargest}, 0, "naive");
  EXPECT_EQ(beyond(INFINITY), Outcome::pass);
  EXPECT_EQ(beyond(-INFINITY), Outcome::pass);
  EXPECT_EQ(beyond(NAN), Outcome::pass);
  EXPECT_EQ(beyond(1e300), Outcome::mismatch);
  const Sum sure("x", {kLargest, kLargest}, 0, "naive");
  EXPECT_EQ(sure(INFINITY), Outcome::pass);
  for (const double got : {-kLargest, 0.0, -double{INFINITY}, double{NAN}})
    EXPECT_EQ(sure(got), Outcome::mismatch) << got;
}

// An infinity among the terms is exact.
TEST(ScatterF64, InfiniteTermsDecide) {
  const Sum sum("x", {INFINITY, -1, 1e300}, 0, "naive");
  EXPECT_EQ(sum(INFINITY), Outcome::pass);
  for (const double got : {-double{INFINITY}, double{NAN}, kLargest})
    EXPECT_EQ(sum(got), Outcome::mismatch) << got;
}

}  // namespace
}  // namespace assay
