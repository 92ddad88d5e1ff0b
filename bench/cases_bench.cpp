// Cases per second on one core with every checker on: the whole pipeline (instantiate, run in the
// emulator, judge), programs compiled beforehand as in a fuzzing run.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "devices/device.hpp"
#include "fuzz/check_case.hpp"
#include "fuzz/freed_memory.hpp"
#include "generators/facts.hpp"
#include "generators/generate.hpp"

namespace assay {
namespace {

struct Softmax {
  /// Without `properties` no case is compared with a second run, nor made larger for one.
  explicit Softmax(bool properties) {
    keep_freed_memory();  // as the programs do
    if (!properties) contract.properties.clear();
  }
  Contract contract =
      load_contract(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/softmax.toml");
  Facts facts{contract};
  std::unique_ptr<Device> device = make_ptx_device();
  Checker checker{contract, *device};
};

/// A finding here is a fault of ours: the benchmark then reports an error instead of a number.
bool clean(benchmark::State& state, const CheckResult& result) {
  if (result.outcome == Outcome::pass) return true;
  state.SkipWithError(result.findings.empty() ? "case did not pass"
                                              : result.findings.front().message.c_str());
  return false;
}

/// Argument 0 of both: whether races are looked for, too.
RunOptions options_of(const benchmark::State& state) {
  RunOptions options = case_options();
  options.races = state.range(0) != 0;
  return options;
}

/// Exactly 8 rows of 1,024 f32, new values every case.
void softmax_8x1024(benchmark::State& state) {
  Softmax softmax(true);
  Case c;
  c.kernel = "softmax";
  c.types["T"] = DType::f32;
  c.sizes = {{"rows", 8}, {"cols", 1024}};
  c.knobs["BLOCK"] = 256;
  const RunOptions options = options_of(state);
  int64_t lane_instructions = 0;
  for (auto _ : state) {
    ++c.value_seed;
    const CheckResult result = softmax.checker.check(c, options);
    if (!clean(state, result)) return;
    lane_instructions += result.run.lane_instructions;
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["lane_instructions/s"] =
      benchmark::Counter(static_cast<double>(lane_instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(softmax_8x1024)->ArgName("races")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

/// What `assay smoke softmax` and the seeded fuzzing engine run: generated cases, generation
/// included. Argument 1: whether the contract's properties count.
void softmax_mix(benchmark::State& state) {
  Softmax softmax(state.range(1) != 0);
  for (uint64_t seed = 0; seed < 200; ++seed) {
    softmax.checker.check(generate_case(softmax.facts, Seed{seed}));  // compiles every variant
  }
  const RunOptions options = options_of(state);
  uint64_t seed = 1000;
  for (auto _ : state) {
    const CheckResult result =
        softmax.checker.check(generate_case(softmax.facts, Seed{++seed}), options);
    if (!clean(state, result)) return;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(softmax_mix)
    ->ArgNames({"races", "properties"})
    ->Args({0, 0})
    ->Args({1, 0})
    ->Args({0, 1})
    ->Args({1, 1})
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
