#include "fuzz/replay.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/text_table.hpp"
#include "fuzz/worker_process.hpp"
#include "fuzz/workers.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

struct Arguments {
  std::string contract;
  std::vector<std::string> files;
};

/// Files of a folder and those below it, sorted.
std::vector<std::string> files_below(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    const bool hidden = entry.path().filename().string().starts_with(".");
    if (entry.is_regular_file() && !hidden) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// What cmake/ListCorpus.cmake finds in a corpus beside its shelves: it would never run.
InputError misplaced(const std::string& path) {
  const std::vector<std::string> shelves{"seeds", "regressions", "open"};
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    return InputError({path},
                      "lies on no shelf of this corpus: move it to seeds/, regressions/ or open/");
  }
  const std::string near = nearest_name(fs::path(path).filename().string(), shelves);
  return InputError({path}, "is no shelf of a corpus" +
                                (near.empty() ? "" : " (did you mean '" + near + "'?)") +
                                ": expected seeds, regressions, open");
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    std::error_code ignored;
    if (words[i] == "--contract" && i + 1 < words.size()) {
      arguments.contract = words[++i];
    } else if (words[i] == "--misplaced" && i + 1 < words.size()) {
      throw misplaced(words[i + 1]);
    } else if (fs::is_directory(words[i], ignored)) {
      for (std::string& file : files_below(words[i])) arguments.files.push_back(std::move(file));
    } else {
      arguments.files.push_back(words[i]);
    }
  }
  if (arguments.files.empty()) {
    std::vector<std::string> folders;
    for (const std::string& word : words) {
      std::error_code ignored;
      if (fs::is_directory(word, ignored)) folders.push_back(word);
    }
    throw InputError({joined(folders)},
                     "no case to replay: give case files or folders that hold some");
  }
  return arguments;
}

bool is_open_shelf(const std::string& file) {
  return fs::absolute(file).parent_path().filename() == "open";
}

/// Contracts and checkers of a replay, kept over its files.
class Replay {
 public:
  explicit Replay(std::string contract) : contract_(std::move(contract)) {}

  CheckResult check(const Case& c, const std::string& file) {
    const std::string key = c.kernel + "|" + fs::path(file).parent_path().string();
    ContractPtr& contract = contracts_[key];
    if (!contract) contract = contract_of_case(c, file, contract_);
    check_case_against(*contract, c, file);
    return bench_.checker(*contract).check(c);
  }

  /// What explains a case that was checked, beside this program.
  std::string command(const Case& c, const std::string& file) const {
    const std::string key = c.kernel + "|" + fs::path(file).parent_path().string();
    return shell_word(program_folder() + "/assay") + " repro " + shell_word(file) + " --contract " +
           shell_word(contracts_.at(key)->path);
  }

 private:
  std::string contract_;
  std::map<std::string, ContractPtr> contracts_;
  Workbench bench_{"ptx"};
};

Exit replay_all(const Arguments& arguments, std::ostream& out) {
  Replay replay(arguments.contract);
  bool violated = false;
  bool skipped = false;
  for (const std::string& file : arguments.files) {
    const Case c = read_case(file);
    const CheckResult result = replay.check(c, file);
    if (result.outcome == Outcome::skipped) {
      out << file << ": " << skipped_text(result) << "\n";
      skipped = true;
      continue;
    }
    const std::string violation = shelf_violation(c, result, is_open_shelf(file));
    out << file << ": " << (violation.empty() ? "as it should be" : violation) << "\n";
    if (!violation.empty()) out << "  " << replay.command(c, file) << "\n";
    violated |= !violation.empty();
  }
  if (violated) return Exit::findings;
  return skipped ? Exit::skipped : Exit::clean;
}

}  // namespace

std::string shelf_violation(const Case& c, const CheckResult& result, bool open_shelf) {
  if (!open_shelf) {
    if (result.findings.empty()) return "";
    return "should pass, but: " + result.findings.front().identity() + ": " +
           result.findings.front().message;
  }
  if (c.recorded.kind.empty()) return "an entry of open/ must record how it fails";
  if (recorded_finding(c.recorded, result) != nullptr) return "";
  const Finding recorded{c.kernel, c.recorded.kind, c.recorded.rule, c.recorded.file,
                         c.recorded.line};
  if (result.findings.empty()) {
    return "passes now: move it to regressions/ (it recorded " + recorded.identity() + ")";
  }
  return "fails differently: " + result.findings.front().identity() + ", recorded was " +
         recorded.identity();
}

Exit run_replay(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  try {
    return replay_all(parse(words), out);
  } catch (const InputError& error) {
    err << "assay: " << error.what() << "\n";
    return Exit::bad_input;
  } catch (const MissingDependency& error) {
    err << "assay: " << error.what() << "\n";
    return Exit::missing;
  }
}

}  // namespace assay
