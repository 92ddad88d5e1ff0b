#include "fuzz/resume.hpp"

#include <chrono>
#include <filesystem>
#include <thread>

#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/worker_process.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// More than any case takes; a hang ends by the instruction budget long before.
constexpr std::chrono::seconds kPatience{120};

/// Whether `assay repro` finds nothing wrong any more. The kernel runs in a child: a finding may be
/// what ends a process.
bool passes_now(const std::string& file, const std::string& contract, const std::string& device,
                const std::string& log) {
  const auto until = std::chrono::steady_clock::now() + kPatience;
  const pid_t pid = start_process(
      {program_folder() + "/assay", "repro", file, "--contract", contract, "--device", device},
      log);
  WorkerEnd end = WorkerEnd::died;
  std::string reason;
  while (!has_ended(pid, end, reason)) {
    if (StopSignals::asked() || std::chrono::steady_clock::now() > until) {
      end_process(pid, std::chrono::seconds(1));
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return reason == "exit status 0";
}

}  // namespace

std::map<std::string, std::vector<std::string>> set_fixed_aside(
    const FuzzFolders& folders, const std::vector<ContractPtr>& contracts,
    const std::string& device) {
  std::map<std::string, std::vector<std::string>> fixed;
  for (const ContractPtr& contract : contracts) {
    for (const fs::path file : files_ending(folders.findings(contract->name), ".case")) {
      if (StopSignals::asked()) return fixed;
      make_folder(folders.root + "/workers");
      if (!passes_now(file, contract->path, device, folders.root + "/workers/replay.log")) continue;
      make_folder(folders.fixed(contract->name));
      const fs::path aside = fs::path(folders.fixed(contract->name)) / file.filename();
      std::error_code error;
      fs::rename(file, aside, error);
      if (error)
        throw InputError({file}, "cannot move to " + aside.string() + ": " + error.message());
      fixed[contract->name].push_back("a finding of an earlier run no longer fails: " +
                                      file.stem().string() + ", moved to " + aside.string());
    }
  }
  return fixed;
}

}  // namespace assay
