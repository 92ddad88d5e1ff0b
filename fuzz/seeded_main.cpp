// The seeded engine: a coverage-keeping loop over the fuzz target, for builds without libFuzzer. It
// takes the flags of libFuzzer that `assay fuzz` uses: -max_total_time=, -runs=, -seed= and
// folders, of which the first receives the inputs that are kept.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.hpp"
#include "fuzz/options.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/target.hpp"

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t interrupted = 0;
void on_signal(int) { interrupted = 1; }

struct Settings {
  double seconds = 0;  ///< 0: no limit
  int64_t runs = -1;   ///< -1: no limit
  uint64_t seed = 1;
  std::vector<std::string> folders;
};

bool take(const std::string& argument, const char* flag, std::string& value) {
  const std::string prefix = std::string("-") + flag + "=";
  if (!argument.starts_with(prefix)) return false;
  value = argument.substr(prefix.size());
  return true;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    std::string value;
    if (take(argument, "max_total_time", value)) {
      settings.seconds = std::stod(value);
    } else if (take(argument, "runs", value)) {
      settings.runs = std::stoll(value);
    } else if (take(argument, "seed", value)) {
      settings.seed = std::stoull(value);
    } else if (!argument.starts_with("-")) {
      settings.folders.push_back(argument);
    }  // other flags of libFuzzer have no meaning here
  }
  return settings;
}

/// The cases of the folders' files; what does not parse is left out, as libFuzzer does.
std::vector<assay::Case> read_cases(const std::vector<std::string>& folders) {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder, ignored)) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<assay::Case> cases;
  for (const std::string& path : paths) {
    try {
      assay::Case c = assay::load_case(path);
      assay::check_case_against(assay::fuzz_target().contract(), c, path);
      cases.push_back(std::move(c));
    } catch (const assay::InputError&) {
    }
  }
  return cases;
}

std::string kept_path(const std::string& folder, const std::string& text) {
  char name[32];
  std::snprintf(name, sizeof name, "%016llx",
                static_cast<unsigned long long>(assay::case_seed(0, text, 0)));
  return folder + "/" + name + ".case";
}

void loop(const Settings& settings) {
  assay::Search search(assay::fuzz_target().contract(), assay::Seed{settings.seed},
                       read_cases(settings.folders));
  const auto start = std::chrono::steady_clock::now();
  int64_t runs = 0;
  for (; settings.runs < 0 || runs < settings.runs; ++runs) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    if (interrupted || (settings.seconds > 0 && spent.count() > settings.seconds)) break;
    const assay::Case c = search.next();
    const std::string text = assay::print_case(c);
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    const assay::Target& target = assay::fuzz_target();
    const bool is_kept = search.learn(c, target.features(), target.cost());
    search.hint(target.sizes());
    if (!is_kept || settings.folders.empty()) continue;
    assay::write_file(kept_path(settings.folders.front(), text), text);
  }
  std::fprintf(stderr, "%lld runs, %lld features, %zu inputs kept, %zu findings\n",
               static_cast<long long>(runs), static_cast<long long>(search.features()),
               search.kept(), assay::fuzz_target().findings().size());
}

}  // namespace

int main(int argc, char** argv) {
  assay::handle_stop_signals(on_signal);
  LLVMFuzzerInitialize(&argc, &argv);
  try {
    loop(parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay: %s\n", error.what());
    return static_cast<int>(assay::Exit::bad_input);
  }
  return assay::fuzz_target().findings().size() > 0 ? static_cast<int>(assay::Exit::findings) : 0;
}
