#include "fuzz/check_case.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <limits>
#include <tuple>

#include "fuzz/judged_finding.hpp"
#include "fuzz/log.hpp"
#include "fuzz/property_finding.hpp"
#include "fuzz/text_table.hpp"
#include "generators/generate.hpp"
#include "generators/launch_limits.hpp"

namespace assay {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Where a launch is refused: at the number in the contract that is too large.
SourceLocation refused_launch(const Diagnostic& d, const CheckResult& result) {
  const std::vector<ResolvedLaunch>& launches = result.instance->launches;
  for (const ResolvedLaunch& launch : launches) {
    if (launch.position == d.launch || launches.size() == 1)
      return place_of(*launch.spec, d.number);
  }
  return {};
}

/// "sum.cu:34", where a value that nothing wrote was first read.
std::string origin_of(const Diagnostic& d) {
  if (d.kind != DiagnosticKind::uninitialised || d.steps.empty() || d.steps[0].line == 0) return "";
  return base_name(d.steps[0].file) + ":" + std::to_string(d.steps[0].line);
}

/// What may be wrong is not the store: names the line that says which block owns what.
void add_owner(Finding& f, const Contract& contract, const Diagnostic& d) {
  if (d.kind != DiagnosticKind::stray_write ||
      d.message.find("another block owns") == std::string::npos)
    return;
  for (const Ownership& owns : contract.owns) {
    if (d.message.find(owns.output + ", element") == std::string::npos) continue;
    Step step;
    step.what =
        "by 'owns' of the contract, " + owns.output + " = \"" + to_text(*owns.relation) + "\"";
    step.file = owns.where.file;
    step.line = owns.where.line;
    f.steps.push_back(std::move(step));
  }
}

/// Every diagnostic that is no note is a finding, at its own source line.
void add_diagnostics(CheckResult& result, const Contract& contract, int entry_line, const Case& c) {
  for (const Diagnostic& d : result.run.diagnostics) {
    if (d.note || d.kind == DiagnosticKind::unsupported) continue;
    Finding f;
    f.kernel = contract.name;
    f.kind = std::string(name(d.kind));
    f.rule = f.kind;  // a checker is its own rule
    f.file = d.file.empty() ? contract.source.path : d.file;
    f.line = d.file.empty() ? entry_line : d.line;
    if (d.kind == DiagnosticKind::launch_limit) {
      const SourceLocation where = refused_launch(d, result);
      if (where.line > 0) std::tie(f.file, f.line) = std::tie(where.file, where.line);
      // Each number of a launch that is too large is a fault of its own.
      if (!d.number.empty()) f.rule = d.number;
    }
    f.message = d.message;
    f.steps = d.steps;
    add_owner(f, contract, d);
    f.origin = origin_of(d);
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

void sort_by_cause(std::vector<Finding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
    return cause_rank(a.kind) < cause_rank(b.kind);
  });
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

std::string Finding::cause() const {
  return origin.empty() ? identity() : kernel + "|" + kind + "|from|" + origin;
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

const std::vector<std::string>& checker_kinds() {
  // A store to the wrong place may race with the right one; a race may load what is not there yet.
  static const std::vector<std::string> order{
      "launch_limit", "wrap",       "stray_write",   "race", "uninitialised",
      "barrier",      "misaligned", "out_of_bounds", "trap", "hang",
      "narrow_accumulation"};
  return order;
}

int cause_rank(const std::string& kind) {
  static const std::vector<std::string> others{"mismatch", "unwritten", "property", "undecided"};
  const auto place = [&](const std::vector<std::string>& kinds) {
    return static_cast<int>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
  };
  const int checker = place(checker_kinds());
  const int checkers = static_cast<int>(checker_kinds().size());
  return checker < checkers ? checker : checkers + place(others);
}

std::string first_cause(const CheckResult& result, const Finding& finding) {
  if (result.findings.empty()) return "";
  const Finding& first = result.findings.front();
  return first.cause() == finding.cause() ? "" : first.identity();
}

std::string skipped_text(const CheckResult& result) {
  const bool unsupported = result.run.status == RunStatus::unsupported;
  return (unsupported ? "skipped: " : "not judged: ") + result.skipped;
}

std::pair<std::string, int64_t> shown_element(const Verdict& v) {
  if (v.worst_element >= 0) return {v.worst_output, v.worst_element};
  return {v.first_output, v.wrong_elements.empty() ? -1 : v.wrong_elements.front()};
}

std::pair<std::string, int64_t> differing_element(const CheckResult& result) {
  if (result.property) {
    for (const ComparedRun& run : result.property->runs)
      if (run.difference) return {run.difference->output, run.difference->element};
  }
  return {"", -1};
}

std::string element_name(const Instance& instance, const std::string& output, int64_t logical) {
  std::string text;
  for (int64_t at : instance.find(output)->coordinates(logical)) {
    text += (text.empty() ? "" : ", ") + std::to_string(at);
  }
  return output + "[" + text + "]";
}

Checker::Checker(const Contract& contract, Device& device)
    : contract_(contract),
      device_(device),
      judge_(contract),
      entry_line_(find_entry_line(contract.source.path, contract.source.entry)) {}

CheckResult Checker::check(const Case& c, const RunOptions& options, const JudgeOptions& judging) {
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
  add_diagnostics(result, contract_, entry_line_, c);
  if (result.run.status != RunStatus::completed) {
    sort_by_cause(result.findings);
    result.outcome = Outcome::fault;
    return result;
  }

  result.verdict = judge_.judge(*result.instance, *result.run.outputs, judging);
  result.outcome = result.verdict.outcome;
  if (result.outcome == Outcome::mismatch || result.outcome == Outcome::undecided)
    result.findings.push_back(judged_finding(result));
  // A device that errs on purpose may do so differently in each run.
  const bool honest = options.adversarial_seed == 0 && options.defect.operand < 0 &&
                      options.defect.sums == Narrow::none;
  if (!c.property.name.empty() && honest) check_property(result);
  sort_by_cause(result.findings);
  if (result.outcome == Outcome::skipped) result.skipped = result.verdict.message;
  if (result.outcome == Outcome::pass && !result.findings.empty()) result.outcome = Outcome::fault;
  return result;
}

/// In place, an element that nothing was stored to holds what the input held (rule R1): where that
/// is wrong it is unwritten, as it is where the output has memory of its own.
Finding Checker::judged_finding(const CheckResult& result) {
  const Verdict& v = result.verdict;
  Finding finding{contract_.name, kind_of(v), v.rule, contract_.source.path, entry_line_,
                  v.message,      result.instance->the_case};
  if (v.outcome != Outcome::mismatch) return finding;
  if (const std::string text = left_alone(result); !text.empty()) {
    finding.kind = "unwritten";
    finding.rule = "R1";
    finding.message += text;
  }
  finding.message += unowned_text(*result.instance, v);
  return finding;
}

/// "; nothing was stored to y[3, 0], which holds what x held", where that is so of all elements
/// that tell of a mismatch; "" otherwise, and on a device that does not say. Runs the case again.
std::string Checker::left_alone(const CheckResult& result) {
  if (result.verdict.wrong == 0 || device_.name() != "ptx") return "";
  const Instance& instance = *result.instance;
  const std::vector<OutputElement> elements = telling_elements(result.verdict);
  const bool none_stored =
      std::all_of(elements.begin(), elements.end(), [&](const OutputElement& element) {
        const auto& [output, logical] = element;
        return instance.find(output)->is_shared() && !last_store(result, output, logical);
      });
  if (!none_stored) return "";
  const auto& [output, logical] = elements.front();
  return "; nothing was stored to " + element_name(instance, output, logical) +
         ", which holds what " + instance.the_case.aliases.at(output) + " held";
}

/// Runs the case in the other ways that its property names. A difference is a finding.
void Checker::check_property(CheckResult& result) {
  const Case& c = result.instance->the_case;
  Variations variations = vary(*result.instance);
  PropertyOutcome outcome;
  outcome.property = c.property.name + (c.property.of.empty() ? "" : "(" + c.property.of + ")");
  outcome.why_none = variations.why_none;
  for (const Variation& variation : variations.runs) {
    ComparedRun run = check_variation(variation, result);
    if (!run.unsupported.empty()) {
      outcome.unsupported = true;
      outcome.why_none = variation.text + ": " + run.unsupported;
      continue;
    }
    if (run.difference && differs_by_itself(result)) {
      outcome.unsupported = true;
      outcome.why_none = variation.text + ": the case's own outputs differ from run to run here";
      continue;
    }
    run.differs = differences(*result.instance, variation.instance);
    std::string problem = problem_of(*result.instance, run);
    outcome.runs.push_back(std::move(run));
    if (problem.empty()) continue;
    const std::string atomics = float_atomics(*result.programs);
    if (!atomics.empty())
      problem += "; likely by the floating-point atomics at " + atomics +
                 ", which add in the order in which threads come";
    result.findings.push_back({contract_.name, "property", c.property.name, contract_.source.path,
                               entry_line_, outcome.property + ": " + problem, c});
    break;
  }
  result.property = std::move(outcome);
}

/// Whether two runs of the case as it is may differ: on a GPU, whose threads come in another order
/// each time, unless the contract says that a second run gives the same bits. Sums by atomics may
/// happen to agree for many runs, other orders show.
bool Checker::differs_by_itself(const CheckResult& result) {
  constexpr int kRuns = 4;
  const auto& stated = contract_.properties;
  const bool repeats = std::any_of(stated.begin(), stated.end(), [](const Property& property) {
    return property.kind == PropertyKind::repeatable;
  });
  if (device_.repeats() || repeats) return false;
  if (!float_atomics(*result.programs).empty()) return true;
  const Variation again{*result.instance};
  RunOptions options = case_options();
  options.switch_off_checkers();
  for (int i = 0; i < kRuns; ++i) {
    const Run run = device_.run(*result.instance, *result.programs, options);
    if (run.status != RunStatus::completed) continue;
    if (compare_runs(*result.instance, result.run, again, run, false).difference) return true;
  }
  return false;
}

/// Runs it and compares it; of a plain one, adds what fails by itself when the case does not.
ComparedRun Checker::check_variation(const Variation& variation, CheckResult& result) {
  ComparedRun ended{variation.text, variation.own};
  if (variation.is_plain) {
    CheckResult alone = check(variation.instance.the_case);
    if (result.findings.empty()) {
      for (Finding& finding : alone.findings) result.findings.push_back(std::move(finding));
    }
    if (alone.run.status == RunStatus::unsupported) ended.unsupported = alone.skipped;
    if (alone.run.status != RunStatus::completed) return ended;  // else a finding by itself
    return compare_runs(*result.instance, result.run, variation, alone.run, true);
  }
  RunOptions options = case_options();
  options.switch_off_checkers();
  options.coverage = !result.run.coverage.empty();
  options.instruction_budget = case_budget(variation.instance);
  Instance instance = variation.instance;
  if (variation.continues) {
    Derivation derivation;
    derivation.after = result.run.outputs.get();
    instance.derivation = std::make_shared<const Derivation>(derivation);
  }
  Run run = device_.run(instance, *programs_for(instance), options);
  if (run.status == RunStatus::unsupported) {
    ended.unsupported = first_message(run, DiagnosticKind::unsupported);
    return ended;
  }
  if (run.status != RunStatus::completed) {
    ended.ended = run.diagnostics.empty() ? "it did not complete" : run.diagnostics.front().message;
    return ended;
  }
  ComparedRun compared = compare_runs(*result.instance, result.run, variation, run, false);
  compared.coverage = std::move(run.coverage);
  return compared;
}

namespace {

/// Options for running a case again to learn of one element: no checker, a watch.
RunOptions watching(const CheckResult& result, const std::string& output, int64_t logical) {
  const Tensor& tensor = *result.instance->find(output);
  const int64_t bytes = byte_size(tensor.dtype);
  RunOptions options = case_options();
  options.switch_off_checkers();
  options.watch = {tensor.position, tensor.storage_of(logical) * bytes, bytes};
  return options;
}

}  // namespace

std::optional<LastStore> Checker::last_store(const CheckResult& result, const std::string& output,
                                             int64_t logical) {
  return device_.run(*result.instance, *result.programs, watching(result, output, logical))
      .last_store;
}

std::optional<Step> Checker::exceptional(const CheckResult& result, const std::string& output,
                                         int64_t logical, const LastStore& store) {
  RunOptions options = watching(result, output, logical);
  options.exceptional = true;
  options.watch.block = store.block;
  const Run run = device_.run(*result.instance, *result.programs, options);
  for (const Diagnostic& d : run.diagnostics) {
    if (d.kind == DiagnosticKind::exceptional) return d.steps.front();
  }
  return std::nullopt;
}

/// Whether no thread stored to any of the wrong elements of the first output: an operand that keeps
/// what was there hides that they were left out.
bool Checker::none_stored(const CheckResult& result) {
  const Verdict& verdict = result.verdict;
  if (verdict.wrong_elements.empty() || device_.name() != "ptx")
    return false;  // a card has no watch
  const Tensor& tensor = *result.instance->find(verdict.first_output);
  int64_t first = INT64_MAX, last = 0;
  for (const int64_t element : verdict.wrong_elements) {
    first = std::min(first, tensor.storage_of(element));
    last = std::max(last, tensor.storage_of(element));
  }
  RunOptions options = watching(result, verdict.first_output, verdict.wrong_elements.front());
  const int64_t bytes = byte_size(tensor.dtype);
  options.watch.first = first * bytes;
  options.watch.bytes = (last - first + 1) * bytes;
  // One run tells that nothing was stored between them; else each is asked for by itself, up to a
  // few.
  const auto stored = [&] {
    return device_.run(*result.instance, *result.programs, options).last_store.has_value();
  };
  if (!stored()) return true;
  constexpr size_t kMostAsked = 8;
  if (verdict.wrong_elements.size() > kMostAsked) return false;
  options.watch.bytes = bytes;
  return std::none_of(verdict.wrong_elements.begin(), verdict.wrong_elements.end(),
                      [&](int64_t element) {
                        options.watch.first = tensor.storage_of(element) * bytes;
                        return stored();
                      });
}

void Checker::locate(const CheckResult& result, Finding& finding) {
  if (finding.stored_line > 0 || finding.unstored) return;
  // What fails in a property's other run by itself is not in this one.
  if (finding.the_case.property != result.instance->the_case.property) return;
  const bool compared = finding.kind == "property";
  if (!compared && finding.kind != "mismatch") return;
  const auto [output, element] =
      compared ? differing_element(result) : shown_element(result.verdict);
  if (element < 0) return;
  const auto store = last_store(result, output, element);
  const std::string wrong = " wrong";
  if (!store && !compared && output == result.verdict.first_output && none_stored(result)) {
    const size_t at = finding.message.find(wrong);
    if (at == std::string::npos) return;
    finding.unstored = true;
    finding.message.insert(at + wrong.size(), kNoneStored);
    return;
  }
  if (!store || store->line == 0) return;
  finding.stored_file = store->file;
  finding.stored_line = store->line;
  finding.message += std::string(compared ? "; " : ", the worst ") +
                     element_name(*result.instance, output, element) +
                     " stored at " + base_name(store->file) + ":" + std::to_string(store->line);
}

Programs Checker::programs_for(const Instance& instance) {
  std::pair<Variant, std::vector<int>> key{instance.the_case.variant(), {}};
  for (const ResolvedLaunch& launch : instance.launches) key.second.push_back(launch.position);
  Programs& programs = programs_[key];
  if (!programs) {
    const std::string variant = key.first.text();
    const SlowStep slow("still compiling " + base_name(contract_.source.path) +
                        (variant.empty() ? "" : " for " + variant));
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

const Finding* recorded_finding(const Recorded& recorded, const CheckResult& result) {
  const Finding* moved = nullptr;
  for (const Finding& finding : result.findings) {
    const bool alike = finding.kind == recorded.kind && finding.rule == recorded.rule &&
                       base_name(finding.file) == recorded.file;
    if (alike && finding.line == recorded.line) return &finding;
    if (alike && moved == nullptr) moved = &finding;
  }
  const bool same_program =
      !recorded.program.empty() && recorded.program == result.run.program_digest;
  return same_program ? moved : nullptr;
}

}  // namespace assay
