// What follows from an overflow and lies outside of the widened reading's interval: NaN that a
// maximum keeps, 0 times an infinity, the other branch of a choice (docs/judging/overflow.md).
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::FakeRun;
using testing::judge_row;
using testing::pair_contract;
using testing::row_contract;

const std::string kNaive =
    "[policy]\nrange = \"naive\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";
const std::string kSafe =
    "[policy]\nrange = \"safe\"\nnan = \"propagate\"\nsubnormals = \"keep\"\n";

/// y = formula of a and b over n; an observation of what the kernel wrote.
class Pairs {
 public:
  Pairs(const std::string& type, const std::string& formula, const std::vector<double>& a,
        const std::vector<double>& b, const std::string& policy = kNaive)
      : type_(*parse_dtype(type)), experiment_(pair_contract(type, formula, policy)) {
    const auto n = static_cast<int64_t>(a.size());
    experiment_.the_case.sizes["n"] = n;
    for (int64_t k = 0; k < n; ++k) {
      experiment_.put_bits("a", {n}, k, type_, bits(a[static_cast<size_t>(k)]));
      experiment_.put_bits("b", {n}, k, type_, bits(b[static_cast<size_t>(k)]));
    }
  }

  Outcome operator()(const std::vector<double>& got) {
    const Instance instance = experiment_.instance();
    return Judge(experiment_.contract).judge(instance, wrote(instance, got)).outcome;
  }
  /// Of the first element.
  std::string accepted(const std::vector<double>& got) {
    const Instance instance = experiment_.instance();
    return Judge(experiment_.contract).explain(instance, wrote(instance, got), "y", 0).accepted;
  }

 private:
  uint64_t bits(double x) const { return round_to_bits(type_, x); }
  FakeRun wrote(const Instance& instance, const std::vector<double>& got) const {
    FakeRun run(instance);
    for (size_t k = 0; k < got.size(); ++k) run.set("y", static_cast<int64_t>(k), bits(got[k]));
    return run;
  }

  DType type_;
  Experiment experiment_;
};

TEST(AfterOverflow, AMaximumKeepsNaN) {
  Pairs clamped("f32", "max(a * a - b * b, 0)", {1e30}, {1e29});
  for (const double got : {static_cast<double>(NAN), 0.0, static_cast<double>(INFINITY)})
    EXPECT_EQ(clamped({got}), Outcome::pass) << got;
  for (const double got : {1.0, 3e38, -1.0, static_cast<double>(-INFINITY)})
    EXPECT_EQ(clamped({got}), Outcome::mismatch) << got;
  EXPECT_NE(clamped.accepted({1.0}).find("NaN after an overflow"), std::string::npos);

  Pairs root("f32", "sqrt(max(a * a - b * b, 0))", {1e30}, {1e29});
  for (const double got :
       {static_cast<double>(NAN), 0.0, static_cast<double>(INFINITY), 9.9498744e29})
    EXPECT_EQ(root({got}), Outcome::pass) << got;
  for (const double got : {9.96e29, 1e30, 1.0}) EXPECT_EQ(root({got}), Outcome::mismatch) << got;

  // Nothing overflows, or a kernel says that it never does.
  EXPECT_EQ(Pairs("f32", "max(a * a - b * b, 0)", {1e18}, {1e17})({NAN}), Outcome::mismatch);
  EXPECT_EQ(Pairs("f32", "max(a * a - b * b, 0)", {1e30}, {1e29}, kSafe)({NAN}), Outcome::mismatch);
}

TEST(AfterOverflow, AVarianceOfOnePassThatIsClamped) {
  const std::string formula = "max(mean((x * x), cols) - mean(x, cols) * mean(x, cols), 0)";
  const Contract contract = row_contract(formula, kNaive);
  for (const float got : {NAN, INFINITY, 0.0f})
    EXPECT_EQ(judge_row(contract, {3e30f, 3e30f, 1e29f}, got).outcome, Outcome::pass) << got;
  EXPECT_EQ(judge_row(contract, {3e30f, 3e30f, 1e29f}, 7.0f).outcome, Outcome::mismatch);
  EXPECT_EQ(judge_row(contract, {3, 3, 1}, NAN).outcome, Outcome::mismatch);
}

TEST(AfterOverflow, ZeroTimesAnInfinityWhereTheExactValueIsZero) {
  const std::string norm = "a * exp(b) / sqrt(mean(a * exp(b) * (a * exp(b)), n) + 0.25)";
  // Of e^(1e30) no tier knows more than a limit: 0 times that has no bound in the row's other
  // element.
  EXPECT_EQ(Pairs("f32", norm, {0, 0}, {1e30, -2})({NAN, NAN}), Outcome::pass);
  for (const double z : {700.0, 100.0}) {
    Pairs pairs("f32", norm, {0, 0}, {z, -2});
    EXPECT_EQ(pairs({NAN, NAN}), Outcome::pass) << z;
    EXPECT_EQ(pairs({0, 0}), Outcome::pass) << z;
    EXPECT_EQ(pairs({NAN, 0.5}), Outcome::mismatch) << z;
    EXPECT_EQ(pairs({0, 1}), Outcome::mismatch) << z;
    EXPECT_EQ(pairs({0, INFINITY}), Outcome::mismatch) << z;
  }
  Pairs within("f32", norm, {0, 0}, {20, -2});
  EXPECT_EQ(within({0, 0}), Outcome::pass);
  EXPECT_EQ(within({NAN, NAN}), Outcome::mismatch);
}

TEST(AfterOverflow, AComparisonWithWhatIsNaNInTheKernel) {
  const std::string chosen = "sum(a * exp(b), n) > 1 ? 5.0 : 3.0";
  for (const double z : {100.0, 500.0, 700.0, 1e4}) {
    Pairs pairs("f32", chosen, {3.4e38, -3.4e38, 0, -3.4e38}, {z, 0, 0, 0});
    EXPECT_EQ(pairs({3, 3, 3, 3}), Outcome::pass) << z;
    EXPECT_EQ(pairs({5, 5, 5, 5}), Outcome::pass) << z;
    for (const double got : {6.0, 2.0, 0.0, static_cast<double>(INFINITY)})
      EXPECT_EQ(pairs({got, 5, 5, 5}), Outcome::mismatch) << z << " " << got;
  }
  Pairs known("f32", chosen, {1, -1, 0, -1}, {20, 0, 0, 0});
  EXPECT_EQ(known({5, 5, 5, 5}), Outcome::pass);
  EXPECT_EQ(known({3, 3, 3, 3}), Outcome::mismatch);
}

TEST(AfterOverflow, ANormOfSquaresBeyondTheRange) {
  const std::string v = "(a * (b / (1 + exp(-b))))";
  const std::string norm = v + " * rsqrt(mean(" + v + " * " + v + ", n)) * -2.173e34";
  for (const char* type : {"bf16", "f32"}) {
    Pairs pairs(type, norm, {1, 1}, {298, 1.78e35});
    EXPECT_EQ(pairs({-0.0, -0.0}), Outcome::pass) << type;
    EXPECT_EQ(pairs({1e-3, -0.0}), Outcome::mismatch) << type;
    EXPECT_EQ(pairs({-1, -0.0}), Outcome::mismatch) << type;
    EXPECT_EQ(pairs({-0.0, -1e33}), Outcome::mismatch) << type;
    // An exponential beyond what the last tier knows.
    Pairs beyond(type, norm, {1, 1}, {298, -4e21});
    EXPECT_NE(beyond({-3.07e34, 0}), Outcome::undecided) << type;
  }
}

// What is NaN or infinite for its operands alone stays so, whatever overflows beside it.
TEST(AfterOverflow, SpecialOperandsBindBesideAnOverflow) {
  const auto row = [](const std::string& formula, const std::vector<float>& x, float got) {
    return judge_row(row_contract(formula, kNaive), x, got).outcome;
  };
  const std::string softened = "sum(exp(x), cols) / max(exp(x), cols)";
  EXPECT_EQ(row(softened, {NAN, 100, 1}, NAN), Outcome::pass);
  for (const float got : {0.0f, 1.0f, INFINITY})
    EXPECT_EQ(row(softened, {NAN, 100, 1}, got), Outcome::mismatch) << got;
  for (const float got : {0.0f, 1.0f, -INFINITY})
    EXPECT_EQ(row("sum(x * x * x, cols)", {INFINITY, 1e30f, 1}, got), Outcome::mismatch) << got;
  EXPECT_EQ(row("sum(x * x * x, cols)", {INFINITY, 1e30f, 1}, INFINITY), Outcome::pass);
  EXPECT_EQ(row("sum(x * x * x, cols)", {INFINITY, -1e30f, 1}, NAN), Outcome::pass);
  for (const float got : {0.0f, 2.0f})
    EXPECT_EQ(row("var(exp(x), cols)", {NAN, 100, 1}, got), Outcome::mismatch) << got;
  for (const float got : {0.0f, 2.0f, INFINITY})
    EXPECT_EQ(row("max(exp(x), cols)", {NAN, 100, 1}, got), Outcome::mismatch) << got;
  EXPECT_EQ(row("max(exp(x), cols)", {NAN, 100, 1}, NAN), Outcome::pass);
}

// A power of an infinity goes by its exponent's parity, which an inexact exponent has not.
TEST(AfterOverflow, APowerOfAnInfinityByAnInexactExponent) {
  const double infinity = INFINITY;
  for (const double got : {infinity, -infinity})  // no bound
    EXPECT_EQ(Pairs("f32", "pow(a, exp(b))", {-infinity}, {16})({got}), Outcome::skipped) << got;
  EXPECT_EQ(Pairs("f32", "pow(a, exp(b))", {infinity}, {16})({infinity}), Outcome::pass);
  for (const double got : {-infinity, 0.0, 1.0})
    EXPECT_EQ(Pairs("f32", "pow(a, exp(b))", {infinity}, {16})({got}), Outcome::mismatch) << got;
  EXPECT_EQ(Pairs("f32", "pow(a, b)", {-infinity}, {3})({infinity}), Outcome::mismatch);
  EXPECT_EQ(Pairs("f32", "pow(a, b)", {-infinity}, {3})({-infinity}), Outcome::pass);
}

// An empty row's zeros: what the mask takes out of the sum is no part of it (rule R8).
TEST(AfterOverflow, AnEmptyRowOverMaskedValuesThatAreNotFinite) {
  const std::string t = "where(a > 0, a, -inf)";
  const std::string e = "exp(" + t + " - max(" + t + ", n))";
  const std::string mean = "sum(where(a > 0, " + e + " * b, 0), n) / sum(" + e + ", n)";
  const std::string zero = kNaive + "empty = \"zero\"\n";
  for (const double masked : {static_cast<double>(INFINITY), static_cast<double>(NAN), 3.0}) {
    EXPECT_EQ(Pairs("f32", mean, {-1, -1}, {1, masked}, zero)({0, 0}), Outcome::pass) << masked;
    EXPECT_EQ(Pairs("f32", mean, {-1, -1}, {1, masked}, zero)({1, 0}), Outcome::mismatch) << masked;
    const std::string nan = kNaive + "empty = \"nan\"\n";
    EXPECT_EQ(Pairs("f32", mean, {-1, -1}, {1, masked}, nan)({0, 0}), Outcome::mismatch) << masked;
  }
  // One that is not masked reaches the result.
  EXPECT_EQ(Pairs("f32", mean, {1, -1}, {NAN, 1}, zero)({0, 0}), Outcome::mismatch);
}

// Both sides infinite where the exact value all but cancels: the first tier barely knows it, and
// NaN, or the infinity of a kernel that contracts, is right all the same.
TEST(AfterOverflow, NanOfADifferenceThatCancels) {
  const double infinity = INFINITY;
  for (const double at : {90.0, 100.0, 700.0}) {
    EXPECT_EQ(Pairs("f32", "max(exp(a) - exp(b), 0)", {at}, {at})({NAN}), Outcome::pass) << at;
    EXPECT_EQ(Pairs("f32", "max(exp(a) - exp(b), 0)", {at}, {at})({0}), Outcome::pass) << at;
    EXPECT_EQ(Pairs("f32", "exp(a) - exp(b)", {at}, {at}, kSafe)({NAN}), Outcome::mismatch) << at;
  }
  for (const double got : {static_cast<double>(NAN), infinity, -infinity, 0.0})
    EXPECT_EQ(Pairs("f32", "a * a - b * b", {1e30}, {1e30})({got}), Outcome::pass) << got;
  EXPECT_EQ(Pairs("f32", "max(exp(a) - exp(b), 0)", {80}, {80})({NAN}), Outcome::mismatch);
  EXPECT_EQ(Pairs("f32", "a * a - b * b", {1e10}, {1e10})({NAN}), Outcome::mismatch);
  EXPECT_EQ(Pairs("f32", "a * a - b * b", {1e10}, {1e10})({infinity}), Outcome::mismatch);
  // sin of an infinity is NaN.
  EXPECT_EQ(Pairs("f32", "sin(a * b) / (a * b)", {1e30}, {1e30})({NAN}), Outcome::pass);
  EXPECT_EQ(Pairs("f32", "sin(a * b) / (a * b)", {1e10}, {1e10})({NAN}), Outcome::mismatch);
  // The clamped variance of equal elements in one pass.
  const std::string formula = "max(mean((x * x), cols) - mean(x, cols) * mean(x, cols), 0)";
  const Contract contract = row_contract(formula, kNaive);
  for (const float got : {NAN, 0.0f})
    EXPECT_EQ(judge_row(contract, {3e30f, 3e30f, 3e30f}, got).outcome, Outcome::pass) << got;
}

}  // namespace
}  // namespace assay
