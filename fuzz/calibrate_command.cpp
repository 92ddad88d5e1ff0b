// `assay calibrate`. Each case runs as compiled with and without contraction, on an emulator that
// is as exact as it can be and on one that errs as far as a correct device may: all of that must
// pass. Then with planted defects (fuzz/sensitivity.hpp), which are counted.
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include "fuzz/calibrate.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/kernel_errors.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/smoke_cases.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/workers.hpp"
#include "generators/reductions.hpp"

namespace assay {

Contract with_contraction(const Contract& contract, bool contract_products) {
  Contract changed = contract;
  if (contract.source.language != Language::cuda) return changed;
  std::erase_if(changed.source.flags,
                [](const std::string& flag) { return flag.starts_with("-fmad="); });
  changed.source.flags.push_back(contract_products ? "-fmad=true" : "-fmad=false");
  return changed;
}

std::string repro_flags(uint64_t adversarial, std::optional<bool> contraction) {
  std::string text;
  if (adversarial != 0) text += " --adversarial " + std::to_string(adversarial);
  if (contraction) text += *contraction ? " --fmad on" : " --fmad off";
  return text;
}

namespace {

constexpr double kDefaultSeconds = 20;
/// Defects are planted in the covering cases and in this many generated ones of each kernel: shares
/// of more change little, and each costs more runs than the four settings do.
constexpr int64_t kPlantedRounds = 200;
/// What a case with a long reduction may cost: eight times a generated one.
constexpr int64_t kLongWork = int64_t{1} << 19;

struct Setting {
  bool adversarial;
  bool contraction;
};
constexpr std::array<Setting, 4> kSettings{
    {{false, true}, {false, false}, {true, true}, {true, false}}};

/// Differs from case to case, and fits a short command.
uint64_t adversarial_seed(uint64_t run_seed, int64_t order) {
  return case_seed(run_seed, "adversarial", static_cast<uint64_t>(order)) >> 40 | 1;
}

struct Gathered {
  std::vector<KernelReport> kernels;
  FindingSet findings;  ///< `order`: the case's times the settings, plus the setting
};

class Calibration {
 public:
  Calibration(const Options& options, const std::vector<ContractPtr>& contracts)
      : options_(options),
        contracts_(contracts),
        cases_(contracts, options.seed),
        errors_(contracts.size(), cases_) {
    for (const ContractPtr& contract : contracts) {
      fused_.push_back(std::make_unique<Contract>(with_contraction(*contract, true)));
      separate_.push_back(std::make_unique<Contract>(with_contraction(*contract, false)));
    }
  }

  Gathered run() {
    Gathered total = empty();
    run_workers(worker_count(options_), [&](int worker) {
      Gathered mine = empty();
      work(worker, mine);
      const std::lock_guard lock(mutex_);
      for (size_t k = 0; k < contracts_.size(); ++k) total.kernels[k].add(mine.kernels[k]);
      total.findings.merge(std::move(mine.findings));
    });
    end_progress();
    errors_.report(total.kernels);
    return total;
  }

  std::string folder(const std::string& kernel) const {
    return (options_.out.empty() ? "out" : options_.out) + "/" + kernel;
  }

  /// Writes each finding's case, unshrunk, under the folder of the options.
  void file(const FindingSet& findings, Report& report) const {
    Workbench bench(options_.device);
    for (const FindingSet::Entry& entry : findings.sorted()) {
      const auto settings = static_cast<int64_t>(kSettings.size());
      const Setting& setting = kSettings[static_cast<size_t>(entry.order % settings)];
      const std::string place = folder(entry.finding.kernel);
      FiledFinding one{entry.finding, place + "/calibrate-" + slug(entry.finding) + ".case"};
      const uint64_t adversarial =
          setting.adversarial ? adversarial_seed(options_.seed, entry.order / settings) : 0;
      for (size_t k = 0; k < contracts_.size(); ++k) {
        if (contracts_[k]->name != entry.finding.kernel) continue;
        one.contract = contracts_[k]->path;
        Checker& checker = bench.checker(*(setting.contraction ? fused_ : separate_)[k]);
        RunOptions run = case_options();
        run.adversarial_seed = adversarial;
        checker.locate(checker.check(entry.finding.the_case, run), one.finding);
      }
      one.flags = repro_flags(adversarial, setting.contraction);
      one.seen = entry.seen;
      Case raw = entry.finding.the_case;
      raw.comments =
          finding_comments("found by `assay calibrate --seed " + std::to_string(options_.seed) +
                               "`; it shows with" + one.flags,
                           one.finding);
      try {
        make_folder(place);
        write_file(one.case_file, print_case(raw));
      } catch (const InputError& error) {
        // What was found is printed all the same.
        if (!report.not_written) report.not_written = error;
        one.case_file.clear();
      }
      report.findings.push_back(std::move(one));
    }
  }

  double spent() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  Gathered empty() const {
    Gathered gathered;
    for (const ContractPtr& contract : contracts_) {
      KernelReport kernel;
      kernel.kernel = contract->name;
      kernel.contract = contract->path;
      kernel.variants_total = count_variants(*contract);
      kernel.weak_is_explained = !contract->accuracy.weak_reason.empty();
      kernel.calibrated.emplace();
      gathered.kernels.push_back(std::move(kernel));
    }
    return gathered;
  }

  void work(int worker, Gathered& mine) {
    Workbench bench(options_.device);
    const int64_t last = options_.cases.value_or(INT64_MAX);
    const bool timed = options_.seconds || !options_.cases;
    const double seconds = options_.seconds.value_or(kDefaultSeconds);
    while (!failed_ && !StopSignals::asked() && !errors_.all_ended()) {
      const int64_t order = next_++;
      // A time that was asked for holds; the default one waits for the covering cases.
      const bool may_stop = options_.seconds || order >= cases_.covering();
      if (order >= last || (timed && may_stop && spent() >= seconds)) return;
      const size_t kernel = cases_.kernel_at(order);
      if (errors_.has_ended(kernel)) continue;
      try {
        const SmokeCases::Item item = cases_.at(order);
        for (size_t s = 0; s < kSettings.size() && !StopSignals::asked(); ++s)
          check(bench, item, s, mine);
        if (!StopSignals::asked() && cases_.round_of(order) < kPlantedRounds)
          plant(bench, item, mine);
      } catch (const InputError& error) {
        // Ctrl-C ends a compiler too: what it says then is no error of the kernel.
        if (!StopSignals::asked()) errors_.add(kernel, order, error);
      } catch (...) {
        failed_ = true;
        throw;
      }
      if (worker == 0) {
        log_progress(std::to_string(order + 1) + " cases, " + std::to_string(int(spent())) + " s");
      }
    }
  }

  /// Plants defects in the case, and in every fourth of a kernel in one with a long reduction as
  /// well: generated sizes share a budget, and few of them are long.
  void plant(Workbench& bench, const SmokeCases::Item& item, Gathered& mine) {
    Checker& checker = bench.checker(*fused_[item.kernel]);
    SensitivityTable& table = mine.kernels[item.kernel].calibrated->sensitivity;
    const uint64_t seed = adversarial_seed(options_.seed, item.order);
    plant_defects(checker, item.the_case, seed, table);  // its findings are known from check()
    if (seed / 2 % 4 != 0) return;
    const int64_t extent = kLongReduction + 64 + 64 * static_cast<int64_t>(seed / 8 % 32);
    const std::optional<Case> longer =
        lengthened(*contracts_[item.kernel], item.the_case, extent, kLongReduction, kLongWork);
    if (!longer) return;
    std::vector<Finding> findings = plant_defects(checker, *longer, seed, table);
    for (Finding& finding : findings)
      mine.findings.add(std::move(finding), item.order * static_cast<int64_t>(kSettings.size()));
  }

  void check(Workbench& bench, const SmokeCases::Item& item, size_t s, Gathered& mine) {
    const Setting& setting = kSettings[s];
    const Contract& contract = *(setting.contraction ? fused_ : separate_)[item.kernel];
    RunOptions run = case_options();
    run.coverage = false;
    if (setting.adversarial) run.adversarial_seed = adversarial_seed(options_.seed, item.order);
    CheckResult result = bench.checker(contract).check(item.the_case, run);
    KernelReport& kernel = mine.kernels[item.kernel];
    if (s == 0) kernel.add(item.the_case, result, 0);
    ++kernel.calibrated->runs;
    if (result.verdict.judged > result.verdict.no_bound) {
      AllowanceUse& use =
          setting.adversarial ? kernel.calibrated->adversarial : kernel.calibrated->honest;
      use.add(result.verdict.share);
    }
    const int64_t order = item.order * static_cast<int64_t>(kSettings.size());
    for (Finding& finding : result.findings)
      mine.findings.add(std::move(finding), order + static_cast<int64_t>(s));
  }

  const Options& options_;
  const std::vector<ContractPtr>& contracts_;
  SmokeCases cases_;
  KernelErrors errors_;
  std::vector<std::unique_ptr<Contract>> fused_, separate_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<int64_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
};

}  // namespace

Exit run_calibrate(const Options& options, Streams streams) {
  const LoadedKernels loaded = load_each(options.kernels);
  log_info(opening(options, "calibrate", loaded.contracts.size() + loaded.unread.size()));
  const StopSignals signals;
  Calibration calibration(options, loaded.contracts);
  for (const ContractPtr& contract : loaded.contracts)
    check_folder(calibration.folder(contract->name));
  Gathered gathered = calibration.run();
  Report report;
  report.command = Command::calibrate;
  report.seed = options.seed;
  report.jobs = worker_count(options);
  calibration.file(gathered.findings, report);
  report.kernels = std::move(gathered.kernels);
  for (const UnreadContract& unread : loaded.unread) {
    report.kernels.push_back(unread_report(unread));
    report.kernels.back().calibrated.emplace();
  }
  report.interrupted = StopSignals::asked();
  report.seconds = calibration.spent();
  return conclude(report, options, streams);
}

}  // namespace assay
