// No documented function is ever undecided (rule R6): the last tier knows every value to far below
// an ulp of f64, wherever its arguments lie.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "oracles/accuracy_table.hpp"
#include "oracles/functions.hpp"
#include "oracles/verdict.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::judge_pair;
using testing::pair_contract;
using testing::told;

std::vector<double> arguments(std::mt19937_64& rng) {
  std::vector<double> x{0.0,      -0.0,      1,     -1,     0.5,      2,
                        1e-300,   4.9e-324,  1e300, -1e300, 1e17,     710,
                        -745.2,   -750,      1e6,   -1e6,   0x1p130,  1.7976931348623157e308,
                        0x1p1000, 0x1p-1022, 3.5,   -27.3,  INFINITY, -INFINITY,
                        NAN};
  for (int k = 0; k < 8; ++k) x.push_back(std::bit_cast<double>(rng()));
  std::uniform_real_distribution<double> near(-30, 30);
  for (int k = 0; k < 8; ++k) x.push_back(near(rng));
  return x;
}

/// Judges the correctly rounded value, its neighbours and some far away.
void expect_decided(const std::string& formula, int arguments_of) {
  const Contract contract = pair_contract("f64", formula, "[policy]\nrange = \"naive\"\n");
  std::mt19937_64 rng(11);
  const std::vector<double> all = arguments(rng);
  for (size_t k = 0; k < all.size(); ++k) {
    const double a = all[k];
    const double b = arguments_of == 2 ? all[(k * 7 + 3) % all.size()] : 0;
    const auto bits = [](double x) { return std::bit_cast<uint64_t>(x); };
    // gelu_tanh cubes its argument: beyond 2^1023 the last tier does not know tanh's argument.
    if (formula.starts_with("gelu_tanh") && std::fabs(a) > 1e300) continue;
    const std::string function = formula.substr(0, formula.find('('));
    const double value = find_function(function) != nullptr ? nearest_value(function, a, b) : 0.5;
    for (const double got : {value, std::nextafter(value, INFINITY), 0.0}) {
      const Verdict v = judge_pair(contract, DType::f64, bits(a), bits(b), bits(got));
      EXPECT_NE(v.outcome, Outcome::undecided)
          << formula << " a " << a << " b " << b << " got " << got << ": " << told(v);
    }
    const Verdict v = judge_pair(contract, DType::f64, bits(a), bits(b), bits(value));
    if (find_function(function) != nullptr) {
      EXPECT_NE(v.outcome, Outcome::mismatch) << formula << " a " << a << " b " << b << told(v);
    }
  }
}

TEST(Undecided, NoFunctionOfOneArgument) {
  for (const char* name :
       {"exp",   "exp2", "expm1", "log",  "log2", "log10", "log1p",   "sqrt",  "rsqrt",
        "sin",   "cos",  "tan",   "tanh", "erf",  "erfc",  "normcdf", "floor", "rint",
        "exp10", "asin", "acos",  "atan", "sinh", "cosh",  "asinh",   "acosh", "atanh"})
    expect_decided(std::string(name) + "(a) ", 1);
}

TEST(Undecided, NoFunctionOfTwoArguments) {
  for (const char* name : {"pow", "atan2", "fmod", "copysign"})
    expect_decided(std::string(name) + "(a, b)", 2);
}

TEST(Undecided, NoFunctionOfTheLibrary) {
  for (const char* name : {"sigmoid", "silu", "gelu", "gelu_tanh", "softplus", "logsigmoid"})
    expect_decided(std::string(name) + "(a)", 1);
}

}  // namespace
}  // namespace assay
