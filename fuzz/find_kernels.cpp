#include "fuzz/find_kernels.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "fuzz/program_name.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr int kFoldersAbove = 3;  // corpus/KERNEL/open/x.case lies three folders below its root

bool is_contract_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".toml");
}

std::string absolute(const std::string& path) { return fs::absolute(path).lexically_normal(); }

void check_is_file(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    throw InputError({path}, "is a folder, expected a contract file (NAME.toml)");
  }
  if (!fs::exists(path, ignored)) throw InputError({path}, "no such contract file");
}

ContractPtr load(const std::string& path) {
  check_is_file(path);
  return std::make_shared<const Contract>(load_contract(absolute(path)));
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  for (const std::string& folder : kernel_folders()) {
    for (const std::string& file : contract_files(folder)) names.push_back(fs::path(file).stem());
  }
  return names;
}

/// "" when no folder has it.
std::string path_by_name(const std::string& kernel) {
  std::error_code ignored;
  for (const std::string& folder : kernel_folders()) {
    const std::string path = folder + "/" + kernel + ".toml";
    if (fs::is_regular_file(path, ignored)) return path;
  }
  return "";
}

ContractPtr load_by_name(const std::string& kernel) {
  const std::string path = path_by_name(kernel);
  return path.empty() ? nullptr : load(path);
}

/// A contract of that name in one folder: by its file's name first, then by its content.
ContractPtr find_in_folder(const fs::path& folder, const std::string& kernel) {
  std::error_code ignored;
  const fs::path by_name = folder / (kernel + ".toml");
  if (fs::is_regular_file(by_name, ignored)) return load(by_name);
  for (const std::string& file : contract_files(folder)) {
    try {
      if (ContractPtr contract = load(file); contract->name == kernel) return contract;
    } catch (const InputError&) {
      // Another kernel's broken contract is no concern of this case.
    }
  }
  return nullptr;
}

ContractPtr find_planted(const std::string& kernel) {
  std::error_code ignored;
  const fs::path planted = fs::path(source_root()) / "kernels_under_test" / "planted";
  for (const auto& entry : fs::directory_iterator(planted, ignored)) {
    if (!entry.is_directory()) continue;
    if (ContractPtr contract = find_in_folder(entry.path(), kernel)) return contract;
  }
  return nullptr;
}

/// A contract of the second population, whose files are named after their kernels.
ContractPtr find_form(const std::string& kernel) {
  const std::string path = source_root() + "/kernels_under_test/forms/" + kernel + ".toml";
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? load(path) : nullptr;
}

InputError unknown_kernel(const std::string& kernel) {
  std::error_code ignored;
  if (fs::is_regular_file(kernel + ".toml", ignored)) {
    return InputError({}, "unknown kernel '" + kernel +
                              "'; a contract outside Assay is given by its "
                              "path: did you mean " +
                              kernel + ".toml, which is here?");
  }
  if (fs::path(kernel).extension() == ".case") {
    return InputError({kernel}, "is a case, not a kernel: `" + program_name() + " repro " +
                                    shell_word(kernel) + "` runs it");
  }
  const fs::path beside = fs::path(kernel).replace_extension(".toml");
  if (fs::path(kernel).has_extension() && fs::is_regular_file(kernel, ignored)) {
    return InputError(
        {kernel},
        fs::is_regular_file(beside, ignored)
            ? "is no contract; did you mean " + beside.string() + ", which lies beside it?"
            : "is no contract: write one beside it (" + beside.string() + ") and give that");
  }
  const std::string nearest = nearest_name(kernel, known_names());
  const std::string hint = nearest.empty() ? "" : " (did you mean '" + nearest + "'?)";
  return InputError(
      {}, "unknown kernel '" + kernel + "'" + hint + "; `" + program_name() + " list` names them");
}

/// Folders, seeds and reports tell kernels apart by name.
void check_names_differ(const std::vector<ContractPtr>& contracts) {
  std::map<std::string, std::string> seen;
  for (const ContractPtr& contract : contracts) {
    const auto [at, fresh] = seen.emplace(contract->name, contract->path);
    if (!fresh) {
      throw InputError({contract->path},
                       "kernel '" + contract->name + "' is given twice, also by " + at->second);
    }
  }
}

}  // namespace

std::string source_root() { return ASSAY_SOURCE_DIR; }

std::vector<std::string> kernel_folders() {
  std::vector<std::string> folders;
  if (const char* given = std::getenv("ASSAY_KERNELS"); given && *given) {
    std::istringstream in(given);
    for (std::string folder; std::getline(in, folder, ':');) {
      if (!folder.empty()) folders.push_back(folder);
    }
    return folders;
  }
  folders.push_back(source_root() + "/kernels_under_test/kernels");
  return folders;
}

std::vector<std::string> files_ending(const std::string& folder, const std::string& ending) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == ending) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> contract_files(const std::string& folder) {
  return files_ending(folder, ".toml");
}

LoadedKernels load_each(const std::vector<std::string>& names) {
  LoadedKernels loaded;
  for (const std::string& name : names.empty() ? known_names() : names) {
    const std::string ending = fs::path(name).extension();
    if (ending == ".cu" || ending == ".ptx" || ending == ".py" || ending == ".case")
      throw unknown_kernel(name);
    const std::string path = is_contract_path(name) ? name : path_by_name(name);
    if (path.empty()) throw unknown_kernel(name);
    check_is_file(path);
    try {
      loaded.contracts.push_back(load(path));
    } catch (const InputError& error) {
      loaded.unread.push_back({fs::path(path).stem(), absolute(path), error});
    }
  }
  if (loaded.contracts.empty() && loaded.unread.empty()) {
    const std::vector<std::string> folders = kernel_folders();
    throw InputError({folders.empty() ? "" : folders.front()}, "no contract files here");
  }
  check_names_differ(loaded.contracts);
  return loaded;
}

std::vector<ContractPtr> load_kernels(const std::vector<std::string>& names) {
  LoadedKernels loaded = load_each(names);
  if (!loaded.unread.empty()) throw InputError(loaded.unread.front().error);
  return std::move(loaded.contracts);
}

std::vector<std::string> namesakes(const Contract& contract) {
  std::vector<std::string> files;
  for (const std::string& file : contract_files(fs::path(contract.path).parent_path())) {
    if (absolute(file) == contract.path) continue;
    try {
      if (load(file)->name == contract.name) files.push_back(file);
    } catch (const InputError&) {
      // A broken contract is nobody's namesake.
    }
  }
  return files;
}

ContractPtr contract_of_case(const Case& c, const std::string& case_file,
                             const std::string& contract) {
  if (!contract.empty()) {
    return is_contract_path(contract) ? load(contract) : load_kernels({contract}).front();
  }
  fs::path folder = fs::path(absolute(case_file)).parent_path();
  for (int up = 0; up <= kFoldersAbove; ++up, folder = folder.parent_path()) {
    if (ContractPtr found = find_in_folder(folder, c.kernel)) return found;
    if (folder == folder.root_path()) break;
  }
  if (ContractPtr found = load_by_name(c.kernel)) return found;
  if (ContractPtr found = find_form(c.kernel)) return found;
  if (ContractPtr found = find_planted(c.kernel)) return found;
  throw InputError({case_file}, "unknown kernel '" + c.kernel +
                                    "': no contract of it is beside this case or among Assay's "
                                    "own; name it with --contract PATH/NAME.toml");
}

}  // namespace assay
