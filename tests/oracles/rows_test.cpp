// The first tier's rows: both builds give the same bits, bounds hold against multiprecision.
#include "oracles/rows.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace assay::rows {
namespace {

using Exact = boost::multiprecision::cpp_bin_float_100;

struct Arrays {
  std::vector<double> v, e, lo, hi;
  explicit Arrays(size_t n) : v(n), e(n), lo(n), hi(n) {}
  In in() const { return {v.data(), e.data(), lo.data(), hi.data()}; }
  Out out() { return {v.data(), e.data(), lo.data(), hi.data()}; }
  bool same_bits(const Arrays& other) const {
    const auto same = [](const std::vector<double>& a, const std::vector<double>& b) {
      for (size_t k = 0; k < a.size(); ++k)
        if (std::bit_cast<uint64_t>(a[k]) != std::bit_cast<uint64_t>(b[k]) &&
            !(std::isnan(a[k]) && std::isnan(b[k])))
          return false;
      return true;
    };
    return same(v, other.v) && same(e, other.e) && same(lo, other.lo) && same(hi, other.hi);
  }
};

Arrays random_arrays(uint64_t seed, size_t n) {
  std::mt19937_64 rng(seed);
  Arrays a(n);
  const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e300, -1e-300, 0x1p-149, 709.5};
  for (size_t k = 0; k < n; ++k) {
    const double unit = static_cast<double>(rng() >> 11) * 0x1p-53;
    a.v[k] = rng() % 8 == 0 ? special[rng() % 9]
                            : std::ldexp(unit - 0.5, static_cast<int>(rng() % 40) - 20);
    const double size = std::isfinite(a.v[k]) ? std::fabs(a.v[k]) : 0;
    a.e[k] = rng() % 2 == 0 ? 0 : size * 0x1p-52;
    a.lo[k] = rng() % 2 == 0 ? 0 : size * 0x1p-22;
    a.hi[k] = rng() % 2 == 0 ? 0 : size * 0x1p-23;
  }
  return a;
}

const Rounding kFloat{0x1p-24, 0x1p-150, 0x1p29 + 1, 0x1p-126, 0x1p-149, 0x1.fffffep127};

Accuracy expf_accuracy() {
  Accuracy a;
  a.ulps = 2.5;
  a.high = INFINITY;
  return a;
}

/// Every row function on the same arguments.
std::vector<Arrays> everything(const Kernels& k, int n, uint64_t seed) {
  const Arrays a = random_arrays(seed, 256);
  const Arrays b = random_arrays(seed + 1, 256);
  std::vector<Arrays> out(12, Arrays(256));
  k.add(n, a.in(), b.in(), out[0].out());
  k.sub(n, a.in(), b.in(), out[1].out());
  k.mul(n, a.in(), b.in(), false, out[2].out());
  k.div(n, a.in(), b.in(), out[3].out());
  k.max2(n, a.in(), b.in(), NanMode::propagate, out[4].out());
  k.exp(n, a.in(), expf_accuracy(), kFloat, out[5].out());
  k.sqrt(n, a.in(), -HUGE_VAL, out[6].out());
  k.rsqrt(n, a.in(), 0, out[7].out());
  k.settle(n, a.in(), kFloat, out[8].lo.data(), out[8].hi.data());
  const RowSum s = k.sum(n, a.v.data(), a.e.data(), a.lo.data(), a.hi.data(), 0x1p24);
  const RowSum q = k.squares(n, a.v.data(), a.e.data(), a.hi.data(), 0.5, 1e-9, 1e-8);
  const RowMax m = k.max(n, a.v.data(), a.e.data(), a.lo.data(), a.hi.data(), -1);
  out[9].v = {s.v, s.e, s.lo, s.hi, s.magnitude, q.v, q.e, q.lo, m.v, m.e, m.lo, m.hi};
  out[9].e = out[9].lo = out[9].hi = {};
  out[10] = out[11] = out[3];
  k.hoist(n, a.in(), out[3].in(), 0x1p-23, 0x1p-150, out[10].lo.data(), out[10].hi.data());
  k.share(n, out[3].in(), b.in(), 0x1p-20, 0x1p-150, out[11].lo.data(), out[11].hi.data());
  return out;
}

TEST(Rows, BothBuildsGiveTheSameBits) {
  if (!has_avx2()) GTEST_SKIP() << "no AVX2 here";
  for (uint64_t seed = 0; seed < 50; ++seed)
    for (const int n : {1, 3, 8, 37, 256}) {
      const auto plain = everything(plain_kernels(), n, seed);
      const auto fast = everything(avx2_kernels(), n, seed);
      for (size_t k = 0; k < plain.size(); ++k)
        EXPECT_TRUE(plain[k].same_bits(fast[k])) << "row " << k << " n " << n << " seed " << seed;
    }
}

TEST(Rows, ExponentialWithinItsBound) {
  std::mt19937_64 rng(11);
  double worst = 0;
  for (int k = 0; k < 4000; ++k) {
    const double unit = static_cast<double>(rng() >> 11) * 0x1p-53;
    const double x = k % 2 == 0 ? -707 * unit : 2 * unit - 1.5;
    const Exact exact = boost::multiprecision::exp(Exact(x));
    const Exact off = (Exact(exp_double(x)) - exact) / exact;
    worst = std::max(worst, std::fabs(off.convert_to<double>()));
  }
  EXPECT_LT(worst, kExpError);
  EXPECT_GT(worst, 0x1p-55);  // the test measures something
}

TEST(Rows, OperationsErrWithinTheirBounds) {
  const Arrays a = random_arrays(5, 256);
  const Arrays b = random_arrays(6, 256);
  Arrays exact_a = a;
  Arrays exact_b = b;
  std::fill(exact_a.e.begin(), exact_a.e.end(), 0.0);
  std::fill(exact_b.e.begin(), exact_b.e.end(), 0.0);
  Arrays sum(256), product(256), quotient(256), root(256);
  const Kernels& k = kernels();
  k.add(256, exact_a.in(), exact_b.in(), sum.out());
  k.mul(256, exact_a.in(), exact_b.in(), false, product.out());
  k.div(256, exact_a.in(), exact_b.in(), quotient.out());
  k.rsqrt(256, exact_a.in(), -HUGE_VAL, root.out());
  for (size_t i = 0; i < 256; ++i) {
    const double x = a.v[i];
    const double y = b.v[i];
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    const auto within = [&](const Exact& exact, const Arrays& got) {
      if (!std::isfinite(got.v[i])) return;
      EXPECT_LE(boost::multiprecision::abs(Exact(got.v[i]) - exact), Exact(got.e[i]))
          << x << " " << y;
    };
    within(Exact(x) + Exact(y), sum);
    within(Exact(x) * Exact(y), product);
    if (y != 0) within(Exact(x) / Exact(y), quotient);
    if (x > 0) within(1 / boost::multiprecision::sqrt(Exact(x)), root);
  }
}

TEST(Rows, AReciprocalWidensAndAShareIsClipped) {
  const double bound = 1e9;
  // A quotient of its own, of 0, and one that is infinite; weights with error, certain 0,
  // unbounded.
  const double dividend[] = {3, 0, 1, 1}, v[] = {0.75, 0, INFINITY, 0.25};
  const double weight[] = {0.75, 0, 1, 0.25}, weight_lo[] = {0, 0, 0, NAN}, zeros[4] = {};
  for (const Kernels* k : {&plain_kernels(), has_avx2() ? &avx2_kernels() : &plain_kernels()}) {
    double lo[4] = {1, 1, 1, 1}, hi[4] = {1, 1, 1, 1};
    k->hoist(4, {dividend, zeros, zeros, zeros}, {v, zeros, zeros, zeros}, 0.5, 0.125, lo, hi);
    // 0.5 (1 + 0.5) of at most 0.75 + 1, and 0.125 x 3.
    EXPECT_NEAR(lo[0], 1 + 0.75 * 1.75 + 0.375, 1e-9);
    EXPECT_NEAR(hi[0], lo[0], 1e-9);
    EXPECT_EQ(lo[1], 1);
    EXPECT_EQ(lo[2], 1);
    double low[4] = {bound, bound, bound, bound}, high[4] = {NAN, bound, bound, bound};
    k->share(4, {v, zeros, zeros, zeros}, {weight, zeros, weight_lo, zeros}, 0.5, 0.125, low, high);
    EXPECT_NEAR(low[0], 0.75 + 0.5 + 0.125, 1e-9);
    EXPECT_NEAR(high[0], 0.25 + 0.5 + 0.125, 1e-9);
    EXPECT_NEAR(low[1], 0.125, 1e-9);
    EXPECT_NEAR(high[1], 0.125, 1e-9);
    EXPECT_EQ(low[2], bound);
    EXPECT_EQ(high[3], bound);
  }
}

// Blocks of ordinary elements take a shorter way: an odd neighbour, which sends its block the long
// way, must change nothing of them.
TEST(Rows, AnElementDoesNotDependOnItsNeighbours) {
  constexpr int n = 64;
  const auto ordinary = [](uint64_t seed, double least) {
    Arrays a = random_arrays(seed, n);
    for (size_t k = 0; k < n; ++k) {
      if (!(std::fabs(a.v[k]) < 700) || std::fabs(a.v[k]) < least) a.v[k] = 3 + double(k);
      a.e[k] = std::min(a.e[k], std::fabs(a.v[k]) * 0x1p-52);
      a.lo[k] = std::min(a.lo[k], std::fabs(a.v[k]) * 0x1p-22);
      a.hi[k] = std::min(a.hi[k], std::fabs(a.v[k]) * 0x1p-23);
    }
    return a;
  };
  for (const Kernels* kernels : {&plain_kernels(), &avx2_kernels()}) {
    if (kernels == &avx2_kernels() && !has_avx2()) continue;
    for (uint64_t seed = 1; seed <= 50; ++seed) {
      const Arrays x = ordinary(seed, 0), y = ordinary(seed + 1000, 0x1p-30);
      Arrays odd_x = x, odd_y = y;
      odd_x.v[seed % n] = 1e6;  // exp overflows
      odd_y.v[seed % n] = 0;    // a division by 0
      Arrays e(n), odd_e(n), q(n), odd_q(n);
      const Accuracy accuracy = expf_accuracy();
      kernels->exp(n, x.in(), accuracy, kFloat, e.out());
      kernels->exp(n, odd_x.in(), accuracy, kFloat, odd_e.out());
      kernels->div(n, x.in(), y.in(), q.out());
      kernels->div(n, x.in(), odd_y.in(), odd_q.out());
      EXPECT_FALSE(e.same_bits(odd_e));
      EXPECT_FALSE(q.same_bits(odd_q));
      for (Arrays* one : {&e, &odd_e, &q, &odd_q})
        one->v[seed % n] = one->e[seed % n] = one->lo[seed % n] = one->hi[seed % n] = 0;
      EXPECT_TRUE(e.same_bits(odd_e)) << seed;
      EXPECT_TRUE(q.same_bits(odd_q)) << seed;
    }
  }
}

TEST(Rows, ExactSumsAreSeen) {
  std::vector<double> x;
  for (int k = 0; k < 100; ++k) x.push_back((k * 31 % 64 - 32) * 0.125);
  EXPECT_TRUE(kernels().sum(100, x.data(), nullptr, nullptr, nullptr, 0x1p24).exact);
  x[50] += 0x1p-30;
  EXPECT_FALSE(kernels().sum(100, x.data(), nullptr, nullptr, nullptr, 0x1p24).exact);
  // Partial sums that pass 2^24 units are not exact in float.
  std::vector<double> large(4, 0x1p23);
  large.push_back(1);
  EXPECT_FALSE(kernels().sum(5, large.data(), nullptr, nullptr, nullptr, 0x1p24).exact);
}

/// In double itself: terms of either sign, with and without a bit below what their sum can hold.
TEST(Rows, ExactSumsOfDoublesAreSeen) {
  const auto exact = [](double a, double b, double sign) {
    const double x[] = {sign * a, sign * b};
    return kernels().sum(2, x, nullptr, nullptr, nullptr, 0x1p53).exact;
  };
  for (const double sign : {1.0, -1.0}) {
    EXPECT_FALSE(exact(0x1.8ee365434ff89p341, 0x1.f2f577af3cc48p340, sign));
    EXPECT_FALSE(exact(0x1p52 + 1, 0x1p52, sign));
    EXPECT_FALSE(exact(0x1p52 + 1, -0x1p52, sign));
    EXPECT_FALSE(exact(3.5, 0x1p52, sign));
    EXPECT_TRUE(exact(3, 0x1p52, sign));
    EXPECT_TRUE(exact(3, 1 - 0x1p52, sign));
    EXPECT_TRUE(exact(0x1.8p52 + 1, 0x1p50 + 1, sign));
    EXPECT_TRUE(exact(0x1.8p52 + 1, -0x1p50 - 1, sign));
  }
}

TEST(Rows, HalvesAndBrainFloatsOfEveryPattern) {
  std::vector<uint16_t> bits(65536);
  for (size_t k = 0; k < bits.size(); ++k) bits[k] = static_cast<uint16_t>(k);
  std::vector<uint8_t> bytes(bits.size() * 2);
  std::memcpy(bytes.data(), bits.data(), bytes.size());
  std::vector<double> got(bits.size());
  for (const Kernels* k : {&plain_kernels(), has_avx2() ? &avx2_kernels() : &plain_kernels()}) {
    k->from_f16(65536, bytes.data(), got.data());
    for (size_t i = 0; i < bits.size(); ++i) {
      const int exponent = (bits[i] >> 10) & 31;
      const int fraction = bits[i] & 1023;
      const double sign = bits[i] >> 15 != 0 ? -1 : 1;
      if (exponent == 31) {
        EXPECT_EQ(std::isnan(got[i]), fraction != 0);
        continue;
      }
      const double magnitude =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      EXPECT_EQ(got[i], sign * magnitude) << i;
    }
    k->from_bf16(65536, bytes.data(), got.data());
    for (size_t i = 0; i < bits.size(); ++i) {
      const auto wide = std::bit_cast<float>(static_cast<uint32_t>(bits[i]) << 16);
      EXPECT_TRUE(got[i] == static_cast<double>(wide) || (std::isnan(got[i]) && std::isnan(wide)));
    }
  }
}

// Numbers beyond a power of two, away from 0, are twice as far apart as those before it: what
// rounds to it from there has used nothing of its allowance.
TEST(Rows, TheShareHasTheSpacingOnTheExactValuesSide) {
  const MatchFormat bf16{0x1p-8, 0x1p-126, 0x1.fep127, 0x1p-126};
  for (const Kernels* kernels : {&plain_kernels(), has_avx2() ? &avx2_kernels() : nullptr}) {
    if (kernels == nullptr) continue;
    for (const double sign : {1.0, -1.0}) {
      const auto share = [&](double exact) {
        const double v = sign * exact;
        const double e = 0;
        const double allowance = 0.004;
        const double got = sign * 8;
        uint8_t ok = 0;
        const MatchTotals totals =
            kernels->match(1, {&v, &e, &allowance, &allowance}, &got, bf16, &ok);
        return totals.share;
      };
      EXPECT_EQ(share(8 + 0x1p-6 + 0.001), 0) << sign;
      EXPECT_EQ(share(8 + 0x1p-5), 0) << sign;
      EXPECT_NEAR(share(8 - 0x1p-6 - 0.001), 0.25, 1e-9) << sign;
    }
  }
}

// (n - 1) u bounds every order; a path of h additions is as good as it for h next to n - 1 or h u
// beyond 1, where (1 + u/(1 + u))^h - 1 is no longer within h u (1 + h u).
TEST(Rows, WhatAddingMayErrBy) {
  const double u = 0x1p-24;
  EXPECT_EQ(adding_error(7, 7, u), 7 * u);
  EXPECT_EQ(adding_error(9, 7, u), 7 * u);
  EXPECT_EQ(adding_error(5, 7, u), 5 * u * (1 + 5 * u));
  EXPECT_EQ(adding_error(0, 0, u), 0);
  const double coarse = 0x1p-8;  // bf16
  EXPECT_EQ(adding_error(128, 999, coarse), 0.5 * 1.5);
  EXPECT_EQ(adding_error(200, 210, coarse), 210 * coarse) << "sharper than 200 u (1 + 200 u)";
  EXPECT_EQ(adding_error(300, 999, coarse), 999 * coarse);
  for (const double h : {1.0, 16.0, 100.0, 256.0})
    EXPECT_LE(std::pow(1 + coarse / (1 + coarse), h) - 1, adding_error(h, 1e9, coarse)) << h;
}

}  // namespace
}  // namespace assay::rows
