#include "fuzz/report.hpp"

#include <algorithm>
#include <filesystem>

#include "fuzz/program_name.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

/// Whether a launch has a block: without one no instruction ran, and the variant was not reached.
bool ran_anything(const Instance& instance) {
  return std::any_of(instance.launches.begin(), instance.launches.end(),
                     [](const ResolvedLaunch& launch) {
                       return std::count(launch.grid.begin(), launch.grid.end(), 0) == 0;
                     });
}

bool is_wrong_memory(const Finding& f) {
  return f.kind == "stray_write" || f.kind == "uninitialised" || f.kind == "out_of_bounds" ||
         f.kind == "misaligned";
}

}  // namespace

bool is_ordinary(const Case& c) {
  static const std::set<std::string> well_scaled{"normal", "uniform", "exact", "ramp"};
  if (!c.overrides.empty()) return false;
  return std::all_of(c.values.begin(), c.values.end(), [](const auto& entry) {
    const std::string& name = entry.second.name;
    return well_scaled.contains(name) || name.starts_with("index_");
  });
}

void AllowanceUse::add(double share) {
  largest = std::max(largest, share);
  sum += share;
  ++runs;
}

void AllowanceUse::add(const AllowanceUse& other) {
  largest = std::max(largest, other.largest);
  sum += other.sum;
  runs += other.runs;
}

int64_t KernelReport::skipped_cases() const {
  int64_t sum = 0;
  for (const auto& [reason, count] : skipped) sum += count;
  return sum;
}

int64_t KernelReport::unjudged_cases() const {
  int64_t sum = 0;
  for (const auto& [reason, count] : unjudged) sum += count;
  return sum;
}

std::string KernelReport::why_unjudged() const {
  const auto most =
      std::max_element(unjudged.begin(), unjudged.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == unjudged.end() ? "" : most->first;
}

void KernelReport::withdraw_subnormals() {
  if (mismatches == 0) return;
  std::erase_if(notes, [](const std::string& note) {
    return note.find("[policy]: subnormals") != std::string::npos;
  });
}

int64_t KernelReport::compared_cases() const {
  int64_t sum = 0;
  for (const auto& [property, count] : properties) sum += count;
  return sum;
}

void KernelReport::add_reached(const Case& c, const Instance& instance) {
  if (ran_anything(instance)) variants.insert(c.variant().text());
  for (const auto& [size, value] : c.sizes) {
    int64_t& most = largest_sizes[size];
    most = std::max(most, value);
  }
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present) continue;
    int64_t& most = largest_operands[tensor.spec->name];
    most = std::max(most, tensor.elements());
  }
}

void KernelReport::add(const Case& c, const CheckResult& result, double spent) {
  ++cases;
  seconds += spent;
  if (result.run.status == RunStatus::unsupported) {
    ++skipped[result.skipped];
  } else {
    if (result.outcome == Outcome::skipped) ++unjudged[result.skipped];
    const bool refused = result.run.status == RunStatus::refused;  // then nothing ran
    if (!refused) add_reached(c, *result.instance);
  }
  if (result.property && !result.property->runs.empty()) ++properties[result.property->property];
  if (result.property && result.property->unsupported)
    notes.insert(result.property->property + " not compared: " + result.property->why_none);
  judged += result.verdict.judged - result.verdict.no_bound;
  wrong_memory += std::any_of(result.findings.begin(), result.findings.end(), is_wrong_memory);
  if (is_ordinary(c)) {
    ordinary += result.verdict.judged;
    weak += result.verdict.weak;
    no_bound += result.verdict.no_bound;
  }
  for (const std::string& line : result.verdict.missing_policies) {
    notes.insert("policy missing in the contract, add under [policy]: " + line);
  }
  mismatches += result.verdict.outcome == Outcome::mismatch ? 1 : 0;
  withdraw_subnormals();
  for (const Program& program : *result.programs) {
    if (!program.note.empty()) notes.insert(program.note);
  }
}

void KernelReport::add(const KernelReport& other) {
  cases += other.cases;
  judged += other.judged;
  wrong_memory += other.wrong_memory;
  variants.insert(other.variants.begin(), other.variants.end());
  for (const auto& [reason, count] : other.skipped) skipped[reason] += count;
  for (const auto& [reason, count] : other.unjudged) unjudged[reason] += count;
  for (const auto& [property, count] : other.properties) properties[property] += count;
  ordinary += other.ordinary;
  weak += other.weak;
  no_bound += other.no_bound;
  notes.insert(other.notes.begin(), other.notes.end());
  mismatches += other.mismatches;
  withdraw_subnormals();
  for (const auto& [size, value] : other.largest_sizes)
    largest_sizes[size] = std::max(largest_sizes[size], value);
  for (const auto& [operand, elements] : other.largest_operands)
    largest_operands[operand] = std::max(largest_operands[operand], elements);
  seconds += other.seconds;
  if (other.calibrated) {
    if (!calibrated) calibrated.emplace();
    calibrated->runs += other.calibrated->runs;
    calibrated->honest.add(other.calibrated->honest);
    calibrated->adversarial.add(other.calibrated->adversarial);
    for (const auto& [key, count] : other.calibrated->sensitivity)
      calibrated->sensitivity[key].add(count);
  }
}

int64_t Report::cases() const {
  int64_t sum = 0;
  for (const KernelReport& kernel : kernels) sum += kernel.cases;
  for (const PairReport& pair : pairs) sum += pair.cases + pair.twin_cases;
  return sum;
}

int64_t Report::skipped_cases() const {
  int64_t sum = 0;
  for (const KernelReport& kernel : kernels) sum += kernel.skipped_cases();
  return sum;
}

int64_t Report::compared_cases() const {
  int64_t sum = 0;
  for (const KernelReport& kernel : kernels) sum += kernel.compared_cases();
  return sum;
}

int64_t Report::variants_reached() const {
  int64_t sum = 0;
  for (const KernelReport& kernel : kernels) sum += static_cast<int64_t>(kernel.variants.size());
  return sum;
}

int64_t Report::variants_total() const {
  int64_t sum = 0;
  for (const KernelReport& kernel : kernels) sum += kernel.variants_total;
  return sum;
}

bool Report::proves_nothing() const {
  if (command != Command::smoke && command != Command::fuzz && command != Command::calibrate)
    return cases() == 0;
  return !unproven(*this).empty();
}

std::vector<std::string> unproven(const Report& report) {
  // Zero cases never pass, nor do cases without an element.
  std::vector<std::string> names;
  for (const KernelReport& kernel : report.kernels) {
    const bool ran_unjudged = kernel.nothing_judged() || kernel.skipped_cases() > 0;
    if (kernel.judged == 0 && !ran_unjudged && !kernel.error) names.push_back(kernel.kernel);
  }
  return names;
}

void group_by_cause(std::vector<FiledFinding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
    return cause_rank(a.finding.kind) < cause_rank(b.finding.kind);
  });
  // A mismatch stands at the entry's line, which says nothing of its place.
  const auto is_placed = [](const Finding& f) { return f.rule == f.kind && f.line > 0; };
  std::vector<std::vector<FiledFinding>> groups;
  for (FiledFinding& filed : findings) {
    const Finding& f = filed.finding;
    const auto names_cause = [&](const FiledFinding& other) {
      return filed.cause == other.finding.identity();
    };
    const auto same_line = [&](const FiledFinding& other) {
      const Finding& o = other.finding;
      return is_placed(f) && is_placed(o) && f.kernel == o.kernel && f.line == o.line &&
             std::filesystem::path(f.file).filename() == std::filesystem::path(o.file).filename();
    };
    // Wrong values of one store, or of one that is missing, are of one bug whatever rule they
    // break.
    const auto both_judged = [&](const Finding& o) {
      return f.kind == "mismatch" && o.kind == "mismatch" && f.kernel == o.kernel;
    };
    const auto same_store = [&](const FiledFinding& other) {
      const Finding& o = other.finding;
      return both_judged(o) && f.stored_line > 0 && f.stored_line == o.stored_line &&
             std::filesystem::path(f.stored_file).filename() ==
                 std::filesystem::path(o.stored_file).filename();
    };
    const auto unstored_too = [&](const FiledFinding& other) {
      return both_judged(other.finding) && f.unstored && other.finding.unstored;
    };
    const auto group_with = [&](const auto& matches) {
      return std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
        return std::any_of(group.begin(), group.end(), matches);
      });
    };
    const auto same_origin = [&](const FiledFinding& other) {
      return !f.origin.empty() && f.cause() == other.finding.cause();
    };
    auto home = groups.end();
    const auto try_group = [&](const auto& matches, const char* why) {
      if (home != groups.end()) return;
      home = group_with(matches);
      if (home != groups.end()) filed.with_above = why;
    };
    try_group(same_origin, "of the same origin");
    try_group(names_cause, "in the same case");
    try_group(same_line, "at the same line");
    try_group(same_store, "stored at the same line");
    try_group(unstored_too, "not stored either");
    if (home == groups.end()) home = groups.emplace(groups.end());
    home->push_back(std::move(filed));
  }
  findings.clear();
  for (auto& group : groups) {
    for (FiledFinding& filed : group) findings.push_back(std::move(filed));
  }
}

void note_properties(const Contract& contract, KernelReport& kernel) {
  std::string missed;
  for (const Property& property : contract.properties) {
    const std::string text = std::string(name(property.kind)) +
                             (property.of.empty() ? "" : "(" + property.of + ")");
    if (!kernel.properties.contains(text)) missed += (missed.empty() ? "" : ", ") + text;
  }
  if (kernel.cases > 0 && !missed.empty())
    kernel.notes.insert("no case was compared by the properties: " + missed);
}

int64_t Report::new_findings() const {
  return std::count_if(findings.begin(), findings.end(),
                       [](const FiledFinding& filed) { return !filed.known; });
}

int64_t Report::causes() const {
  return std::count_if(findings.begin(), findings.end(), [](const FiledFinding& filed) {
    return !filed.known && filed.with_above.empty();
  });
}

std::vector<InputError> Report::errors() const {
  std::vector<InputError> all;
  for (const KernelReport& kernel : kernels) {
    if (kernel.error) all.push_back(*kernel.error);
  }
  if (not_written) all.push_back(*not_written);
  return all;
}

KernelReport unread_report(const UnreadContract& unread) {
  KernelReport kernel;
  kernel.kernel = unread.kernel;
  kernel.contract = unread.path;
  kernel.error = unread.error;
  return kernel;
}

Exit Report::exit() const {
  if (command == Command::score) {
    const bool sound = std::all_of(pairs.begin(), pairs.end(), [](const PairReport& pair) {
      return pair.problem.empty() && pair.witness_fails && pair.witness_passes_on_twin;
    });
    const ScoreTotals totals = score_totals(pairs);
    const bool all = totals.found == totals.pairs && totals.enough_as_expected();
    const bool missed = totals.found < totals.pairs;
    if (!sound || missed || totals.false_alarms > 0 || (!all && !interrupted))
      return Exit::findings;
    return interrupted ? Exit::interrupted : Exit::clean;
  }
  if (command == Command::list) return Exit::clean;
  if (!errors().empty()) return Exit::bad_input;
  if (new_findings() > 0) return Exit::findings;
  if (interrupted) return Exit::interrupted;
  if (proves_nothing()) return Exit::bad_input;
  const bool tells =
      command == Command::smoke || command == Command::fuzz || command == Command::repro;
  const bool unjudged = tells && std::any_of(kernels.begin(), kernels.end(),
                                             [](const auto& k) { return k.nothing_judged(); });
  return skipped_cases() > 0 || unjudged ? Exit::skipped : Exit::clean;
}

namespace {

/// The case, its contract where `repro` would not find it by itself, and the device.
std::string arguments_of(const FiledFinding& filed) {
  const bool ours = filed.contract.starts_with(std::string(ASSAY_SOURCE_DIR) + "/");
  return shell_word(filed.case_file) + (ours ? "" : " --contract " + shell_word(filed.contract)) +
         device_flag(filed.device);
}

}  // namespace

std::string device_flag(const std::string& device) {
  return device == "ptx" ? "" : " --device " + device;
}

std::string repro_command(const FiledFinding& filed) {
  if (filed.case_file.empty()) return "";
  return program_name() + " repro " + arguments_of(filed) + filed.flags;
}

std::string shrink_command(const FiledFinding& filed) {
  return program_name() + " shrink " + arguments_of(filed) + " --out " +
         shell_word(filed.case_file);
}

}  // namespace assay
