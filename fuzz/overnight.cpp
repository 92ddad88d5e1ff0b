#include "fuzz/overnight.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/starting_cases.hpp"
#include "fuzz/text_table.hpp"
#include "generators/generate.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr const char* kStateHeader = "assay fuzz state 1";
constexpr double kEvenShare = 0.2;  // of the time, whatever the kernels gave

void seed_corpus(const FuzzFolders& folders, const Contract& contract) {
  const std::string corpus = folders.corpus(contract.name);
  if (files_in(corpus) > 0) return;
  int number = 0;
  for (const Case& c : starting_cases(contract)) {
    write_file(corpus + "/covering-" + std::to_string(number++) + ".case", print_case(c));
  }
  std::error_code ignored;
  for (const fs::path& root : {fs::path(source_root()), fs::path(contract.path).parent_path()}) {
    for (const char* shelf : {"seeds", "regressions"}) {
      const fs::path folder = root / "corpus" / contract.name / shelf;
      for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().extension() != ".case") continue;
        write_file(corpus + "/" + shelf + "-" + entry.path().filename().string(),
                   read_text(entry.path()));
      }
    }
  }
}

}  // namespace

void prepare_folders(const FuzzFolders& folders, const std::vector<ContractPtr>& contracts) {
  make_folder(folders.root + "/workers");
  for (const ContractPtr& contract : contracts) {
    make_folder(folders.corpus(contract->name));
    make_folder(folders.findings(contract->name));
    make_folder(folders.faults(contract->name));
    seed_corpus(folders, *contract);
  }
}

FolderLock::FolderLock(const std::string& path) {
  descriptor_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0)
    throw InputError({path}, std::string("cannot write: ") + std::strerror(errno));
  // A run that was just killed may hold it for a moment.
  for (int wait = 0; flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++wait) {
    if (wait < 100) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    close(descriptor_);
    throw InputError({fs::path(path).parent_path()},
                     "another run of assay fuzz is writing here: give another --out");
  }
}

FolderLock::~FolderLock() { close(descriptor_); }

void check_same_contracts(const FuzzState& state, const FuzzFolders& folders,
                          const std::vector<ContractPtr>& contracts) {
  for (const ContractPtr& contract : contracts) {
    const auto at = state.find(contract->name);
    if (at == state.end() || at->second.contract.empty()) continue;
    std::error_code ignored;
    const fs::path before = at->second.contract;
    if (!fs::exists(before, ignored) || fs::equivalent(before, contract->path, ignored)) continue;
    throw InputError({contract->path}, "kernel '" + contract->name + "' in " + folders.root +
                                           " is that of " + before.string() +
                                           ": give another --out, or delete the folder");
  }
}

std::string damaged_files(const FuzzFolders& folders, const std::string& kernel) {
  std::string first;
  int64_t more = 0;
  for (const std::string& folder : {folders.corpus(kernel), folders.findings(kernel)}) {
    std::vector<std::string> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.is_regular_file(ignored)) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      try {
        load_case(file);
      } catch (const InputError& error) {
        more += first.empty() ? 0 : 1;
        if (first.empty()) first = error.what();
      }
    }
  }
  return first + (more > 0 ? "; and " + counted(more, "more file") : "");
}

FuzzState read_state(const FuzzFolders& folders) {
  FuzzState state;
  if (!fs::exists(folders.state())) return state;
  std::istringstream in(read_text(folders.state()));
  std::string line;
  std::getline(in, line);
  std::string problem;
  if (line != kStateHeader) {
    throw InputError({folders.state(), 1, 1}, std::string("expected '") + kStateHeader + "'");
  }
  for (int number = 2; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string kernel;
    KernelState k;
    if (!(words >> kernel >> k.executions >> k.skipped >> k.faults >> k.seconds >> k.recent_rate)) {
      if (problem.empty()) {
        problem = folders.state() + ":" + std::to_string(number) +
                  ": expected kernel, executions, skipped, faults, seconds, recent rate, contract";
      }
      continue;
    }
    words >> std::ws;
    std::getline(words, k.contract);
    state[kernel] = k;
  }
  if (!problem.empty()) {
    log_warning(problem +
                ": what it says is left out; the corpus and the findings are as they were");
  }
  return state;
}

void write_state(const FuzzFolders& folders, const FuzzState& state) {
  std::ostringstream out;
  out << kStateHeader << "\n";
  for (const auto& [kernel, k] : state) {
    out << kernel << " " << k.executions << " " << k.skipped << " " << k.faults << " " << k.seconds
        << " " << k.recent_rate << " " << k.contract << "\n";
  }
  write_file(folders.state(), out.str());
}

std::string next_kernel(const FuzzState& state, const std::map<std::string, int>& running) {
  double rates = 0;
  double spent = 0;
  for (const auto& [kernel, k] : state) {
    rates += k.recent_rate;
    spent += k.seconds;
  }
  std::string best;
  double best_deficit = 0;
  for (const auto& [kernel, k] : state) {
    const double even = 1.0 / static_cast<double>(state.size());
    const double share =
        rates > 0 ? kEvenShare * even + (1 - kEvenShare) * k.recent_rate / rates : even;
    // Time that the kernel should have had, less what it had; a running slice counts as had.
    const auto at = running.find(kernel);
    const double now = at == running.end() ? 0 : 10.0 * at->second;
    double deficit = share * (spent + 10) - k.seconds - now;
    if (k.executions == 0 && now == 0) deficit += 1e12;
    if (best.empty() || deficit > best_deficit) {
      best = kernel;
      best_deficit = deficit;
    }
  }
  return best;
}

void book_slice(KernelState& kernel, double seconds, int64_t kept) {
  kernel.seconds += seconds;
  const double rate = seconds > 0 ? static_cast<double>(kept) / seconds : 0;
  kernel.recent_rate = kernel.recent_rate / 2 + rate / 2;
}

int64_t files_in(const std::string& folder) {
  std::error_code ignored;
  int64_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    count += entry.is_regular_file();
  return count;
}

int64_t bytes_below(const std::string& folder) {
  std::error_code ignored;
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    std::error_code gone;  // workers rename and delete meanwhile
    const uintmax_t size = entry.is_regular_file(gone) ? entry.file_size(gone) : 0;
    if (!gone) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

int64_t enforce_disk_cap(const FuzzFolders& folders, int64_t max_bytes) {
  int64_t excess = bytes_below(folders.root) - max_bytes;
  if (excess <= 0) return 0;
  excess += max_bytes / 10;  // some room, so that this is rare
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folders.root + "/corpus", ignored)) {
    std::error_code gone;
    const auto time = entry.last_write_time(gone);
    if (!gone && entry.is_regular_file(gone)) files.emplace_back(time, entry.path());
  }
  std::sort(files.begin(), files.end());
  int64_t deleted = 0;
  for (const auto& [time, path] : files) {
    if (excess <= 0) break;
    std::error_code gone;
    const uintmax_t size = fs::file_size(path, gone);
    if (!gone && fs::remove(path, gone)) {
      excess -= static_cast<int64_t>(size);
      ++deleted;
    }
  }
  return deleted;
}

}  // namespace assay
