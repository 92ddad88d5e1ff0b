// `assay check CONTRACT`: remarks on a contract, and three of the cases that it admits.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "fuzz/find_kernels.hpp"
#include "fuzz/finding_json.hpp"
#include "fuzz/findings.hpp"
#include "fuzz/lint.hpp"
#include "fuzz/log.hpp"
#include "fuzz/program.hpp"
#include "fuzz/program_name.hpp"
#include "fuzz/report.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

constexpr size_t kCasesRun = 48;  // one of each value class is among the covering ones

struct Checked {
  ContractPtr contract;  ///< nullptr: it could not be read
  std::string kernel, path;
  std::optional<InputError> error;  ///< why it could not be read, or not be looked at
  std::vector<Lint> lints;
  std::vector<Case> examples;
  std::vector<std::string> outcomes;  ///< of the examples; empty: they have not been run
  std::optional<Runs> runs;           ///< of the covering cases; nullopt: they have not been run
  std::string left_out;               ///< what was not looked at, and why
};

/// An ordinary case, one from the middle and the farthest one, of those that there are.
std::vector<Case> three_cases(const std::vector<Case>& all) {
  if (all.size() <= 3) return all;
  std::vector<Case> out;
  for (const size_t at : {std::min<size_t>(3, all.size() - 3), all.size() / 2, all.size() - 1})
    out.push_back(all[at]);
  return out;
}

/// What running the cases shows, the surest first: a wrong dtype makes every case fail.
void check_runs(const Contract& contract, std::vector<Case> cases, Checked& checked) {
  const auto add = [&](std::vector<Lint> lints) {
    const bool any = !lints.empty();
    std::move(lints.begin(), lints.end(), std::back_inserter(checked.lints));
    return any;
  };
  if (cases.empty() || add(variants_that_fail(contract)) || StopSignals::asked()) return;
  if (add(signature_conflicts(contract))) {
    checked.left_out = "its cases have not been run: they would fail by what is said above";
    return;
  }
  const bool lacks = add(unsupported_instructions(contract));
  if (StopSignals::asked()) return;
  if (cases.size() > kCasesRun) cases.resize(kCasesRun);
  Runs runs = failing_runs(contract, cases);
  // Skipped cases say once more which instructions there are not.
  if (lacks) std::erase_if(runs.lints, [](const Lint& lint) { return lint.kind == "unsupported"; });
  add(runs.lints);
  if (StopSignals::asked() && runs.cases == 0) return;
  checked.runs = std::move(runs);
  checked.outcomes = outcomes_of(contract, checked.examples);
}

/// Fills `checked` as far as it comes: Ctrl-C ends it.
void look_at(const ContractPtr& contract, Checked& checked) {
  const auto add = [&](std::vector<Lint> lints) {
    for (Lint& lint : lints) checked.lints.push_back(std::move(lint));
  };
  const Judge judge(*contract);  // the formula's names and dimensions
  add(questions_in(read_text(contract->path), contract->path));
  const bool asks = !checked.lints.empty();
  Admitted admitted = admitted_cases(*contract);
  checked.examples = three_cases(admitted.cases);
  if (asks) {
    checked.left_out = "what else there is to say comes when the questions are answered";
    return;
  }
  add(unused_parts(*contract));
  add(idle_facts(*contract));
  add(formula_slips(*contract));
  add(unreachable_sizes(*contract));
  add(admitted.lints);
  add(sizes_with_errors(*contract, admitted.cases));
  add(aliases_never_made(*contract, admitted.cases));
  if (contract->source.language == Language::cuda || contract->source.language == Language::ptx) {
    check_runs(*contract, std::move(admitted.cases), checked);
  } else {
    checked.left_out = "sources of this language are not compiled yet";
  }
}

Checked check_contract(const ContractPtr& contract) {
  Checked checked{contract, contract->name, contract->path};
  try {
    look_at(contract, checked);
  } catch (const InputError& error) {
    // Ctrl-C ends a compiler too: what it says then is no error of the kernel.
    if (!StopSignals::asked()) checked.error = error;
  }
  end_progress();
  if (StopSignals::asked()) checked.left_out = "interrupted: there may be more to say";
  return checked;
}

std::string smoke_command(const Checked& checked) {
  return "`" + program_name() + " smoke " + shell_word(checked.path) + "`";
}

/// What running the cases gave, after the remarks: a contract without one may still fail.
std::string runs_text(const Checked& checked) {
  if (!checked.runs) return "; none of its cases has been run";
  const Runs& runs = *checked.runs;
  if (runs.cases == 0) return "";
  if (runs.failing == 0) {
    const std::string none = "; of " + counted(runs.cases, "case") + " that ran none fails";
    // Examples are drawn from all cases, of which the first ones were run.
    const auto failing = std::find_if(checked.outcomes.begin(), checked.outcomes.end(),
                                      [](const auto& text) { return text.starts_with("fails"); });
    if (failing == checked.outcomes.end()) return none;
    return none + ", but example case " +
           std::to_string(failing - checked.outcomes.begin() + 1) + " does; " +
           smoke_command(checked) + " finds and shrinks it";
  }
  std::string text = (checked.lints.empty() ? ", but " : "; ") + std::to_string(runs.failing) +
                     " of " + counted(runs.cases, "case") + " that ran " +
                     (runs.failing == 1 ? "fails" : "fail");
  const bool said = std::any_of(checked.lints.begin(), checked.lints.end(),
                                [](const Lint& lint) { return lint.kind == "fails"; });
  if (!said) text += (runs.failing == 1 ? ": " : ", most often: ") + runs.most_often;
  return text + "; " + smoke_command(checked) + " finds and shrinks " +
         (runs.failing == 1 ? "it" : "them");
}

void print_text(const Checked& checked, std::ostream& out) {
  for (const Lint& lint : checked.lints) {
    out << lint.where.text() << ": " << lint.kind << ": " << lint.message << "\n";
  }
  if (!checked.left_out.empty()) out << checked.path << ": " << checked.left_out << "\n";
  for (size_t i = 0; i < checked.examples.size(); ++i) {
    out << "\nexample case " << i + 1 << "\n" << print_case(checked.examples[i]);
    if (i < checked.outcomes.size()) out << "it " << checked.outcomes[i] << "\n";
  }
  out << (checked.examples.empty() ? "" : "\n") << checked.kernel << ": "
      << (checked.lints.empty() ? "no remarks"
                                : counted(static_cast<int64_t>(checked.lints.size()), "remark"))
      << runs_text(checked) << "\n";
}

nlohmann::ordered_json checked_json(const Checked& checked) {
  nlohmann::ordered_json row{{"kernel", checked.kernel},
                             {"contract", checked.path},
                             {"lints", nlohmann::ordered_json::array()},
                             {"examples", nlohmann::ordered_json::array()}};
  for (const Lint& lint : checked.lints) {
    row["lints"].push_back({{"file", lint.where.file},
                            {"line", lint.where.line},
                            {"column", lint.where.column},
                            {"kind", lint.kind},
                            {"message", lint.message}});
  }
  for (const Case& c : checked.examples) row["examples"].push_back(print_case(c));
  row["outcomes"] = checked.outcomes;
  if (checked.runs)
    row["runs"] = {{"cases", checked.runs->cases}, {"failing", checked.runs->failing}};
  if (!checked.left_out.empty()) row["left_out"] = checked.left_out;
  if (checked.error) row["error"] = error_json(*checked.error);
  return row;
}

/// An error of one weighs more than remarks on others: those are told.
Exit exit_of(const std::vector<Checked>& all) {
  const auto any = [&](const auto& is) { return std::any_of(all.begin(), all.end(), is); };
  if (any([](const Checked& checked) { return checked.error.has_value(); })) return Exit::bad_input;
  if (any([](const Checked& checked) { return !checked.lints.empty(); })) return Exit::findings;
  return StopSignals::asked() ? Exit::interrupted : Exit::clean;
}

}  // namespace

Exit run_check(const Options& options, Streams streams) {
  const LoadedKernels loaded = load_each(options.kernels);
  const StopSignals signals;
  std::vector<Checked> all;
  for (const UnreadContract& unread : loaded.unread)
    all.push_back({nullptr, unread.kernel, unread.path, unread.error});
  for (const ContractPtr& contract : loaded.contracts) {
    if (StopSignals::asked()) break;
    all.push_back(check_contract(contract));
  }
  const Exit exit = exit_of(all);
  for (const Checked& checked : all) {
    if (checked.error) streams.err << "assay: " << checked.error->what() << "\n";
  }
  if (StopSignals::asked()) log_info("interrupted: these are the remarks so far");
  if (options.json) {
    nlohmann::ordered_json out{{"kernels", nlohmann::ordered_json::array()},
                               {"interrupted", StopSignals::asked()},
                               {"exit", static_cast<int>(exit)}};
    for (const Checked& checked : all) out["kernels"].push_back(checked_json(checked));
    streams.out << out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                << "\n";
    return exit;
  }
  for (const Checked& checked : all) {
    if (!checked.error) print_text(checked, streams.out);
    if (options.format != Format::github) continue;
    if (checked.error) {
      streams.out << github_annotation(
          "error", checked.error->where().file, std::max(checked.error->where().line, 1),
          checked.kernel + ": cannot be checked", checked.error->what());
    }
    for (const Lint& lint : checked.lints) {
      streams.out << github_annotation("error", lint.where.file, std::max(lint.where.line, 1),
                                       checked.kernel + ": " + lint.kind, lint.message);
    }
  }
  return exit;
}

}  // namespace assay
