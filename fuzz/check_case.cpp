#include "fuzz/check_case.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <limits>

#include "generators/generate.hpp"

namespace assay {

namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Every diagnostic that is no note is a finding, at its own source line.
void add_diagnostics(CheckResult& result, const Contract& contract, const Case& c) {
  for (const Diagnostic& d : result.run.diagnostics) {
    if (d.note || d.kind == DiagnosticKind::unsupported) continue;
    Finding f;
    f.kernel = contract.name;
    f.kind = std::string(name(d.kind));
    f.rule = f.kind;  // a checker is its own rule
    f.file = d.file.empty() ? contract.source.path : d.file;
    f.line = d.line;
    f.message = d.message;
    f.the_case = c;
    result.findings.push_back(std::move(f));
  }
}

std::string first_message(const Run& run, DiagnosticKind kind) {
  for (const Diagnostic& d : run.diagnostics) {
    if (d.kind == kind) return d.message;
  }
  return "not supported by this device";
}

std::string kind_of(const Verdict& verdict) {
  if (verdict.outcome == Outcome::undecided) return "undecided";
  // A wrong value weighs more than elements that hold the poison still.
  return verdict.wrong == 0 && verdict.unwritten > 0 ? "unwritten" : "mismatch";
}

}  // namespace

int64_t case_budget(const Instance& instance) {
  constexpr int64_t kLeast = int64_t{1} << 22, kMost = kWaitingBudget;
  const int64_t work = std::clamp<int64_t>(work_estimate(instance), 0, kMost / 4096);
  return std::min(kLeast + 4096 * work, kMost);
}

RunOptions case_options() {
  RunOptions options;
  options.instruction_budget = std::numeric_limits<int64_t>::max();
  options.waiting_budget = kWaitingBudget;
  return options;
}

std::string Finding::identity() const {
  return kernel + "|" + kind + "|" + rule + "|" + base_name(file) + ":" + std::to_string(line);
}

int find_entry_line(const std::string& source_path, const std::string& entry) {
  size_t end = 0;
  while (end < entry.size() && (is_word(entry[end]) || entry[end] == ':')) ++end;
  std::string word = entry.substr(0, end);
  if (const size_t scope = word.rfind(':'); scope != std::string::npos) word.erase(0, scope + 1);
  std::ifstream in(source_path);
  std::string line;
  for (int number = 1; !word.empty() && std::getline(in, line); ++number) {
    for (size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
      const size_t after = at + word.size();
      const bool whole = (at == 0 || !is_word(line[at - 1])) && after < line.size();
      if (whole && line[after] == '(') return number;
    }
  }
  return 0;
}

Checker::Checker(const Contract& contract, Device& device)
    : contract_(contract),
      device_(device),
      judge_(contract),
      entry_line_(find_entry_line(contract.source.path, contract.source.entry)) {}

CheckResult Checker::check(const Case& c, const RunOptions& options) {
  CheckResult result;
  result.instance = std::make_unique<Instance>(instantiate(contract_, c));
  result.programs = programs_for(*result.instance);
  RunOptions limited = options;
  limited.instruction_budget = std::min(options.instruction_budget, case_budget(*result.instance));
  result.run = device_.run(*result.instance, *result.programs, limited);

  if (result.run.status == RunStatus::unsupported) {
    result.outcome = Outcome::skipped;
    result.skipped = first_message(result.run, DiagnosticKind::unsupported);
    return result;
  }
  add_diagnostics(result, contract_, c);
  if (result.run.status != RunStatus::completed) {
    result.outcome = Outcome::fault;
    return result;
  }

  result.verdict = judge_.judge(*result.instance, *result.run.outputs);
  result.outcome = result.verdict.outcome;
  if (result.outcome == Outcome::mismatch || result.outcome == Outcome::undecided) {
    result.findings.push_back({contract_.name, kind_of(result.verdict), result.verdict.rule,
                               contract_.source.path, entry_line_, result.verdict.message, c});
  }
  if (result.outcome == Outcome::skipped) result.skipped = result.verdict.message;
  if (result.outcome == Outcome::pass && !result.findings.empty()) result.outcome = Outcome::fault;
  return result;
}

Programs Checker::programs_for(const Instance& instance) {
  std::pair<Variant, std::vector<int>> key{instance.the_case.variant(), {}};
  for (const ResolvedLaunch& launch : instance.launches) key.second.push_back(launch.position);
  Programs& programs = programs_[key];
  if (!programs) {
    std::vector<Program> compiled;
    for (int launch : key.second) compiled.push_back(compile(contract_, key.first, launch));
    programs = std::make_shared<const std::vector<Program>>(std::move(compiled));
  }
  return programs;
}

Recorded recorded_of(const Finding& finding, const CheckResult& result) {
  Recorded recorded;
  recorded.kind = finding.kind;
  recorded.rule = finding.rule;
  recorded.file = base_name(finding.file);
  recorded.line = finding.line;
  if (result.programs && !result.programs->empty()) {
    recorded.compiler = result.programs->front().compiler;
  }
  recorded.program = result.run.program_digest;
  return recorded;
}

}  // namespace assay
