// The oracle's first tier against the same judgement in multiprecision alone, a term at a time, and
// the whole call for 8 x 1,024 softmax. Verdicts must be equal, or the benchmark fails.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "generators/instance.hpp"
#include "oracles/verdict.hpp"

namespace {

using namespace assay;

/// Outputs in memory.
class Outputs : public OutputReader {
 public:
  explicit Outputs(int64_t elements) : bits_(static_cast<size_t>(elements) * 4) {}
  void read(const Tensor&, int64_t first, int64_t count, uint8_t* bits,
            uint8_t* written) const override {
    std::memcpy(bits, bits_.data() + first * 4, static_cast<size_t>(count) * 4);
    std::memset(written, 1, static_cast<size_t>(count));
  }
  void set(int64_t k, float x) { std::memcpy(bits_.data() + k * 4, &x, 4); }

 private:
  std::vector<uint8_t> bits_;
};

std::string contract_text(const std::string& formula, const std::string& shape) {
  return R"toml(
name = "bench"
source = { cuda = "softmax.cu", entry = "bench" }
sizes = { rows = { min = 0, max = 70000 }, cols = { min = 1, max = 32768 } }
launch = { grid = ["rows"], block = ["128"] }
args = [
  { name = "y", kind = "output", dtype = "f32", shape = )toml" +
         shape + R"toml( },
  { name = "x", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
  { name = "w", kind = "input", dtype = "f32", shape = ["rows", "cols"] },
]
[formula]
y = ")toml" +
         formula + R"toml("
[policy]
nan = "propagate"
range = "safe"
)toml";
}

struct Setup {
  Contract contract;
  Instance instance;
  Judge judge;
  Outputs outputs;
  int64_t terms;

  Setup(const std::string& formula, const std::string& shape, int64_t rows, int64_t cols)
      : contract(parse_contract(
            contract_text(formula, shape),
            std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/bench.toml")),
        instance(instantiate(contract, case_of(rows, cols))),
        judge(contract),
        outputs(instance.tensors[0].elements()),
        terms(rows * cols) {}

  static Case case_of(int64_t rows, int64_t cols) {
    Case c;
    c.kernel = "bench";
    c.sizes = {{"rows", rows}, {"cols", cols}};
    c.values["x"] = {"uniform", {{"low", -4}, {"high", -0.5}}};
    c.values["w"] = {"uniform", {{"low", 0.5}, {"high", 4}}};
    return c;
  }

  std::vector<float> input(const char* name) const {
    const Tensor& tensor = *instance.find(name);
    std::vector<float> out(static_cast<size_t>(tensor.elements()));
    logical_values(instance, tensor, 0, tensor.elements(), reinterpret_cast<uint8_t*>(out.data()));
    return out;
  }

  Verdict verdict(Tier tier) const {
    JudgeOptions options;
    options.first_tier = tier;
    return judge.judge(instance, outputs, options);
  }
};

std::unique_ptr<Setup> exp_setup(int64_t n) {
  auto s = std::make_unique<Setup>("exp(x)", "[\"rows\", \"cols\"]", 1, n);
  const auto x = s->input("x");
  for (int64_t k = 0; k < n; ++k) s->outputs.set(k, std::exp(x[static_cast<size_t>(k)]));
  return s;
}

/// An elementwise function of positive arguments, with the outputs of a kernel that rounds once.
std::unique_ptr<Setup> function_setup(const std::string& formula, double (*f)(double), int64_t n) {
  auto s = std::make_unique<Setup>(formula, "[\"rows\", \"cols\"]", 1, n);
  const auto w = s->input("w");
  for (int64_t k = 0; k < n; ++k)
    s->outputs.set(k, static_cast<float>(f(static_cast<double>(w[static_cast<size_t>(k)]))));
  return s;
}

std::unique_ptr<Setup> dot_setup(int64_t rows, int64_t n) {
  auto s = std::make_unique<Setup>("sum(x * w, cols)", "[\"rows\"]", rows, n);
  const auto x = s->input("x");
  const auto w = s->input("w");
  for (int64_t r = 0; r < rows; ++r) {
    float acc = 0;
    for (int64_t k = r * n; k < (r + 1) * n; ++k)
      acc = std::fma(x[static_cast<size_t>(k)], w[static_cast<size_t>(k)], acc);
    s->outputs.set(r, acc);
  }
  return s;
}

/// The best time of some judgements, and the last one's verdict.
struct Timed {
  double seconds = HUGE_VAL;
  Verdict verdict;
};

Timed timed(const Setup& s, Tier tier, int repeats) {
  Timed best;
  for (int k = 0; k < repeats; ++k) {
    const auto from = std::chrono::steady_clock::now();
    best.verdict = s.verdict(tier);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - from;
    best.seconds = std::min(best.seconds, taken.count());
  }
  return best;
}

/// The library grows the number of iterations over calls of the whole function, and multiprecision
/// takes a second a call: one call of fixed length.
constexpr int kIterations = 50;

/// Time a term of the first tier, against multiprecision alone in the same run.
void compare(benchmark::State& state, const Setup& s) {
  const Timed slow = timed(s, Tier::multiprecision, 1);
  const Timed quick = timed(s, Tier::running_double, kIterations);
  if (slow.verdict.outcome != Outcome::pass || quick.verdict.outcome != slow.verdict.outcome ||
      quick.verdict.wrong != slow.verdict.wrong)
    state.SkipWithError("verdicts differ");
  for (auto _ : state) benchmark::DoNotOptimize(s.verdict(Tier::running_double));
  const double terms = static_cast<double>(s.terms);
  state.counters["ns_a_term"] = quick.seconds / terms * 1e9;
  state.counters["multiprecision_ns_a_term"] = slow.seconds / terms * 1e9;
  state.counters["times_faster"] = slow.seconds / quick.seconds;
}

void OracleExp(benchmark::State& state) { compare(state, *exp_setup(1024)); }
BENCHMARK(OracleExp)->Iterations(kIterations)->Unit(benchmark::kMicrosecond);

void OracleFunction(benchmark::State& state, const char* formula, double (*f)(double)) {
  compare(state, *function_setup(formula, f, 256));
}
#define ASSAY_FUNCTION(name, formula, f)              \
  BENCHMARK_CAPTURE(OracleFunction, name, formula, f) \
      ->Iterations(kIterations)                       \
      ->Unit(benchmark::kMicrosecond)
ASSAY_FUNCTION(log, "log(w)", [](double x) { return std::log(x); });
ASSAY_FUNCTION(log1p, "log1p(w)", [](double x) { return std::log1p(x); });
ASSAY_FUNCTION(exp2, "exp2(w)", [](double x) { return std::exp2(x); });
ASSAY_FUNCTION(expm1, "expm1(w)", [](double x) { return std::expm1(x); });
ASSAY_FUNCTION(sin, "sin(w)", [](double x) { return std::sin(x); });
ASSAY_FUNCTION(sin_far, "sin(w * 1267650600228229401496703205376.0)",
               [](double x) { return std::sin(x * 0x1p100); });
ASSAY_FUNCTION(tan, "tan(w)", [](double x) { return std::tan(x); });
ASSAY_FUNCTION(tanh, "tanh(w)", [](double x) { return std::tanh(x); });
ASSAY_FUNCTION(erf, "erf(w)", [](double x) { return std::erf(x); });
ASSAY_FUNCTION(erfc, "erfc(w)", [](double x) { return std::erfc(x); });
ASSAY_FUNCTION(sigmoid, "sigmoid(w)", [](double x) { return 1 / (1 + std::exp(-x)); });
ASSAY_FUNCTION(gelu, "gelu(w)", [](double x) { return x * std::erfc(-x * M_SQRT1_2) / 2; });
ASSAY_FUNCTION(softplus, "softplus(w)", [](double x) { return x + std::log1p(std::exp(-x)); });
ASSAY_FUNCTION(pow, "pow(w, w)", [](double x) { return std::pow(x, x); });

void OracleDot(benchmark::State& state) { compare(state, *dot_setup(4, 1024)); }
BENCHMARK(OracleDot)->Iterations(kIterations)->Unit(benchmark::kMicrosecond);

void OracleSoftmax8x1024(benchmark::State& state) {
  Setup s("softmax(x, cols)", "[\"rows\", \"cols\"]", 8, 1024);
  const auto x = s.input("x");
  for (int64_t r = 0; r < 8; ++r) {
    float top = -INFINITY;
    for (int64_t k = 0; k < 1024; ++k) top = std::max(top, x[static_cast<size_t>(r * 1024 + k)]);
    double sum = 0;
    for (int64_t k = 0; k < 1024; ++k)
      sum += static_cast<double>(std::exp(x[static_cast<size_t>(r * 1024 + k)] - top));
    for (int64_t k = 0; k < 1024; ++k)
      s.outputs.set(r * 1024 + k,
                    std::exp(x[static_cast<size_t>(r * 1024 + k)] - top) / static_cast<float>(sum));
  }
  if (s.verdict(Tier::running_double).outcome != Outcome::pass)
    state.SkipWithError("a correct softmax is not accepted");
  for (auto _ : state) benchmark::DoNotOptimize(s.verdict(Tier::running_double));
  state.counters["best_us"] = timed(s, Tier::running_double, 200).seconds * 1e6;
}
BENCHMARK(OracleSoftmax8x1024)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
