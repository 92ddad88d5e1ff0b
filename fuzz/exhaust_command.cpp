// `assay exhaust`: every input of an elementwise kernel's narrow types, unit by unit; what is done
// is kept in --out, and a run that was interrupted goes on there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <ostream>
#include <set>

#include "compilers/sha256.hpp"
#include "fuzz/exhaust.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/workers.hpp"

namespace assay {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMostVariants = 4096;
/// A unit of pairs: about a second of work, which is what an interruption may cost.
constexpr int64_t kPairUnit = int64_t{1} << 20;

std::string plain_name(std::string text) {
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return text;
}

/// Time and Ctrl-C for the whole command.
struct Limits {
  SteadyClock::time_point start = SteadyClock::now();
  std::optional<double> seconds;
  double spent() const { return std::chrono::duration<double>(SteadyClock::now() - start).count(); }
  bool over() const { return StopSignals::asked() || (seconds && spent() >= *seconds); }
};

class ExhaustRun {
 public:
  ExhaustRun(const Options& options, const Contract& contract, const Limits& limits)
      : options_(options),
        contract_(contract),
        limits_(limits),
        folder_((options.out.empty() ? "out" : options.out) + "/" + contract.name) {
    for (const Variant& variant : chosen_variants(contract, options.only, kMostVariants)) {
      spaces_.push_back(input_space(contract, variant, options.mantissas));
    }
  }

  ExhaustReport run() {
    const auto start = limits_.spent();
    if (!options_.out.empty()) make_folder(folder_);
    ExhaustJournal journal(options_.out.empty() ? "" : folder_ + "/journal.jsonl", identity());
    journal_ = &journal;
    take_known();
    list_pending();
    run_workers(worker_count(options_), [&](int worker) { work(worker); });
    end_progress();
    ExhaustReport report = gather();
    report.seconds = limits_.spent() - start;
    return report;
  }

  const std::string& folder() const { return folder_; }

 private:
  /// What must be alike for results to be continued. The source may change: a unit tells the
  /// program that it ran.
  std::string identity() const {
    return contract_.name + " contract " + sha256_hex(read_text(contract_.path)).substr(0, 16) +
           " device " + options_.device + " mantissas " + std::to_string(options_.mantissas);
  }

  std::string current_program(const InputSpace& space) const {
    const Instance instance =
        instantiate(contract_, space_case(contract_, space, 0, std::min<int64_t>(space.size, 64)));
    return compile(contract_, space.variant, instance.launches.front().position).key;
  }

  /// Units of the journal that ran the source as it is now.
  void take_known() {
    std::map<std::string, size_t> by_text;
    for (size_t v = 0; v < spaces_.size(); ++v) by_text[spaces_[v].variant.text()] = v;
    std::map<size_t, std::string> programs;
    int64_t dropped = 0;
    for (UnitResult& result : journal_->known()) {
      const auto found = by_text.find(result.variant);
      if (found == by_text.end()) continue;  // not among --only
      result.unit.variant = found->second;
      if (!programs.contains(found->second)) {
        programs[found->second] = current_program(spaces_[found->second]);
      }
      if (programs[found->second] != result.program) {
        ++dropped;
        continue;
      }
      remember(std::move(result));
    }
    if (dropped > 0) {
      notes_.push_back(std::to_string(dropped) + " results in " + folder_ +
                       " are of an older source and were run again");
    }
    if (!results_.empty()) {
      log_info("continues " + folder_ + ": " + std::to_string(results_.size()) + " units are done");
    }
  }

  void list_pending() {
    int64_t most = 0;
    for (const InputSpace& space : spaces_) most = std::max(most, space.size);
    for (int64_t first = 0; first < most; first += kPairUnit) {
      for (size_t v = 0; v < spaces_.size(); ++v) {
        const int64_t count = std::min(kPairUnit, spaces_[v].size - first);
        if (count > 0 && !results_.contains({v, first})) pending_.push_back({v, first, count});
      }
    }
  }

  void work(int worker) {
    Workbench bench(options_.device);
    while (!failed_ && !limits_.over()) {
      const size_t next = next_++;
      if (next >= pending_.size()) return;
      const ExhaustUnit& unit = pending_[next];
      try {
        auto result = run_unit(bench.checker(contract_), spaces_[unit.variant], unit,
                               [&] { return failed_ || limits_.over(); });
        if (!result) return;
        finish(std::move(*result));
      } catch (...) {
        failed_ = true;
        throw;
      }
      if (worker == 0) {
        log_progress(std::to_string(next + 1) + " of " + std::to_string(pending_.size()) +
                     " units, " + std::to_string(int(limits_.spent())) + " s");
      }
    }
  }

  void finish(UnitResult result) {
    const std::lock_guard lock(mutex_);
    file_findings(result);
    journal_->append(result);
    remember(std::move(result));
  }

  /// One case file a variant and distinct failure: what other units show again is left out.
  void file_findings(UnitResult& result) {
    std::vector<Finding> fresh;
    for (Finding& finding : result.findings) {
      if (filed_.contains({result.unit.variant, finding.identity()})) continue;
      const std::string folder = folder_ + (options_.out.empty() ? "" : "/findings");
      make_folder(folder);
      const std::string variant = plain_name(result.variant);
      const std::string path =
          folder + "/" + variant + (variant.empty() ? "" : "-") + slug(finding) + ".case";
      finding.the_case.comments = {"found by `assay exhaust`", finding.message};
      write_file(path, print_case(finding.the_case));
      result.case_files.push_back(path);
      fresh.push_back(std::move(finding));
    }
    result.findings = std::move(fresh);
  }

  void remember(UnitResult result) {
    for (const Finding& finding : result.findings) {
      filed_.emplace(result.unit.variant, finding.identity());
    }
    const std::pair<size_t, int64_t> key{result.unit.variant, result.unit.first};
    results_.insert_or_assign(key, std::move(result));
  }

  ExhaustReport gather() {
    ExhaustReport report;
    report.kernel = contract_.name;
    report.contract = contract_.path;
    report.variants_total = count_variants(contract_);
    report.notes = notes_;
    note_scalars(report);
    for (const InputSpace& space : spaces_) {
      report.variants.emplace_back();
      report.variants.back().space = space;
    }
    for (auto& [key, result] : results_) {
      VariantResult& variant = report.variants[key.first];
      variant.seconds += result.seconds;
      if (!result.skipped.empty()) variant.skipped = result.skipped;
      if (result.skipped.empty()) variant.done += result.unit.count;
      for (size_t i = 0; i < result.outputs.size(); ++i) {
        if (i < variant.outputs.size()) {
          variant.outputs[i].add(result.outputs[i]);
        } else {
          variant.outputs.push_back(result.outputs[i]);
        }
      }
      if (!result.findings.empty()) variant.with_findings.push_back(std::move(result));
    }
    report.interrupted = StopSignals::asked();
    return report;
  }

  void note_scalars(ExhaustReport& report) const {
    for (const OperandSpec& operand : contract_.args) {
      if (operand.values.size() < 2) continue;
      report.notes.push_back("scalar '" + operand.name + "' has the first of its " +
                             std::to_string(operand.values.size()) + " values throughout");
    }
  }

  const Options& options_;
  const Contract& contract_;
  const Limits& limits_;
  const std::string folder_;
  std::vector<InputSpace> spaces_;
  std::vector<std::string> notes_;
  ExhaustJournal* journal_ = nullptr;
  std::vector<ExhaustUnit> pending_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::map<std::pair<size_t, int64_t>, UnitResult> results_;  ///< by variant and first input
  std::set<std::pair<size_t, std::string>> filed_;
};

Exit exit_of(const std::vector<ExhaustReport>& reports) {
  bool skipped = false;
  bool nothing = false;
  for (const ExhaustReport& report : reports) {
    if (report.finding_count() > 0) return Exit::findings;
    bool skipped_here = false;
    for (const VariantResult& variant : report.variants) skipped_here |= !variant.skipped.empty();
    skipped |= skipped_here;
    nothing |= report.inputs_done() == 0 && !skipped_here;
  }
  return nothing ? Exit::bad_input : skipped ? Exit::skipped : Exit::clean;
}

/// For the formats of CI systems: the findings, and one suite a kernel.
Report ci_report(const std::vector<ExhaustReport>& reports) {
  Report out;
  out.command = Command::exhaust;
  for (const ExhaustReport& report : reports) {
    KernelReport kernel;
    kernel.kernel = report.kernel;
    kernel.contract = report.contract;
    kernel.variants_total = report.variants_total;
    for (const VariantResult& variant : report.variants) {
      if (!variant.skipped.empty()) ++kernel.skipped[variant.skipped];
      if (variant.done == 0 && variant.skipped.empty()) continue;
      ++kernel.cases;
      kernel.judged += variant.done;
      if (variant.skipped.empty()) kernel.variants.insert(variant.space.variant.text());
      kernel.seconds += variant.seconds;
      for (const UnitResult& unit : variant.with_findings) {
        for (size_t i = 0; i < unit.findings.size(); ++i) {
          out.findings.push_back({unit.findings[i], unit.case_files[i], report.contract});
        }
      }
    }
    out.seconds += report.seconds;
    out.kernels.push_back(std::move(kernel));
  }
  return out;
}

void write_results(const ExhaustReport& report, const std::string& folder, int exit) {
  write_file(folder + "/report.txt", exhaust_text(report));
  write_file(folder + "/report.json", exhaust_json({report}, exit));
  write_file(folder + "/histogram.svg", exhaust_svg(report));
}

}  // namespace

Exit run_exhaust(const Options& options, Streams streams) {
  make_device(options.device);
  const std::vector<ContractPtr> contracts = load_kernels(options.kernels);
  const StopSignals signals;
  Limits limits;
  limits.seconds = options.seconds;
  std::vector<ExhaustReport> reports;
  for (const ContractPtr& contract : contracts) {
    ExhaustRun run(options, *contract, limits);
    reports.push_back(run.run());
    if (!options.out.empty()) {
      write_results(reports.back(), run.folder(), static_cast<int>(exit_of({reports.back()})));
    }
  }
  const Exit exit = exit_of(reports);
  if (options.json) {
    streams.out << exhaust_json(reports, static_cast<int>(exit));
  } else if (options.format == Format::junit) {
    streams.out << junit_report(ci_report(reports));
  } else {
    for (const ExhaustReport& report : reports) streams.out << exhaust_text(report);
    if (options.format == Format::github) streams.out << github_report(ci_report(reports));
  }
  if (exit == Exit::bad_input) {
    throw InputError({}, "no input was run before the time was over: nothing is proven");
  }
  return exit;
}

}  // namespace assay
