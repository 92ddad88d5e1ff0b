// How long, and in how much memory, `assay smoke` takes to find an int32 row offset that passes
// 2^31, and one that wraps by exactly 2^32: the whole program, from start to exit, as a user runs
// it.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

extern char** environ;

namespace {

struct Finished {
  int status = -1;
  double peak_mib = 0;
};

Finished run_quietly(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  Finished finished;
  if (posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) == 0) {
    int status = 0;
    rusage usage{};
    wait4(pid, &status, 0, &usage);
    finished.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    finished.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  }
  posix_spawn_file_actions_destroy(&actions);
  return finished;
}

void search(benchmark::State& state, const std::string& pair) {
  const std::string contract =
      std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/planted/" + pair + "/buggy.toml";
  double peak_mib = 0;
  for (auto _ : state) {
    const Finished finished = run_quietly({ASSAY_PROGRAM, "smoke", contract, "--cases", "200"});
    if (finished.status != 1) {
      state.SkipWithError(("not found: exit status " + std::to_string(finished.status)).c_str());
      return;
    }
    peak_mib = finished.peak_mib > peak_mib ? finished.peak_mib : peak_mib;
  }
  state.counters["peak_MiB"] = peak_mib;
}
BENCHMARK_CAPTURE(search, wrap_past_2_31, std::string("row_offset_2_31"))
    ->Unit(benchmark::kMillisecond)->Iterations(3)->UseRealTime();
BENCHMARK_CAPTURE(search, wrap_by_2_32, std::string("row_offset_2_32"))
    ->Unit(benchmark::kMillisecond)->Iterations(3)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
