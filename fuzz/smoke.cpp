// `assay smoke`: every kernel, dtype and knob at least once, then generated cases for a while. For
// CI: the same seed gives the same cases, and with --cases the same report, whatever the jobs.
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <functional>
#include <mutex>
#include <ostream>

#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/kernel_errors.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/smoke_cases.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/workers.hpp"
#include "generators/generate.hpp"

namespace assay {

namespace {

constexpr double kDefaultSeconds = 20;
/// Shrinking in smoke: most cases reach their smallest in these checks, within 2 s. The time is a
/// guard for cases of a second each; `assay shrink` goes on to the end.
constexpr ShrinkLimits kQuickShrink{2000, 5};
/// What shrinking may add to the time that --for gives.
constexpr double kOverTime = 0.5;

/// Whether a case of corpus/KERNEL/open records the failure. One whose lines an edit of the source
/// has moved is run to see where it stands now.
bool is_known(Checker& checker, const Finding& finding) {
  namespace fs = std::filesystem;
  const Contract& contract = checker.contract();
  const auto stands_there_now = [&](const Case& c) {
    try {
      const CheckResult result = checker.check(c);
      const Finding* const shown = recorded_finding(c.recorded, result);
      return shown != nullptr && shown->identity() == finding.identity();
    } catch (const InputError&) {
      return false;  // of another contract or source: its own test tells
    }
  };
  std::error_code ignored;
  for (const fs::path& root : {fs::path(source_root()) / "corpus" / contract.name,
                               fs::path(contract.path).parent_path() / "corpus" / contract.name}) {
    for (const auto& entry : fs::directory_iterator(root / "open", ignored)) {
      if (entry.path().extension() != ".case") continue;
      const Case c = load_case(entry.path());
      const Recorded& r = c.recorded;
      if (Finding{c.kernel, r.kind, r.rule, r.file, r.line}.identity() == finding.identity())
        return true;
      if (r.kind == finding.kind && r.rule == finding.rule && stands_there_now(c)) return true;
    }
  }
  return false;
}

/// What one worker gathers; merged in the end.
struct Tally {
  std::vector<KernelReport> kernels;
  FindingSet findings;
  std::map<size_t, int64_t> covered;  ///< covering cases that ran, by kernel
  /// The first case without a judged element, by kernel and reason.
  std::map<std::pair<size_t, std::string>, std::pair<int64_t, Case>> unjudged;

  void add_unjudged(const std::pair<size_t, std::string>& key, int64_t order, const Case& c) {
    const auto [at, fresh] = unjudged.try_emplace(key, order, c);
    if (!fresh && order < at->second.first) at->second = {order, c};
  }
};

class SmokeRun {
 public:
  SmokeRun(const Options& options, const std::vector<ContractPtr>& contracts)
      : options_(options),
        contracts_(contracts),
        cases_(contracts, options.seed),
        errors_(contracts.size(), cases_) {
    last_ = options.cases.value_or(INT64_MAX);
    if (options.seconds || !options.cases) seconds_ = options.seconds.value_or(kDefaultSeconds);
  }

  Tally run() {
    Tally total = empty_tally();
    run_workers(worker_count(options_), [&](int worker) {
      Tally tally = empty_tally();
      work(worker, tally);
      const std::lock_guard lock(mutex_);
      for (size_t k = 0; k < contracts_.size(); ++k) total.kernels[k].add(tally.kernels[k]);
      total.findings.merge(std::move(tally.findings));
      for (const auto& [k, count] : tally.covered) total.covered[k] += count;
      for (const auto& [key, first] : tally.unjudged)
        total.add_unjudged(key, first.first, first.second);
    });
    end_progress();
    errors_.report(total.kernels);
    note_uncovered(total);
    for (size_t k = 0; k < contracts_.size(); ++k) {
      if (total.kernels[k].error) continue;
      // A run that ended before says so itself.
      if (next_ >= cases_.covering()) note_properties(*contracts_[k], total.kernels[k]);
      note_reach(*contracts_[k], total.kernels[k]);
      note_arguments(*contracts_[k], total.kernels[k]);
    }
    return total;
  }

  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  void note_uncovered(Tally& total) {
    std::map<size_t, int64_t> all;
    for (int64_t order = 0; order < std::min(cases_.covering(), last_); ++order)
      ++all[cases_.at(order).kernel];
    for (const auto& [k, count] : all) {
      if (total.covered[k] == count || total.kernels[k].error) continue;
      const char* why = StopSignals::asked() ? "interrupted after " : "the time was over after ";
      total.kernels[k].notes.insert(why + std::to_string(total.covered[k]) + " of the " +
                                    std::to_string(count) +
                                    " cases that cover each dtype and knob");
    }
  }

  Tally empty_tally() const {
    Tally tally;
    for (const ContractPtr& contract : contracts_) {
      KernelReport kernel;
      kernel.kernel = contract->name;
      kernel.contract = contract->path;
      kernel.variants_total = count_variants(*contract);
      kernel.weak_is_explained = !contract->accuracy.weak_reason.empty();
      tally.kernels.push_back(std::move(kernel));
    }
    return tally;
  }

  void work(int worker, Tally& tally) {
    Workbench bench(options_.device);
    while (!failed_ && !StopSignals::asked() && !errors_.all_ended()) {
      const int64_t order = next_++;
      if (order >= last_) return;
      const size_t kernel = cases_.kernel_at(order);
      if (errors_.has_ended(kernel)) continue;
      // A time that was asked for holds; the default one waits for the covering cases.
      const bool may_stop = options_.seconds || order >= cases_.covering();
      if (seconds_ && may_stop && spent() >= *seconds_) return;
      try {
        check(bench, cases_.at(order), tally);
      } catch (const InputError& error) {
        // Ctrl-C ends a compiler too: what it says then is no error of the kernel.
        if (!StopSignals::asked()) errors_.add(kernel, order, error);
      } catch (...) {
        failed_ = true;  // the first of these ends the run; the others stop at once
        throw;
      }
      if (worker == 0) {
        log_progress(std::to_string(order + 1) + " cases, " + std::to_string(int(spent())) + " s");
      }
    }
  }

  void check(Workbench& bench, const SmokeCases::Item& item, Tally& tally) {
    const auto start = std::chrono::steady_clock::now();
    CheckResult result = bench.checker(*contracts_[item.kernel]).check(item.the_case);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    tally.kernels[item.kernel].add(item.the_case, result, spent.count());
    if (item.order < cases_.covering()) ++tally.covered[item.kernel];
    if (result.outcome == Outcome::skipped && result.run.status != RunStatus::unsupported)
      tally.add_unjudged({item.kernel, result.skipped}, item.order, item.the_case);
    for (Finding& finding : result.findings) tally.findings.add(std::move(finding), item.order);
  }

  const Options& options_;
  const std::vector<ContractPtr>& contracts_;
  SmokeCases cases_;
  KernelErrors errors_;
  int64_t last_ = 0;
  std::optional<double> seconds_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
};

const Contract& contract_named(const std::vector<ContractPtr>& contracts, const std::string& name) {
  for (const ContractPtr& contract : contracts) {
    if (contract->name == name) return *contract;
  }
  throw InputError({}, "no contract named " + name);
}

std::string out_name(const Options& options, const Contract& contract) {
  return (options.out.empty() ? "out" : options.out) + "/" + contract.name;
}

/// Writes a case and the folder that it is in. False: that failed, and the report says why; what
/// was found is printed all the same.
bool try_write(const std::string& path, const std::string& content, Report& report) {
  try {
    make_folder(std::filesystem::path(path).parent_path());
    write_file(path, content);
    return true;
  } catch (const InputError& error) {
    if (!report.not_written) report.not_written = error;
    return false;
  }
}

/// Writes the first case of each reason for which cases were not judged, and notes where it is.
void file_unjudged(const Options& options, const std::vector<ContractPtr>& contracts, Tally& tally,
                   Report& report) {
  std::map<size_t, int> written;
  for (const auto& [key, first] : tally.unjudged) {
    const auto& [kernel, reason] = key;
    const int number = ++written[kernel];
    const std::string path = out_name(options, *contracts[kernel]) + "/not-judged" +
                             (number > 1 ? "-" + std::to_string(number) : "") + ".case";
    Case c = first.second;
    c.comments = {"not judged: " + reason};
    if (!try_write(path, print_case(c), report)) continue;
    FiledFinding filed;
    filed.finding.kernel = contracts[kernel]->name;
    filed.case_file = path;
    filed.contract = contracts[kernel]->path;
    filed.device = options.device;
    tally.kernels[kernel].notes.insert("the first case not judged (" + reason +
                                       "): " + repro_command(filed));
  }
}

/// Shrinks each finding and writes it as a case file under `folder`/KERNEL. `left`: seconds for
/// all. After Ctrl-C they are written as they are.
void file_findings(const Options& options, const FindingSet& findings,
                   const std::vector<ContractPtr>& contracts, std::function<double()> left,
                   Report& report) {
  std::vector<FiledFinding>& filed = report.findings;
  Workbench bench(options.device);
  for (const FindingSet::Entry& entry : findings.sorted()) {
    const Contract& contract = contract_named(contracts, entry.finding.kernel);
    ShrinkLimits limits = kQuickShrink;
    const double share = left() / static_cast<double>(findings.size() - filed.size());
    limits.seconds = std::clamp(share, 0.01, limits.seconds);
    log_progress("shrinking finding " + std::to_string(filed.size() + 1) + " of " +
                 std::to_string(findings.size()));
    Checker& checker = bench.checker(contract);
    ShrinkResult smaller = shrink(checker, entry.finding, limits);
    smaller.the_case.comments =
        finding_comments("found by `assay smoke --seed " + std::to_string(options.seed) +
                             device_flag(options.device) + "`, case " + std::to_string(entry.order),
                         smaller.finding);
    FiledFinding one{smaller.finding,
                     out_name(options, contract) + "/" + slug(entry.finding) + ".case",
                     contract.path, entry.seen};
    one.device = options.device;
    one.shrunk = smaller.fixpoint;
    one.cause = first_cause(checker.check(smaller.the_case), smaller.finding);
    if (!try_write(one.case_file, print_case(smaller.the_case), report)) one.case_file.clear();
    try {
      one.known = is_known(checker, entry.finding);
    } catch (const InputError& error) {  // an entry of open/ that is damaged
      if (!report.not_written) report.not_written = error;
    }
    filed.push_back(std::move(one));
  }
  end_progress();
  group_by_cause(filed);
}

}  // namespace

Exit run_smoke(const Options& options, Streams streams) {
  make_device(options.device);
  const LoadedKernels loaded = load_each(options.kernels);
  const std::vector<ContractPtr>& contracts = loaded.contracts;
  for (const ContractPtr& contract : contracts) check_folder(out_name(options, *contract));
  log_info(opening(options, "smoke", contracts.size() + loaded.unread.size()));
  const StopSignals signals;
  SmokeRun run(options, contracts);
  Tally tally = run.run();

  Report report;
  report.command = Command::smoke;
  report.seed = options.seed;
  report.jobs = worker_count(options);
  const double checked = run.spent();
  file_findings(
      options, tally.findings, contracts,
      [&] { return options.seconds ? *options.seconds + kOverTime - run.spent() : HUGE_VAL; },
      report);
  file_unjudged(options, contracts, tally, report);
  report.kernels = std::move(tally.kernels);
  for (const UnreadContract& unread : loaded.unread)
    report.kernels.push_back(unread_report(unread));
  report.interrupted = StopSignals::asked();
  report.seconds = run.spent();
  report.shrinking_seconds = report.seconds - checked;
  return conclude(report, options, streams);
}

}  // namespace assay
