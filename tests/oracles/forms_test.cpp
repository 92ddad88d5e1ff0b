// Named functions in the forms that kernels usually have, each with its functions at the end of
// their published error (docs/judging/elementwise.md, "Usual forms").
#include <gtest/gtest.h>

#include <cmath>

#include "oracles/functions.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::as_double;
using testing::f32_bits;
using testing::judge_pair;
using testing::pair_contract;
using testing::told;

const char* const kPolicy =
    "[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

/// The correctly rounded f(x), moved by `ulps` of the exact value's binade.
float device(const char* f, float x, int ulps) {
  const double exact = nearest_value(f, as_double(x), 0);
  const auto v = static_cast<float>(exact);
  if (v < 0x1p-126f) return v;  // f >= 0; what underflows keeps its value
  const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
  const double moved = as_double(v) + ulps * ulp;
  const auto rounded = static_cast<float>(moved);
  return as_double(rounded) == moved ? rounded : v;  // beyond the binade numbers are further apart
}

struct Form {
  const char* name;
  const char* first;  ///< the definition, alone
  float (*kernel)(float x, int sign);
  bool first_refuses;  ///< somewhere: the definition alone is not enough
};

const Form kForms[] = {
    {"silu(a)", "a / (1 + exp(-a))",
     [](float x, int s) { return x * (1.0f / (1.0f + device("exp", -x, 2 * s))); }, true},
    {"softplus(a)", "max(a, 0) + log1p(exp(-abs(a)))",
     [](float x, int s) { return x > 20.0f ? x : device("log1p", device("exp", x, 2 * s), s); },
     true},
    {"logsigmoid(a)", "min(a, 0) - log1p(exp(-abs(a)))",
     [](float x, int s) { return x < -20.0f ? x : -device("log1p", device("exp", -x, 2 * s), s); },
     true},
    {"gelu(a)", "0.5 * a * (1 + erf(a * 0.70710678118654752440))",
     [](float x, int s) { return x * device("normcdf", x, 5 * s); }, true},
    {"gelu(a)", "0.5 * a * (1 + erf(a * 0.70710678118654752440))",
     [](float x, int s) { return 0.5f * x * device("erfc", -x * 0.70710678118654752440f, 4 * s); },
     true},
    {"gelu_tanh(a)", "0.5 * a * (1 + tanh(0.79788456080286535588 * (a + 0.044715 * a * a * a)))",
     [](float x, int s) {
       const float u = -1.5957691216057308f * (x + 0.044715f * x * x * x);
       return x / (1.0f + device("exp", u, 2 * s));
     },
     true},
};

Verdict judged(const std::string& formula, float x, float got) {
  return judge_pair(pair_contract("f32", formula, kPolicy), DType::f32, f32_bits(x), f32_bits(0),
                    f32_bits(got));
}

TEST(Forms, EachUsualFormIsAccepted) {
  for (const Form& form : kForms) {
    int refused = 0;
    for (int k = 0; k < 240; ++k) {
      const float x = static_cast<float>(k / 2 - 60) * (k % 2 == 0 ? 0.52366f : 4.1e-5f) + 0.0123f;
      for (const int sign : {-1, 0, 1}) {
        const float got = form.kernel(x, sign);
        const Verdict v = judged(form.name, x, got);
        ASSERT_EQ(v.outcome, Outcome::pass) << form.name << " " << x << " " << told(v);
        refused += judged(form.first, x, got).outcome == Outcome::mismatch ? 1 : 0;
      }
    }
    EXPECT_EQ(refused > 0, form.first_refuses) << form.name << " " << refused;
  }
}

TEST(Forms, WrongValuesAreNot) {
  for (const Form& form : kForms)
    for (const float x : {-0.6f, 0.3f, 0.9f, 1.7f, 6.5f, 25.0f}) {
      const float right = form.kernel(x, 0);
      for (const float by : {1 - 0x1p-19f, 1 + 0x1p-19f})
        EXPECT_EQ(judged(form.name, x, right * by).outcome, Outcome::mismatch)
            << form.name << " " << x;
    }
}

TEST(Forms, EndsAreThoseOfTheFunction) {
  const float big = 0x1.fffffep127f;
  for (const auto& [formula, x, right] :
       {std::tuple{"silu(a)", big, big}, std::tuple{"gelu(a)", big, big},
        std::tuple{"softplus(a)", big, big}, std::tuple{"softplus(a)", -big, 0.0f},
        std::tuple{"logsigmoid(a)", -big, -big}}) {
    const Verdict v = judged(formula, x, right);
    EXPECT_EQ(v.outcome, Outcome::pass) << formula << " " << x << " " << told(v);
    EXPECT_EQ(judged(formula, x, right == 0 ? 1.0f : right / 2).outcome, Outcome::mismatch)
        << formula << " " << x;
  }
}

// The exponent of the form by exp is off by more than 1 from x = -3600 on: its quotient is 0.
TEST(Forms, HugeExponentsKeepTheirLimit) {
  for (const float x : {-3000.0f, -3700.0f, -60000.0f}) {
    const Verdict right = judged("gelu_tanh(a)", x, -0.0f);
    EXPECT_EQ(right.outcome, Outcome::pass) << x << told(right);
    EXPECT_EQ(right.no_bound, 0) << x;
    for (const float got : {-1.0f, 1.0f, x, NAN})
      EXPECT_EQ(judged("gelu_tanh(a)", x, got).outcome, Outcome::mismatch) << x << got;
  }
  EXPECT_EQ(judged("gelu_tanh(a)", 60000, 60000).no_bound, 0);
  EXPECT_EQ(judged("gelu_tanh(a)", 60000, 59000).outcome, Outcome::mismatch);
}

}  // namespace
}  // namespace assay
