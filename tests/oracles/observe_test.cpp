// What an observer is shown beside each element: the exact value, found by a cheaper way than the
// last tier where one is as good.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::as_double;
using testing::Experiment;
using testing::FakeRun;
using testing::pair_contract;

constexpr double kMost = std::numeric_limits<double>::max();

/// Exact values of a formula of a at these numbers, of outputs that are all `got`.
std::vector<double> observed(const std::string& formula, const std::vector<float>& a, float got,
                             const std::string& type = "f32") {
  Experiment e(pair_contract(type, formula, "[policy]\nrange = \"naive\"\nnan = \"propagate\"\n"));
  const auto n = static_cast<int64_t>(a.size());
  e.the_case.sizes["n"] = n;
  const DType dtype = parse_dtype(type).value();
  for (int64_t k = 0; k < n; ++k) {
    const double x = as_double(a[static_cast<size_t>(k)]);
    e.put_bits("a", {n}, k, dtype, round_to_bits(dtype, x));
  }
  const Instance instance = e.instance();
  FakeRun run(instance);
  for (int64_t k = 0; k < n; ++k) run.set("y", k, round_to_bits(dtype, as_double(got)));
  std::vector<double> exact(a.size(), std::nan(""));
  JudgeOptions options;
  options.observer = [&](const Observation& o) { exact[static_cast<size_t>(o.logical)] = o.exact; };
  Judge(e.contract).judge(instance, run, options);
  return exact;
}

/// Numbers of both signs and many magnitudes, close together where a tail underflows.
std::vector<float> arguments() {
  std::vector<float> a;
  for (float x = 0.01f; x < 20; x *= 1.03f) a.insert(a.end(), {x, -x});
  for (float x = 20; x < 1e38f; x *= 97) a.insert(a.end(), {x, -x});
  return a;
}

void expect_alike(const std::string& formula, const std::string& written_out) {
  const std::vector<float> a = arguments();
  const std::vector<double> quick = observed(formula, a, 0);
  const std::vector<double> last_tier = observed(written_out, a, 0);
  int small = 0;
  for (size_t k = 0; k < a.size(); ++k) {
    // Each is within kObservedUlps.
    EXPECT_LE(std::fabs(quick[k] - last_tier[k]), 2 * kObservedUlps * ulp(DType::f32, last_tier[k]))
        << formula << " at " << a[k] << ": " << quick[k] << " and " << last_tier[k];
    small += last_tier[k] < 0 && last_tier[k] > -1e-8 ? 1 : 0;
  }
  EXPECT_GT(small, 10) << "the tail is among them";
  EXPECT_NE(quick, last_tier) << "the other form's value was taken";
}

TEST(Observe, AnEqualFormShowsTheDefinitionsExactValue) {
  expect_alike("gelu(a)", "0.5 * a * (1 + erf(a * 0.70710678118654752440))");
  expect_alike("gelu_tanh(a)",
               "0.5 * a * (1 + tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a)))");
}

TEST(Observe, WhatRoundsToInfinityIsBeyondTheTypeAsInTheLastTier) {
  // e^710 and more are beyond double: the last tier says the largest. 1 is asked of it.
  const std::vector<float> a{710.0f, 800.0f, 1e6f, 1e20f, 3e38f};
  EXPECT_EQ(observed("exp(a)", a, HUGE_VALF), std::vector<double>(a.size(), kMost));
  EXPECT_EQ(observed("exp(a)", a, 1), std::vector<double>(a.size(), kMost));
  EXPECT_EQ(observed("-exp(a)", a, -HUGE_VALF), std::vector<double>(a.size(), -kMost));
  EXPECT_EQ(observed("-exp(a)", a, HUGE_VALF), std::vector<double>(a.size(), -kMost));
  EXPECT_EQ(observed("exp(a)", a, HUGE_VALF, "bf16"), std::vector<double>(a.size(), kMost));
  // Within double nothing but its own value tells a double from infinity.
  const std::vector<double> f64 = observed("exp(a)", {709.5f}, HUGE_VALF, "f64");
  EXPECT_NEAR(f64[0], std::exp(709.5), std::exp(709.5) * 1e-12);
}

TEST(Observe, WhatDoubleHoldsIsItself) {
  const std::vector<double> exact = observed("exp(a)", {0, 1, 88, -100, 700}, HUGE_VALF);
  // Beyond the type doubles near them are enough, which the last tier would round correctly.
  std::vector<float> beyond;
  for (float x = 101; x < 700; x += 5) beyond.push_back(x);
  const std::vector<double> quick = observed("exp(a)", beyond, HUGE_VALF);
  const std::vector<double> last_tier = observed("exp(a)", beyond, 1);
  for (size_t k = 0; k < beyond.size(); ++k)
    EXPECT_NEAR(quick[k], last_tier[k], last_tier[k] * 0x1p-50) << beyond[k];
  EXPECT_NE(quick, last_tier);
  const double expected[] = {1, std::exp(1.0), std::exp(88.0), std::exp(-100.0), std::exp(700.0)};
  for (size_t k = 0; k < exact.size(); ++k)
    EXPECT_NEAR(exact[k], expected[k], expected[k] * 1e-13) << k;
}

}  // namespace
}  // namespace assay
