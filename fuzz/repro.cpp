// `assay repro FILE` and `assay shrink FILE`: one case, explained or made smaller.
#include <chrono>
#include <filesystem>
#include <ostream>

#include "fuzz/calibrate.hpp"
#include "fuzz/explain_case.hpp"
#include "fuzz/find_kernels.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/program_name.hpp"
#include "fuzz/shrink.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/text_table.hpp"
#include "fuzz/workers.hpp"

namespace assay {

namespace fs = std::filesystem;

namespace {

/// A case file with its contract and what checks it.
struct OpenedCase {
  Case the_case;
  ContractPtr contract;
  std::unique_ptr<Workbench> bench;
  Checker* checker = nullptr;
};

OpenedCase open_case(const Options& options) {
  OpenedCase opened;
  opened.bench = std::make_unique<Workbench>(options.device);
  opened.the_case = read_case(options.file);
  opened.contract = contract_of_case(opened.the_case, options.file, options.contract);
  if (options.contract.empty()) {
    for (const std::string& other : namesakes(*opened.contract))
      log_warning("the contract is " + opened.contract->path + "; " + other +
                  " names its kernel alike: --contract chooses");
  }
  check_case_against(*opened.contract, opened.the_case, options.file);
  if (options.contraction) {
    opened.contract = std::make_shared<const Contract>(
        with_contraction(*opened.contract, *options.contraction));
  }
  opened.checker = &opened.bench->checker(*opened.contract);
  return opened;
}

std::string repeat_command(const Options& options) {
  return program_name() + " repro " + shell_word(options.file) +
         (options.contract.empty() ? "" : " --contract " + shell_word(options.contract)) +
         device_flag(options.device) + repro_flags(options.adversarial, options.contraction);
}

/// Who found it, as the larger case says; all else as the smaller one shows it.
std::vector<std::string> shrunk_comments(const std::vector<std::string>& before, Checker& checker,
                                         const ShrinkResult& smaller) {
  std::string found_by = before.empty() ? "" : before.front();
  found_by = found_by.substr(0, found_by.find(", not shrunk"));
  const std::string how = "made smaller by `assay shrink`";
  if (!found_by.starts_with("found by ")) {
    found_by = how;
  } else if (!found_by.ends_with(how)) {
    found_by += ", " + how;
  }
  std::vector<std::string> comments = finding_comments(found_by, smaller.finding);
  const CheckResult again = checker.check(smaller.the_case);
  // Before the message, which stands last.
  for (std::string& line : cause_comment(again, smaller.finding))
    comments.insert(std::prev(comments.end()), std::move(line));
  return comments;
}

}  // namespace

Exit run_repro(const Options& options, Streams streams) {
  const auto start = std::chrono::steady_clock::now();
  OpenedCase opened = open_case(options);
  RunOptions run = case_options();
  run.adversarial_seed = options.adversarial;
  CheckResult result = opened.checker->check(opened.the_case, run);

  Report report;
  report.command = Command::repro;
  KernelReport kernel;
  kernel.kernel = opened.contract->name;
  kernel.contract = opened.contract->path;
  kernel.variants_total = count_variants(*opened.contract);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  kernel.add(opened.the_case, result, spent.count());
  report.kernels.push_back(kernel);
  report.seconds = spent.count();
  for (const Finding& finding : result.findings) {
    FiledFinding filed{finding, options.file, opened.contract->path};
    filed.flags = repro_flags(options.adversarial, options.contraction);
    filed.device = options.device;
    opened.checker->locate(result, filed.finding);
    if (!report.findings.empty()) filed.with_above = "in the same case";
    report.findings.push_back(std::move(filed));
  }
  if (options.json || options.format == Format::junit) {
    print_report(report, options, streams);
  } else {
    streams.out << explain_case(*opened.checker, opened.the_case, result, repeat_command(options));
    if (options.format == Format::github) streams.out << github_report(report);
  }
  return report.exit();
}

Exit run_shrink(const Options& options, Streams streams) {
  const StopSignals signals;
  if (fs::is_directory(options.out))
    throw InputError({options.out}, "is a folder, expected a file");
  if (!options.out.empty() && !fs::exists(options.out))
    check_folder(fs::absolute(options.out).parent_path());
  OpenedCase opened = open_case(options);
  const CheckResult result = opened.checker->check(opened.the_case);
  if (result.outcome == Outcome::skipped) {
    log_info(skipped_text(result));
    return Exit::skipped;
  }
  if (result.findings.empty()) {
    throw InputError({options.file}, "this case passes: there is no failure to keep");
  }
  // The recorded failure when the case shows it, else the first one.
  const Finding* chosen = recorded_finding(opened.the_case.recorded, result);
  if (chosen == nullptr) chosen = &result.findings.front();
  ShrinkLimits limits;
  limits.seconds = options.seconds.value_or(0);
  if (options.cases) limits.checks = *options.cases;
  ShrinkResult smaller = shrink(*opened.checker, *chosen, limits);
  const bool interrupted = StopSignals::asked();
  smaller.the_case.comments = shrunk_comments(opened.the_case.comments, *opened.checker, smaller);
  if (options.out.empty()) {
    streams.out << print_case(smaller.the_case);
  } else {
    write_file(options.out, print_case(smaller.the_case));
  }
  log_info(smaller.finding.identity() + ": " + std::to_string(smaller.accepted) + " steps, " +
           std::to_string(smaller.checks) + " cases tried" +
           (smaller.fixpoint ? ""
            : interrupted    ? "; interrupted, not at the smallest"
                             : "; stopped at the limit, not at the smallest"));
  return interrupted ? Exit::interrupted : Exit::clean;
}

}  // namespace assay
