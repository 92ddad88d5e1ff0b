// The judge end to end: correct kernels pass, planted errors are caught. Kernels are simulated in
// float32 with several orders of summation, with and without fused multiply-adds.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "oracles/verdict.hpp"
#include "tests/oracles/line_cases.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::floats;
using testing::judge_pair;
using testing::judge_row;
using testing::kOrders;
using testing::Order;
using testing::pair_contract;
using testing::row_contract;
using testing::summed;
using testing::told;
using testing::tree_contract;
using testing::values_of;

// --- sums
// ------------------------------------------------------------------------------------------

TEST(Judge, SumAcceptsEveryOrder) {
  const Contract contract = row_contract("sum(x, cols)", "[policy]\nrange = \"safe\"\n");
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  for (const int n : {0, 1, 2, 31, 33, 257, 1000}) {
    std::vector<float> row(static_cast<size_t>(n));
    for (float& x : row) x = normal(rng);
    for (const Order order : kOrders) {
      const Verdict v = judge_row(contract, row, summed(row, order));
      EXPECT_EQ(v.outcome, Outcome::pass) << n << " " << told(v);
      EXPECT_EQ(v.judged, 1);
    }
  }
}

TEST(Judge, CancellingSumIsOrderFree) {
  const Contract contract = row_contract("sum(x, cols)");
  std::vector<float> row{1e8f, -1e8f};
  row.insert(row.end(), 1022, 1.0f);
  for (const float got : {1022.0f, 960.0f})
    EXPECT_EQ(judge_row(contract, row, got).outcome, Outcome::pass) << got;
  EXPECT_EQ(judge_row(contract, row, summed(row, Order::lanes)).outcome, Outcome::pass);
}

TEST(Judge, AllEqualSumOfManyTenths) {
  const Contract contract = row_contract("sum(x, cols)");
  const std::vector<float> row(20000, 0.1f);
  for (const Order order : kOrders)
    EXPECT_EQ(judge_row(contract, row, summed(row, order)).outcome, Outcome::pass);
}

TEST(Judge, ExactDataLeavesNoRoom) {
  const Contract contract = row_contract("sum(x, cols)");
  std::vector<float> row;
  for (int k = 0; k < 500; ++k) row.push_back(static_cast<float>((k * 37) % 101 - 50));
  const float total = summed(row, Order::lanes);
  EXPECT_EQ(judge_row(contract, row, total).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(contract, row, total + 1).outcome, Outcome::mismatch);
  EXPECT_EQ(judge_row(contract, row, std::nextafter(total, 1e9f)).outcome, Outcome::mismatch);
}

TEST(Judge, PartialSumsMayOverflowAgainstAnInfiniteTotal) {
  // -max - max is -inf before it meets +inf: NaN in some order, +inf in another.
  const float max = 0x1.fffffep127f;
  const std::vector<float> row{-max, -max, INFINITY};
  const Contract naive = row_contract("sum(x, cols)", "[policy]\nrange = \"naive\"\n");
  const Contract safe = row_contract("sum(x, cols)", "[policy]\nrange = \"safe\"\n");
  for (const float got : {INFINITY, NAN})
    EXPECT_EQ(judge_row(naive, row, got).outcome, Outcome::pass) << got;
  EXPECT_EQ(judge_row(safe, row, NAN).outcome, Outcome::mismatch);
}

TEST(Judge, DroppedElementOfWellScaledDataIsCaught) {
  const Contract contract = row_contract("sum(x, cols)");
  std::vector<float> row;
  for (int k = 0; k < 300; ++k) row.push_back(1.0f + 0.001f * static_cast<float>(k));
  std::vector<float> short_row = row;
  short_row.pop_back();
  EXPECT_EQ(judge_row(contract, row, summed(short_row, Order::lanes)).outcome, Outcome::mismatch);
}

TEST(Judge, NarrowAccumulatorIsCaughtOnWitnessData) {
  const Contract contract = row_contract("sum(x, cols)");
  std::vector<float> row;
  for (int k = 0; k < 64; ++k) row.push_back(k % 2 == 0 ? 1501.0f : -1500.0f);
  uint64_t acc = round_to_bits(DType::f16, 0);
  for (int k = 0; k < 64; k += 2)
    row[static_cast<size_t>(k)] = 2047.0f, row[static_cast<size_t>(k + 1)] = 1025.0f;
  for (int k = 32; k < 64; ++k) row[static_cast<size_t>(k)] = -row[static_cast<size_t>(k - 32)];
  row[0] = 2046.0f;
  for (const float x : row)
    acc = round_to_bits(DType::f16, to_double(DType::f16, acc) + static_cast<double>(x));
  const auto narrow = static_cast<float>(to_double(DType::f16, acc));
  EXPECT_EQ(judge_row(contract, row, summed(row, Order::sequential)).outcome, Outcome::pass);
  EXPECT_EQ(judge_row(contract, row, narrow).outcome, Outcome::mismatch);
}

// --- softmax
// ---------------------------------------------------------------------------------------

std::vector<float> softmax_row(const std::vector<float>& x, Order order, bool reciprocal,
                               bool shift = true) {
  float m = -INFINITY;
  for (const float v : x) m = std::max(m, v);
  if (!shift) m = 0;
  std::vector<float> e;
  for (const float v : x) e.push_back(std::exp(v - m));
  const float s = summed(e, order);
  std::vector<float> y;
  for (const float v : e) y.push_back(reciprocal ? v * (1 / s) : v / s);
  return y;
}

Experiment softmax_case(int64_t rows, int64_t cols) {
  Experiment e(tree_contract("softmax"));
  e.the_case.sizes["rows"] = rows;
  e.the_case.sizes["cols"] = cols;
  return e;
}

Verdict judge_softmax(Experiment& e,
                      const std::function<std::vector<float>(std::vector<float>)>& f) {
  const Instance instance = e.instance();
  const int64_t rows = e.the_case.sizes["rows"];
  const int64_t cols = e.the_case.sizes["cols"];
  const std::vector<float> x = floats(values_of(instance, "x"));
  FakeRun run(instance);
  for (int64_t r = 0; r < rows; ++r) {
    const auto y = f({x.begin() + r * cols, x.begin() + (r + 1) * cols});
    for (int64_t c = 0; c < cols; ++c)
      run.set("y", r * cols + c, f32_bits(y[static_cast<size_t>(c)]));
  }
  return Judge(e.contract).judge(instance, run);
}

TEST(Judge, SoftmaxPassesInEveryOrder) {
  for (const char* recipe : {"normal", "log_uniform", "exact_logits", "equal", "outlier", "sorted"})
    for (const Order order : kOrders)
      for (const bool reciprocal : {false, true}) {
        Experiment e = softmax_case(5, 130);
        e.the_case.values["x"] = {recipe, {}};
        const Verdict v = judge_softmax(
            e, [&](const std::vector<float>& x) { return softmax_row(x, order, reciprocal); });
        EXPECT_EQ(v.outcome, Outcome::pass) << recipe << " " << told(v);
        EXPECT_EQ(v.judged, 650);
        EXPECT_LE(v.share, 1.0);
        EXPECT_EQ(v.outputs.at(0).share, v.share);
      }
}

TEST(Judge, SoftmaxWithoutShiftIsCaught) {
  Experiment e = softmax_case(1, 4);
  e.put("x", {1, 4}, DType::f32, {100, 99, 98, 97});
  const Verdict v = judge_softmax(e, [](const std::vector<float>& x) {
    return softmax_row(x, Order::sequential, false, false);
  });
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.rule, "R4");
}

TEST(Judge, SoftmaxDroppedTailIsCaught) {
  Experiment e = softmax_case(2, 100);
  const Verdict v = judge_softmax(e, [](std::vector<float> x) {
    const float last = x.back();
    x.pop_back();
    auto y = softmax_row(x, Order::lanes, false);
    y.push_back(last);
    return y;
  });
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.wrong, 200);
  EXPECT_EQ(v.first_output, "y");
  EXPECT_EQ(v.wrong_elements.size(), 200u);
}

TEST(Judge, NanInARowMakesTheRowNan) {
  Experiment e = softmax_case(1, 3);
  e.put("x", {1, 3}, DType::f32, {1, NAN, 2});
  const auto all_nan = [](const std::vector<float>& x) {
    return std::vector<float>(x.size(), NAN);
  };
  EXPECT_EQ(judge_softmax(e, all_nan).outcome, Outcome::pass);
  const auto dropping = [](const std::vector<float>&) {
    return std::vector<float>{0.3f, NAN, 0.7f};
  };
  const Verdict v = judge_softmax(e, dropping);
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.rule, "R5");
}

TEST(Judge, AllMaskedRowAsksForAPolicy) {
  Experiment e = softmax_case(1, 2);
  e.put("x", {1, 2}, DType::f32, {-INFINITY, -INFINITY});
  const auto zero = [](const std::vector<float>& x) { return std::vector<float>(x.size(), 0.0f); };
  const auto nan = [](const std::vector<float>& x) { return std::vector<float>(x.size(), NAN); };
  e.contract.policy.empty = std::nullopt;
  Verdict v = judge_softmax(e, zero);
  EXPECT_EQ(v.outcome, Outcome::pass);
  ASSERT_EQ(v.missing_policies.size(), 1u);
  EXPECT_NE(v.missing_policies[0].find("empty"), std::string::npos);
  e.contract.policy.empty = EmptyPolicy::nan;
  EXPECT_EQ(judge_softmax(e, nan).outcome, Outcome::pass);
  EXPECT_EQ(judge_softmax(e, zero).outcome, Outcome::mismatch);
}

TEST(Judge, UnwrittenElementsAreCounted) {
  Experiment e = softmax_case(1, 4);
  e.put("x", {1, 4}, DType::f32, {0, 0, 0, 0});
  const Instance instance = e.instance();
  FakeRun run(instance);
  for (int k = 0; k < 4; ++k) run.set("y", k, f32_bits(0.25f));
  run.unwrite("y", 2);
  const Verdict v = Judge(e.contract).judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.rule, "R1");
  EXPECT_EQ(v.unwritten, 1);
  EXPECT_EQ(v.judged, 3);
  EXPECT_EQ(v.wrong_elements, std::vector<int64_t>{2});
}

/// x[n] in place; with `owner`, block 0 alone ran and owns the first two elements.
Experiment in_place_case(const std::string& formula, const std::string& owner = "") {
  Experiment e(
      parse_contract(R"toml(
name = "in_place"
source = { cuda = "row_sum.cu", entry = "in_place" }
sizes = { n = { min = 0, max = 100 } }
args = [{ name = "x", kind = "inout", dtype = "f32", shape = ["n"] }]
launch = { grid = ["ceil_div(n, 2)"], block = [32] }
)toml" + owner + "\n[formula]\nx = \"" +
                         formula + "\"\n[policy]\nnan = \"propagate\"\n",
                     std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/i.toml"));
  e.the_case.sizes = {{"n", 4}};
  e.put("x", {4}, DType::f32, {1, -2, -3, 4});
  if (!owner.empty()) e.the_case.blocks = {0};
  return e;
}

TEST(Judge, AnInoutElementThatWasNotStoredIsJudgedByWhatItHeld) {
  const Experiment e = in_place_case("max(x.before, 0)");
  const Instance instance = e.instance();
  const Judge judge(e.contract);
  FakeRun run(instance);
  for (const int k : {0, 3}) {  // only what is negative is stored
    run.set("x", k, f32_bits(k == 0 ? 1 : 4));
    run.unwrite("x", k);
  }
  Verdict v = judge.judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_EQ(v.judged, 4);
  run.set("x", 2, f32_bits(-3));  // skipped, though it changes
  run.unwrite("x", 2);
  v = judge.judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::mismatch);
  EXPECT_EQ(v.rule, "R4");
  EXPECT_EQ(v.wrong_elements, std::vector<int64_t>{2});
  const ElementReport report = judge.explain(instance, run, "x", 2);
  EXPECT_EQ(report.rule, "R4");
  EXPECT_TRUE(report.written);
  EXPECT_EQ(report.got, "-3");

  const Experiment moves = in_place_case("x.before");
  FakeRun untouched(instance);
  for (int k = 0; k < 4; ++k) {
    untouched.set("x", k, f32_bits(std::vector<float>{1, -2, -3, 4}[static_cast<size_t>(k)]));
    untouched.unwrite("x", k);
  }
  EXPECT_EQ(Judge(moves.contract).judge(moves.instance(), untouched).outcome, Outcome::pass);
}

TEST(Judge, InoutElementsOfBlocksThatDidNotRunAreNotJudged) {
  const Experiment e = in_place_case("max(x.before, 0)", "owns = { x = \"n / 2 == block.x\" }");
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("x", 0, f32_bits(1));
  for (const int k : {2, 3}) {  // block 1's, as they were
    run.set("x", k, f32_bits(k == 2 ? -3 : 4));
    run.unwrite("x", k);
  }
  const Verdict v = Judge(e.contract).judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_EQ(v.judged, 2);
}

TEST(Judge, EmptyOutputPassesWithoutElements) {
  Experiment e = softmax_case(0, 4);
  const Instance instance = e.instance();
  const FakeRun run(instance);
  const Verdict v = Judge(e.contract).judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::pass);
  EXPECT_EQ(v.judged, 0);
}

// --- layer norm
// ------------------------------------------------------------------------------------

std::vector<float> layer_norm_row(const std::vector<float>& x, float eps, Order order,
                                  bool one_pass) {
  const auto n = static_cast<float>(x.size());
  const float mean = summed(x, order) / n;
  std::vector<float> squares;
  for (const float v : x) squares.push_back(one_pass ? v * v : (v - mean) * (v - mean));
  float var = summed(squares, order) / n;
  if (one_pass) var = std::max(0.0f, var - mean * mean);
  const float r = 1 / std::sqrt(var + eps);
  std::vector<float> y;
  for (const float v : x) y.push_back((v - mean) * r);
  return y;
}

Verdict judge_layer_norm(const std::vector<float>& x, Order order, bool one_pass) {
  Experiment e(tree_contract("layer_norm"));
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes["rows"] = 1;
  e.the_case.sizes["cols"] = n;
  e.put("x", {1, n}, DType::f32, {x.begin(), x.end()});
  e.put("weight", {n}, DType::f32, std::vector<double>(x.size(), 1.0));
  e.put("bias", {n}, DType::f32, std::vector<double>(x.size(), 0.0));
  const Instance instance = e.instance();
  const auto eps = static_cast<float>(instance.find("eps")->scalar_value);
  FakeRun run(instance);
  const auto y = layer_norm_row(x, eps, order, one_pass);
  for (size_t k = 0; k < y.size(); ++k) run.set("y", static_cast<int64_t>(k), f32_bits(y[k]));
  return Judge(e.contract).judge(instance, run);
}

TEST(Judge, LayerNormPasses) {
  std::mt19937 rng(7);
  std::normal_distribution<float> normal;
  for (const float mean : {0.0f, 3.0f, 1000.0f})
    for (const Order order : {Order::pairwise, Order::lanes}) {
      std::vector<float> x(257);
      for (float& v : x) v = mean + normal(rng);
      const Verdict v = judge_layer_norm(x, order, false);
      EXPECT_EQ(v.outcome, Outcome::pass) << mean << " " << told(v);
      if (mean == 0) {
        EXPECT_EQ(v.weak, 0);
      }
    }
}

TEST(Judge, LayerNormOfEqualElements) {
  // Exactly 0; a correct two-pass kernel sees a variance of 5.5e-4 and gives nearly 1.
  const std::vector<float> x(1000, 100000.1f);
  for (const Order order : {Order::pairwise, Order::lanes})
    EXPECT_EQ(judge_layer_norm(x, order, false).outcome, Outcome::pass);
}

TEST(Judge, EqualHugeElementsKeepABound) {
  // The oracle's own error of the variance exceeds eps; the variance is still not negative.
  const std::vector<float> x(100, 1.1e30f);
  EXPECT_EQ(judge_layer_norm(x, Order::lanes, false).outcome, Outcome::pass);
}

TEST(Judge, OnePassVarianceIsCaught) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(256);
  for (float& v : x) v = 1000.0f + 0.1f * normal(rng);
  EXPECT_EQ(judge_layer_norm(x, Order::lanes, false).outcome, Outcome::pass);
  EXPECT_EQ(judge_layer_norm(x, Order::lanes, true).outcome, Outcome::mismatch);
}

// --- other kernels of the tree
// ---------------------------------------------------------------------

TEST(Judge, MatmulWithAndWithoutFma) {
  Experiment e(tree_contract("matmul"));
  e.the_case.sizes = {{"M", 5}, {"N", 7}, {"K", 33}};
  const Instance instance = e.instance();
  const auto x = floats(values_of(instance, "x"));
  const auto w = floats(values_of(instance, "w"));
  for (const bool fused : {false, true}) {
    FakeRun run(instance);
    for (int m = 0; m < 5; ++m)
      for (int n = 0; n < 7; ++n) {
        float acc = 0;
        for (int k = 0; k < 33; ++k) {
          const float a = x[static_cast<size_t>(m * 33 + k)];
          const float b = w[static_cast<size_t>(k * 7 + n)];
          const float product = a * b;
          acc = fused ? std::fma(a, b, acc) : acc + product;
        }
        run.set("y", m * 7 + n, f32_bits(acc));
      }
    const Judge judge(e.contract);
    EXPECT_EQ(judge.judge(instance, run).outcome, Outcome::pass);
    run.set("y", 9, f32_bits(1e3f));
    EXPECT_EQ(judge.judge(instance, run).wrong, 1);
  }
}

TEST(Judge, TransposeMovesBits) {
  Experiment e(tree_contract("transpose"));
  e.the_case.sizes = {};
  for (const auto& size : e.contract.sizes)
    e.the_case.sizes[size.name] = 3 + static_cast<int64_t>(size.name.size()) % 3;
  const Instance instance = e.instance();
  const Tensor& y = *instance.find(e.contract.formula[0].name);
  const Tensor* x = nullptr;
  for (const Tensor& t : instance.tensors)
    if (t.is_read()) x = &t;
  FakeRun run(instance);
  const auto values = values_of(instance, x->spec->name);
  for (int64_t k = 0; k < y.elements(); ++k) {
    auto at = y.coordinates(k);
    std::vector<int64_t> from(at.size());
    for (size_t d = 0; d < at.size(); ++d)
      for (size_t s = 0; s < x->dims.size(); ++s)
        if (x->dims[s] == y.dims[d]) from[s] = at[d];
    run.set(y.spec->name, k, round_to_bits(y.dtype, values[static_cast<size_t>(x->linear(from))]));
  }
  const Judge judge(e.contract);
  const Verdict v = judge.judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::pass) << told(v);
  EXPECT_EQ(v.judged, y.elements());
  run.set(y.spec->name, 1, run.get(y.spec->name, 1) ^ 1);
  EXPECT_EQ(judge.judge(instance, run).rule, "R2");
}

TEST(Judge, GatherFollowsIndices) {
  Experiment e(tree_contract("gather"));
  e.the_case.sizes = {{"tokens", 4}, {"vocab", 6}, {"dim", 5}};
  e.put("index", {4}, e.the_case.types["I"], {5, 0, 3, 3});
  const Instance instance = e.instance();
  const auto table = values_of(instance, "table");
  FakeRun run(instance);
  const int index[] = {5, 0, 3, 3};
  for (int t = 0; t < 4; ++t)
    for (int d = 0; d < 5; ++d)
      run.set("y", t * 5 + d,
              round_to_bits(DType::f32, table[static_cast<size_t>(index[t] * 5 + d)]));
  const Judge judge(e.contract);
  EXPECT_EQ(judge.judge(instance, run).outcome, Outcome::pass);
  run.set("y", 7, f32_bits(123.0f));
  EXPECT_EQ(judge.judge(instance, run).wrong, 1);
}

TEST(Judge, IntegerDivisionIsExact) {
  Experiment e(tree_contract("int_divide"));
  e.the_case.types["T"] = DType::i32;
  e.the_case.sizes["count"] = 5;
  e.put("n", {5}, DType::i32, {-7, 7, 7, -2147483648.0, 9});
  e.put("d", {5}, DType::i32, {2, -2, 0, -1, 4});
  const Instance instance = e.instance();
  FakeRun run(instance);
  const int32_t q[] = {-3, -3, 0, INT32_MIN, 2};
  const int32_t r[] = {-1, 1, 7, 0, 1};
  for (int k = 0; k < 5; ++k) {
    run.set("q", k, static_cast<uint32_t>(q[k]));
    run.set("r", k, static_cast<uint32_t>(r[k]));
  }
  const Judge judge(e.contract);
  const Verdict v = judge.judge(instance, run);
  EXPECT_EQ(v.outcome, Outcome::pass) << told(v);
  EXPECT_EQ(v.judged, 10);
  run.set("q", 0, static_cast<uint32_t>(-4));  // floors instead
  EXPECT_EQ(judge.judge(instance, run).rule, "R3");
}

// --- ties, rounding, range
// -------------------------------------------------------------------------

TEST(Judge, AdditionIsCorrectlyRounded) {
  const Contract contract = pair_contract("f32", "a + b");
  std::mt19937 rng(5);
  for (int k = 0; k < 300; ++k) {
    const auto a = static_cast<float>(static_cast<int32_t>(rng())) * 0x1p-20f;
    const auto b =
        std::ldexp(static_cast<float>(static_cast<int32_t>(rng())), -static_cast<int>(rng() % 30));
    const float sum = a + b;
    EXPECT_EQ(judge_pair(contract, DType::f32, f32_bits(a), f32_bits(b), f32_bits(sum)).outcome,
              Outcome::pass);
    for (const float off : {std::nextafter(sum, INFINITY), std::nextafter(sum, -INFINITY)})
      EXPECT_EQ(judge_pair(contract, DType::f32, f32_bits(a), f32_bits(b), f32_bits(off)).outcome,
                Outcome::mismatch)
          << a << " " << b;
  }
}

TEST(Judge, TiesGoToEven) {
  const Contract contract = pair_contract("f32", "a + b");
  const float one = 1;
  const float half_ulp = 0x1p-24f;
  EXPECT_EQ(
      judge_pair(contract, DType::f32, f32_bits(one), f32_bits(half_ulp), f32_bits(1)).outcome,
      Outcome::pass);
  EXPECT_EQ(
      judge_pair(contract, DType::f32, f32_bits(one), f32_bits(half_ulp), f32_bits(1 + 0x1p-23f))
          .outcome,
      Outcome::mismatch);
}

TEST(Judge, OverflowToInfinity) {
  const Contract contract = pair_contract("f32", "a + b");
  const float big = 0x1.fffffep127f;
  EXPECT_EQ(
      judge_pair(contract, DType::f32, f32_bits(big), f32_bits(big), f32_bits(INFINITY)).outcome,
      Outcome::pass);
  EXPECT_EQ(judge_pair(contract, DType::f32, f32_bits(big), f32_bits(big), f32_bits(big)).outcome,
            Outcome::mismatch);
  EXPECT_EQ(
      judge_pair(contract, DType::f32, f32_bits(big), f32_bits(1), f32_bits(INFINITY)).outcome,
      Outcome::mismatch);
}

TEST(Judge, NaiveRangeWidensAndSafeDoesNot) {
  // silu as x / (1 + exp(-x)) at -100: the exponential overflows, and the kernel gives -0.
  for (const bool naive : {true, false}) {
    const Contract contract =
        pair_contract("f32", "silu(a) + 0 * b",
                      std::string("[policy]\nrange = \"") + (naive ? "naive" : "safe") +
                          "\"\nsubnormals = \"keep\"\n");
    const Verdict v =
        judge_pair(contract, DType::f32, f32_bits(-100), f32_bits(0), f32_bits(-0.0f));
    EXPECT_EQ(v.outcome, naive ? Outcome::pass : Outcome::mismatch) << told(v);
    EXPECT_EQ(v.widened, naive ? 1 : 0);
  }
}

TEST(Judge, HalfPrecisionAddRoundsOnce) {
  const Contract contract = pair_contract("f16", "a + b");
  for (int k = 0; k < 200; ++k) {
    const double a = to_double(DType::f16, static_cast<uint64_t>(0x3000 + k * 37));
    const double b = to_double(DType::f16, static_cast<uint64_t>(0x3400 + k * 53));
    const uint64_t sum = round_to_bits(DType::f16, a + b);
    EXPECT_EQ(judge_pair(contract, DType::f16, round_to_bits(DType::f16, a),
                         round_to_bits(DType::f16, b), sum)
                  .outcome,
              Outcome::pass);
    EXPECT_EQ(judge_pair(contract, DType::f16, round_to_bits(DType::f16, a),
                         round_to_bits(DType::f16, b), sum + 1)
                  .outcome,
              Outcome::mismatch);
  }
}

TEST(Judge, SignedOverflowWithoutAPolicyHasNoBound) {
  const Contract contract = pair_contract("i32", "a + b");
  const Verdict v = judge_pair(contract, DType::i32, 0x7fffffff, 1, 0x80000000);
  EXPECT_EQ(v.no_bound, 1);
  EXPECT_EQ(v.outcome, Outcome::skipped);
  EXPECT_EQ(v.missing_policies.size(), 1u);
  const Contract unsigned_contract = pair_contract("u32", "a + b");
  EXPECT_EQ(judge_pair(unsigned_contract, DType::u32, 0xffffffff, 2, 1).outcome, Outcome::pass);
}

/// What the judge says of a contract that it refuses; empty when it takes it.
std::string refusal(const Contract& contract) {
  try {
    Judge judge(contract);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Judge, RefusesWhatItCannotApplyAtOnce) {
  const auto says = [](const Contract& contract, const char* part) {
    const std::string text = refusal(contract);
    return text.find(part) != std::string::npos && text.find("not judged yet") != std::string::npos;
  };
  for (const char* order : {"equal", "signed"}) {
    const std::string policy = "[policy]\nzero_order = \"" + std::string(order) + "\"\n";
    EXPECT_EQ(refusal(row_contract("max(x, cols)", policy)), "");
  }
  const char* saturate = "[policy]\ncast_overflow = \"saturate\"\n";
  EXPECT_THROW(pair_contract("f16", "a + b", saturate), InputError);
  EXPECT_EQ(refusal(pair_contract("i8", "a + b", saturate)), "");
  // A policy of integers inside the formula.
  EXPECT_EQ(refusal(pair_contract("f32", "a - cast(b * 0.7, i32)", saturate)), "");
  EXPECT_EQ(refusal(pair_contract("f16", "a + b", "[policy]\ncast_overflow = \"inf\"\n")), "");
  Contract scattered = row_contract("sum(x, cols)");
  scattered.formula[0].scatter.emplace_back("rows", parse_expression("rows", {}));
  EXPECT_EQ(refusal(scattered), "");
  scattered.args[0].valid.emplace_back(parse_expression("0", {}), parse_expression("rows", {}));
  EXPECT_TRUE(says(scattered, "'valid'"));
}

TEST(Judge, ADepthThatAddsNothingIsToldAtItsPlace) {
  const auto error_of = [](const std::string& depth, const std::vector<float>& x) {
    testing::Line line(testing::line_contract("f32", "sum(x, cols)",
                                              "[accuracy]\ndepth = \"" + depth + "\"\n", "[1]"),
                       x);
    try {
      line({0});
    } catch (const InputError& error) {
      EXPECT_GT(error.where().line, 0);
      return std::string(error.what());
    }
    return std::string();
  };
  const auto says = [&](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(error_of("cols - 3", {1, 2}), "'depth' is -1 in this case"));
  EXPECT_TRUE(says(error_of("cols - 3", {1, 2, 3}), "3 terms take at least 1 addition"));
  EXPECT_EQ(error_of("cols - 3", {1, 2, 3, 4}), "");
  EXPECT_EQ(error_of("cols - 1", {1}), "");  // one term, no addition
}

TEST(Judge, UnknownNamesAreToldAtTheirPlace) {
  EXPECT_THROW(Judge{row_contract("sum(x, cols) + z")}, InputError);
  EXPECT_THROW(Judge{row_contract("x + 1")}, InputError);  // varies over cols
}

}  // namespace
}  // namespace assay
