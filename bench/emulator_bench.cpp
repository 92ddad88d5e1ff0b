// Speed of the emulator on nvcc's softmax (tests/data/hard_cases/warp.cu), 8 rows of 1,024 f32:
// lane-instructions a second with the checkers off, with each, and with all.
#include <benchmark/benchmark.h>

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "devices/ptx/machine.hpp"

namespace {

using namespace assay;
using namespace assay::ptx;

constexpr int64_t kRows = 8, kCols = 1024;
constexpr uint64_t kY = uint64_t{1} << 44, kX = uint64_t{2} << 44;

Module load_module() {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/data/hard_cases/warp.ptx";
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return decode(text.str(), path);
}

/// `undefined`: its values count as ones that nothing wrote.
RegionSpec array(const char* name, uint64_t base, bool output, bool undefined) {
  RegionSpec spec;
  spec.name = name;
  spec.base = base;
  spec.bytes = kRows * kCols * 4;
  spec.element_bytes = 4;
  spec.writable = output;
  spec.undefined = output || undefined;
  spec.judged = output && !undefined;
  // Copied, not computed: what values cost is no part of the emulator's speed.
  spec.fill = [](int64_t first, int64_t count, uint8_t* out) {
    static const std::vector<float> values = [] {
      std::vector<float> made(kRows * kCols);
      for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<float>(i % 61) * 0.125f - 4;
      return made;
    }();
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    std::memcpy(out, bytes + first, static_cast<size_t>(count));
  };
  return spec;
}

/// Arguments: definedness, wrap, races and barriers, AVX2, rows; undefined: all of x counts as
/// never written; coverage: whether counters for feedback are kept.
void softmax(benchmark::State& state) {
  static const Module module = load_module();
  const bool avx2 = state.range(3) != 0, undefined = state.range(5) != 0;
  if (avx2 && !cpu_has_avx2()) return state.SkipWithError("no AVX2 here");
  const auto code = lower(module, "softmax", avx2);
  Machine machine(avx2);
  RunOptions options;
  options.switch_off_checkers();
  options.definedness = state.range(0) != 0;
  options.wrap = state.range(1) != 0;
  options.races = options.barriers = options.narrow = state.range(2) != 0;
  options.coverage = state.range(6) != 0;
  LaunchConfig config;
  config.grid = {state.range(4), 1, 1};
  config.block = {256, 1, 1};
  config.params.resize(28);
  const int32_t cols = kCols;
  std::memcpy(config.params.data(), &kY, 8);
  std::memcpy(config.params.data() + 8, &kX, 8);
  std::memcpy(config.params.data() + 16, &kCols, 8);
  std::memcpy(config.params.data() + 24, &cols, 4);
  int64_t lane_instructions = 0;
  for (auto _ : state) {
    machine.renew_memory();
    machine.memory().add(array("y", kY, true, undefined));
    machine.memory().add(array("x", kX, false, undefined));
    machine.begin(module, options);
    const RunStatus status = machine.launch(*code, config);
    if (status != RunStatus::completed || !machine.diagnostics().empty()) {
      return state.SkipWithError("the run did not come out clean");
    }
    lane_instructions += machine.lane_instructions();
  }
  state.counters["lane_instructions/s"] =
      benchmark::Counter(static_cast<double>(lane_instructions), benchmark::Counter::kIsRate);
}

const std::vector<std::string> kArguments{"definedness", "wrap",      "races",   "avx2",
                                         "rows",        "undefined", "coverage"};
const std::vector<int64_t> kOff{0, 0, 0, 1, kRows, 0, 0};

BENCHMARK(softmax)
    ->ArgNames(kArguments)
    ->Args(kOff)
    ->Args({0, 0, 0, 1, kRows, 0, 1})
    ->Args({1, 0, 0, 1, kRows, 0, 1})
    ->Args({0, 1, 0, 1, kRows, 0, 1})
    ->Args({0, 0, 1, 1, kRows, 0, 1})
    ->Args({1, 1, 0, 1, kRows, 0, 1})
    ->Args({1, 1, 1, 1, kRows, 0, 1})
    ->Args({1, 1, 1, 0, kRows, 0, 1})
    ->Args({1, 0, 0, 1, kRows, 1, 1})
    ->Unit(benchmark::kMicrosecond);

/// For counting instructions (bench/off_cost): a number of launches that is known.
BENCHMARK(softmax)->Name("counted")->ArgNames(kArguments)->Args(kOff)->Iterations(20);

}  // namespace

BENCHMARK_MAIN();
