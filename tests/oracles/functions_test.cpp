// Functions of two arguments, and cube roots: special values after IEEE 754-2019, 9.2.1 and C17
// Annex F, and outputs at the limits of what is accepted next to the ends of double's range.
#include "oracles/functions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "oracles/row_functions.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::f32_bits;
using testing::judge_pair;
using testing::pair_contract;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 0x1.921fb54442d18p+1;

bool same(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (a != a && b != b);
}

struct Special {
  const char* name;
  double x, y, value;
};

TEST(Functions, SpecialValues) {
  for (const Special& s : {
           Special{"atan2", 0.0, 0.0, 0.0},
           {"atan2", -0.0, 0.0, -0.0},
           {"atan2", 0.0, -0.0, kPi},
           {"atan2", -0.0, -0.0, -kPi},
           {"atan2", -0.0, 3.0, -0.0},
           {"atan2", 0.0, -3.0, kPi},
           {"atan2", 2.0, -0.0, kPi / 2},
           {"atan2", -2.0, 0.0, -kPi / 2},
           {"atan2", 2.0, -kInfinity, kPi},
           {"atan2", -2.0, kInfinity, -0.0},
           {"atan2", kInfinity, -7.0, kPi / 2},
           {"atan2", kInfinity, kInfinity, kPi / 4},
           {"atan2", -kInfinity, -kInfinity, -0x1.2d97c7f3321d2p+1},
           {"atan2", kNan, 1.0, kNan},
           {"atan2", 1.0, kNan, kNan},
           {"hypot", 3.0, -4.0, 5.0},
           {"hypot", -0.0, -0.0, 0.0},
           {"hypot", -2.5, 0.0, 2.5},
           {"hypot", kInfinity, kNan, kInfinity},
           {"hypot", kNan, -kInfinity, kInfinity},
           {"hypot", kNan, 1.0, kNan},
           {"hypot", 0x1p1000, 0x1p1000, 0x1.6a09e667f3bcdp+1000},
           {"hypot", 0x1p-1060, 0x1p-1060, 0x1.6a0ap-1060},
           {"cbrt", -27.0, 0, -3.0},
           {"cbrt", -0.0, 0, -0.0},
           {"cbrt", kInfinity, 0, kInfinity},
           {"cbrt", 0x1p-1074, 0, 0x1p-358},
           {"cbrt", kNan, 0, kNan},
           {"asin", -0.0, 0, -0.0},
           {"asin", 1.0, 0, kPi / 2},
           {"asin", -1.0, 0, -kPi / 2},
           {"asin", 1.5, 0, kNan},
           {"asin", -kInfinity, 0, kNan},
           {"acos", 1.0, 0, 0.0},
           {"acos", -1.0, 0, kPi},
           {"acos", 0.0, 0, kPi / 2},
           {"acos", -0.0, 0, kPi / 2},
           {"acos", -1.5, 0, kNan},
           {"acos", kInfinity, 0, kNan},
           {"atan", -0.0, 0, -0.0},
           {"atan", kInfinity, 0, kPi / 2},
           {"atan", -kInfinity, 0, -kPi / 2},
           {"sinh", -0.0, 0, -0.0},
           {"sinh", -kInfinity, 0, -kInfinity},
           {"sinh", -1e300, 0, -kInfinity},
           {"sinh", 720.0, 0, kInfinity},
           {"cosh", -0.0, 0, 1.0},
           {"cosh", -kInfinity, 0, kInfinity},
           {"cosh", -1e300, 0, kInfinity},
           {"asinh", -0.0, 0, -0.0},
           {"asinh", -kInfinity, 0, -kInfinity},
           {"acosh", 1.0, 0, 0.0},
           {"acosh", 0.5, 0, kNan},
           {"acosh", 0.0, 0, kNan},
           {"acosh", -kInfinity, 0, kNan},
           {"acosh", kInfinity, 0, kInfinity},
           {"atanh", -0.0, 0, -0.0},
           {"atanh", 1.0, 0, kInfinity},
           {"atanh", -1.0, 0, -kInfinity},
           {"atanh", -1.5, 0, kNan},
           {"atanh", kInfinity, 0, kNan},
           {"exp10", -0.0, 0, 1.0},
           {"exp10", -kInfinity, 0, 0.0},
           {"exp10", kInfinity, 0, kInfinity},
           {"exp10", 1e300, 0, kInfinity},
           {"exp10", kNan, 0, kNan},
           {"pow", kNan, 0.0, 1.0},
           {"pow", 1.0, kNan, 1.0},
           {"pow", -1.0, kInfinity, 1.0},
           {"pow", -2.0, 3.0, -8.0},
           {"pow", -2.0, 0.5, kNan},
           {"pow", -0.0, -3.0, -kInfinity},
           {"pow", -kInfinity, -3.0, -0.0},
           {"fmod", -0.0, 2.0, -0.0},
           {"fmod", 5.0, -kInfinity, 5.0},
           {"fmod", -5.5, 2.0, -1.5},
           {"fmod", 1.0, 0.0, kNan},
           {"copysign", kNan, -1.0, kNan},
           {"copysign", 3.0, -0.0, -3.0},
       }) {
    EXPECT_TRUE(same(nearest_value(s.name, s.x, s.y), s.value))
        << s.name << " " << s.x << " " << s.y << " " << nearest_value(s.name, s.x, s.y);
    double v = 0;
    double e = 0;
    rows::row_function(s.name)(1, &s.x, &s.y, &v, &e);
    if (std::isinf(e)) continue;  // left to the other
    EXPECT_TRUE(std::isfinite(s.value)
                    ? std::fabs(v - s.value) <= e && std::signbit(v) == std::signbit(s.value)
                    : same(v, s.value))
        << s.name << " " << s.x << " " << s.y << " " << v;
  }
}

/// Made with mpmath at 60 digits; 6.64 and 10.5 are where complements change their series.
TEST(Functions, ErrorFunctionsOnEitherSideOfTheirSeries) {
  struct Known {
    const char* name;
    double x;
    double value;
  };
  for (const Known& known : std::initializer_list<Known>{
           {"erf", 1e-300, 1.1283791670955126e-300},
           {"erf", 0.5, 0.5204998778130465},
           {"erf", 3.0, 0.9999779095030014},
           {"erf", -2.25, -0.9985372834133188},
           {"erfc", 0.5, 0.4795001221869535},
           {"erfc", -3.0, 1.9999779095030015},
           {"erfc", 6.5, 3.8421483271206475e-20},
           {"erfc", 6.75, 1.34876788936113e-21},
           {"erfc", 10.375, 9.676383311708455e-49},
           {"erfc", 10.625, 4.959272327698882e-51},
           {"erfc", 26.0, 5.663192408856143e-296},
           {"erfc", -1e178, 2.0},
           {"erfc", 1e-20, 1.0},
       }) {
    EXPECT_EQ(nearest_value(known.name, known.x, 0), known.value) << known.name << " " << known.x;
  }
}

/// Made with mpmath at 60 digits.
TEST(Functions, AnglesAndHyperbolicFunctions) {
  struct Known {
    const char* name;
    double x;
    double value;
  };
  for (const Known& known : std::initializer_list<Known>{
           {"asin", 1e-300, 0x1.56e1fc2f8f359p-997},
           {"asin", 0x1p-30, 0x1.0000000000000p-30},
           {"asin", 0.5, 0x1.0c152382d7366p-1},
           {"asin", -0.75, -0x1.b235315c680dcp-1},
           {"asin", 0x1.fffffffffffffp-1, 0x1.921fb50442d18p+0},
           {"asin", 0.1, 0x1.9a49276037884p-4},
           {"acos", 1e-300, 0x1.921fb54442d18p+0},
           {"acos", -0.5, 0x1.0c152382d7366p+1},
           {"acos", 0.75, 0x1.720a392c1d955p-1},
           {"acos", 0x1.fffffffffffffp-1, 0x1.0000000000000p-26},
           {"acos", -0x1.fffffffffffffp-1, 0x1.921fb52442d18p+1},
           {"acos", 0.1, 0x1.787b22ce3f590p+0},
           {"atan", 1e-300, 0x1.56e1fc2f8f359p-997},
           {"atan", 0x1p-30, 0x1.0000000000000p-30},
           {"atan", 1.0, 0x1.921fb54442d18p-1},
           {"atan", -3.0, -0x1.3fc176b7a8560p+0},
           {"atan", 1e300, 0x1.921fb54442d18p+0},
           {"atan", 0.4375, 0x1.a64eec3cc23fdp-2},
           {"sinh", 1e-300, 0x1.56e1fc2f8f359p-997},
           {"sinh", 0x1p-30, 0x1.0000000000000p-30},
           {"sinh", 0.5, 0x1.0acd00fe63b97p-1},
           {"sinh", -20.0, -0x1.ceb088b68e804p+27},
           {"sinh", 710.0, 0x1.3e21a464507f9p+1023},
           {"sinh", 0.001, 0x1.0624e00c1c9e3p-10},
           {"cosh", 0x1p-30, 0x1.0000000000000p+0},
           {"cosh", 0.5, 0x1.20ac1862ae8d0p+0},
           {"cosh", -20.0, 0x1.ceb088b68e804p+27},
           {"cosh", 710.0, 0x1.3e21a464507f9p+1023},
           {"cosh", 0.001, 0x1.000008637bdc1p+0},
           {"asinh", 1e-300, 0x1.56e1fc2f8f359p-997},
           {"asinh", 0x1p-30, 0x1.0000000000000p-30},
           {"asinh", 0.5, 0x1.ecc2caec5160ap-2},
           {"asinh", -1e10, -0x1.7b810429a7c2ap+4},
           {"asinh", 1e300, 0x1.59bbfd8b83e44p+9},
           {"asinh", 0x1.fffffffffffffp1023, 0x1.633ce8fb9f87ep+9},
           {"acosh", 0x1.0000000000001p0, 0x1.6a09e667f3bccp-26},
           {"acosh", 1.5, 0x1.ecc2caec5160ap-1},
           {"acosh", 1e10, 0x1.7b810429a7c2ap+4},
           {"acosh", 1e300, 0x1.59bbfd8b83e44p+9},
           {"atanh", 1e-300, 0x1.56e1fc2f8f359p-997},
           {"atanh", 0x1p-30, 0x1.0000000000000p-30},
           {"atanh", 0.5, 0x1.193ea7aad030bp-1},
           {"atanh", -0.75, -0x1.f2272ae325a57p-1},
           {"atanh", 0x1.fffffffffffffp-1, 0x1.2b708872320e2p+4},
           {"exp10", 0.5, 0x1.94c583ada5b53p+1},
           {"exp10", -0.25, 0x1.1feb33c1c381ep-1},
           {"exp10", 2.0, 0x1.9000000000000p+6},
           {"exp10", -3.0, 0x1.0624dd2f1a9fcp-10},
           {"exp10", 308.0, 0x1.1ccf385ebc8a0p+1023},
           {"exp10", -320.0, 0x0.00000000007e8p-1022},
           {"exp10", 1e-20, 0x1.0000000000000p+0},
       }) {
    EXPECT_EQ(nearest_value(known.name, known.x, 0), known.value) << known.name << " " << known.x;
    double v = 0;
    double e = 0;
    rows::row_function(known.name)(1, &known.x, &known.x, &v, &e);
    EXPECT_LE(std::fabs(v - known.value), e + std::fabs(known.value) * 0x1p-53)
        << known.name << " " << known.x;
  }
}

TEST(Functions, CubeRootsAreRoots) {
  std::mt19937_64 rng(3);
  for (int k = 0; k < 200; ++k) {
    const double y = std::ldexp(1 + static_cast<double>(rng() % 1024) / 1024,
                                static_cast<int>(rng() % 600) - 300);
    EXPECT_EQ(nearest_value("cbrt", y * y * y, 0), y);  // 33 bits: exact
  }
}

constexpr const char* kPolicy = "[policy]\nrange = \"safe\"\nnan = \"propagate\"\n";

Outcome pair64(const Contract& contract, double a, double b, double got,
               Tier first = Tier::running_double) {
  JudgeOptions options;
  options.first_tier = first;
  const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
  return judge_pair(contract, DType::f64, bits(a), bits(b), bits(got), options).outcome;
}

double beside(double x, double by) { return std::nextafter(x, by * kInfinity); }

// The host's division, multiplication and root are IEEE's: each tier accepts them and nothing two
// ulps away, near double's smallest and largest numbers too.
TEST(Functions, DoublesNearTheEndsOfTheirRange) {
  const Contract quotient = pair_contract("f64", "a / b", kPolicy);
  const Contract product = pair_contract("f64", "a * b", kPolicy);
  const Contract root = pair_contract("f64", "sqrt(a) + 0 * b", kPolicy);
  std::mt19937_64 rng(8);
  const auto drawn = [&](int low, int high) {
    const int exponent = low + static_cast<int>(rng() % static_cast<unsigned>(high - low + 1));
    return std::ldexp(1 + static_cast<double>(rng() >> 12) * 0x1p-52, exponent);
  };
  const auto check = [](const Contract& contract, double a, double b, double right) {
    for (const Tier tier : {Tier::running_double, Tier::double_double, Tier::multiprecision}) {
      EXPECT_EQ(pair64(contract, a, b, right, tier), Outcome::pass) << a << " " << b;
      for (const double by : {-1.0, 1.0}) {
        const double off = beside(beside(right, by), by);
        EXPECT_EQ(pair64(contract, a, b, off, tier), Outcome::mismatch)
            << a << " " << b << " " << off;
      }
    }
  };
  for (int k = 0; k < 40; ++k) {
    const double small = drawn(-1074, -1000);
    const double large = drawn(1000, 1022);
    const double middle = drawn(-3, 3);
    for (const double a : {small, large, 0x1.fffffffffffffp1023}) {
      const double quotient_a_b = a / middle;
      if (std::isfinite(quotient_a_b)) check(quotient, a, middle, quotient_a_b);
      const double product_a_b = a * middle;
      if (std::isfinite(product_a_b)) check(product, a, middle, product_a_b);
      check(root, a, 1, std::sqrt(a));
    }
    const double tiny = drawn(-1060, -900);
    check(quotient, small, tiny, small / tiny);
  }
}

// hypot(1, largest) lies within two ulps of overflow; hypot(largest, largest) is beyond it.
TEST(Functions, OverflowOfDoublesIsDecided) {
  const Contract contract = pair_contract("f64", "hypot(a, b)", kPolicy);
  const double largest = 0x1.fffffffffffffp1023;
  EXPECT_EQ(pair64(contract, 1, largest, largest), Outcome::pass);
  EXPECT_EQ(pair64(contract, 1, largest, kInfinity), Outcome::pass);
  EXPECT_EQ(pair64(contract, largest, largest, kInfinity), Outcome::pass);
  EXPECT_EQ(pair64(contract, largest, largest, -kInfinity), Outcome::mismatch);
  EXPECT_EQ(pair64(contract, 1, 0x1p1023, kInfinity), Outcome::mismatch);
  for (const Tier tier : {Tier::double_double, Tier::multiprecision})
    EXPECT_EQ(pair64(contract, largest, -largest, kInfinity, tier), Outcome::pass);
}

// The order of operations decides the sign of a computed 0, and nothing that of a NaN: R9, IEEE
// 754-2019, 6.3. An operand's own sign is data.
TEST(Functions, SignsThatAreComputedAreOpen) {
  const Contract sign = pair_contract("f64", "copysign(1, a - b)", kPolicy);
  for (const double equal : {3.0, kInfinity}) {
    EXPECT_EQ(pair64(sign, equal, equal, 1), Outcome::pass) << equal;
    EXPECT_EQ(pair64(sign, equal, equal, -1), Outcome::pass) << equal;
    EXPECT_EQ(pair64(sign, equal, equal, 2), Outcome::mismatch) << equal;
  }
  EXPECT_EQ(pair64(sign, 3, 4, 1), Outcome::mismatch);
  const Contract moved = pair_contract("f64", "copysign(a, b)", kPolicy);
  EXPECT_EQ(pair64(moved, 2, -0.0, -2), Outcome::pass);
  EXPECT_EQ(pair64(moved, 2, -0.0, 2), Outcome::mismatch);
  const Contract angle = pair_contract("f64", "atan2(a - b, -1)", kPolicy);
  EXPECT_EQ(pair64(angle, 3, 3, 0x1.921fb54442d18p+1), Outcome::pass);
  EXPECT_EQ(pair64(angle, 3, 3, -0x1.921fb54442d18p+1), Outcome::pass);
  EXPECT_EQ(pair64(angle, 3, 3, 4), Outcome::mismatch);
  const Contract power = pair_contract("f64", "pow(a - b, -1)", kPolicy);
  EXPECT_NE(pair64(power, 3, 3, kInfinity), Outcome::mismatch);
  EXPECT_NE(pair64(power, 3, 3, -kInfinity), Outcome::mismatch);
}

// pi / 2 is no double: the product may be either neighbour of the exact one.
TEST(Functions, ALimitThatIsNoNumberRounds) {
  const Contract contract = pair_contract("f64", "atan(a) * b", kPolicy);
  for (double b = 1; b < 2; b += 0x1.1p-5)
    EXPECT_EQ(pair64(contract, kInfinity, b, 0x1.921fb54442d18p+0 * b), Outcome::pass) << b;
}

// Rows of values know these to 2^-1000 alone.
TEST(Functions, TailsOfDoublesHaveTheirUlps) {
  const Contract contract = pair_contract("f64", "exp2(a) + 0 * b", kPolicy);
  for (const double a : {-1020.5, -1010.25, -1001.75}) {
    const double v = std::exp2(a);
    const double ulp = std::nextafter(v, 1) - v;
    EXPECT_EQ(pair64(contract, a, 0, v + ulp), Outcome::pass) << a;
    EXPECT_EQ(pair64(contract, a, 0, v - ulp), Outcome::pass) << a;
    EXPECT_EQ(pair64(contract, a, 0, v + 8 * ulp), Outcome::mismatch) << a;
  }
}

// exp(-1e-17) rounds to 1, and a figure of 1 ulp counts from there: one place above 1.
TEST(Functions, AFigureCountsFromTheRoundedResult) {
  const Contract contract = pair_contract("f64", "exp(a) + 0 * b", kPolicy);
  EXPECT_EQ(pair64(contract, -1e-17, 0, 1 + 0x1p-52), Outcome::pass);
  EXPECT_EQ(pair64(contract, -1e-17, 0, 1 + 0x1p-50), Outcome::mismatch);
}

// Of a quotient beyond double no fraction is known.
TEST(Functions, RemaindersOfFarQuotients) {
  const Contract contract = pair_contract("f64", "fmod(a - b, 1e-300)", kPolicy);
  EXPECT_EQ(pair64(contract, 1e300, 1, 5e-301), Outcome::pass);
  EXPECT_NE(pair64(contract, 1e300, 1, 2e-300), Outcome::pass);
}

// Values far below the smallest double are 0, which the last tier must be able to say.
TEST(Functions, VanishingPowersOfDoublesAreDecided) {
  const Contract contract = pair_contract("f64", "pow(a, b)", kPolicy);
  EXPECT_EQ(pair64(contract, 0.10568956259568964, 1885, 0), Outcome::pass);
  EXPECT_EQ(pair64(contract, 0.10568956259568964, 1885, 0x1p-1060), Outcome::mismatch);
}

// CUDA Math API: powf(x, 0) and powf(1, y) are 1, hypotf(x, 0) is |x|. Elsewhere four ulps are
// fine.
TEST(Functions, DocumentedValuesBind) {
  const float above = 0x1.000002p0f;
  const auto outcome = [](const char* formula, float a, float b, float got) {
    return judge_pair(pair_contract("f32", formula, kPolicy), DType::f32, f32_bits(a), f32_bits(b),
                      f32_bits(got))
        .outcome;
  };
  for (const auto& [a, b] : {std::pair{7.5f, 0.0f}, {1.0f, 3.7f}, {-1.0f, INFINITY}}) {
    EXPECT_EQ(outcome("pow(a, b)", a, b, 1), Outcome::pass);
    EXPECT_EQ(outcome("pow(a, b)", a, b, above), Outcome::mismatch);
  }
  EXPECT_EQ(outcome("pow(a, b)", above, 1, above), Outcome::pass);
  EXPECT_EQ(outcome("pow(a, b)", above, 1, 1), Outcome::pass);
  EXPECT_EQ(outcome("hypot(a, b)", 0, -1, 1), Outcome::pass);
  EXPECT_EQ(outcome("hypot(a, b)", 0, -1, above), Outcome::mismatch);
}

TEST(Functions, SignsOfNaNArePassedOn) {
  const Contract contract = pair_contract("f32", "copysign(a, b)", kPolicy);
  for (const Tier tier : {Tier::running_double, Tier::multiprecision}) {
    JudgeOptions options;
    options.first_tier = tier;
    const auto outcome = [&](float got) {
      return judge_pair(contract, DType::f32, f32_bits(1), 0xffc00000, f32_bits(got), options)
          .outcome;
    };
    EXPECT_EQ(outcome(-1), Outcome::pass);
    EXPECT_EQ(outcome(1), Outcome::mismatch);
  }
}

// __fdividef is documented for divisors up to 2^126: beyond, infinity / b may be NaN.
TEST(Functions, FastDivisionByLargeNumbers) {
  const Contract contract =
      pair_contract("f32", "a / b", std::string("[accuracy]\nmath = \"fast\"\n") + kPolicy);
  const auto verdict = [&](float a, float b, float got) {
    return judge_pair(contract, DType::f32, f32_bits(a), f32_bits(b), f32_bits(got));
  };
  EXPECT_EQ(verdict(-INFINITY, 1.5e38f, NAN).no_bound, 1);
  EXPECT_EQ(verdict(-INFINITY, 2.0f, NAN).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict(-INFINITY, 2.0f, -INFINITY).outcome, Outcome::pass);
  // Beyond 2^126 by way of 1 / b, which is 0 there, or as within the range.
  for (const float got : {0.0f, -0.0f}) EXPECT_EQ(verdict(1.0f, INFINITY, got).no_bound, 0);
  EXPECT_EQ(verdict(1.0f, INFINITY, 0.0f).outcome, Outcome::pass);
  EXPECT_EQ(verdict(1.0f, INFINITY, 1.0f).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict(3e38f, 1.5e38f, 2.0f).outcome, Outcome::pass);
  EXPECT_EQ(verdict(3e38f, 1.5e38f, 0.0f).outcome, Outcome::pass);
  EXPECT_EQ(verdict(3e38f, 1.5e38f, -0.1f).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict(3e38f, 1.5e38f, INFINITY).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict(3e38f, 1.5e38f, NAN).outcome, Outcome::mismatch);
}

// Documented by their implementations alone, and as accurate as these: exp2f(y __log2f(x)).
TEST(Functions, FastPowersAreJudgedByTheirImplementation) {
  const std::string fast = std::string("[accuracy]\nmath = \"fast\"\n") + kPolicy;
  const auto verdict = [&](const char* formula, float a, float b, float got) {
    return judge_pair(pair_contract("f32", formula, fast), DType::f32, f32_bits(a), f32_bits(b),
                      f32_bits(got));
  };
  // Where the two differ in kind nothing is documented: exp2(442 log2(-1502)) is NaN.
  for (const float got : {INFINITY, NAN, 3.0f}) {
    EXPECT_EQ(verdict("pow(a, b)", -1502, 442, got).no_bound, 1);
    EXPECT_EQ(verdict("pow(a, b)", -INFINITY, 2.5f, got).no_bound, 1);
    EXPECT_EQ(verdict("pow(a, b)", 0, 0, got).no_bound, 1);
    EXPECT_EQ(verdict("pow(a, b)", 3, 0, got).outcome, Outcome::mismatch);
    EXPECT_EQ(verdict("pow(a, b)", 1e-30f, 2, got).outcome, Outcome::mismatch);
  }
  EXPECT_EQ(verdict("pow(a, b)", 3, 0, 1).outcome, Outcome::pass);
  EXPECT_EQ(verdict("pow(a, b)", -3, 2.5f, NAN).outcome, Outcome::pass);
  EXPECT_EQ(verdict("pow(a, b)", -3, 2.5f, 1).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict("pow(a, b)", 1e30f, 2, INFINITY).outcome, Outcome::pass);
  EXPECT_EQ(verdict("pow(a, b)", 1e30f, 2, 1e38f).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict("pow(a, b)", 1e-30f, 2, 0).outcome, Outcome::pass);
  // tan 1.5 = 14.10142: the cosine errs by 2^-21.19 of 0.0707, 6e-6 of the whole.
  EXPECT_EQ(verdict("tan(a + 0 * b)", 1.5f, 0, 14.10150f).outcome, Outcome::pass);
  EXPECT_EQ(verdict("tan(a + 0 * b)", 1.5f, 0, 14.1016f).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict("tan(a + 0 * b)", 4, 0, 1.1578f).no_bound, 1);
  // Within a range they bind.
  EXPECT_EQ(verdict("log(a + 0 * b)", INFINITY, 0, NAN).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict("log(a + 0 * b)", NAN, 0, 1).outcome, Outcome::mismatch);
  EXPECT_EQ(verdict("sin(a + 0 * b)", INFINITY, 0, 1).no_bound, 1);
  // The logarithm's absolute error counts three thousand times: 2^-22 x 3000 ln 2.
  const float exact = static_cast<float>(std::pow(static_cast<double>(1.001f), 3000.0));
  for (const char* formula : {"exp2(b * log2(a))", "pow(a, b)"}) {
    EXPECT_EQ(verdict(formula, 1.001f, 3000, exact * 1.0004f).outcome, Outcome::pass);
    EXPECT_EQ(verdict(formula, 1.001f, 3000, exact * 1.002f).outcome, Outcome::mismatch);
  }
}

}  // namespace
}  // namespace assay
