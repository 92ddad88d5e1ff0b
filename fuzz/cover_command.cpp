// `assay cover`: runs a kernel's cases as smoke does, and shows which parts of its source they
// reach.
#include <atomic>
#include <chrono>
#include <mutex>
#include <ostream>

#include "fuzz/cover.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/smoke_cases.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/workers.hpp"
#include "generators/generate.hpp"

namespace assay {

namespace {

constexpr int64_t kDefaultCases = 1000;

class CoverRun {
 public:
  CoverRun(const Options& options, const ContractPtr& contract)
      : options_(options), contracts_{contract}, cases_(contracts_, options.seed) {
    if (!cases_.errors().empty()) throw InputError(cases_.errors().begin()->second);
    last_ = options.cases.value_or(options.seconds ? INT64_MAX : kDefaultCases);
  }

  CoverReport run() {
    CoverReport report;
    report.kernel = contract().name;
    report.contract = contract().path;
    report.seed = options_.seed;
    report.variants_total = count_variants(contract());
    CoverTally tally;
    FindingSet findings;
    std::set<std::string> variants;
    run_workers(worker_count(options_), [&](int worker) {
      Part part;
      work(worker, part);
      const std::lock_guard lock(mutex_);
      report.cases += part.cases;
      for (const auto& [reason, count] : part.skipped) report.skipped[reason] += count;
      tally.add(std::move(part.tally));
      findings.merge(std::move(part.findings));
      variants.merge(part.variants);
    });
    end_progress();
    report.interrupted = StopSignals::asked();
    Workbench bench(options_.device);
    Checker& checker = bench.checker(contract());
    for (const FindingSet::Entry& entry : findings.sorted()) {
      report.findings.push_back(entry.finding);
      if (entry.finding.kind == "mismatch" || entry.finding.kind == "property")
        checker.locate(checker.check(entry.finding.the_case), report.findings.back());
    }
    report.variants = static_cast<int64_t>(variants.size());
    tally.report(contract().source.path, report);
    report.seconds = spent();
    return report;
  }

 private:
  /// What one worker gathers.
  struct Part {
    int64_t cases = 0;
    std::map<std::string, int64_t> skipped;
    std::set<std::string> variants;
    CoverTally tally;
    FindingSet findings;
  };

  const Contract& contract() const { return *contracts_.front(); }

  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void work(int worker, Part& part) {
    Workbench bench(options_.device);
    Checker& checker = bench.checker(contract());
    RunOptions run = case_options();
    run.every_result = true;
    while (!failed_ && !StopSignals::asked()) {
      const int64_t order = next_++;
      if (order >= last_ || (options_.seconds && spent() >= *options_.seconds)) return;
      try {
        const Case c = cases_.at(order).the_case;
        add(c, checker.check(c, run), order, part);
      } catch (...) {
        // Ctrl-C ends a compiler too: what it says then is no error of the kernel.
        if (StopSignals::asked()) return;
        failed_ = true;  // the first error ends the run; the others stop at once
        throw;
      }
      if (worker == 0) log_progress(std::to_string(order + 1) + " cases");
    }
  }

  static void add(const Case& c, CheckResult result, int64_t order, Part& part) {
    ++part.cases;
    if (result.run.status == RunStatus::unsupported) {
      ++part.skipped[result.skipped];
      return;
    }
    part.variants.insert(c.variant().text());
    part.tally.add(result);
    for (Finding& finding : result.findings) part.findings.add(std::move(finding), order);
  }

  const Options& options_;
  std::vector<ContractPtr> contracts_;
  SmokeCases cases_;
  int64_t last_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
};

}  // namespace

Exit run_cover(const Options& options, Streams streams) {
  if (options.kernels.size() != 1) {
    throw InputError({}, "cover: expected one kernel, not " +
                             std::to_string(options.kernels.size()));
  }
  const ContractPtr contract = load_kernels(options.kernels).front();
  log_info(opening(options, "cover", 1));
  const StopSignals signals;
  const CoverReport report = CoverRun(options, contract).run();
  if (report.cases == 0) {
    if (report.interrupted) {
      log_info("interrupted before a case had run: nothing is known");
      return Exit::interrupted;
    }
    throw InputError({}, "cover: the time was over before a case had run: nothing is known");
  }
  if (!options.html.empty()) {
    write_file(options.html, cover_html(report));
    log_info("written: " + options.html);
  }
  streams.out << (options.json ? cover_json(report) : cover_text(report));
  return report.exit();
}

}  // namespace assay
