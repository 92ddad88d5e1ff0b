// What the checker of narrow accumulation costs: a kernel of halves with it and without it, and the
// search of a program's text, which is done once a program.
#include <benchmark/benchmark.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "devices/ptx/narrow_checker.hpp"
#include "fuzz/check_case.hpp"

namespace assay {
namespace {

/// Eight rows of 1,024 halves. Argument 0: whether narrow accumulation is looked for.
void rms_norm_8x1024(benchmark::State& state) {
  const Contract contract =
      load_contract(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/rms_norm.toml");
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker{contract, *device};
  Case c;
  c.kernel = contract.name;
  c.types["T"] = DType::f16;
  c.sizes = {{"rows", 8}, {"cols", 1024}};
  for (const Knob& knob : contract.knobs) c.knobs[knob.name] = knob.values.front();
  for (const std::string& flag : contract.flags) c.flags[flag] = false;
  RunOptions options = case_options();
  options.narrow = state.range(0) != 0;
  const CheckResult once = checker.check(c, options);
  if (once.outcome != Outcome::pass) return state.SkipWithError("the case did not pass");
  for (auto _ : state) {
    benchmark::DoNotOptimize(device->run(*once.instance, *once.programs, options));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(rms_norm_8x1024)->ArgName("narrow")->Arg(0)->Arg(1)->Unit(benchmark::kMicrosecond);

/// Every kernel of tests/data/narrow, by its entry.
void search(benchmark::State& state, const char* file) {
  const std::string path = std::string(ASSAY_SOURCE_DIR) + "/tests/data/narrow/" + file;
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  const ptx::Module module = ptx::decode(text.str(), path);
  int64_t instructions = 0;
  for (auto _ : state) {
    for (const ptx::Function& function : module.functions) {
      if (!function.is_entry) continue;
      benchmark::DoNotOptimize(ptx::chains_of(module, function, 24));
      instructions += static_cast<int64_t>(function.code.size());
    }
  }
  state.SetItemsProcessed(instructions);
}
BENCHMARK_CAPTURE(search, wrong, "wrong.ptx")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(search, right, "right.ptx")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace assay

BENCHMARK_MAIN();
