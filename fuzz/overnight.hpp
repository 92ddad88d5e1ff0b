// The parts of `assay fuzz`: folders, state that survives, and how time is shared.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fuzz/find_kernels.hpp"

namespace assay {

/// What is known about one kernel's fuzzing; kept in OUT/state.txt, so that a run resumes.
struct KernelState {
  int64_t executions = 0;
  int64_t skipped = 0;
  int64_t faults = 0;      ///< workers that died
  double seconds = 0;      ///< worker time spent
  double recent_rate = 0;  ///< kept inputs a second, halved with each slice
  std::string contract;    ///< path of the one that its corpus and findings are of; "": not known
};
using FuzzState = std::map<std::string, KernelState>;

/// Folders of a run below its --out.
struct FuzzFolders {
  std::string root;
  std::string corpus(const std::string& kernel) const { return root + "/corpus/" + kernel; }
  std::string findings(const std::string& kernel) const { return root + "/findings/" + kernel; }
  std::string faults(const std::string& kernel) const { return root + "/faults/" + kernel; }
  /// Findings of earlier runs that no longer fail.
  std::string fixed(const std::string& kernel) const { return root + "/fixed/" + kernel; }
  std::string slot(int worker) const {
    return root + "/workers/" + std::to_string(worker) + ".slot";
  }
  std::string log(int worker) const { return root + "/workers/" + std::to_string(worker) + ".log"; }
  std::string state() const { return root + "/state.txt"; }
  std::string lock() const { return root + "/lock"; }
};

/// Makes the folders; puts the covering cases and the tree's corpus/KERNEL/{seeds,regressions} into
/// a corpus that is empty.
void prepare_folders(const FuzzFolders& folders, const std::vector<ContractPtr>& contracts);

/// Held while a run writes in a folder. Throws InputError when another run holds it.
class FolderLock {
 public:
  explicit FolderLock(const std::string& path);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_ = -1;
};

/// Throws InputError when the folder has results of another contract that names its kernel alike:
/// its findings would pass for fixed. One that is no longer there has moved.
void check_same_contracts(const FuzzState& state, const FuzzFolders& folders,
                          const std::vector<ContractPtr>& contracts);

/// "corpus/k/x.case:3: ...; 2 more files": corpus inputs and findings that are no cases; "" without
/// any.
std::string damaged_files(const FuzzFolders& folders, const std::string& kernel);

/// Reads OUT/state.txt; empty when there is none. Throws InputError for a file that is no state.
/// Lines that are damaged are left out, and a warning names the first.
FuzzState read_state(const FuzzFolders& folders);
void write_state(const FuzzFolders& folders, const FuzzState& state);

/// The kernel that the next slice goes to. A fifth of the time is shared alike; the rest in
/// proportion to how many inputs with new features a kernel gave a second lately. Kernels without
/// time come first.
std::string next_kernel(const FuzzState& state, const std::map<std::string, int>& running);

/// Books a slice of `seconds` that gave `kept` inputs.
void book_slice(KernelState& kernel, double seconds, int64_t kept);

int64_t files_in(const std::string& folder);
int64_t bytes_below(const std::string& folder);

/// Deletes the oldest corpus inputs until the folder is below the cap; returns how many.
int64_t enforce_disk_cap(const FuzzFolders& folders, int64_t max_bytes);

}  // namespace assay
