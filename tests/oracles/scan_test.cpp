// Cumulative sums: each prefix is a sum of its own terms, and a start joins all of them (rules R7,
// R11; docs/judging.md, "Cumulative sums").
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::told;

using Floats = std::vector<float>;

Contract scan_contract(const std::string& formula, const std::string& range = "safe",
                       const std::string& more = "") {
  return parse_contract(R"toml(
name = "scan"
source = { cuda = "row_sum.cu", entry = "scan" }
sizes = { rows = { min = 0, max = 100 }, cols = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows", "cols"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "start", kind = "input", dtype = "f32", shape = ["rows"] },
]
[formula]
y = ")toml" + formula + "\"\n[policy]\nnan = \"propagate\"\nsubnormals = \"keep\"\nrange = \"" +
                            range + "\"\n" + more,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/scan.toml");
}

Verdict judged(const Contract& contract, const Floats& x, float start, const Floats& got) {
  Experiment e(contract);
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes = {{"rows", 1}, {"cols", n}};
  e.put("x", {1, n}, DType::f32, std::vector<double>(x.begin(), x.end()));
  e.put_bits("start", {1}, 0, DType::f32, f32_bits(start));
  const Instance instance = e.instance();
  FakeRun run(instance);
  for (int64_t k = 0; k < n; ++k) run.set("y", k, f32_bits(got[static_cast<size_t>(k)]));
  return Judge(e.contract).judge(instance, run);
}

/// Where a kernel adds the start.
enum class Begin { accumulator, carry, last };

/// Inclusive sums as kernels make them: one after another, or by a block of 32 lanes with a carry
/// from tile to tile.
Floats scanned(const Floats& x, float start, Begin begin) {
  Floats y;
  if (begin == Begin::accumulator) {
    float sum = start;
    for (const float v : x) y.push_back(sum += v);
    return y;
  }
  float carry = begin == Begin::carry ? start : 0;
  for (size_t first = 0; first < x.size(); first += 32) {
    const size_t n = std::min<size_t>(32, x.size() - first);
    Floats lane(x.begin() + static_cast<int64_t>(first),
                x.begin() + static_cast<int64_t>(first + n));
    for (size_t step = 1; step < n; step *= 2)
      for (size_t k = n; k-- > step;) lane[k] += lane[k - step];
    for (size_t k = 0; k < n; ++k)
      y.push_back(begin == Begin::last ? (lane[k] + carry) + start : lane[k] + carry);
    carry += lane.back();
  }
  return y;
}

Floats reversed(Floats x) { return {x.rbegin(), x.rend()}; }

Floats exclusive(const Floats& y, float start) {
  Floats out{start};
  out.insert(out.end(), y.begin(), y.end() - 1);
  return out;
}

TEST(Scans, AnAccumulatorMayBeginWithTheStart) {
  std::mt19937 rng(1);
  const Contract plain = scan_contract("cumsum(x, cols) + start");
  const Contract backwards = scan_contract("start + cumsum_reversed(x, cols)");
  const Contract before = scan_contract("cumsum_exclusive(x, cols) + start");
  int differ = 0;
  for (int trial = 0; trial < 30; ++trial) {
    Floats x(1 + rng() % 200);
    for (float& v : x) v = static_cast<float>(static_cast<int>(rng() % 2001) - 1000) * 0.0625f;
    // Far larger than the terms, and of finer bits than they are.
    const float start = trial % 2 == 0 ? 3e6f : 0.1f * static_cast<float>(1 + rng() % 1000);
    for (const Begin begin : {Begin::accumulator, Begin::carry, Begin::last}) {
      const Floats y = scanned(x, start, begin);
      differ += y != scanned(x, start, Begin::last) ? 1 : 0;
      for (const Verdict& v :
           {judged(plain, x, start, y), judged(backwards, reversed(x), start, reversed(y)),
            judged(before, x, start, exclusive(y, start))})
        ASSERT_EQ(v.outcome, Outcome::pass) << told(v) << " trial " << trial;
    }
  }
  EXPECT_GT(differ, 20) << "no line told a start from an addition at the end";
}

// 1e8 + 1 + 1 + ...: f32 keeps none of the ones. Each is added to 1e8 all the same.
TEST(Scans, AStartThatSwallowsTheTerms) {
  const Contract contract = scan_contract("cumsum(x, cols) + start");
  const Floats x(1000, 1.0f);
  EXPECT_EQ(judged(contract, x, 1e8f, Floats(1000, 1e8f)).outcome, Outcome::pass);
  // Without a start the same sums are exact.
  EXPECT_EQ(judged(contract, x, 0, scanned(x, 0, Begin::carry)).outcome, Outcome::pass);
  Floats dropped = scanned(x, 0, Begin::carry);
  for (size_t k = 500; k < x.size(); ++k) dropped[k] -= 1;
  EXPECT_EQ(judged(contract, x, 0, dropped).wrong, 500);
  // So are they with one that fits beside them.
  const Floats y = scanned(x, 4096, Begin::accumulator);
  EXPECT_EQ(judged(contract, x, 4096, y).outcome, Outcome::pass);
  Floats next = y;
  for (float& v : next) v = std::nextafter(v, INFINITY);
  EXPECT_EQ(judged(contract, x, 4096, next).wrong, 1000);
}

// An accumulator runs along the line: what differs from element to element is added at the end.
TEST(Scans, WhatVariesAlongTheLineIsNoStart) {
  const Contract contract = scan_contract("cumsum(x, cols) + 100000000 * x");
  const Floats x{1, 1, 1, 1};
  EXPECT_EQ(judged(contract, x, 0, {1e8f, 1e8f, 1e8f, 1e8f + 8}).outcome, Outcome::mismatch);
  EXPECT_EQ(judged(contract, x, 0, Floats(4, 1e8f)).outcome, Outcome::pass);
}

TEST(Scans, APrefixIsExactWhateverFollows) {
  const Contract contract = scan_contract("cumsum(x, cols)");
  Floats x(512, 0.1f);
  std::iota(x.begin(), x.begin() + 256, 1000.0f);
  const Floats y = scanned(x, 0, Begin::accumulator);
  EXPECT_EQ(judged(contract, x, 0, y).outcome, Outcome::pass);
  Floats off = y;
  for (size_t k = 0; k < 256; ++k) off[k] = std::nextafter(off[k], INFINITY);
  EXPECT_EQ(judged(contract, x, 0, off).wrong, 256);
  // Reversed, the whole numbers come after the tenths.
  const Contract backwards = scan_contract("cumsum_reversed(x, cols)");
  const Floats z = reversed(scanned(reversed(x), 0, Begin::carry));
  EXPECT_EQ(judged(backwards, x, 0, z).outcome, Outcome::pass);
}

// Which infinity a partial sum may be is a matter of the terms' signs (R7).
TEST(Scans, OverflowHasTheSignOfTheTerms) {
  const Contract contract = scan_contract("cumsum(x, cols)", "naive");
  const auto wrong = [&](const Floats& x, const Floats& y) {
    return judged(contract, x, 0, y).wrong;
  };
  const float big = 3e38f;
  EXPECT_EQ(wrong({big, big, -1}, {big, INFINITY, INFINITY}), 0);
  for (const float got : {7.0f, -INFINITY, NAN})
    EXPECT_EQ(wrong({big, big, -1}, {big, INFINITY, got}), 1) << got;
  // The exact third sum is finite: reached by a tree, or lost to an infinity before.
  for (const float got : {big, INFINITY})
    EXPECT_EQ(wrong({big, big, -big}, {big, INFINITY, got}), 0) << got;
  // Both signs may overflow: any order, any value.
  const Floats both{big, -big, big, -big};
  for (const float got : {0.0f, INFINITY, -INFINITY, NAN})
    EXPECT_EQ(wrong(both, {big, 0, big, got}), 0) << got;
  EXPECT_EQ(judged(scan_contract("cumsum(x, cols)"), {big, big, -1}, 0, {big, INFINITY, NAN}).wrong,
            1);
}

// Random lines of several kinds, in orders that kernels use: nothing honest is refused, and a term
// that is left out is seen wherever it exceeds what any order may lose.
TEST(Scans, HonestOrdersPassAndLostTermsShow) {
  std::mt19937 rng(7);
  std::normal_distribution<float> normal;
  const Contract contract = scan_contract("cumsum(x, cols) + start");
  int caught = 0;
  int tried = 0;
  for (int trial = 0; trial < 60; ++trial) {
    Floats x(2 + rng() % 400);
    for (float& v : x)
      v = normal(rng) * std::ldexp(1.0f, trial % 3 == 0 ? static_cast<int>(rng() % 40) - 20 : 0);
    const float start = normal(rng) * std::ldexp(1.0f, static_cast<int>(rng() % 30) - 15);
    for (const Begin begin : {Begin::accumulator, Begin::carry, Begin::last}) {
      const Verdict v = judged(contract, x, start, scanned(x, start, begin));
      ASSERT_EQ(v.outcome, Outcome::pass) << told(v) << " trial " << trial;
    }
    const size_t lost = rng() % x.size();
    double size = std::fabs(start);
    for (const float v : x) size += std::fabs(v);
    if (std::fabs(x[lost]) < size * 0x1p-23 * static_cast<double>(2 * x.size())) continue;
    ++tried;
    Floats less = x;
    less[lost] = 0;
    caught += judged(contract, x, start, scanned(less, start, Begin::carry)).wrong > 0 ? 1 : 0;
  }
  EXPECT_GT(tried, 20);
  EXPECT_EQ(caught, tried);
}

}  // namespace
}  // namespace assay
