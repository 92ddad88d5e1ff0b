// Equivalence of tiers: outputs planted at the limit of the accepted set and one ulp to either side
// are judged alike whichever tier comes first.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/oracles/fake_run.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::FakeRun;

Contract contract_of(const std::string& type, const std::string& formula) {
  return parse_contract(R"toml(
name = "row"
source = { cuda = "row_sum.cu", entry = "row" }
sizes = { cols = { min = 1, max = 1000 } }
launch = { grid = ["1"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = ")toml" +
                            type + R"toml(", shape = ["cols"] },
  { name = "x", kind = "input", dtype = ")toml" +
                            type + R"toml(", shape = ["cols"] },
  { name = "w", kind = "input", dtype = ")toml" +
                            type + R"toml(", shape = ["cols"] },
]
[formula]
y = ")toml" + formula + R"toml("
[policy]
range = "safe"
nan = "propagate"
)toml",
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/tiers.toml");
}

Outcome judged(const Judge& judge, const Instance& instance, FakeRun& run, int64_t element,
               uint64_t bits, Tier first) {
  const uint64_t before = run.get("y", element);
  run.set("y", element, bits);
  JudgeOptions options;
  options.first_tier = first;
  const Verdict v = judge.judge(instance, run, options);
  run.set("y", element, before);
  EXPECT_EQ(v.undecided, 0);
  for (const int64_t wrong : v.wrong_elements)
    if (wrong == element) return Outcome::mismatch;
  return Outcome::pass;
}

/// Next bits above or below in value; `bits` is finite and not at the end.
uint64_t neighbour(DType type, uint64_t bits, bool up) {
  const bool negative = to_double(type, bits) < 0;
  if (to_double(type, bits) == 0) return up ? 1 : (uint64_t{1} << (bit_width(type) - 1)) | 1;
  return negative == up ? bits - 1 : bits + 1;
}

/// Largest (or smallest) accepted output around an accepted one, by the judge's own first tier.
uint64_t limit(const Judge& judge, const Instance& instance, FakeRun& run, int64_t element,
               uint64_t from, DType type, bool up) {
  // Gallop in bits, then halve: acceptance is an interval.
  uint64_t inside = from;
  uint64_t step = 1;
  const bool negative = to_double(type, from) < 0;
  const auto moved = [&](uint64_t bits, uint64_t by) {
    return negative == up ? bits - by : bits + by;
  };
  while (step < 1u << 22 && judged(judge, instance, run, element, moved(inside, step),
                                   Tier::running_double) == Outcome::pass) {
    inside = moved(inside, step);
    step *= 2;
  }
  for (; step > 0; step /= 2)
    if (judged(judge, instance, run, element, moved(inside, step), Tier::running_double) ==
        Outcome::pass)
      inside = moved(inside, step);
  return inside;
}

void check(const std::string& type_text, const std::string& formula, uint64_t seed) {
  const DType type = *parse_dtype(type_text);
  Experiment e(contract_of(type_text, formula));
  const int64_t n = 9;
  e.the_case.sizes["cols"] = n;
  std::mt19937_64 rng(seed);
  std::vector<double> x, w;
  for (int64_t k = 0; k < n; ++k) {
    x.push_back(0.25 + static_cast<double>(rng() % 1000) * 0x1p-9);
    w.push_back(0.5 + static_cast<double>(rng() % 1000) * 0x1p-10);
  }
  e.put("x", {n}, type, x);
  e.put("w", {n}, type, w);
  const Instance instance = e.instance();
  const Judge judge(e.contract);
  FakeRun run(instance);
  for (int64_t k = 0; k < n; ++k) {
    const ElementReport report = judge.explain(instance, run, "y", k);
    run.set("y", k, round_to_bits(type, std::strtod(report.exact.c_str(), nullptr)));
  }
  // Seventeen digits do not always round to the double nearest to the exact value.
  for (const int64_t k : judge.judge(instance, run).wrong_elements)
    for (const bool up : {false, true}) {
      const uint64_t next = neighbour(type, run.get("y", k), up);
      if (type != DType::f64 ||
          judged(judge, instance, run, k, next, Tier::multiprecision) != Outcome::pass)
        continue;
      run.set("y", k, next);
      break;
    }
  ASSERT_EQ(judge.judge(instance, run).outcome, Outcome::pass) << type_text << " " << formula;
  const int64_t element = 4;
  const uint64_t middle = run.get("y", element);
  for (const bool up : {false, true}) {
    const uint64_t last = limit(judge, instance, run, element, middle, type, up);
    const uint64_t beyond = neighbour(type, last, up);
    const uint64_t within = neighbour(type, last, !up);
    for (const Tier tier : {Tier::running_double, Tier::double_double, Tier::multiprecision}) {
      EXPECT_EQ(judged(judge, instance, run, element, last, tier), Outcome::pass)
          << type_text << " " << formula << " tier " << static_cast<int>(tier);
      EXPECT_EQ(judged(judge, instance, run, element, beyond, tier), Outcome::mismatch)
          << type_text << " " << formula << " tier " << static_cast<int>(tier);
      if (last != middle) {
        EXPECT_EQ(judged(judge, instance, run, element, within, tier), Outcome::pass);
      }
    }
  }
}

/// e^(-x^2) is far below what 640 bits of 1 - erf(x) hold: erfc(13), with mpmath's digits.
TEST(Tiers, ComplementsOfErrorFunctionsKeepTheirDigits) {
  const std::pair<double, const char*> cases[] = {{10, "2.0884875837625448e-45"},
                                                  {13, "1.7395573154667245e-75"}};
  for (const auto& [x, digits] : cases) {
    Experiment e(contract_of("f64", "erfc(x)"));
    e.the_case.sizes["cols"] = 1;
    e.put("x", {1}, DType::f64, {x});
    e.put("w", {1}, DType::f64, {1});
    const Instance instance = e.instance();
    const Judge judge(e.contract);
    FakeRun run(instance);
    EXPECT_EQ(judge.explain(instance, run, "y", 0).exact, digits);
  }
}

/// Exponentials beyond double's range keep their values: what they are and what they are not.
TEST(Tiers, ValuesBeyondDoublesRange) {
  const std::pair<double, const char*> cases[] = {
      {301056, "9.11053e+130746"}, {3e8, "3.72370e+130288344"}, {-301056, "1.09763e-130747"}};
  for (const auto& [x, about] : cases) {
    Experiment e(contract_of("f32", "exp(x)"));
    e.the_case.sizes["cols"] = 1;
    e.put("x", {1}, DType::f32, {x});
    e.put("w", {1}, DType::f32, {1});
    const Instance instance = e.instance();
    const Judge judge(e.contract);
    FakeRun run(instance);
    const std::string exact = judge.explain(instance, run, "y", 0).exact;
    EXPECT_EQ(exact.substr(0, 7) + exact.substr(exact.find('e')), about) << x;
    for (const Tier tier : {Tier::running_double, Tier::double_double, Tier::multiprecision}) {
      const uint64_t inf = 0x7f800000;
      const auto got = [&](uint64_t bits) { return judged(judge, instance, run, 0, bits, tier); };
      EXPECT_EQ(got(x > 0 ? inf : 0), Outcome::pass) << x;
      for (const uint64_t wrong : {x > 0 ? uint64_t{0x7f7fffff} : inf, inf | 0x80000000,
                                   uint64_t{0x7fc00000}, uint64_t{0x3f800000}})
        EXPECT_EQ(got(wrong), Outcome::mismatch) << x << " " << std::hex << wrong;
    }
  }
}

TEST(Tiers, AgreeAtTheLimitOfEveryPrimitive) {
  const char* formulas[] = {
      "x + w",
      "x - w",
      "x * w",
      "x / w",
      "x * w + x",
      "exp(-x)",
      "sqrt(x)",
      "rsqrt(x)",
      "sum(x, cols)",
      "sum(x * w, cols)",
      "mean(x, cols)",
      "var(x, cols)",
      "max(x, cols)",
      "abs(-x)",
      "log(x)",
      "tanh(x)",
      "softmax(x, cols)",
      "(x - mean(x, cols)) * rsqrt(var(x, cols) + 1e-5)",
      "round(x * w, bf16) + x",
  };
  uint64_t seed = 1;
  for (const char* type : {"f32", "f16", "bf16"})
    for (const char* formula : formulas) check(type, formula, seed++);
}

TEST(Tiers, DoublePrecisionKernels) {
  uint64_t seed = 100;
  for (const char* formula : {"x + w", "x * w", "x / w", "sqrt(x)", "sum(x, cols)", "exp(-x)"})
    check("f64", formula, seed++);
  // What 256 bits decide between double-double and the last tier.
  for (const char* formula :
       {"log(x)", "log1p(x)", "expm1(-x)", "tanh(x)", "pow(x, w)", "sin(x)", "tan(x)", "erf(x)",
        "erfc(4 * x)", "normcdf(-x)", "cbrt(x)", "asinh(x)", "atan2(x, w)", "hypot(x, w)",
        "fmod(x, w)", "x - floor(x)"})
    check("f64", formula, seed++);
}

TEST(Tiers, ExplanationIsTheSameEachTime) {
  Experiment e(contract_of("f32", "softmax(x, cols)"));
  e.the_case.sizes["cols"] = 40;
  const Instance instance = e.instance();
  const Judge judge(e.contract);
  const FakeRun run(instance);
  const ElementReport a = judge.explain(instance, run, "y", 7);
  const ElementReport b = Judge(e.contract).explain(instance, run, "y", 7);
  EXPECT_EQ(a.exact, b.exact);
  EXPECT_EQ(a.accepted, b.accepted);
  EXPECT_EQ(a.allowance, b.allowance);
  EXPECT_EQ(a.rule, "R4");
  ASSERT_FALSE(a.terms.empty());
  double total = 0;
  for (const AllowanceTerm& term : a.terms) {
    EXPECT_FALSE(term.source.empty()) << term.name;
    total += term.value;
  }
  // The terms add up to the allowance, to first order.
  EXPECT_NEAR(total, a.allowance, 0.01 * a.allowance);
  ASSERT_FALSE(a.inputs.empty());
  EXPECT_EQ(a.inputs[0].text.substr(0, 5), "x[7] ");
}

}  // namespace
}  // namespace assay
