// `assay score`: are the planted bugs found by search, and are their correct twins left alone?
//
// The search starts from seeds, without the pair's witness. What a pair is and says:
// planted_pair.hpp.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>

#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/planted_pair.hpp"
#include "fuzz/program.hpp"
#include "fuzz/search.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/text_table.hpp"
#include "fuzz/workers.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr double kSecondsPerPair = 60;
/// The twin is searched for as many cases as its bug took, and at least for these: a bug that the
/// first case shows says nothing about false alarms.
constexpr int64_t kLeastTwinCases = 500;
constexpr double kTwinSeconds = 20;

using SteadyClock = std::chrono::steady_clock;

double since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

struct SearchLimits {
  double seconds = 0;
  int64_t cases = INT64_MAX;
  bool stop_at_first = true;
};

struct SearchResult {
  FindingSet findings;
  std::optional<Finding> first;  ///< nearest to a cause in the first case that shows any
  int64_t cases = 0;
  double seconds = 0;
};

SearchResult search(Checker& checker, uint64_t seed, const SearchLimits& limits) {
  SearchResult result;
  Search search(checker.contract(), Seed{case_seed(seed, checker.contract().name, 0)});
  Features features;
  const auto start = SteadyClock::now();
  while (result.cases < limits.cases && result.seconds < limits.seconds && !StopSignals::asked()) {
    const Case c = search.next();
    const CheckResult checked = checker.check(c);
    for (const Finding& finding : checked.findings) result.findings.add(finding, result.cases);
    search.learn(c, features.of(checked), checked.run.lane_instructions);
    search.hint(features.sizes());
    ++result.cases;
    result.seconds = since(start);
    if (checked.findings.empty() || result.first) continue;
    result.first = checked.findings.front();
    if (!limits.stop_at_first) continue;
    checker.locate(checked, *result.first);
    break;
  }
  return result;
}

/// The witness under a contract whose kernel may bear another name.
CheckResult check_witness(Checker& checker, Case witness) {
  witness.kernel = checker.contract().name;
  return checker.check(witness);
}

void score_witness(const PlantedPair& pair, Workbench& bench, PairReport& report) {
  const CheckResult on_bug = check_witness(bench.checker(*pair.bug), pair.witness);
  const CheckResult on_twin = check_witness(bench.checker(*pair.twin), pair.witness);
  report.witness_fails = !on_bug.findings.empty();
  report.witness_passes_on_twin = on_twin.outcome == Outcome::pass && on_twin.findings.empty();
  if (on_bug.outcome == Outcome::skipped) report.problem = "skipped: " + on_bug.skipped;
  if (!report.witness_passes_on_twin && !on_twin.findings.empty()) {
    report.problem = "twin: " + on_twin.findings.front().message;
  }
}

void score_search(const PlantedPair& pair, const Options& options, Workbench& bench,
                  PairReport& report) {
  SearchLimits limits;
  limits.seconds = options.seconds.value_or(kSecondsPerPair);
  if (options.cases) limits.cases = *options.cases;
  SearchResult bug = search(bench.checker(*pair.bug), options.seed, limits);
  report.cases = bug.cases;
  report.seconds = bug.seconds;
  report.found = bug.first.has_value();
  if (report.found) report.finding = *bug.first;

  SearchLimits twin_limits;
  twin_limits.seconds = std::min(limits.seconds, kTwinSeconds);
  twin_limits.cases = std::max(bug.cases, kLeastTwinCases);
  twin_limits.stop_at_first = false;
  const SearchResult twin = search(bench.checker(*pair.twin), options.seed, twin_limits);
  report.twin_cases = twin.cases;
  report.false_alarms = static_cast<int64_t>(twin.findings.size());
  if (twin.first) {
    report.problem = "alarm on the twin: " + twin.first->identity() + ": " + twin.first->message;
  }
}

PairReport score_pair(const PlantedPair& pair, const Options& options) {
  PairReport report;
  report.name = pair.name;
  report.fault = pair.fault;
  try {
    Workbench bench(options.device);
    score_witness(pair, bench, report);
    score_search(pair, options, bench, report);
  } catch (const InputError& error) {
    report.problem = error.what();
  }
  return report;
}

/// Pairs named on the command line, or all.
std::vector<std::string> chosen_pairs(const Options& options) {
  const std::string root =
      options.planted.empty() ? source_root() + "/kernels_under_test/planted" : options.planted;
  const std::vector<std::string> all = pair_folders(root);
  if (options.kernels.empty()) return all;
  std::vector<std::string> chosen;
  std::vector<std::string> names;
  for (const std::string& folder : all) names.push_back(fs::path(folder).filename());
  for (const std::string& wanted : options.kernels) {
    const auto at = std::find(names.begin(), names.end(), wanted);
    if (at == names.end()) {
      const std::string nearest = nearest_name(wanted, names);
      throw InputError({root}, "no pair '" + wanted + "' here" +
                                   (nearest.empty() ? "" : " (did you mean '" + nearest + "'?)"));
    }
    chosen.push_back(all[static_cast<size_t>(at - names.begin())]);
  }
  return chosen;
}

}  // namespace

Exit run_score(const Options& options, Streams streams) {
  make_device(options.device);
  std::vector<PlantedPair> pairs;
  for (const std::string& folder : chosen_pairs(options)) pairs.push_back(load_pair(folder));
  log_info("assay score: seed " + std::to_string(options.seed) + ", " +
           counted(static_cast<int64_t>(pairs.size()), "pair"));
  const auto start = SteadyClock::now();
  Report report;
  report.command = Command::score;
  report.seed = options.seed;
  report.pairs.resize(pairs.size());
  const StopSignals signals;
  std::vector<char> done(pairs.size(), 0);  // not bool: each worker writes its own
  std::atomic<size_t> next{0};
  const int workers = std::min<int>(worker_count(options), static_cast<int>(pairs.size()));
  run_workers(workers, [&](int worker) {
    for (size_t i; !StopSignals::asked() && (i = next++) < pairs.size();) {
      report.pairs[i] = score_pair(pairs[i], options);
      // What a search that was cut short missed says nothing.
      done[i] = !StopSignals::asked();
      if (worker == 0) log_progress("pair " + std::to_string(i + 1) + ": " + report.pairs[i].name);
    }
  });
  end_progress();
  report.interrupted = StopSignals::asked();
  size_t kept = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (done[i] == 0) continue;
    if (kept != i) report.pairs[kept] = std::move(report.pairs[i]);
    ++kept;
  }
  report.pairs.resize(kept);
  report.pairs_left_out = static_cast<int64_t>(pairs.size() - kept);
  report.seconds = since(start);
  print_report(report, options, streams);
  return report.exit();
}

}  // namespace assay
