// Does feedback help? Cases to the first finding over the planted bugs, the search steered by what
// it sees inside the kernel (guided) against fresh cases of the generator alone (unguided). Both
// start with the covering cases. Only pairs are shown for which the unguided search needs more than
// kHard cases, in the median over ten other seeds: the rest is found before there is much to learn,
// and a choice by the seeds that are shown would take the pairs on which the unguided was unlucky.
//
// Two tables: with every checker, and by values alone (judge, properties and faults), where more is
// left to find by search. Counts depend on the seeds only, not on the jobs.
//
//   guidance_bench [--benchmark_filter=REGEX]   names of pairs
//                  [--jobs=N] [--first=SEED] [--seeds=N] [--most=CASES] [--each] [--checkers]
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "fuzz/find_kernels.hpp"
#include "fuzz/planted_pair.hpp"
#include "fuzz/search.hpp"
#include "fuzz/workers.hpp"

namespace {

namespace fs = std::filesystem;
using namespace assay;

constexpr int kChoosingSeeds = 10;
constexpr uint64_t kFirstChoosingSeed = 1001;
constexpr int64_t kHard = 100;
/// A pair that was made to see whether feedback works; the others model reports, or are mutations.
constexpr const char* kMadeForFeedback = "probe_limit";

struct Settings {
  std::string filter = ".";
  int jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  /// No setting of the search was chosen by these seeds, and no pair.
  uint64_t first_seed = 21;
  int seeds = 10;
  /// A search that found nothing ends here and counts as one that took this long.
  int64_t most_cases = 8000;
  bool values_too = true;  ///< the second table
  bool each = false;       ///< prints every search too
};

struct Pair {
  std::string name;
  ContractPtr bug;
};

/// Which findings end a search.
enum class Seen { by_checkers, by_values };

RunOptions options_of(Seen seen) {
  RunOptions options = case_options();
  if (seen == Seen::by_values) {
    options.switch_off_checkers();
    options.coverage = true;
  }
  return options;
}

/// One search: which, and what it took.
struct Trial {
  const Pair* pair = nullptr;
  Seen seen{};
  uint64_t seed = 0;
  bool guided = false;
  int64_t most = 0;
  int64_t cases = 0;  ///< until the first finding, it included; `most` when there was none
  int64_t lane_instructions = 0;
};

void search(Checker& checker, Trial& trial) {
  Search search(checker.contract(), Seed{case_seed(trial.seed, checker.contract().name, 0)});
  Features features;
  const RunOptions options = options_of(trial.seen);
  for (trial.cases = 1; trial.cases < trial.most; ++trial.cases) {
    const Case c = search.next();
    const CheckResult result = checker.check(c, options);
    trial.lane_instructions += result.run.lane_instructions;
    if (!result.findings.empty()) return;
    if (!trial.guided) continue;
    search.learn(c, features.of(result), result.run.lane_instructions);
    search.hint(features.sizes());
  }
}

/// Runs them all, in any order.
void run_trials(const Settings& settings, std::vector<Trial>& trials) {
  std::atomic<size_t> next{0};
  run_workers(settings.jobs, [&](int) {
    Workbench bench("ptx");
    for (size_t i; (i = next++) < trials.size();)
      search(bench.checker(*trials[i].pair->bug), trials[i]);
  });
}

double median(std::vector<int64_t> cases) {
  std::sort(cases.begin(), cases.end());
  const size_t count = cases.size();
  return static_cast<double>(cases[(count - 1) / 2] + cases[count / 2]) / 2;
}

/// The searches of one pair of one kind.
struct Spread {
  std::vector<int64_t> cases;
  double instructions = 0;  ///< lane instructions a case
  double mean_log = 0, error_of_mean = 0;  ///< of the logarithm of cases

  explicit Spread(const std::vector<Trial>& trials) {
    double run = 0, all = 0, squares = 0;
    for (const Trial& trial : trials) {
      cases.push_back(trial.cases);
      run += static_cast<double>(trial.lane_instructions);
      all += static_cast<double>(trial.cases);
      mean_log += std::log(static_cast<double>(trial.cases));
    }
    instructions = run / all;
    const auto count = static_cast<double>(cases.size());
    mean_log /= count;
    for (const int64_t c : cases) {
      squares += std::pow(std::log(static_cast<double>(c)) - mean_log, 2);
    }
    if (count > 1) error_of_mean = std::sqrt(squares / (count - 1) / count);
  }
  std::string text() const {
    char line[80];
    std::snprintf(line, sizeof line, "%9.1f %7lld %7lld", median(cases),
                  static_cast<long long>(*std::min_element(cases.begin(), cases.end())),
                  static_cast<long long>(*std::max_element(cases.begin(), cases.end())));
    return line;
  }
};

/// The ten searches, chosen by other seeds, of which half take more than kHard cases. A search that
/// takes more than twice that many tells nothing more about the median being above.
std::vector<const Pair*> hard_pairs(const Settings& settings, const std::vector<Pair>& pairs,
                                    Seen seen) {
  std::vector<Trial> trials;
  for (const Pair& pair : pairs) {
    for (uint64_t i = 0; i < kChoosingSeeds; ++i) {
      trials.push_back({&pair, seen, kFirstChoosingSeed + i, false, 2 * kHard + 1});
    }
  }
  run_trials(settings, trials);
  std::vector<const Pair*> hard;
  for (size_t at = 0; at < trials.size(); at += kChoosingSeeds) {
    std::vector<int64_t> cases;
    for (size_t i = 0; i < kChoosingSeeds; ++i) cases.push_back(trials[at + i].cases);
    if (median(cases) > kHard) hard.push_back(trials[at].pair);
  }
  return hard;
}

/// Geometric mean of quotients, with what a normal error of their logarithms leaves open.
struct Gain {
  double logs = 0, variance = 0;
  int pairs = 0;

  void add(const Spread& unguided, const Spread& guided) {
    logs += unguided.mean_log - guided.mean_log;
    variance += std::pow(unguided.error_of_mean, 2) + std::pow(guided.error_of_mean, 2);
    ++pairs;
  }
  std::string text() const {
    constexpr double kTwoSided95 = 1.96;
    const double mean = logs / pairs, error = kTwoSided95 * std::sqrt(variance) / pairs;
    char line[80];
    std::snprintf(line, sizeof line, "%.2f times (95 %%: %.2f to %.2f)", std::exp(mean),
                  std::exp(mean - error), std::exp(mean + error));
    return line;
  }
};

void compare(const Settings& settings, const std::vector<Pair>& pairs, Seen seen) {
  const std::vector<const Pair*> hard = hard_pairs(settings, pairs, seen);
  std::vector<Trial> trials;
  for (const Pair* pair : hard) {
    for (const bool guided : {false, true}) {
      for (int i = 0; i < settings.seeds; ++i) {
        trials.push_back({pair, seen, settings.first_seed + static_cast<uint64_t>(i), guided,
                          settings.most_cases});
      }
    }
  }
  run_trials(settings, trials);
  std::printf(
      "%s: cases to the first finding, seeds %llu to %llu, at most %lld: median, least, most\n",
      seen == Seen::by_checkers ? "every checker" : "values alone",
      static_cast<unsigned long long>(settings.first_seed),
      static_cast<unsigned long long>(settings.first_seed) + settings.seeds - 1,
      static_cast<long long>(settings.most_cases));
  std::printf("%-28s %8s %9s %7s %7s  %9s %7s %7s  %6s %5s\n", "pair", "covering", "unguided", "",
              "", "guided", "", "", "times", "cost");
  Gain gain, gain_of_others;
  int sooner = 0;
  const auto seeds = static_cast<ptrdiff_t>(settings.seeds);
  for (auto at = trials.begin(); at != trials.end(); at += 2 * seeds) {
    const Spread unguided({at, at + seeds}), guided({at + seeds, at + 2 * seeds});
    const double times = std::exp(unguided.mean_log - guided.mean_log);
    std::printf("%-28s %8zu %s  %s  %6.2f %5.2f\n", at->pair->name.c_str(),
                covering_cases(*at->pair->bug).size(), unguided.text().c_str(),
                guided.text().c_str(), times, guided.instructions / unguided.instructions);
    for (auto trial = at; settings.each && trial != at + 2 * seeds; ++trial) {
      std::printf("  %s seed %llu: %lld\n", trial->guided ? "guided" : "unguided",
                  static_cast<unsigned long long>(trial->seed),
                  static_cast<long long>(trial->cases));
    }
    gain.add(unguided, guided);
    if (at->pair->name != kMadeForFeedback) gain_of_others.add(unguided, guided);
    sooner += times > 1;
  }
  std::printf("%zu of %zu pairs take the unguided search more than %lld cases", hard.size(),
              pairs.size(), static_cast<long long>(kHard));
  if (gain.pairs > 0)
    std::printf("; guided, %d of them are found sooner, %s", sooner, gain.text().c_str());
  if (gain_of_others.pairs > 0 && gain_of_others.pairs < gain.pairs) {
    std::printf(", without %s %s", kMadeForFeedback, gain_of_others.text().c_str());
  }
  std::printf("\n");
  std::fflush(stdout);
}

std::vector<Pair> pairs_named(const std::regex& wanted) {
  std::vector<Pair> pairs;
  for (const std::string& folder : pair_folders(source_root() + "/kernels_under_test/planted")) {
    const std::string name = fs::path(folder).filename();
    if (std::regex_search(name, wanted)) pairs.push_back({name, load_pair(folder).bug});
  }
  return pairs;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (name == "--benchmark_filter") {
      settings.filter = value;
    } else if (name == "--jobs") {
      settings.jobs = std::max(1, std::stoi(value));
    } else if (name == "--first") {
      settings.first_seed = std::stoull(value);
    } else if (name == "--seeds") {
      settings.seeds = std::max(1, std::stoi(value));
    } else if (name == "--most") {
      settings.most_cases = std::max<int64_t>(1, std::stoll(value));
    } else if (argument == "--checkers") {
      settings.values_too = false;
    } else if (argument == "--each") {
      settings.each = true;
    } else {
      throw InputError({}, "unknown option " + argument);
    }
  }
  return settings;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    const std::vector<Pair> pairs = pairs_named(std::regex(settings.filter));
    compare(settings, pairs, Seen::by_checkers);
    if (settings.values_too) compare(settings, pairs, Seen::by_values);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guidance_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
