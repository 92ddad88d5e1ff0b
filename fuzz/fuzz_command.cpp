// `assay fuzz`: the overnight job. The parent never runs a kernel: it starts worker processes for
// slices of time, books what they gave, and ends with a short list of distinct findings.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <thread>

#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/overnight.hpp"
#include "fuzz/program.hpp"
#include "fuzz/resume.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/text_table.hpp"
#include "fuzz/worker_process.hpp"
#include "fuzz/worker_slot.hpp"
#include "fuzz/workers.hpp"

namespace assay {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr double kSliceSeconds = 10;  // less in a run too short for a slice a kernel
/// Of wall time, for one case: the instruction budget ends one that hangs within seconds of
/// processor time, of which a busy machine gives a tenth or less.
constexpr int kCaseSeconds = 600;
/// A worker that does not end its slice by itself within this is killed.
constexpr double kGraceSeconds = kCaseSeconds + 60;
constexpr int kMemoryLimitMiB = 4096;

FuzzFolders folders_of(const Options& options) {
  return {options.out.empty() ? "out/fuzz" : options.out};
}

class Overnight {
 public:
  /// `notes`: lines for the report, by kernel.
  Overnight(const Options& options, std::vector<ContractPtr> contracts, FuzzState saved,
            std::map<std::string, std::vector<std::string>> notes)
      : options_(options),
        contracts_(std::move(contracts)),
        notes_(std::move(notes)),
        saved_(std::move(saved)) {
    folders_ = folders_of(options);
    for (const ContractPtr& contract : contracts_) {
      try {
        prepare_folders(folders_, {contract});
      } catch (const InputError& error) {
        errors_.emplace(contract->name, error);  // it admits no case
      }
      state_[contract->name] = saved_[contract->name];
      state_[contract->name].contract = contract->path;
    }
    save();
    for (int i = 0; i < worker_count(options); ++i) {
      slots_.push_back(std::make_unique<WorkerSlot>(folders_.slot(i)));
    }
    workers_.resize(slots_.size());
  }

  ~Overnight() { end_workers(); }

  void run() {
    while (!over()) {
      for (size_t i = 0; i < workers_.size(); ++i) {
        if (workers_[i].running()) poll(i);
        if (!workers_[i].running() && !over() && cases_to_give() != 0) start(i);
      }
      log_progress(progress());
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    end_workers();
  }

  Report report() const;

 private:
  double spent() const {
    return std::chrono::duration<double>(SteadyClock::now() - start_).count();
  }
  double left() const { return options_.seconds ? *options_.seconds - spent() : kSliceSeconds; }
  double slice_seconds() const {
    if (!options_.seconds) return kSliceSeconds;
    const double workers = static_cast<double>(workers_.size());
    return std::min(kSliceSeconds, 0.8 * *options_.seconds * workers / double(contracts_.size()));
  }
  bool over() const {
    if (StopSignals::asked() || left() <= 0 || errors_.size() == contracts_.size()) return true;
    return options_.cases && executions() >= *options_.cases;
  }

  int64_t executions() const {
    int64_t sum = executions_;
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].running()) sum += slots_[i]->executions();
    }
    return sum;
  }

  /// Cases of --cases that neither ran nor are given to a worker; -1: there is no limit.
  int64_t cases_to_give() const {
    if (!options_.cases) return -1;
    int64_t rest = *options_.cases - executions_;
    for (const WorkerProcess& worker : workers_) {
      if (worker.running()) rest -= worker.most_cases;
    }
    return std::max<int64_t>(rest, 0);
  }

  /// Of the cases that are left, a slice's share: idle workers and kernels without a case get some.
  int64_t share_of_cases() const {
    int64_t idle = 0, fresh = 0;
    for (const WorkerProcess& worker : workers_) idle += worker.running() ? 0 : 1;
    for (const ContractPtr& contract : contracts_) fresh += cases_.contains(contract->name) ? 0 : 1;
    const int64_t parts = std::max<int64_t>({idle, fresh, 1});
    return (cases_to_give() + parts - 1) / parts;
  }

  const Contract& contract(const std::string& kernel) const {
    return **std::find_if(contracts_.begin(), contracts_.end(),
                          [&](const ContractPtr& c) { return c->name == kernel; });
  }

  void start(size_t i) {
    std::map<std::string, int> running;
    for (const WorkerProcess& worker : workers_) {
      if (worker.running()) ++running[worker.kernel];
    }
    WorkerProcess& worker = workers_[i];
    worker.most_cases = options_.cases ? share_of_cases() : 0;
    FuzzState able = state_;
    for (const auto& [kernel, error] : errors_) able.erase(kernel);
    worker.kernel = next_kernel(able, running);
    worker.slice_seconds = std::max(1.0, std::min(slice_seconds(), left()));
    worker.kept_before = files_in(folders_.corpus(worker.kernel));
    worker.log = folders_.log(static_cast<int>(i));
    slots_[i]->reset();
    worker.pid = start_process(arguments(i), worker.log);
    worker.start = SteadyClock::now();
  }

  std::vector<std::string> arguments(size_t i) {
    const WorkerProcess& worker = workers_[i];
    const uint64_t seed = case_seed(options_.seed, worker.kernel, static_cast<uint64_t>(slices_++));
    return {program_folder() + "/fuzz_kernel",
            "--kernel=" + contract(worker.kernel).path,
            "--findings=" + folders_.findings(worker.kernel),
            "--slot=" + folders_.slot(static_cast<int>(i)),
            "--device=" + options_.device,
            "--most=" + std::to_string(worker.most_cases),
            "-max_total_time=" + std::to_string(static_cast<int>(worker.slice_seconds + 0.5)),
            "-seed=" + std::to_string(seed % 0x7fffffff + 1),
            "-artifact_prefix=" + folders_.faults(worker.kernel) + "/",
            "-max_len=65536",
            "-len_control=0",
            "-timeout=" + std::to_string(kCaseSeconds),
            "-rss_limit_mb=" + std::to_string(kMemoryLimitMiB),
            "-handle_xfsz=0",  // a full disk is reported by the target itself
            "-verbosity=0",
            folders_.corpus(worker.kernel)};
  }

  void poll(size_t i) {
    WorkerProcess& worker = workers_[i];
    const std::chrono::duration<double> ran = SteadyClock::now() - worker.start;
    WorkerEnd end = WorkerEnd::finished;
    std::string reason;
    if (has_ended(worker.pid, end, reason)) {
      book(i, end, reason, ran.count());
    } else if (ran.count() > worker.slice_seconds + kGraceSeconds) {
      end_process(worker.pid, std::chrono::seconds(1));
      book(i, WorkerEnd::died, "did not end", ran.count());
    }
  }

  void book(size_t i, WorkerEnd end, const std::string& reason, double seconds) {
    WorkerProcess& worker = workers_[i];
    worker.pid = -1;
    KernelState& kernel = state_[worker.kernel];
    kernel.executions += slots_[i]->executions();
    kernel.skipped += slots_[i]->skipped();
    executions_ += slots_[i]->executions();
    tallies_[worker.kernel].read_tally(slots_[i]->tally());
    spent_[worker.kernel] += seconds;
    cases_[worker.kernel] += slots_[i]->executions();
    book_slice(kernel, seconds, files_in(folders_.corpus(worker.kernel)) - worker.kept_before);
    if (end == WorkerEnd::bad_input) errors_.emplace(worker.kernel, error_in_log(worker.log));
    if (end == WorkerEnd::missing) throw MissingDependency(last_line(worker.log));
    if (end == WorkerEnd::died) record_fault(i, reason);
    if (enforce_disk_cap(folders_, options_.max_disk_bytes) > 0) {
      log_warning(folders_.root + ": over --max-disk; the oldest corpus inputs are gone");
    }
    save();
  }

  /// The case that a dead worker was at; the engine's own artifact lies beside it when it had time.
  void record_fault(size_t i, const std::string& reason) {
    const WorkerProcess& worker = workers_[i];
    KernelState& kernel = state_[worker.kernel];
    ++kernel.faults;
    const std::string text = slots_[i]->running_case();
    const std::string path = folders_.faults(worker.kernel) + "/fault-" +
                             std::to_string(kernel.faults) + (text.empty() ? ".log" : ".case");
    write_file(path, text.empty() ? last_line(worker.log) + "\n" : text);
    const std::string where =
        text.empty() ? "between cases; its last words are in " + path : "its case is " + path;
    faults_.push_back({worker.kernel, "fault of Assay itself (" + reason + "), " + where,
                       text.empty() ? "" : path});
    log_warning(worker.kernel + ": a worker died (" + reason + "), " + where);
    if (executions_ == 0 && faults_.size() > 3 * workers_.size()) {
      throw InputError({worker.log}, "workers die before their first case");
    }
  }

  void save() {
    for (const auto& [kernel, k] : state_) saved_[kernel] = k;
    write_state(folders_, saved_);
  }

  void end_workers() {
    for (const WorkerProcess& worker : workers_) {
      if (worker.running()) ask_to_end(worker.pid);  // all at once: they end side by side
    }
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (!workers_[i].running()) continue;
      const std::chrono::duration<double> ran = SteadyClock::now() - workers_[i].start;
      end_process(workers_[i].pid, std::chrono::seconds(2));
      try {
        book(i, WorkerEnd::finished, "", ran.count());
      } catch (const InputError& error) {
        log_warning(error.what());  // also from the destructor: the first error is on its way
      }
    }
  }

  std::string progress() const {
    int64_t findings = 0;
    for (const ContractPtr& contract : contracts_) {
      findings += files_in(folders_.findings(contract->name));
    }
    return counted(executions(), "case") + ", " + std::to_string(int(spent())) + " s, " +
           counted(findings, "finding") + ", " +
           counted(static_cast<int64_t>(faults_.size()), "fault");
  }

  struct Fault {
    std::string kernel, message;
    std::string case_file;  ///< "" when it died between cases
  };

  const Options& options_;
  std::vector<ContractPtr> contracts_;
  std::map<std::string, std::vector<std::string>> notes_;
  FuzzFolders folders_;
  FuzzState saved_;  ///< with kernels of earlier runs that this one leaves alone
  FuzzState state_;
  std::vector<std::unique_ptr<WorkerSlot>> slots_;
  std::vector<WorkerProcess> workers_;
  std::vector<Fault> faults_;
  std::map<std::string, double> spent_;
  std::map<std::string, int64_t> cases_;
  std::map<std::string, KernelReport> tallies_;
  std::map<std::string, InputError> errors_;  ///< of kernels that cannot be run
  int64_t executions_ = 0;
  int64_t slices_ = 0;
  SteadyClock::time_point start_ = SteadyClock::now();
};

/// A finding as its case file records it; the message is the file's last comment. A case file names
/// the source alone; here it gets its folder back where it is the contract's own.
FiledFinding read_finding(const std::string& path, const Contract& contract) {
  const Case c = load_case(path);
  const std::string& source = contract.source.path;
  const auto named = [&](const std::string& path) {
    return std::filesystem::path(path).filename() == c.recorded.file;
  };
  FiledFinding filed;
  filed.finding = {contract.name,
                   c.recorded.kind,
                   c.recorded.rule,
                   named(source)          ? source
                   : named(contract.path) ? contract.path  // a launch
                                          : c.recorded.file,
                   c.recorded.line,
                   c.comments.empty() ? "" : c.comments.back(),
                   c};
  read_places(c.comments, filed.finding);
  if (std::filesystem::path(source).filename() == filed.finding.stored_file)
    filed.finding.stored_file = source;
  filed.case_file = path;
  filed.contract = contract.path;
  for (const std::string& comment : c.comments) {
    if (comment.starts_with(kCauseComment)) filed.cause = comment.substr(kCauseComment.size());
  }
  filed.shrunk = c.comments.empty() || c.comments[0].find("not shrunk") == std::string::npos;
  return filed;
}

Report Overnight::report() const {
  Report report;
  report.command = Command::fuzz;
  report.seed = options_.seed;
  report.seconds = spent();
  report.jobs = static_cast<int>(workers_.size());
  for (const ContractPtr& contract : contracts_) {
    KernelReport kernel;
    if (const auto at = tallies_.find(contract->name); at != tallies_.end()) kernel = at->second;
    kernel.kernel = contract->name;
    kernel.contract = contract->path;
    kernel.variants_total = count_variants(*contract);
    kernel.weak_is_explained = !contract->accuracy.weak_reason.empty();
    if (const auto at = cases_.find(contract->name); at != cases_.end()) kernel.cases = at->second;
    if (const auto at = spent_.find(contract->name); at != spent_.end())
      kernel.seconds = at->second;
    if (const auto at = errors_.find(contract->name); at != errors_.end())
      kernel.error = at->second;
    if (kernel.cases == 0 && !kernel.error)
      kernel.notes.insert("no case ran: the run ended before its turn");
    if (const auto at = notes_.find(contract->name); at != notes_.end())
      kernel.notes.insert(at->second.begin(), at->second.end());
    if (!kernel.error) {
      note_properties(*contract, kernel);
      note_reach(*contract, kernel);
      note_arguments(*contract, kernel);
    }
    std::error_code ignored;
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::directory_iterator(folders_.findings(contract->name), ignored)) {
      if (entry.path().extension() == ".case") files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<FiledFinding> filed;
    for (const std::string& file : files) {
      try {
        filed.push_back(read_finding(file, *contract));
        filed.back().device = options_.device;  // those that it no longer shows have been set aside
      } catch (const InputError&) {
        // `damaged_files` has named it.
      }
    }
    group_by_cause(filed);
    std::move(filed.begin(), filed.end(), std::back_inserter(report.findings));
    report.kernels.push_back(std::move(kernel));
  }
  for (const Fault& fault : faults_) {
    FiledFinding filed;
    filed.finding = {fault.kernel, "fault", "fault", "", 0, fault.message, {}};
    filed.case_file = fault.case_file;
    filed.contract = contract(fault.kernel).path;
    filed.device = options_.device;
    report.findings.push_back(std::move(filed));
  }
  return report;
}

/// What the command line leaves open: which kernels, until when, and where the results go.
std::string how_long(const Options& options) {
  std::string text = options.kernels.empty() ? ", every kernel that ships with Assay" : "";
  if (!options.seconds && !options.cases) {
    text +=
        ", without end until interrupted (Ctrl-C, which keeps what was found; --for 8h ends by "
        "itself)";
  }
  return text + ", in " + folders_of(options).root;
}

}  // namespace

Exit run_fuzz(const Options& options, Streams streams) {
  make_device(options.device);
  const LoadedKernels loaded = load_each(options.kernels);
  log_info(opening(options, "fuzz", loaded.contracts.size() + loaded.unread.size()) + ", " +
           counted(worker_count(options), "worker") + how_long(options));
  const StopSignals signals;
  const FuzzFolders folders = folders_of(options);
  make_folder(folders.root);
  const FolderLock lock(folders.lock());
  FuzzState state = read_state(folders);
  check_same_contracts(state, folders, loaded.contracts);
  for (const ContractPtr& contract : loaded.contracts) {
    const std::string damaged = damaged_files(folders, contract->name);
    if (!damaged.empty()) log_warning(damaged + "; left out");
  }
  auto fixed = set_fixed_aside(folders, loaded.contracts, options.device);
  for (const auto& [kernel, lines] : fixed) {
    for (const std::string& line : lines) log_info(kernel + ": " + line);
  }
  Overnight overnight(options, loaded.contracts, std::move(state), std::move(fixed));
  overnight.run();
  Report report = overnight.report();
  for (const UnreadContract& unread : loaded.unread)
    report.kernels.push_back(unread_report(unread));
  return conclude(report, options, streams);
}

}  // namespace assay
