// Rows that are changed, element by element, towards what an honest kernel uses most of its
// allowance for: no order, contraction, reciprocal or flushing may pass it, and the search has to
// come near.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::judge_row;
using testing::row_contract;
using testing::told;

using Floats = std::vector<float>;

/// f32 arithmetic, flushing subnormal operands and results or not.
struct Machine {
  bool flushes = false;

  float kept(float x) const {
    return flushes && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x;
  }
  float add(float a, float b) const { return kept(kept(a) + kept(b)); }
  float mul(float a, float b) const { return kept(kept(a) * kept(b)); }
  float div(float a, float b) const { return kept(kept(a) / kept(b)); }
  float fma(float a, float b, float c) const { return kept(std::fmaf(kept(a), kept(b), kept(c))); }

  float sum(Floats x, bool tree) const {
    if (!tree) {
      float total = 0;
      for (const float v : x) total = add(total, v);
      return total;
    }
    for (; x.size() > 1; x.resize((x.size() + 1) / 2))
      for (size_t k = 0; k < x.size(); k += 2)
        x[k / 2] = k + 1 < x.size() ? add(x[k], x[k + 1]) : x[k];
    return x[0];
  }
};

/// How a kernel goes about it.
struct Way {
  Machine m;
  bool tree = false;
  bool reciprocal = false;
  bool fused = false;

  float over(float x, size_t n) const {
    const auto count = static_cast<float>(n);
    return reciprocal ? m.mul(x, 1 / count) : m.div(x, count);
  }
  float mean(const Floats& x) const { return over(m.sum(x, tree), x.size()); }
  float squares(const Floats& x, float from) const {
    Floats terms;
    float total = 0;
    for (const float v : x) {
      const float d = m.add(v, -from);
      terms.push_back(m.mul(d, d));
      total = m.fma(d, d, total);
    }
    return fused ? total : m.sum(terms, tree);
  }
  float two_pass(const Floats& x) const { return over(squares(x, mean(x)), x.size()); }
  float unclamped(const Floats& x) const {
    const float e = mean(x);
    const float q = over(squares(x, 0), x.size());
    return fused ? m.fma(-e, e, q) : m.add(q, -m.mul(e, e));
  }
  float one_pass(const Floats& x) const { return std::fmax(0.0f, unclamped(x)); }
  float welford(const Floats& x) const {
    float e = 0;
    float s = 0;
    float n = 0;
    for (const float v : x) {
      n += 1;
      const float d = m.add(v, -e);
      e = reciprocal ? m.fma(d, 1 / n, e) : m.add(e, m.div(d, n));
      s = fused ? m.fma(d, m.add(v, -e), s) : m.add(s, m.mul(d, m.add(v, -e)));
    }
    return m.div(s, n);
  }
};

class Climb {
 public:
  explicit Climb(unsigned seed) : rng_(seed) {}

  Floats row(int exponent) {
    Floats x(2 + rng_() % 12);
    const float middle = normal_(rng_);
    const bool close = rng_() % 2 == 0;
    for (float& v : x)
      v = std::ldexp(close ? middle + normal_(rng_) * 0x1p-12f : normal_(rng_), exponent);
    return x;
  }
  void change(Floats& x, int exponent) {
    float& v = x[rng_() % x.size()];
    switch (rng_() % 4) {
      case 0:
        v = std::nextafter(v, rng_() % 2 == 0 ? INFINITY : -INFINITY);
        break;
      case 1:
        v *= 1 + std::ldexp(static_cast<float>(rng_() % 16), -4 - static_cast<int>(rng_() % 20));
        break;
      case 2:
        v = x[rng_() % x.size()];
        break;
      default:
        v = std::ldexp(normal_(rng_), exponent);
    }
  }
  Way way(bool flushes) { return {{flushes}, rng_() % 2 == 0, rng_() % 2 == 0, rng_() % 2 == 0}; }

 private:
  std::mt19937 rng_;
  std::normal_distribution<float> normal_;
};

struct Searched {
  const char* formula;
  const char* accuracy;
  std::function<float(const Way&, const Floats&)> kernel;
  double least_share;  ///< that the search has to reach without flushing
};

/// The largest share of the allowance that the search finds.
double search(const Searched& of, bool flushes, int exponent) {
  const Contract contract = row_contract(
      of.formula, std::string("[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"") +
                      (flushes ? "flush" : "keep") + "\"\n[accuracy]\n" + of.accuracy);
  Climb climb(static_cast<unsigned>(exponent + 1000));
  double largest = 0;
  for (int start = 0; start < 4; ++start) {
    const Way way = climb.way(flushes);
    Floats x = climb.row(exponent);
    double best = -1;
    for (int step = 0; step < 60; ++step) {
      Floats y = x;
      if (step > 0) climb.change(y, exponent);
      const float got = of.kernel(way, y);
      const Verdict v = judge_row(contract, y, got);
      EXPECT_EQ(v.outcome, Outcome::pass) << of.formula << " " << of.accuracy << got << told(v);
      if (v.share < best) continue;
      best = v.share;
      x = y;
    }
    largest = std::max(largest, best);
  }
  return largest;
}

TEST(HillClimb, HonestKernelsStayWithinTheirAllowance) {
  const Searched all[] = {
      {"sum(x * x, cols)", "", [](const Way& w, const Floats& x) { return w.squares(x, 0); }, 0.3},
      {"mean(x, cols)", "", [](const Way& w, const Floats& x) { return w.mean(x); }, 0.2},
      {"var(x, cols)", "variance = \"two_pass\"\n",
       [](const Way& w, const Floats& x) { return w.two_pass(x); }, 0.2},
      {"var(x, cols)", "variance = \"one_pass\"\n",
       [](const Way& w, const Floats& x) { return w.one_pass(x); }, 0.1},
      {"var(x, cols)", "variance = \"welford\"\n",
       [](const Way& w, const Floats& x) { return w.welford(x); }, 0.04},
  };
  for (const Searched& of : all) {
    double largest = 0;
    for (const int exponent : {0, -61, -64}) {  // squares that are normal, and next to 2^-126
      largest = std::max(largest, search(of, false, exponent));
      search(of, true, exponent);
    }
    EXPECT_GT(largest, of.least_share) << of.formula << " " << of.accuracy;
  }
}

// E[x^2] - E[x]^2 that rounds below 0 has no root: kernels clamp it.
TEST(HillClimb, AVarianceBelowZeroIsRefused) {
  const Contract contract = row_contract(
      "var(x, cols)", "[accuracy]\nvariance = \"one_pass\"\n[policy]\nrange = \"safe\"\n");
  int negative = 0;
  Climb climb(3);
  for (int trial = 0; trial < 200; ++trial) {
    const Floats x = climb.row(0);
    const float got = climb.way(false).unclamped(x);
    negative += got < 0 ? 1 : 0;
    ASSERT_EQ(judge_row(contract, x, got).outcome, got < 0 ? Outcome::mismatch : Outcome::pass);
  }
  EXPECT_GT(negative, 10);
}

}  // namespace
}  // namespace assay
