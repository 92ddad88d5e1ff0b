// Means and variances by Welford's updates and Chan's merges, simulated in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::judge_row;
using testing::row_contract;
using testing::told;

struct Moments {
  float n = 0, mean = 0, m2 = 0;

  void update(float x) {
    n += 1;
    const float d = x - mean;
    mean += d / n;
    m2 += d * (x - mean);
  }
  /// As PyTorch's layer_norm merges: a weighted sum of both means.
  void merge(const Moments& b) {
    if (b.n == 0) return;
    const float total = n + b.n;
    const float coefficient = 1.0f / total;
    const float delta = b.mean - mean;
    const float wa = n * coefficient;
    const float wb = b.n * coefficient;
    mean = wa * mean + wb * b.mean;
    m2 = m2 + b.m2 + delta * delta * n * wb;
    n = total;
  }
};

Moments moments(const std::vector<float>& x, size_t lanes) {
  std::vector<Moments> lane(lanes);
  for (size_t k = 0; k < x.size(); ++k) lane[k % lanes].update(x[k]);
  for (size_t step = lanes / 2; step > 0; step /= 2)
    for (size_t k = 0; k < step; ++k) lane[k].merge(lane[k + step]);
  return lane[0];
}

std::string accuracy(size_t n, size_t lanes) {
  const size_t depth = (n + lanes - 1) / lanes + static_cast<size_t>(std::log2(lanes));
  return "[accuracy]\nvariance = \"welford\"\ndepth = " + std::to_string(depth) +
         "\n[policy]\nnan = \"exclude\"\nrange = \"safe\"\n";
}

std::vector<float> integers(size_t n, int seed, int spread, int around) {
  std::vector<float> x(n);
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761u + 1;
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(around + static_cast<int>(state >> 8) % spread);
  }
  return x;
}

TEST(Welford, RoundsWhereTheSumWouldBeExact) {
  const Contract summed = row_contract("mean(x, cols)", "[policy]\nrange = \"safe\"\n");
  int differ = 0;
  for (int seed = 0; seed < 60; ++seed) {
    const std::vector<float> x = integers(7 + static_cast<size_t>(seed) * 5, seed, 1000, 17);
    for (const size_t lanes : {size_t{1}, size_t{32}}) {
      const Moments got = moments(x, lanes);
      const std::string more = accuracy(x.size(), lanes);
      const Verdict mean = judge_row(row_contract("mean(x, cols)", more), x, got.mean);
      const Verdict var = judge_row(row_contract("var(x, cols)", more), x, got.m2 / got.n);
      EXPECT_EQ(mean.outcome, Outcome::pass) << told(mean) << " seed " << seed;
      EXPECT_EQ(var.outcome, Outcome::pass) << told(var) << " seed " << seed;
      EXPECT_LT(mean.share, 0.5) << seed;
      differ += judge_row(summed, x, got.mean).outcome == Outcome::mismatch ? 1 : 0;
    }
  }
  EXPECT_GT(differ, 0) << "no row told a running mean from a summed one";
}

TEST(Welford, LargeMeansWithSmallSpreadStayWithinTheBound) {
  for (int seed = 0; seed < 40; ++seed) {
    const std::vector<float> x = integers(3000, seed, 3, 1000000 + seed);
    for (const size_t lanes : {size_t{1}, size_t{32}, size_t{256}}) {
      const Moments got = moments(x, lanes);
      const std::string more = accuracy(x.size(), lanes);
      EXPECT_EQ(judge_row(row_contract("mean(x, cols)", more), x, got.mean).outcome, Outcome::pass);
      EXPECT_EQ(judge_row(row_contract("var(x, cols)", more), x, got.m2 / got.n).outcome,
                Outcome::pass);
    }
  }
}

TEST(Welford, ADroppedElementShows) {
  std::vector<float> x = integers(600, 3, 1000, -500);
  const std::string more = accuracy(x.size(), 256);
  x.back() = 900;
  const std::vector<float> shorter(x.begin(), x.end() - 1);
  const Moments got = moments(shorter, 256);
  EXPECT_EQ(judge_row(row_contract("mean(x, cols)", more), x, got.mean).outcome, Outcome::mismatch);
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more), x, got.m2 / got.n).outcome,
            Outcome::mismatch);
}

TEST(Welford, AMergeWithAnEmptyPartialMayOverflow) {
  // PyTorch's merge without a guard: delta^2 n_A n_B/n with delta = mean and n_B = 0 is inf x 0.
  const std::vector<float> x{1.7e32f};
  const float delta = 0 - x[0];
  const float got = delta * delta * 1.0f * 0.0f;
  ASSERT_TRUE(std::isnan(got));
  const auto more = [](const char* range) {
    return std::string("[accuracy]\nvariance = \"welford\"\n[policy]\nnan = \"exclude\"\n") +
           "range = \"" + range + "\"\n";
  };
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more("naive")), x, got).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more("naive")), x, 0).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more("safe")), x, got).outcome,
            Outcome::mismatch);
  // A square that fits overflows nowhere.
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more("naive")), {1.7e19f}, NAN).outcome,
            Outcome::mismatch);
}

TEST(Welford, AMergeByProductsMayOverflow) {
  // PyTorch's batch_norm: (n_A m_A + n_B m_B) / n, of two pairs.
  const std::vector<float> x(4, 1.5e38f);
  const float got = (2 * x[0] + 2 * x[0]) * 0.25f;
  ASSERT_TRUE(std::isinf(got));
  const auto outcome = [&](const std::vector<float>& row, const char* range) {
    const std::string more =
        "[accuracy]\nvariance = \"welford\"\n[policy]\nnan = \"exclude\"\nrange = \"";
    return judge_row(row_contract("mean(x, cols)", more + range + "\"\n"), row, got).outcome;
  };
  EXPECT_EQ(outcome(x, "naive"), Outcome::pass);
  EXPECT_EQ(outcome(x, "safe"), Outcome::mismatch);
  EXPECT_EQ(outcome(std::vector<float>(4, 0.8e38f), "naive"), Outcome::mismatch);
}

TEST(Welford, AnInfiniteElementMayMakeTheMeanNaN) {
  const Contract summed = row_contract("mean(x, cols)", "[policy]\nrange = \"safe\"\n");
  for (const std::vector<float>& x : {std::vector<float>{INFINITY}, {INFINITY, 1.0f}}) {
    const Contract running = row_contract("mean(x, cols)", accuracy(x.size(), 32));
    // By the difference with an empty partial: m + (0 - m) 0 / n.
    const float merged = x[0] + (0 - x[0]) * 0.0f;
    ASSERT_TRUE(std::isnan(merged));
    EXPECT_EQ(judge_row(running, x, merged).outcome, Outcome::skipped);
    EXPECT_EQ(judge_row(running, x, INFINITY).outcome, Outcome::skipped);
    EXPECT_EQ(judge_row(summed, x, merged).outcome, Outcome::mismatch);
  }
  EXPECT_EQ(judge_row(row_contract("mean(x, cols)", accuracy(1, 32)), {3.0e38f}, NAN).outcome,
            Outcome::mismatch);
}

TEST(Welford, OneElementIsItsOwnMean) {
  const std::string more = accuracy(1, 256);
  EXPECT_EQ(judge_row(row_contract("mean(x, cols)", more), {0.1f}, 0.1f).outcome, Outcome::pass);
  EXPECT_EQ(
      judge_row(row_contract("mean(x, cols)", more), {0.1f}, std::nextafter(0.1f, 1.0f)).outcome,
      Outcome::mismatch);
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more), {0.1f}, 0.0f).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(row_contract("var(x, cols)", more), {0.1f}, 1e-20f).outcome,
            Outcome::mismatch);
}

}  // namespace
}  // namespace assay
