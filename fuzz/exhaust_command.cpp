// `assay exhaust`: every input of an elementwise kernel's narrow types, unit by unit; what is done
// is kept in --out, and a run that was interrupted goes on there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
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
#include "fuzz/text_table.hpp"
#include "fuzz/workers.hpp"
#include "kernels_under_test/toml_document.hpp"

namespace assay {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t kMostVariants = 4096;

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
    list_spaces();
  }

  /// Before any kernel runs. Throws InputError where results could not be written, or are those of
  /// something else.
  void open_folder() {
    if (options_.out.empty()) {
      check_folder(folder_);  // made for a finding
    } else {
      make_folder(folder_);
      check_folder(findings_folder());
    }
    journal_.emplace(options_.out.empty() ? "" : folder_ + "/journal.jsonl", identity());
  }

  ExhaustReport run() {
    const auto start = limits_.spent();
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
  /// Variants whose inputs cannot be listed are left out by name where others can be.
  void list_spaces() {
    const bool gpu = options_.device == "cuda";
    const WideInputs wide{options_.mantissas, options_.whole || (gpu && options_.mantissas == 0)};
    std::optional<InputError> first;
    for (const Variant& variant : variants(wide)) {
      try {
        spaces_.push_back(input_space(contract_, variant, wide));
      } catch (const InputError& error) {
        if (error.where().file.empty()) throw;  // the command line's
        if (!first) first = error;
        VariantResult& left_out = left_out_.emplace_back();
        left_out.space.variant = variant;
        left_out.skipped = error.what();
        left_out.left_out = true;
      }
    }
    if (spaces_.empty() && first) throw InputError(*first);
  }

  /// The variants of --only; of those that differ in the launch's shape alone one, unless --only
  /// names the knob that shapes it.
  std::vector<Variant> variants(const WideInputs& wide) {
    const std::vector<Variant> chosen = chosen_variants(contract_, options_.only, kMostVariants);
    std::vector<std::string> knobs = launch_knobs(contract_);
    std::erase_if(knobs, [&](const std::string& knob) {
      return std::any_of(options_.only.begin(), options_.only.end(),
                         [&](const std::string& one) { return one.starts_with(knob + "="); });
    });
    std::vector<Variant> run = without_knobs(contract_, knobs, wide, chosen);
    if (run.size() == chosen.size()) return run;
    std::string options;
    for (const std::string& knob : knobs) options += " --only " + knob + "=VALUE";
    const int64_t left = std::ssize(chosen) - std::ssize(run);
    notes_.push_back("not run: " + counted(left, "variant") + " that " +
                     (left == 1 ? "differs" : "differ") + " from those above in " + joined(knobs) +
                     " alone, which shapes the launch and nothing else;" + options + " runs one");
    return run;
  }

  /// What must be alike for results to be continued: what the contract says, not how it is written.
  /// The source may change: a unit tells the program that it ran; and --mantissas: it tells its
  /// inputs.
  std::string identity() const {
    const std::string contract = plain_text(parse_toml(read_text(contract_.path), contract_.path));
    return contract_.name + " contract " + sha256_hex(contract).substr(0, 16) + " device " +
           options_.device;
  }

  std::string current_program(const InputSpace& space) const {
    const Instance instance =
        instantiate(contract_, space_case(contract_, space, 0, std::min<int64_t>(space.size, 64)));
    return compile(contract_, space.variant, instance.launches.front().position).key;
  }

  /// Units of the journal that ran the source as it is now.
  void take_known() {
    std::map<std::pair<std::string, std::string>, size_t> by_text;
    for (size_t v = 0; v < spaces_.size(); ++v) {
      by_text[{spaces_[v].variant.text(), spaces_[v].text()}] = v;
    }
    std::map<size_t, std::string> programs;
    std::vector<std::string> older_cases;
    int64_t dropped = 0;
    for (UnitResult& result : journal_->known()) {
      const auto found = by_text.find({result.variant, result.space});
      if (found == by_text.end()) continue;  // not among --only, or of other --mantissas
      result.unit.variant = found->second;
      check_unit(result.unit);
      if (!programs.contains(found->second)) {
        programs[found->second] = current_program(spaces_[found->second]);
      }
      if (programs[found->second] == result.program) {
        remember(std::move(result));
        continue;
      }
      ++dropped;
      older_cases.insert(older_cases.end(), result.case_files.begin(), result.case_files.end());
    }
    if (dropped > 0) {
      const bool moved = set_aside(older_cases);
      notes_.push_back(counted(dropped, "result") + " in " + folder_ +
                       (dropped == 1 ? " is" : " are") + " of an older source and " +
                       (dropped == 1 ? "was" : "were") + " run again" +
                       (moved ? "; the cases of " + std::string(dropped == 1 ? "its" : "their") +
                                    " findings are in " + older_folder()
                              : ""));
    }
    if (!results_.empty()) {
      log_info("continues " + folder_ + ": " + counted(std::ssize(results_), "unit") +
               (results_.size() == 1 ? " is" : " are") + " done");
    }
  }

  /// A result of the journal has to be of a unit as they are made here: what is left is told by
  /// their first inputs.
  void check_unit(const ExhaustUnit& unit) const {
    const int64_t size = spaces_[unit.variant].size;
    if (unit.first >= 0 && unit.first < size && unit.first % kUnitInputs == 0 &&
        unit.count == std::min(kUnitInputs, size - unit.first))
      return;
    throw InputError({folder_ + "/journal.jsonl"},
                     "a result of inputs " + std::to_string(unit.first) + " to " +
                         std::to_string(unit.first + unit.count - 1) + ": expected units of " +
                         std::to_string(kUnitInputs) + " inputs: give another --out, or delete " +
                         "the file");
  }

  std::string older_folder() const { return folder_ + "/older"; }
  std::string findings_folder() const {
    return folder_ + (options_.out.empty() ? "" : "/findings");
  }

  /// Moves the cases of an older source out of findings/, but for those that a result of this one
  /// has written again. True: there were some.
  bool set_aside(const std::vector<std::string>& cases) const {
    namespace fs = std::filesystem;
    std::set<std::string> fresh;
    for (const auto& [key, result] : results_) {
      fresh.insert(result.case_files.begin(), result.case_files.end());
    }
    bool any = false;
    for (const std::string& path : cases) {
      std::error_code ignored;
      if (fresh.contains(path) || !fs::is_regular_file(path, ignored)) continue;
      make_folder(older_folder());
      const std::string target = older_folder() + "/" + fs::path(path).filename().string();
      std::error_code error;
      fs::rename(path, target, error);
      if (error) throw InputError({path}, "cannot move to " + target + ": " + error.message());
      any = true;
    }
    return any;
  }

  /// The variants take turns, each in its own scattered order.
  void list_pending() {
    struct Order {
      int64_t units, step;
    };
    std::vector<Order> orders;
    int64_t most = 0;
    for (const InputSpace& space : spaces_) {
      const int64_t units = count_units(space);
      orders.push_back({units, scatter_step(units)});
      most = std::max(most, units);
    }
    for (int64_t turn = 0; turn < most; ++turn) {
      for (size_t v = 0; v < spaces_.size(); ++v) {
        const auto [units, step] = orders[v];
        if (turn >= units) continue;
        const int64_t first = turn * step % units * kUnitInputs;
        const int64_t count = std::min(kUnitInputs, spaces_[v].size - first);
        if (!results_.contains({v, first})) pending_.push_back({v, first, count});
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
        auto result = run_unit(
            bench.checker(contract_), spaces_[unit.variant], unit,
            [&] { return failed_ || limits_.over(); }, unit_limits(options_.device));
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
      const std::string folder = findings_folder();
      make_folder(folder);
      const std::string variant = plain_name(result.variant);
      const std::string path =
          folder + "/" + variant + (variant.empty() ? "" : "-") + slug(finding) + ".case";
      finding.the_case.comments =
          finding_comments("found by `assay exhaust" + device_flag(options_.device) + "`", finding);
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
    report.device = options_.device;
    report.variants_total = count_variants(contract_);
    report.notes = notes_;
    note_scalars(report);
    for (const InputSpace& space : spaces_) {
      report.variants.emplace_back();
      report.variants.back().space = space;
    }
    std::vector<std::vector<std::vector<const ErrorStats*>>> units(spaces_.size());
    for (auto& [key, result] : results_) {
      VariantResult& variant = report.variants[key.first];
      variant.seconds += result.seconds;
      if (!result.skipped.empty()) variant.skipped = result.skipped;
      variant.cases += result.cases;
      if (result.skipped.empty()) variant.ran += result.unit.count;
      auto& outputs = units[key.first];
      outputs.resize(std::max(outputs.size(), result.outputs.size()));
      for (size_t i = 0; i < result.outputs.size(); ++i) outputs[i].push_back(&result.outputs[i]);
    }
    for (size_t v = 0; v < units.size(); ++v) {
      const std::vector<OperandSpace>& operands = spaces_[v].operands;
      const auto one = operands.size() == 1 ? std::optional(operands[0].type) : std::nullopt;
      for (const auto& output : units[v]) report.variants[v].outputs.push_back(joined(one, output));
    }
    for (auto& [key, result] : results_) {
      if (!result.findings.empty())
        report.variants[key.first].with_findings.push_back(std::move(result));
    }
    report.variants.insert(report.variants.end(), left_out_.begin(), left_out_.end());
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
  std::vector<VariantResult> left_out_;
  std::vector<std::string> notes_;
  std::optional<ExhaustJournal> journal_;
  std::vector<ExhaustUnit> pending_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::map<std::pair<size_t, int64_t>, UnitResult> results_;  ///< by variant and first input
  std::set<std::pair<size_t, std::string>> filed_;
};

void write_results(const ExhaustReport& report, const std::string& folder) {
  write_file(folder + "/report.txt", exhaust_text(report));
  write_file(folder + "/report.json", exhaust_json({report}, report.seconds));
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
  std::deque<ExhaustRun> runs;
  for (const ContractPtr& contract : contracts) runs.emplace_back(options, *contract, limits);
  for (ExhaustRun& run : runs) run.open_folder();
  for (ExhaustRun& run : runs) {
    reports.push_back(run.run());
    if (!options.out.empty()) {
      write_results(reports.back(), run.folder());
    }
  }
  const Exit exit = exit_of(reports);
  if (options.json) {
    streams.out << exhaust_json(reports, limits.spent());
  } else if (options.format == Format::junit) {
    streams.out << junit_report(ci_report(reports));
  } else {
    for (const ExhaustReport& report : reports) streams.out << exhaust_text(report);
    if (options.format == Format::github) streams.out << github_report(ci_report(reports));
  }
  if (exit == Exit::bad_input) {
    for (const ExhaustReport& report : reports) {
      if (report.exit() == exit) throw InputError({}, report.nothing_judged());
    }
  }
  return exit;
}

}  // namespace assay
