// What an operation leaves holds for every exact value within the argument's error, not for v
// alone: the higher tiers apply the same deviations to whichever of them it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "oracles/rows.hpp"
#include "tests/oracles/wide_cases.hpp"

namespace assay {
namespace {

using Real =
    long double;  // 64 bits and its range: differences of doubles below are exact or nearly

/// v, and how far from it the exact value and a correct kernel's may be.
struct Box {
  double v = 0;
  double e = 0;
  double lo = 0;
  double hi = 0;
};

class Boxes {
 public:
  double unit() { return static_cast<double>(rng_() >> 11) * 0x1p-53; }
  int below(int n) { return static_cast<int>(rng_() % static_cast<uint64_t>(n)); }
  /// Errors and deviations of all sizes beside v, 0 among them.
  Box box() {
    const auto size = [&] { return below(3) == 0 ? 0 : std::ldexp(1 + unit(), -below(30)); };
    return {(below(2) == 0 ? 1 : -1) * std::ldexp(1 + unit(), -below(8)), size(), size(), size()};
  }
  /// One of the values in [low, high]: an end, or between.
  Real between(Real low, Real high) {
    const int which = below(4);
    return which == 0 ? low : which == 1 ? high : low + (high - low) * static_cast<Real>(unit());
  }
  Real exact(const Box& b) { return between(Real(b.v) - b.e, Real(b.v) + b.e); }
  Real computed(const Box& b, Real x) { return between(x - b.lo, x + b.hi); }

 private:
  std::mt19937_64 rng_{7};
};

void expect_within(const Box& out, Real exact, Real computed, const char* what) {
  if (std::isnan(out.lo) || std::isnan(out.hi)) return;
  const Real slack = 0x1p-60L * (1 + std::fabs(exact) + std::fabs(computed));
  EXPECT_LE(std::fabs(exact - out.v), out.e + slack) << what;
  EXPECT_LE(exact - computed, out.lo + slack) << what;
  EXPECT_LE(computed - exact, out.hi + slack) << what;
}

rows::In in(const Box& b) { return {&b.v, &b.e, &b.lo, &b.hi}; }
rows::Out out(Box& b) { return {&b.v, &b.e, &b.lo, &b.hi}; }

TEST(InexactArguments, OperationsOfTwo) {
  const rows::Kernels& k = rows::kernels();
  Boxes boxes;
  for (int trial = 0; trial < 40000; ++trial) {
    const Box a = boxes.box();
    Box b = boxes.box();
    if (trial % 2 == 0) b.v = a.v + std::ldexp(boxes.unit() - 0.5, -boxes.below(20));
    Box sum, product, quotient, maximum;
    k.add(1, in(a), in(b), out(sum));
    k.mul(1, in(a), in(b), false, out(product));
    k.div(1, in(a), in(b), out(quotient));
    k.max2(1, in(a), in(b), rows::NanMode::propagate, out(maximum));
    for (int sample = 0; sample < 8; ++sample) {
      const Real x = boxes.exact(a);
      const Real y = boxes.exact(b);
      const Real p = boxes.computed(a, x);
      const Real q = boxes.computed(b, y);
      expect_within(sum, x + y, p + q, "add");
      expect_within(product, x * y, p * q, "mul");
      if (y != 0 && q != 0) expect_within(quotient, x / y, p / q, "div");
      expect_within(maximum, std::max(x, y), std::max(p, q), "max2");
    }
  }
}

TEST(InexactArguments, Roots) {
  const rows::Kernels& k = rows::kernels();
  Boxes boxes;
  int bounded = 0;
  for (int trial = 0; trial < 40000; ++trial) {
    Box a = boxes.box();
    a.v = std::fabs(a.v);
    const double least = boxes.below(3) == 0 ? 0 : boxes.below(2) == 0 ? -HUGE_VAL : a.v / 4;
    Box root, reciprocal, size;
    k.sqrt(1, in(a), least, out(root));
    k.rsqrt(1, in(a), least, out(reciprocal));
    k.abs(1, in(a), out(size));
    for (int sample = 0; sample < 8; ++sample) {
      const Real x = std::max(boxes.exact(a), Real(least));
      const Real p = std::max(boxes.computed(a, x), Real(least));
      expect_within(size, std::fabs(x), std::fabs(p), "abs");
      if (!(x > 0 && p > 0)) continue;
      bounded += std::isfinite(root.hi) && std::isfinite(reciprocal.hi);
      expect_within(root, std::sqrt(x), std::sqrt(p), "sqrt");
      expect_within(reciprocal, 1 / std::sqrt(x), 1 / std::sqrt(p), "rsqrt");
    }
  }
  EXPECT_GT(bounded, 50000);
}

TEST(InexactArguments, ExtremaOfRows) {
  const rows::Kernels& k = rows::kernels();
  Boxes boxes;
  for (int trial = 0; trial < 20000; ++trial) {
    const int n = 1 + boxes.below(12);
    std::vector<Box> row;
    std::vector<double> v, e, lo, hi;
    for (int j = 0; j < n; ++j) {
      row.push_back(boxes.box());
      v.push_back(row.back().v);
      e.push_back(row.back().e);
      lo.push_back(row.back().lo);
      hi.push_back(row.back().hi);
    }
    const double sign = trial % 2 == 0 ? 1 : -1;
    const bool errs = trial % 3 != 0;
    const rows::RowMax m =
        k.max(n, v.data(), errs ? e.data() : nullptr, lo.data(), hi.data(), sign);
    for (int sample = 0; sample < 8; ++sample) {
      Real exact = -HUGE_VALL;
      Real computed = -HUGE_VALL;
      for (Box b : row) {
        if (!errs) b.e = 0;
        const Real x = boxes.exact(b);
        exact = std::max(exact, sign * x);
        computed = std::max(computed, sign * boxes.computed(b, x));
      }
      expect_within({m.v, m.e, m.lo, m.hi}, exact, computed, "row");
    }
  }
}

/// The errors and deviations of what surely loses are none of the maximum's.
TEST(InexactArguments, WhatLosesAddsNothing) {
  const rows::Kernels& k = rows::kernels();
  const Box loser{-1e20, 1e3, 1e13, 1e13};
  const Box zero;
  Box m{1, 1, 1, 1};
  for (const bool first : {true, false}) {
    k.max2(1, in(first ? loser : zero), in(first ? zero : loser), rows::NanMode::ignore, out(m));
    for (const double none : {m.v, m.e, m.lo, m.hi}) EXPECT_EQ(none, 0);
  }
  const double v[] = {-1e20, 0.5, -3}, e[] = {1e3, 0, 0x1p-30}, off[] = {1e13, 0, 0x1p-20};
  const rows::RowMax row = k.max(3, v, e, off, off, 1);
  EXPECT_EQ(row.v, 0.5);
  for (const double none : {row.e, row.lo, row.hi}) EXPECT_EQ(none, 0);
  // One that may win by a little counts by that little alone.
  const Box near{-1, 0, 1.25, 1.25};
  k.max2(1, in(near), in(zero), rows::NanMode::ignore, out(m));
  EXPECT_NEAR(m.hi, 0.25, 1e-12);
  EXPECT_EQ(m.lo, 0);
}

// --- kernels in double, whose arguments cancel: the first tier knows these no better than they do
// ---

Contract determinants(const std::string& formula) {
  std::string args = "{ name = \"y\", kind = \"output\", dtype = \"f64\", shape = [\"n\"] },\n";
  for (const char* name : {"a", "b", "c", "d"})
    args += std::string("{ name = \"") + name +
            "\", kind = \"input\", dtype = \"f64\", shape = [\"n\"] },\n";
  return parse_contract(
      "name = \"det\"\nsource = { cuda = \"vector_add.cu\", entry = \"det\" }\n"
      "sizes = { n = { min = 0, max = 100000 } }\n"
      "launch = { grid = [\"ceil_div(n, 32)\"], block = [\"32\"] }\nargs = [\n" +
          args + "]\n[formula]\nt = \"a * d - b * c\"\ny = \"" + formula + "\"\n" + testing::kSafe,
      std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/det.toml");
}

/// Of t = a d - b c, about `scale` times the last place of a d; both with and without fused
/// operations.
template <typename Function>
void expect_sound(const std::string& formula, Function function, double least_bounded = 0.5) {
  const Contract contract = determinants(formula);
  const Judge judge(contract);
  std::mt19937_64 rng(3);
  const auto unit = [&] { return 1 + static_cast<double>(rng() >> 11) * 0x1p-53; };
  constexpr int64_t n = 300;
  testing::Experiment e(contract);
  e.the_case.sizes["n"] = n;
  std::vector<double> a, b, c, d;
  for (int64_t k = 0; k < n; ++k) {
    a.push_back(unit());
    b.push_back(unit());
    d.push_back(unit());
    const double same = a.back() * d.back() / b.back();
    const double last = static_cast<double>(rng() % 16) - 8;
    c.push_back(k % 5 == 0 ? unit() : same * (1 + last * 0x1p-52));
  }
  e.put("a", {n}, DType::f64, a);
  e.put("b", {n}, DType::f64, b);
  e.put("c", {n}, DType::f64, c);
  e.put("d", {n}, DType::f64, d);
  const Instance instance = e.instance();
  for (int fused = 0; fused < 3; ++fused) {
    testing::FakeRun run(instance);
    for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
      const double ad = a[k] * d[k];
      const double bc = b[k] * c[k];
      const double t = fused == 0   ? ad - bc
                       : fused == 1 ? std::fma(a[k], d[k], -bc)
                                    : std::fma(-b[k], c[k], ad);
      run.set("y", static_cast<int64_t>(k), round_to_bits(DType::f64, function(t)));
    }
    const Verdict v = judge.judge(instance, run);
    EXPECT_EQ(v.wrong + v.undecided, 0) << formula << " " << fused << " " << testing::told(v);
    EXPECT_GE(static_cast<double>(v.judged - v.no_bound), least_bounded * n) << formula;
    // Not so wide that all would pass.
    for (int64_t k = 0; k < n; k += 5) run.set("y", k, round_to_bits(DType::f64, 1e30));
    EXPECT_EQ(judge.judge(instance, run).wrong, n / 5) << formula;
  }
}

TEST(InexactArguments, FunctionsOfDifferences) {
  expect_sound("sqrt(abs(t))", [](double t) { return std::sqrt(std::fabs(t)); });
  expect_sound(
      "rsqrt(abs(t))", [](double t) { return 1 / std::sqrt(std::fabs(t)); }, 0.3);
  expect_sound("cbrt(abs(t))", [](double t) { return std::cbrt(std::fabs(t)); });
  expect_sound("cbrt(t)", [](double t) { return std::cbrt(t); });
  expect_sound(
      "log(abs(t))", [](double t) { return std::log(std::fabs(t)); }, 0.3);
  expect_sound("log1p(abs(t) * 1e16)", [](double t) { return std::log1p(std::fabs(t) * 1e16); });
  expect_sound("tanh(t * 1e15)", [](double t) { return std::tanh(t * 1e15); });
  expect_sound("atan(t * 1e16)", [](double t) { return std::atan(t * 1e16); });
  expect_sound("erf(t * 1e15)", [](double t) { return std::erf(t * 1e15); });
  expect_sound("erfc(t * 1e15)", [](double t) { return std::erfc(t * 1e15); });
  expect_sound("asinh(t * 1e16)", [](double t) { return std::asinh(t * 1e16); });
  expect_sound("sinh(min(max(t * 1e15, -9), 9))",
               [](double t) { return std::sinh(std::fmin(std::fmax(t * 1e15, -9), 9)); });
  expect_sound("sin(t * 1e15)", [](double t) { return std::sin(t * 1e15); });
  expect_sound("cos(t * 1e16)", [](double t) { return std::cos(t * 1e16); });
  expect_sound("exp2(min(t * 1e15, 9))",
               [](double t) { return std::exp2(std::fmin(t * 1e15, 9)); });
  expect_sound("max(t, 0)", [](double t) { return std::fmax(t, 0); });
}

TEST(InexactArguments, StepsOfDifferences) {
  expect_sound("floor(t * 1e15)", [](double t) { return std::floor(t * 1e15); });
  expect_sound("ceil(t * 1e16)", [](double t) { return std::ceil(t * 1e16); });
  expect_sound("trunc(t * 1e15)", [](double t) { return std::trunc(t * 1e15); });
  expect_sound("rint(t * 1e15)", [](double t) { return std::nearbyint(t * 1e15); });
  expect_sound("rint(t * 3) * 0.7 + t", [](double t) { return std::nearbyint(t * 3) * 0.7 + t; });
}

}  // namespace
}  // namespace assay
