#include "fuzz/overnight.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "fuzz/findings.hpp"
#include "fuzz/starting_cases.hpp"
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

FuzzState read_state(const FuzzFolders& folders) {
  FuzzState state;
  if (!fs::exists(folders.state())) return state;
  std::istringstream in(read_text(folders.state()));
  std::string line;
  std::getline(in, line);
  if (line != kStateHeader) {
    throw InputError({folders.state(), 1, 1}, std::string("expected '") + kStateHeader + "'");
  }
  for (int number = 2; std::getline(in, line); ++number) {
    std::istringstream words(line);
    std::string kernel;
    KernelState k;
    if (!(words >> kernel >> k.executions >> k.skipped >> k.faults >> k.seconds >> k.recent_rate)) {
      throw InputError({folders.state(), number, 1},
                       "expected: kernel, executions, skipped, faults, seconds, recent rate");
    }
    state[kernel] = k;
  }
  return state;
}

void write_state(const FuzzFolders& folders, const FuzzState& state) {
  std::ostringstream out;
  out << kStateHeader << "\n";
  for (const auto& [kernel, k] : state) {
    out << kernel << " " << k.executions << " " << k.skipped << " " << k.faults << " " << k.seconds
        << " " << k.recent_rate << "\n";
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

std::set<std::string> corpus_variants(const FuzzFolders& folders, const std::string& kernel) {
  std::set<std::string> variants;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folders.corpus(kernel), ignored)) {
    try {
      variants.insert(load_case(entry.path()).variant().text());
    } catch (const InputError&) {
      // libFuzzer keeps inputs that are no cases, too.
    }
  }
  return variants;
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
