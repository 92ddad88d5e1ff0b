// From what a user types or a case says to a contract file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "generators/case.hpp"
#include "kernels_under_test/contract.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

using ContractPtr = std::shared_ptr<const Contract>;

/// Folders that hold contracts by name: those of the environment's ASSAY_KERNELS (colon-separated),
/// else kernels_under_test/kernels of the source tree that this program was built from.
std::vector<std::string> kernel_folders();
/// Root of the source tree that this program was built from.
std::string source_root();

/// Files of a folder whose names end so (".case"), sorted; none where there is no folder.
std::vector<std::string> files_ending(const std::string& folder, const std::string& ending);
/// Contract files of a folder, sorted by name.
std::vector<std::string> contract_files(const std::string& folder);

/// Loads the contracts that `names` mean: kernel names, or paths of contract files anywhere. None:
/// all of kernel_folders(). Throws InputError (nearest name for an unknown one).
std::vector<ContractPtr> load_kernels(const std::vector<std::string>& names);

/// A contract that has an error.
struct UnreadContract {
  std::string kernel;  ///< by its file's name
  std::string path;
  InputError error;
};

struct LoadedKernels {
  std::vector<ContractPtr> contracts;
  std::vector<UnreadContract> unread;
};

/// The same, but a contract with an error does not keep the others from being loaded. Throws
/// InputError for names that mean no contract.
LoadedKernels load_each(const std::vector<std::string>& names);

/// Other contract files beside this one whose kernel has the same name.
std::vector<std::string> namesakes(const Contract& contract);

/// The contract of a case file: `contract` when given; else NAME.toml, or a contract of that name,
/// beside the file or in one of the three folders above it; else by kernel name. `pair` folders of
/// kernels_under_test/planted are looked at last. Throws InputError.
ContractPtr contract_of_case(const Case& c, const std::string& case_file,
                             const std::string& contract);

}  // namespace assay
