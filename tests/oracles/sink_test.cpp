// Exponential weights whose shift is a maximum of the scores and of other operands: attention with
// a sink, whose logit takes part in the maximum and in the sum of weights and has no value
// (docs/judging/attention.md, "Other operands in the maximum").
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "oracles/graph.hpp"
#include "oracles/verdict.hpp"
#include "tests/oracles/fake_run.hpp"
#include "tests/oracles/row_cases.hpp"

namespace assay {
namespace {

using testing::Experiment;
using testing::f32_bits;
using testing::FakeRun;
using testing::told;
using Floats = std::vector<float>;

const std::string kMean = "sum(w * v, n) / (sum(w, n) + exp(sink[0] - m))";

/// One query: y of the weights w = e^(x - m).
Contract sink_contract(const std::string& accuracy, const std::string& range = "safe",
                       const std::string& y = kMean,
                       const std::string& m = "max(max(x, n), sink[0])") {
  return parse_contract(R"toml(
name = "sink"
source = { cuda = "row_sum.cu", entry = "sink" }
sizes = { rows = { min = 0, max = 100 }, n = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "n"] },
  { name = "v", kind = "input", dtype = "f32", shape = ["rows", "n"] },
  { name = "sink", kind = "input", dtype = "f32", shape = [1] },
]
[formula]
m = ")toml" + m + R"toml("
w = "exp(x - m)"
y = ")toml" + y + R"toml("
[policy]
nan = "propagate"
subnormals = "keep"
range = ")toml" + range + "\"\n[accuracy]\n" +
                            accuracy,
                        std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/sink.toml");
}

Verdict judged(const Contract& contract, const Floats& x, const Floats& v, float sink, float got) {
  Experiment e(contract);
  const auto n = static_cast<int64_t>(x.size());
  e.the_case.sizes = {{"rows", 1}, {"n", n}};
  e.put("x", {1, n}, DType::f32, std::vector<double>(x.begin(), x.end()));
  e.put("v", {1, n}, DType::f32, std::vector<double>(v.begin(), v.end()));
  e.put_bits("sink", {1}, 0, DType::f32, f32_bits(sink));
  const Instance instance = e.instance();
  FakeRun run(instance);
  run.set("y", 0, f32_bits(got));
  return Judge(e.contract).judge(instance, run);
}

/// exp off by its published figure, up or down.
float poor_exp(float x, bool up) {
  if (x == 0) return 1;
  const auto nearest = static_cast<float>(std::exp(static_cast<double>(x)));
  const float step = up ? INFINITY : 0.0f;
  return std::nextafter(std::nextafter(nearest, step), step);
}

enum class Joins { first, last, never };  ///< when a kernel takes the sink

struct Running {
  float m = -INFINITY, sum = 0, weights = 0;
  bool up = false;       ///< every exponential is off upwards
  bool rescales = true;  ///< a planted fault: the accumulator is left as it was

  void raise(float to) {
    if (to <= m) return;
    const float factor = m == -INFINITY ? 0 : poor_exp(m - to, up);
    if (rescales) sum *= factor;
    weights *= factor;
    m = to;
  }
  void add(float x, float v) {
    raise(x);
    const float w = poor_exp(x - m, up);
    weights += w;
    sum += w * v;
  }
  void take(float sink) {
    raise(sink);
    weights += poor_exp(sink - m, up);
  }
};

Running online(const Floats& x, const Floats& v, float sink, Joins joins, bool up,
               bool rescales = true) {
  Running r;
  r.up = up;
  r.rescales = rescales;
  if (joins == Joins::first) r.take(sink);
  for (size_t k = 0; k < x.size(); ++k) r.add(x[k], v[k]);
  if (joins == Joins::last) r.take(sink);
  return r;
}

TEST(Sink, OnlineSoftmaxWithPoorExponentialsIsAccepted) {
  const Contract mean = sink_contract("online = 1\n");
  const Contract total = sink_contract("online = 1\n", "safe", "sum(w, n) + exp(sink[0] - m)");
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  int caught = 0;
  for (const int n : {1, 2, 5, 64, 257})
    for (const float sink : {-60.0f, -1.0f, 0.5f, 4.0f, 12.0f, 60.0f})
      for (const Joins joins : {Joins::first, Joins::last})
        for (const bool up : {false, true}) {
          Floats x(static_cast<size_t>(n));
          Floats v(x.size());
          for (float& a : x) a = 3 * normal(rng);
          for (float& a : v) a = normal(rng);
          std::sort(x.begin(), x.end());  // each score is a new maximum
          const Running r = online(x, v, sink, joins, up);
          const std::string what = std::to_string(n) + " " + std::to_string(sink) + " ";
          const Verdict good = judged(mean, x, v, sink, r.sum / r.weights);
          EXPECT_EQ(good.outcome, Outcome::pass) << what << told(good);
          const Verdict all = judged(total, x, v, sink, r.weights);
          EXPECT_EQ(all.outcome, Outcome::pass) << what << told(all);
          // The sink is forgotten; the accumulator is not rescaled.
          const auto differ = [](float a, float b) {
            return std::fabs(a - b) > 1e-3f * std::fabs(b);
          };
          const float forgot = online(x, v, sink, Joins::never, up).weights;
          if (differ(forgot, r.weights)) {
            ++caught;
            EXPECT_EQ(judged(total, x, v, sink, forgot).outcome, Outcome::mismatch) << what;
          }
          const Running stale = online(x, v, sink, joins, up, false);
          if (differ(stale.sum / stale.weights, r.sum / r.weights)) {
            ++caught;
            EXPECT_EQ(judged(mean, x, v, sink, stale.sum / stale.weights).outcome,
                      Outcome::mismatch)
                << what;
          }
        }
  EXPECT_GT(caught, 100);
}

// One key has all the value, and its weight all the factors: more than the sum's own roundings.
TEST(Sink, FactorsAreAllowedForWhereTheyAreStated) {
  const std::string one = "sum(w * v, n)";
  const Contract online_one = sink_contract("online = 1\n", "safe", one);
  const Contract direct = sink_contract("", "safe", one);
  Floats x(200);
  Floats v(200);
  for (size_t k = 0; k < x.size(); ++k) x[k] = 0.03125f * static_cast<float>(k);
  v[0] = 1;
  for (const float sink : {-5.0f, 1.0f, 6.5f}) {
    const float got = online(x, v, sink, Joins::first, true).sum;
    EXPECT_EQ(judged(online_one, x, v, sink, got).outcome, Outcome::pass) << sink;
    EXPECT_EQ(judged(direct, x, v, sink, got).outcome,
              sink > 6.3f ? Outcome::pass : Outcome::mismatch)
        << sink;
    EXPECT_EQ(judged(online_one, x, v, sink, got * 1.001f).outcome, Outcome::mismatch) << sink;
  }
}

// The scores are equal, and what is above or below them decides how many factors there are.
TEST(Sink, CountsOnlyWhatIsAbove) {
  const Contract keys = sink_contract("online = 4\n", "safe", "sum(w, n)");
  const Floats x(64, 2.5f);
  const Floats v(64, 1.0f);
  EXPECT_EQ(judged(keys, x, v, 2.5f, 64).outcome, Outcome::pass);
  EXPECT_EQ(judged(keys, x, v, -3, 64).outcome, Outcome::pass);
  EXPECT_EQ(judged(keys, x, v, -3, std::nextafter(64.0f, 65.0f)).outcome, Outcome::mismatch);
  EXPECT_EQ(judged(keys, x, v, -INFINITY, std::nextafter(64.0f, 63.0f)).outcome, Outcome::mismatch);
  const auto above = static_cast<float>(64 * std::exp(2.5 - 4.0));
  const auto off = [&](double by) { return static_cast<float>(above * (1 + by)); };
  EXPECT_EQ(judged(keys, x, v, 4, off(8 * 0x1p-24)).outcome, Outcome::pass);
  EXPECT_EQ(judged(keys, x, v, 4, off(200 * 0x1p-24)).outcome, Outcome::mismatch);
  // A literal is such an operand, too.
  const Contract zero = sink_contract("online = 4\n", "safe", "sum(w, n)", "max(0, max(x, n))");
  const Contract both =
      sink_contract("online = 4\n", "safe", "sum(w, n)", "max(max(x, n), max(sink[0], 0))");
  EXPECT_EQ(judged(zero, x, v, 0, 64).outcome, Outcome::pass);
  EXPECT_EQ(judged(zero, x, v, 0, std::nextafter(64.0f, 65.0f)).outcome, Outcome::mismatch);
  EXPECT_EQ(judged(both, x, v, 4, off(8 * 0x1p-24)).outcome, Outcome::pass);
}

TEST(Sink, ASumOfValuesThatOverflows) {
  // Both keys had weight 1 when they were added, long before the last one.
  const float v = 0x1.8p127f;
  const auto with = [&](const char* accuracy, const char* range, float got) {
    return judged(sink_contract(accuracy, range), {1, 1, 40}, {v, v, 1}, -2, got).outcome;
  };
  const auto exact = static_cast<float>(1 + 2 * std::exp(-39.0) * 0x1.8p127);
  EXPECT_EQ(with("online = 1\n", "naive", exact), Outcome::pass);
  EXPECT_EQ(with("online = 1\n", "naive", INFINITY), Outcome::pass);
  EXPECT_EQ(with("online = 1\n", "naive", NAN), Outcome::pass);
  EXPECT_EQ(with("online = 1\n", "safe", INFINITY), Outcome::mismatch);
  EXPECT_EQ(with("", "naive", INFINITY), Outcome::mismatch);
  EXPECT_EQ(with("online = 1\n", "safe", exact * 1.01f), Outcome::mismatch);
}

TEST(Sink, PrescaledExponentsOfALargeSink) {
  // exp2(fma(x, log2e, -fl(m log2e))) where m is the sink: off by up to u |m log2e|.
  const std::string accuracy = "exp = \"prescaled\"\nonline = 4\n";
  const Contract keys = sink_contract(accuracy, "safe", "sum(w, n)");
  const Floats ones(4, 1.0f);
  const auto with = [&](float sink, double by) {
    const auto exact = 4 * std::exp(static_cast<double>(3e5f) - static_cast<double>(sink));
    return judged(keys, Floats(4, 3e5f), ones, sink, static_cast<float>(exact * (1 + by))).outcome;
  };
  EXPECT_EQ(with(3e5f, 0.02), Outcome::pass);
  EXPECT_EQ(with(3e5f + 2, 0.02), Outcome::pass);
  EXPECT_EQ(with(3e5f + 2, 1.5), Outcome::mismatch);
}

// The largest weight is no e^0: a sum of weights may vanish, and the quotient is 0 / 0 then.
TEST(Sink, WeightsFarBelowTheShiftMayVanish) {
  const std::string mean = "sum(w * v, n) / sum(w, n)";
  for (const char* accuracy : {"", "online = 1\n"}) {
    const Contract contract = sink_contract(accuracy, "safe", mean);
    EXPECT_EQ(judged(contract, {0, 0}, {1, 3}, 200, NAN).no_bound, 1) << accuracy;
    EXPECT_EQ(judged(contract, {0, 0}, {1, 3}, 2, 2).outcome, Outcome::pass) << accuracy;
    EXPECT_EQ(judged(contract, {0, 0}, {1, 3}, 2, NAN).outcome, Outcome::mismatch) << accuracy;
    EXPECT_EQ(judged(contract, {0, 0}, {1, 3}, 2, 2.1f).outcome, Outcome::mismatch) << accuracy;
  }
}

/// The number of rescaled weights in the graph.
int64_t recognised(const std::string& m) {
  const Contract contract =
      sink_contract("online = 4\n", "safe", "sum(w * v * exp(sink[0] - m), n)", m);
  const Graph graph = compile_formula(contract, {});
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [](const Node& n) { return n.op == Op::rescaled; });
}

TEST(Sink, WhatIsRecognised) {
  EXPECT_EQ(recognised("max(x, n)"), 1);
  EXPECT_EQ(recognised("max(max(x, n), sink[0])"), 2);  // the sink's own weight
  EXPECT_EQ(recognised("maximum(sink[0], max(max(x, n), 0))"), 2);
  EXPECT_EQ(recognised("max(max(x, n), max(v, n))"), 0);  // another line has maxima of its own
  EXPECT_EQ(recognised("max(max(x, n), v)"), 0);          // differs from key to key
  EXPECT_EQ(recognised("max(max(v, n), sink[0])"), 1);    // the sink's alone
  EXPECT_EQ(recognised("max(x, n) + sink[0]"), 0);
}

}  // namespace
}  // namespace assay
