// What shows only when the cases of a contract are made and run.
#include <algorithm>
#include <set>

#include "fuzz/lint.hpp"
#include "fuzz/log.hpp"
#include "fuzz/report.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/text_table.hpp"
#include "generators/generate.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {

namespace {

constexpr size_t kExamples = 3;
constexpr uint64_t kSeedsTried = 16;

std::string without_place(const InputError& error) {
  const std::string message = error.what();
  const std::string place = error.where().text();
  const bool placed = !place.empty() && message.starts_with(place + ": ");
  const std::string rest = placed ? message.substr(place.size() + 2) : message;
  return rest.substr(0, rest.find('\n'));
}

/// Whether every relation holds for these choices; nullopt where one needs more than them.
std::optional<bool> relations_hold(const Contract& contract, const Case& c) {
  const Variant variant = c.variant();
  IntegerScope scope;
  scope.value = [&](std::string_view name) -> std::optional<int64_t> {
    if (const auto at = c.sizes.find(std::string(name)); at != c.sizes.end()) return at->second;
    return choice_value(variant, name);
  };
  try {
    return std::all_of(
        contract.require.begin(), contract.require.end(),
        [&](const NamedExpr& relation) { return evaluate_integer(*relation.expr, scope) != 0; });
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Values of a size at which divisions and differences go wrong.
std::vector<int64_t> telling_sizes(const SizeSpec& size) {
  if (!size.in.empty()) return size.in;
  std::vector<int64_t> values;
  for (int64_t value = size.min; value <= std::min(size.max, size.min + 2); ++value)
    values.push_back(value);
  return values;
}

/// What the cases of a trial showed.
struct Trial {
  KernelReport counts;
  int64_t with_elements = 0;                                    ///< of the cases that ran
  int64_t failing = 0;                                          ///< of them
  std::map<std::string, std::pair<int64_t, Finding>> findings;  ///< first of a case, by identity
  std::map<std::string, Finding> launches;  ///< limits of launches that are broken, by identity
  std::set<std::string> policies;
  std::vector<Lint> refused;  ///< a case that could not be run at all
  std::vector<Case> failed;
  std::string no_bound;  ///< of the first ordinary case with such an element: the term, and why

  void add(Checker& checker, const Case& c, const CheckResult& result) {
    counts.add(c, result, 0);
    for (const std::string& line : result.verdict.missing_policies) policies.insert(line);
    for (const Finding& f : result.findings) {
      if (f.kind == name(DiagnosticKind::launch_limit)) launches.try_emplace(f.identity(), f);
    }
    if (result.run.status == RunStatus::unsupported || !result.instance->has_output()) return;
    ++with_elements;
    if (no_bound.empty() && result.verdict.no_bound > 0 && is_ordinary(c)) {
      const Verdict& v = result.verdict;
      no_bound =
          checker.judge()
              .explain(*result.instance, *result.run.outputs, v.no_bound_output, v.no_bound_element)
              .no_bound;
    }
    if (result.findings.empty()) return;
    ++failing;
    failed.push_back(c);
    const Finding& first = result.findings.front();
    const auto [at, fresh] = findings.try_emplace(first.identity(), 0, first);
    ++at->second.first;
    if (fresh) checker.locate(result, at->second.second);
  }
};

Trial run_trial(const Contract& contract, const std::vector<Case>& cases) {
  Trial trial;
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(contract, *device);
  for (size_t i = 0; i < cases.size() && !StopSignals::asked(); ++i) {
    const Case& c = cases[i];
    log_progress(contract.name + ": case " + std::to_string(i + 1) + " of " +
                 std::to_string(cases.size()) + (trial.failing > 0 ? ", " : "") +
                 (trial.failing > 0 ? std::to_string(trial.failing) + " failed" : ""));
    try {
      trial.add(checker, c, checker.check(c));
    } catch (const InputError& error) {
      trial.refused.push_back({error.where(), "run", without_place(error)});
      break;
    }
  }
  return trial;
}

/// The failure that most cases show; nullptr where none fails.
const Finding* most_often(const Trial& trial) {
  const auto most = std::max_element(
      trial.findings.begin(), trial.findings.end(),
      [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
  return most == trial.findings.end() ? nullptr : &most->second.second;
}

/// Where more than half of the cases fail, the contract and the kernel do not belong together, or
/// the kernel is wrong everywhere.
void add_failing(const Contract& contract, Trial& trial, std::vector<Lint>& out) {
  if (2 * trial.failing <= trial.with_elements) return;
  const Finding& f = *most_often(trial);
  std::string message = std::to_string(trial.failing) + " of " +
                        counted(trial.with_elements, "case") +
                        " with elements fail, most often: " + f.kind + ": " + f.message;
  const std::set<std::string> before = trial.counts.notes;
  note_arguments(contract, trial.counts);
  for (const std::string& note : trial.counts.notes) {
    if (!before.contains(note)) message += "; " + note;
  }
  out.push_back({{f.shown_file(), f.shown_line()}, "fails", message});
}

SourceLocation formula_place(const Contract& contract) {
  return contract.formula.empty() ? SourceLocation{contract.path} : contract.formula.front().where;
}

void add_unjudged(const Contract& contract, const Trial& trial, std::vector<Lint>& out) {
  if (StopSignals::asked()) return;  // others might have been
  if (trial.counts.judged > 0 || trial.failing > 0 || trial.counts.skipped_cases() > 0) return;
  std::string message = "no element of " + counted(trial.counts.cases, "case") + " was judged";
  SourceLocation where = formula_place(contract);
  if (trial.with_elements == 0) {
    message += ": the outputs never have an element";
    if (!contract.sizes.empty()) where = contract.sizes.front().where;
  }
  if (trial.with_elements > 0 && !trial.counts.unjudged.empty())
    message += ": " + trial.counts.why_unjudged();
  out.push_back({where, "unjudged", message});
}

/// Bounds wider than a quarter of the values say little of them: the formula cancels what it is
/// made of, or the accuracy is stated wider than the kernel's.
void add_weak(const Contract& contract, Trial& trial, std::vector<Lint>& out) {
  trial.counts.weak_is_explained = !contract.accuracy.weak_reason.empty();
  if (!trial.counts.too_weak()) return;
  out.push_back(
      {formula_place(contract), "weak",
       format_text("%.0f", 100 * trial.counts.weak_share()) +
           " % of the elements of ordinary cases are weakly judged: what a correct kernel may err "
           "by exceeds a quarter of the value. Sharpen the contract: a formula without large "
           "terms that cancel, a `domain` that keeps the inputs where the kernel is used, the "
           "kernel's `depth`, `variance` or `accumulate` under [accuracy]; or say there why it "
           "must be so: weak_reason = \"...\""});
}

/// Elements without a documented bound are neither right nor wrong: where there are many of them, a
/// kernel may be wrong there for ever. Where nothing at all was judged that is said already.
void add_no_bound(const Contract& contract, Trial& trial, std::vector<Lint>& out) {
  trial.counts.weak_is_explained = !contract.accuracy.weak_reason.empty();
  if (!trial.counts.too_unbounded() || trial.counts.judged == 0) return;
  out.push_back(
      {formula_place(contract), "no_bound",
       format_text("%.0f", 100 * trial.counts.no_bound_share()) +
           " % of the elements of ordinary cases are not judged: nothing documents what a correct "
           "kernel may err by there" +
           (trial.no_bound.empty() ? "" : " (" + trial.no_bound + ")") +
           ". Keep the inputs where the formula's functions are documented (`domain`), or write "
           "the formula without that term; or say under [accuracy] why it must be so: "
           "weak_reason = \"...\""});
}

}  // namespace

Admitted admitted_cases(const Contract& contract) {
  Admitted admitted;
  admitted.cases = covering_cases(contract);
  try {
    for (uint64_t seed = 1; seed <= kSeedsTried && admitted.cases.size() < kExamples; ++seed) {
      Case c = generate_case(contract, Seed{seed});
      if (std::find(admitted.cases.begin(), admitted.cases.end(), c) == admitted.cases.end())
        admitted.cases.push_back(std::move(c));
    }
  } catch (const InputError& error) {
    if (!admitted.cases.empty()) return admitted;
    SourceLocation where = error.where();
    if (where.line == 0) where = contract.source.where;
    admitted.lints.push_back({where, "no_case", "admits no case: " + without_place(error)});
  }
  return admitted;
}

std::vector<Lint> sizes_with_errors(const Contract& contract, const std::vector<Case>& cases) {
  std::vector<Lint> out;
  std::set<std::string> seen;
  const size_t looked_at = std::min<size_t>(cases.size(), 8);
  for (size_t i = 0; i < looked_at; ++i) {
    for (const SizeSpec& size : contract.sizes) {
      for (const int64_t value : telling_sizes(size)) {
        Case c = cases[i];
        c.sizes[size.name] = value;
        c.layouts.clear();
        c.blocks.clear();
        c.overrides.clear();
        if (relations_hold(contract, c) != true) continue;
        try {
          instantiate(contract, c, contract.path);
        } catch (const InputError& error) {
          if (error.where().file != contract.path || error.where().line == 0) continue;
          if (!seen.insert(error.where().text()).second) continue;
          out.push_back({error.where(), "error",
                         "never runs with " + size.name + "=" + std::to_string(value) +
                             ", which no relation forbids: " + without_place(error)});
        }
      }
    }
  }
  return out;
}

std::vector<Lint> aliases_never_made(const Contract& contract, const std::vector<Case>& cases) {
  std::vector<Lint> out;
  for (const OperandSpec& operand : contract.args) {
    for (const AliasTarget& memory : operand.may_alias) {
      const auto is_made = [&](const Case& c) {
        const auto found = c.aliases.find(operand.name);
        return found != c.aliases.end() && found->second == memory.operand;
      };
      if (cases.empty() || std::any_of(cases.begin(), cases.end(), is_made)) continue;
      std::string why;
      Case c = cases.back();
      c.layouts.clear();
      c.aliases = {{operand.name, memory.operand}};
      try {
        instantiate(contract, c, contract.path);
      } catch (const InputError& error) {
        why = ": " + without_place(error);
      }
      out.push_back({memory.where, "unreachable",
                     "no case puts '" + operand.name + "' into the memory of '" + memory.operand +
                         "'" + why});
    }
  }
  return out;
}

Runs failing_runs(const Contract& contract, const std::vector<Case>& cases) {
  Trial trial = run_trial(contract, cases);
  Runs runs{trial.refused, trial.with_elements, trial.failing, ""};
  if (const Finding* f = most_often(trial)) runs.most_often = f->kind + ": " + f->message;
  std::vector<Lint>& out = runs.lints;
  if (!out.empty()) return runs;
  for (const auto& [reason, count] : trial.counts.skipped) {
    out.push_back({contract.source.where, "unsupported",
                   counted(count, "case") + " of " + std::to_string(trial.counts.cases) +
                       " skipped: " + reason});
  }
  for (const auto& [identity, f] : trial.launches) {
    out.push_back({{f.file, f.line}, "launch", f.message});
  }
  add_failing(contract, trial, out);
  add_unjudged(contract, trial, out);
  add_weak(contract, trial, out);
  add_no_bound(contract, trial, out);
  for (Lint& lint : fast_math_meant(contract, trial.failed)) out.push_back(std::move(lint));
  for (Lint& lint : nan_of_finite_inputs(contract, cases)) out.push_back(std::move(lint));
  for (const std::string& line : open_policies(contract)) trial.policies.insert(line);
  for (const std::string& line : trial.policies) {
    out.push_back({{contract.path},
                   "policy",
                   "a policy that matters here is missing, add under "
                   "[policy]: " +
                       line});
  }
  return runs;
}

std::vector<std::string> outcomes_of(const Contract& contract, const std::vector<Case>& cases) {
  std::vector<std::string> out;
  const std::unique_ptr<Device> device = make_ptx_device();
  Checker checker(contract, *device);
  for (const Case& c : cases) {
    if (StopSignals::asked()) break;
    log_progress(contract.name + ": example case " + std::to_string(out.size() + 1));
    try {
      const CheckResult result = checker.check(c);
      if (!result.findings.empty()) {
        Finding f = result.findings.front();
        checker.locate(result, f);
        out.push_back("fails: " + f.kind + ": " + f.message);
      } else {
        out.push_back(result.outcome == Outcome::skipped ? "is not judged: " + result.skipped
                                                         : "passes");
      }
    } catch (const InputError& error) {
      out.push_back("cannot run: " + without_place(error));
    }
  }
  return out;
}

}  // namespace assay
