#include "fuzz/explain_case.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <set>

#include "fuzz/findings.hpp"
#include "fuzz/text_table.hpp"
#include "kernels_under_test/operand_kind.hpp"

namespace assay {

namespace {

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

/// Shortest text that reads back as the same double; whole numbers in full.
std::string exact_number(double value) {
  char text[40];
  if (value == std::trunc(value) && std::fabs(value) < 1e18) {
    std::snprintf(text, sizeof text, "%.0f", value);
    return text;
  }
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string scalar_text(const Tensor& tensor) {
  if (tensor.dtype == DType::f64) return exact_number(tensor.scalar_value);
  if (!is_integer(tensor.dtype)) {
    char text[40];
    const auto value = static_cast<float>(tensor.scalar_value);  // every other type fits in f32
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  }
  const __int128 value = to_integer(tensor.dtype, tensor.scalar_bits);
  return value < 0 ? std::to_string(static_cast<int64_t>(value))
                   : std::to_string(static_cast<uint64_t>(value));
}

std::string operand_text(const Tensor& tensor, const Case& c) {
  std::string text = "  " + tensor.spec->name + ": " + name_of(tensor.spec->kind) + " " +
                     std::string(name(tensor.dtype));
  if (!tensor.present) return text + ", absent\n";
  if (tensor.is_scalar()) return text + " = " + scalar_text(tensor) + "\n";
  text += " " + bracketed(tensor.shape);
  text += tensor.is_contiguous() ? " contiguous" : " strides " + bracketed(tensor.strides);
  if (tensor.offset != 0) text += ", offset " + std::to_string(tensor.offset);
  if (tensor.misalign != 0) text += ", base +" + std::to_string(tensor.misalign) + " bytes";
  if (const auto memory = c.aliases.find(tensor.spec->name); memory != c.aliases.end())
    text += ", in the memory of " + memory->second;
  if (const auto recipe = c.values.find(tensor.spec->name); recipe != c.values.end()) {
    text += ", values " + recipe->second.name;
    for (const auto& [key, value] : recipe->second.parameters)
      text += " " + key + "=" + exact_number(value);
  }
  return text + "\n";
}

std::string settings(const std::map<std::string, int64_t>& values) {
  std::string text;
  for (const auto& [key, value] : values) text += " " + key + "=" + std::to_string(value);
  return text;
}

std::string case_text(const Case& c, const CheckResult& result) {
  const Instance& instance = *result.instance;
  std::string text = "kernel    " + c.kernel + " " + c.variant().text() + "\n";
  for (const Program& program : *result.programs) {
    text += "program   " + program.display + ", " + program.compiler;
    if (!program.note.empty()) text += ", " + program.note;
    text += "\n";
  }
  text += "digest    " + result.run.program_digest + "\n";
  text += "sizes    " + settings(c.sizes) + "\n";
  for (const ResolvedLaunch& launch : instance.launches) {
    text += "launch    grid " + bracketed(launch.grid) + " block " + bracketed(launch.block);
    if (launch.shared_bytes > 0)
      text += " shared " + std::to_string(launch.shared_bytes) + " bytes";
    text += "\n";
  }
  if (!c.blocks.empty()) text += "blocks    " + bracketed(c.blocks) + " ran, no others\n";
  if (!c.property.name.empty()) text += "compared  " + c.property.text() + "\n";
  text += "seeds     values " + std::to_string(c.value_seed) + ", blocks " +
          std::to_string(c.block_seed) + ", warps " + std::to_string(c.warp_seed) + "\noperands\n";
  for (const Tensor& tensor : instance.tensors) text += operand_text(tensor, c);
  for (const PointOverride& point : c.overrides) {
    std::string value = point.text;
    if (value.empty()) {
      char bits[24];
      std::snprintf(bits, sizeof bits, "0x%llx", static_cast<unsigned long long>(point.bits));
      value = std::string("bits ") + bits;
    }
    text += "  set " + point.operand + bracketed(point.at) + " to " + value + "\n";
  }
  return text;
}

std::string element_text(const char* title, const ElementReport& e, const std::string& stored) {
  std::string text = std::string(title) + " " + e.output + bracketed(e.at) + "\n";
  char bits[24];
  std::snprintf(bits, sizeof bits, "0x%llx", static_cast<unsigned long long>(e.got_bits));
  text +=
      "  got       " + (e.written ? e.got + " (" + bits + ")" : "nothing: never written") + "\n";
  text += stored;
  text += "  accepted  " + e.accepted + "\n";
  text += "  exact     " + e.exact + "\n";
  if (!e.no_bound.empty()) text += "  no bound  " + e.no_bound + "\n";
  for (const std::string& candidate : e.candidates) text += "    " + candidate + "\n";
  if (!e.error_text.empty()) text += "  error     " + e.error_text + "\n";
  if (!e.allowance_text.empty()) text += "  allowance " + e.allowance_text + "\n";
  for (const AllowanceTerm& term : e.terms) {
    if (e.allowance_text.empty()) break;  // NaN expected, nothing written: no distance to allow
    text += "    " + number(term.value) + "  " + term.name;
    if (!term.source.empty()) text += "  (" + term.source + ")";
    text += "\n";
  }
  if (!e.inputs.empty()) text += "  from\n";
  for (const FeedingInput& input : e.inputs) text += "    " + input.text + "\n";
  return text;
}

/// What on the way to an element was not ordinary any more, with the source around it.
std::string exceptional_text(Checker& checker, const CheckResult& result, const std::string& output,
                             int64_t element, const LastStore& store) {
  const auto step = checker.exceptional(result, output, element, store);
  if (!step) return "";
  std::string text = "\nexceptional arithmetic on the way to " +
                     element_name(*result.instance, output, element) + "\n  " + step->text() + "\n";
  if (const std::string lines = source_excerpt(step->file, step->line); !lines.empty())
    text += "\n" + base_name(step->file) + "\n" + lines;
  return text;
}

std::string store_text(const std::optional<LastStore>& store) {
  if (!store) return "  stored    by no thread that ran\n";
  std::string text =
      "  stored    by block " + bracketed(store->block) + " thread " + bracketed(store->thread);
  if (store->line > 0) text += " at " + base_name(store->file) + ":" + std::to_string(store->line);
  if (store->ptx_line > 0) text += " (PTX line " + std::to_string(store->ptx_line) + ")";
  if (store->count > 1) text += ", the last of " + std::to_string(store->count) + " stores";
  return text + "\n";
}

std::string elements_text(Checker& checker, const CheckResult& result) {
  const Verdict& verdict = result.verdict;
  if (!result.run.outputs) return "";
  std::string exceptional;
  const auto explained = [&](const char* title, const std::string& name, int64_t element) {
    const ElementReport report =
        checker.judge().explain(*result.instance, *result.run.outputs, name, element);
    const auto store = checker.last_store(result, name, element);
    if (store && std::pair{name, element} == shown_element(verdict))
      exceptional = exceptional_text(checker, result, name, element, *store);
    return "\n" + element_text(title, report, store_text(store));
  };
  if (verdict.wrong_elements.empty() && verdict.undecided_element >= 0)
    return explained("first undecided element", verdict.undecided_output,
                     verdict.undecided_element);
  if (result.outcome == Outcome::skipped && verdict.no_bound_element >= 0)
    return explained("first element without a documented bound", verdict.no_bound_output,
                     verdict.no_bound_element);
  if (verdict.wrong_elements.empty()) return "";
  const std::string& first = verdict.first_output;
  const auto [worst, worst_element] = shown_element(verdict);
  std::string text;
  if (worst == first && worst_element == verdict.wrong_elements.front()) {
    text = explained(verdict.worst_element < 0 ? "first unwritten element"
                     : verdict.wrong == 1      ? "wrong element"
                                               : "first and worst wrong element",
                     first, worst_element);
  } else {
    text = explained("worst wrong element", worst, worst_element) +
           explained("first wrong element", first, verdict.wrong_elements.front());
  }
  const Tensor* output = result.instance->find(first);
  if (output) {
    text += "\nwhere in " + first + " " + bracketed(output->shape) + ": " +
            picture(*output, verdict.wrong_elements);
  }
  return text + exceptional;
}

std::string verdict_text(Checker& checker, const CheckResult& result) {
  const Verdict& v = result.verdict;
  int64_t disturbed = 0;
  for (const OutputCounts& output : v.outputs) disturbed += output.disturbed;
  std::string text = "judged    " + std::to_string(v.judged) +
                     " elements: " + std::to_string(v.wrong - disturbed) + " wrong, " +
                     std::to_string(v.unwritten) + " unwritten, " + std::to_string(v.undecided) +
                     " undecided";
  if (disturbed > 0)
    text += ", and " + std::to_string(disturbed) + " stored to that had to keep their bits";
  if (v.weak > 0) text += ", " + std::to_string(v.weak) + " weakly judged";
  if (v.widened > 0) text += ", " + std::to_string(v.widened) + " widened";
  if (v.no_bound > 0) text += ", " + std::to_string(v.no_bound) + " without a documented bound";
  return text + "\n" + elements_text(checker, result);
}

std::string property_text(Checker& checker, const CheckResult& result) {
  const PropertyOutcome& outcome = *result.property;
  std::string text = "property  " + outcome.property + "\n";
  if (!outcome.why_none.empty()) text += "  not compared: " + outcome.why_none + "\n";
  for (const ComparedRun& run : outcome.runs) {
    text += "  other run: " + run.text + "\n";
    for (const std::string& line : run.differs) text += "    " + line + "\n";
    if (!run.ended.empty()) text += "    it fails: " + run.ended + "\n";
    if (!run.difference) {
      if (run.ended.empty())
        text += "    " + std::to_string(run.compared) + " elements compared, all alike\n";
      continue;
    }
    const PropertyDifference& d = *run.difference;
    const Instance& instance = *result.instance;
    text += "    " + std::to_string(d.differing) + " of " + std::to_string(d.compared) +
            " elements differ, the first " + element_name(instance, d.output, d.element) +
            "\n    this run   " + d.value + "\n    other run  " + d.other_value +
            (d.element == d.other_element
                 ? ""
                 : ", its element " + std::to_string(d.other_element) + " in row-major order") +
            "\n  " + store_text(checker.last_store(result, d.output, d.element));
  }
  return text;
}

std::string diagnostic_text(const Diagnostic& d) {
  std::string text = std::string(d.note ? "note" : "checker") + "   " + std::string(name(d.kind)) +
                     ": " + d.message + "\n";
  // A GPU does not say which thread, and a narrow sum is that of all.
  const bool known = d.block[0] >= 0;
  if (!known && d.line == 0 && d.steps.empty()) return text;
  text += known ? "  block " + bracketed(d.block) + " thread " + bracketed(d.thread) : " ";
  if (d.line > 0) text += " at " + base_name(d.file) + ":" + std::to_string(d.line);
  if (d.ptx_line > 0) text += " (PTX line " + std::to_string(d.ptx_line) + ")";
  if (d.count > 1) text += ", " + std::to_string(d.count) + " times";
  text += "\n";
  for (const Step& step : d.steps) text += "  " + step.text() + "\n";
  for (const std::string& detail : d.details) text += "  " + detail + "\n";
  return text;
}

std::string finding_text(const Finding& f) {
  std::string text = f.kernel + ": " + f.kind;
  if (f.rule != f.kind && !f.rule.empty()) text += " (" + f.rule + ")";
  text += " at " + base_name(f.shown_file());
  if (f.shown_line() > 0) text += ":" + std::to_string(f.shown_line());
  return text + ": " + f.message + "\n";
}

/// The source around what was found, and around each step that led there.
std::string places_text(const std::vector<Finding>& findings, const Run& run) {
  std::string text;
  std::set<std::string> told;  // a rule or a place that findings share stands once
  const auto tell_place = [&](const std::string& file, int line) {
    const std::string lines = source_excerpt(file, line);
    if (lines.empty() || !told.insert(file + "\n" + lines).second) return;
    text += "\n" + base_name(file) + "\n" + lines;
  };
  for (const Finding& f : findings) {
    if (const std::string rule = rule_text(f.rule); !rule.empty() && told.insert(rule).second)
      text += "\nrule " + rule;
    tell_place(f.shown_file(), f.shown_line());
  }
  for (const Diagnostic& d : run.diagnostics) {
    if (d.note) continue;
    for (const Step& step : d.steps) {
      if (step.line > 0) tell_place(step.file, step.line);
    }
  }
  return text;
}

}  // namespace

std::string compare_with_recorded(const Case& c, const CheckResult& result) {
  const Recorded& recorded = c.recorded;
  std::vector<std::string> lines;
  const Finding* const shown = recorded_finding(recorded, result);
  if (shown == nullptr) {
    // A mismatch is recorded at the entry's line; the comments say where it was stored.
    Finding stored;
    read_places(c.comments, stored);
    const bool judged = stored.stored_line > 0;
    lines.push_back("the recorded failure does not show: " + recorded.kind + " " + recorded.rule +
                    (judged ? " stored at " + stored.stored_file : " at " + recorded.file) + ":" +
                    std::to_string(judged ? stored.stored_line : recorded.line));
  }
  if (!recorded.program.empty() && recorded.program != result.run.program_digest) {
    lines.push_back("the program differs: recorded digest " + recorded.program + ", now " +
                    result.run.program_digest);
  }
  const std::string compiler = result.programs->empty() ? "" : result.programs->front().compiler;
  if (!recorded.compiler.empty() && recorded.compiler != compiler) {
    lines.push_back("the compiler differs: recorded " + recorded.compiler + ", now " + compiler);
  }
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  if (!text.empty()) return text;
  if (shown->line == recorded.line) return "same";
  return "same, now at " + base_name(shown->file) + ":" + std::to_string(shown->line);
}

std::string explain_case(Checker& checker, const Case& c, const CheckResult& result,
                         const std::string& command) {
  std::string text;
  std::vector<Finding> findings = result.findings;
  for (Finding& f : findings) {
    checker.locate(result, f);
    text += finding_text(f);
  }
  if (result.outcome == Outcome::skipped) text += skipped_text(result) + "\n";
  if (result.outcome == Outcome::pass) text += c.kernel + ": pass\n";
  text += "\n" + case_text(c, result);
  const bool judged = result.outcome != Outcome::skipped || result.verdict.no_bound > 0;
  if (result.run.status == RunStatus::completed && judged) {
    text += verdict_text(checker, result);
  }
  if (result.property) text += "\n" + property_text(checker, result);
  if (!result.run.diagnostics.empty()) text += "\n";
  for (const Diagnostic& d : result.run.diagnostics) text += diagnostic_text(d);
  text += places_text(findings, result.run);
  text += "\n";
  if (!c.recorded.kind.empty()) {
    text += "recorded  " + compare_with_recorded(c, result) + "\n";
  }
  return text + "repeat    " + command + "\n";
}

}  // namespace assay
