// The first tier's functions: both builds give the same bits, and every value lies within its bound
// of the multiprecision value, over dense samples and the ends of the ranges.
#include "oracles/row_functions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "oracles/functions.hpp"
#include "oracles/rows.hpp"

namespace assay::rows {
namespace {

const std::vector<std::string> kAll = {
    "exp2",  "expm1", "log",    "log2",  "log10",    "log1p",   "sin",   "cos",   "tan",
    "tanh",  "erf",   "erfc",   "pow",   "atan2",    "hypot",   "cbrt",  "floor", "ceil",
    "trunc", "rint",  "is_nan", "fmod",  "copysign", "normcdf", "exp10", "sinh",  "cosh",
    "asin",  "acos",  "atan",   "asinh", "acosh",    "atanh"};

double uniform(std::mt19937_64& rng) { return static_cast<double>(rng() >> 11) * 0x1p-53; }

/// Zeros, infinities, NaN, ends of float's and double's ranges, neighbours of roots and poles.
std::vector<double> specials() {
  std::vector<double> out;
  for (const double x : {0.0,
                         0x1p-149,
                         0x1p-126,
                         0x1.fffffep127,
                         0x1p-1022,
                         0x1p-1074,
                         1.0,
                         0.5,
                         1.5,
                         2.0,
                         2.5,
                         3.0,
                         10.0,
                         1000.0,
                         26.0,
                         27.0,
                         30.0,
                         700.0,
                         710.0,
                         88.72284,
                         3.1415927410125732,
                         1.5707963705062866,
                         0x1.6ac5b262ca1ffp849,
                         0x1p20,
                         0x1p53,
                         0x1p100,
                         1024.0,
                         1025.0,
                         0x1p-30,
                         0x1p-53,
                         0.70710678118654757}) {
    for (const double y : {x, std::nextafter(x, 0.0), std::nextafter(x, HUGE_VAL)})
      for (const double s : {1.0, -1.0}) out.push_back(s * y);
  }
  for (const double x : {HUGE_VAL, -HUGE_VAL, std::nan("")}) out.push_back(x);
  return out;
}

/// Ordinary sizes, float's whole range, neighbours of multiples of pi/2.
double sample(std::mt19937_64& rng) {
  switch (rng() % 5) {
    case 0:
      return 8 * uniform(rng) - 4;
    case 1:
      return 200 * uniform(rng) - 100;
    case 2:
      return std::ldexp(1 + uniform(rng), static_cast<int>(rng() % 277) - 149) *
             (rng() % 2 == 0 ? 1 : -1);
    case 3: {
      const double near = static_cast<double>(rng() % 2000000) * 1.5707963267948966;
      return static_cast<double>(static_cast<float>(near));
    }
    default:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(rng())));
  }
}

struct Samples {
  std::vector<double> x, y;
};

Samples samples(size_t count, uint64_t seed) {
  std::mt19937_64 rng(seed);
  Samples out;
  const std::vector<double> ends = specials();
  for (const double a : ends) {
    out.x.push_back(a);
    out.y.push_back(ends[rng() % ends.size()]);
  }
  for (size_t k = 0; k < count; ++k) {
    out.x.push_back(sample(rng));
    out.y.push_back(k % 2 == 0 ? sample(rng) : 6 * uniform(rng) - 3);
  }
  return out;
}

bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

TEST(RowFunctions, BothBuildsGiveTheSameBits) {
  if (!has_avx2()) GTEST_SKIP() << "no AVX2 here";
  const Samples in = samples(20001, 3);
  const auto n = in.x.size();
  for (const std::string& name : kAll) {
    ASSERT_NE(plain_function(name), nullptr) << name;
    std::vector<double> v(n), e(n), w(n), f(n);
    plain_function(name)(static_cast<int>(n), in.x.data(), in.y.data(), v.data(), e.data());
    avx2_function(name)(static_cast<int>(n), in.x.data(), in.y.data(), w.data(), f.data());
    int different = 0;
    for (size_t k = 0; k < n; ++k)
      if (!same(v[k], w[k]) || !same(e[k], f[k])) ++different;
    EXPECT_EQ(different, 0) << name;
  }
}

/// How much of its bound the worst value uses, and how many arguments have no value.
struct Used {
  double most = 0;
  size_t without = 0;
};

Used measured(const std::string& name, const Samples& in) {
  const auto n = in.x.size();
  std::vector<double> v(n), e(n);
  row_function(name)(static_cast<int>(n), in.x.data(), in.y.data(), v.data(), e.data());
  Used used;
  for (size_t k = 0; k < n; ++k) {
    if (std::isinf(e[k])) {
      ++used.without;
      continue;
    }
    if (!is_known(name, in.x[k])) continue;
    const double exact = nearest_value(name, in.x[k], in.y[k]);
    const std::string at = name + "(" + std::to_string(in.x[k]) + ", " + std::to_string(in.y[k]) +
                           ") bits " + std::to_string(std::bit_cast<uint64_t>(in.x[k]));
    if (!std::isfinite(exact) || !std::isfinite(v[k])) {
      EXPECT_TRUE(exact == v[k] || (exact != exact && v[k] != v[k]))
          << at << " " << exact << " " << v[k];
      continue;
    }
    const double off = std::fabs(v[k] - exact);
    EXPECT_LE(off, e[k] + std::fabs(exact) * 0x1p-53) << at << " " << exact << " " << v[k];
    EXPECT_TRUE(off != 0 || std::signbit(exact) == std::signbit(v[k])) << at;
    // Below a rounding of the reference nothing can be said, nor where the value counts as 0.
    if (off > std::fabs(exact) * 0x1p-52 && e[k] > 0x1p-960)
      used.most = std::max(used.most, off / e[k]);
  }
  return used;
}

TEST(RowFunctions, ValuesLieWithinTheirBounds) {
  const Samples in = samples(1500, 7);
  for (const std::string& name : kAll) {
    const Used used = measured(name, in);
    // A quarter of each bound is margin for arguments that no sample meets.
    EXPECT_LT(used.most, 0.75) << name;
    RecordProperty(name, std::to_string(used.most));
    // What is left to multiprecision: negative bases, subnormal doubles, double's last binades.
    EXPECT_LT(static_cast<double>(used.without), 0.65 * static_cast<double>(in.x.size())) << name;
  }
}

TEST(RowFunctions, FloatsAreNeverLeftToMultiprecision) {
  std::mt19937_64 rng(5);
  for (const std::string& name : kAll) {
    if (name == "pow" || name == "exp2" || name == "expm1" || name == "exp10" || name == "sinh" ||
        name == "cosh")
      continue;  // far ends, negative bases
    for (int k = 0; k < 20000; ++k) {
      const double x = static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(rng())));
      const double y = 1.25;
      double v = 0;
      double e = 0;
      row_function(name)(1, &x, &y, &v, &e);
      ASSERT_FALSE(std::isinf(e)) << name << " " << x;
    }
  }
}

// Float arguments that lie next to multiples of pi/2, where reduction loses most (the last one is
// the worst of all floats: Muller, Elementary Functions, 11.3).
TEST(RowFunctions, HardReductions) {
  Samples in;
  for (const float x : {16367173.0f * 0x1p72f, 0x1.f9cbe2p7f, 0x1.47d0fep34f, 12067405.0f, 11.0f,
                        22.0f, 355.0f, 0x1.6ac5b2p62f, 0x1.fffffep127f, 8119043.0f * 0x1p64f}) {
    in.x.push_back(static_cast<double>(x));
    in.y.push_back(0);
  }
  for (const char* name : {"sin", "cos", "tan"}) EXPECT_LT(measured(name, in).most, 0.75) << name;
}

}  // namespace
}  // namespace assay::rows
