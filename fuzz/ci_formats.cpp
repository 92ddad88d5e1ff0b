// What CI systems read: GitHub workflow annotations and JUnit XML.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "fuzz/report.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

/// GitHub's workflow commands escape %, newline and, in properties, : and comma.
/// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
std::string github_escaped(const std::string& text, bool property) {
  std::string out;
  for (char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (c == '\r') {
      out += "%0D";
    } else if (property && c == ':') {
      out += "%3A";
    } else if (property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

/// Annotations name files from the repository's root, where CI runs.
std::string relative_to_here(const std::string& path) {
  std::error_code ignored;
  const std::string here = std::filesystem::current_path(ignored).string() + "/";
  return path.starts_with(here) ? path.substr(here.size()) : path;
}

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", seconds);
  return text;
}

/// "mismatch R5"; a checker is its own rule.
std::string kind_and_rule(const Finding& f) {
  return f.rule == f.kind || f.rule.empty() ? f.kind : f.kind + " " + f.rule;
}

/// A line a step.
std::string steps_text(const Finding& f) {
  std::string text;
  for (const Step& step : f.steps) text += step.text() + "\n";
  return text;
}

std::string failure_xml(const FiledFinding& filed) {
  const Finding& f = filed.finding;
  const std::string place = f.shown_file() + ":" + std::to_string(f.shown_line());
  const std::string name = kind_and_rule(f) + " " + place;
  std::string xml = "    <testcase classname=\"" + xml_escaped(f.kernel) + "\" name=\"" +
                    xml_escaped(name) + "\" file=\"" + xml_escaped(f.shown_file()) + "\" line=\"" +
                    std::to_string(f.shown_line()) + "\">\n";
  const std::string element = filed.known ? "skipped" : "failure";
  xml += "      <" + element + " message=\"" + xml_escaped(f.message) + "\">" +
         xml_escaped(steps_text(f) + repro_command(filed)) + "</" + element + ">\n";
  return xml + "    </testcase>\n";
}

/// Cases of one reason that prove nothing: JUnit has no other way to show them than as a test.
std::string skipped_xml(const KernelReport& kernel, const std::string& what,
                        const std::string& reason, int64_t count) {
  return "    <testcase classname=\"" + xml_escaped(kernel.kernel) + "\" name=\"" +
         counted(count, "case") + " " + what + ": " + xml_escaped(reason) +
         "\">\n      <skipped message=\"" + xml_escaped(reason) + "\"/>\n    </testcase>\n";
}

/// The lines below the table, for a reader of the suite.
std::string notes_xml(const KernelReport& kernel) {
  if (kernel.notes.empty()) return "";
  std::string text;
  for (const std::string& note : kernel.notes) text += note + "\n";
  return "    <system-out>" + xml_escaped(text) + "</system-out>\n";
}

std::string suite_xml(const Report& report, const KernelReport& kernel) {
  int64_t tests = 1;
  int64_t failures = 0;
  int64_t skipped = 0;
  std::string cases;
  for (const FiledFinding& filed : report.findings) {
    if (filed.finding.kernel != kernel.kernel) continue;
    ++tests;
    failures += filed.known ? 0 : 1;
    skipped += filed.known ? 1 : 0;
    cases += failure_xml(filed);
  }
  std::string all = "    <testcase classname=\"" + xml_escaped(kernel.kernel) + "\" name=\"" +
                    counted(kernel.cases, "case") + ", " + std::to_string(kernel.variants.size()) +
                    " of " + std::to_string(kernel.variants_total) + " variants reached\"";
  const bool proves_nothing = kernel.judged == 0 && kernel.skipped_cases() == 0 &&
                              !kernel.nothing_judged() && failures == 0;
  if (kernel.error) {
    all += ">\n      <error message=\"" + xml_escaped(kernel.error->what()) +
           "\"/>\n    </testcase>\n";
  } else if (report.interrupted && failures == 0) {
    // Whatever it had not run yet is told by the suite of the run itself.
    all += "/>\n";
  } else if (kernel.cases == 0 || proves_nothing) {
    ++failures;
    const char* what = kernel.cases == 0 ? "no case ran" : "no element was judged";
    all += std::string(">\n      <failure message=\"") + what + "\"/>\n    </testcase>\n";
  } else {
    all += "/>\n";
  }
  for (const auto& [reason, count] : kernel.skipped) {
    ++tests;
    ++skipped;
    all += skipped_xml(kernel, "skipped as unsupported", reason, count);
  }
  for (const auto& [reason, count] : kernel.unjudged) {
    ++tests;
    ++skipped;
    all += skipped_xml(kernel, "not judged", reason, count);
  }
  return "  <testsuite name=\"" + xml_escaped(kernel.kernel) + "\" tests=\"" +
         std::to_string(tests) + "\" failures=\"" + std::to_string(failures) + "\" skipped=\"" +
         std::to_string(skipped) + "\" errors=\"" + std::to_string(kernel.error ? 1 : 0) +
         "\" time=\"" + seconds_text(kernel.seconds) + "\">\n" + all + cases + notes_xml(kernel) +
         "  </testsuite>\n";
}

/// What hinders the run as a whole: an error of its own, so that a CI system does not call it
/// green.
std::string run_error_xml(const std::string& name, const std::string& message) {
  return "  <testsuite name=\"assay\" tests=\"1\" failures=\"0\" errors=\"1\">\n    <testcase "
         "classname=\"assay\" name=\"" +
         name + "\">\n      <error message=\"" + xml_escaped(message) +
         "\"/>\n    </testcase>\n  </testsuite>\n";
}

/// What a pair has to show, each with the reason why it did not.
std::vector<std::pair<std::string, std::string>> pair_tests(const PairReport& pair) {
  const auto because = [&](const std::string& otherwise) {
    return pair.problem.empty() ? otherwise : pair.problem;
  };
  const std::string alarms = counted(pair.false_alarms, "false alarm");
  return {{"the witness fails on the bug", pair.witness_fails ? "" : because("it passes")},
          {"the twin passes the witness", pair.witness_passes_on_twin ? "" : because("it fails")},
          {"the search finds the bug", pair.found ? "" : because("missed")},
          {"the twin raises no alarm", pair.false_alarms == 0 ? "" : because(alarms)}};
}

/// A fault found by another check or at another line fails nothing by itself: too many of them do.
std::string found_otherwise(const PairReport& pair) {
  return how_found(pair) + "; as expected: " + whether_expected(pair);
}

std::string pair_xml(const PairReport& pair) {
  int failures = 0;
  std::string cases;
  const auto tests = pair_tests(pair);
  for (const auto& [what, failure] : tests) {
    cases += "    <testcase classname=\"" + xml_escaped(pair.name) + "\" name=\"" +
             xml_escaped(what) + "\"";
    if (failure.empty()) {
      cases += "/>\n";
      continue;
    }
    ++failures;
    cases += ">\n      <failure message=\"" + xml_escaped(failure) + "\"/>\n    </testcase>\n";
  }
  const bool otherwise = pair.found && !pair.as_expected();
  if (otherwise) {
    cases += "    <testcase classname=\"" + xml_escaped(pair.name) +
             "\" name=\"it is found as expected\">\n      <skipped message=\"" +
             xml_escaped(found_otherwise(pair)) + "\"/>\n    </testcase>\n";
  }
  return "  <testsuite name=\"" + xml_escaped(pair.name) + "\" tests=\"" +
         std::to_string(tests.size() + otherwise) + "\" failures=\"" + std::to_string(failures) +
         "\" skipped=\"" + std::to_string(otherwise) + "\" time=\"" +
         seconds_text(pair.seconds) + "\">\n" + cases + "  </testsuite>\n";
}

}  // namespace

std::string github_annotation(const std::string& level, const std::string& file, int line,
                              const std::string& title, const std::string& message) {
  std::string place;
  if (!file.empty()) {
    place = "file=" + github_escaped(relative_to_here(file), true) +
            ",line=" + std::to_string(line) + ",";
  }
  return "::" + level + " " + place + "title=" + github_escaped(title, true) +
         "::" + github_escaped(message, false) + "\n";
}

std::string github_report(const Report& report) {
  std::string out;
  for (const FiledFinding& filed : report.findings) {
    const Finding& f = filed.finding;
    out += github_annotation(
        filed.known ? "warning" : "error", f.file.empty() ? "" : f.shown_file(),
        f.shown_line() > 0 ? f.shown_line() : 1, f.kernel + ": " + kind_and_rule(f),
        f.message + "\n" + steps_text(f) + repro_command(filed));
  }
  const auto add = [&](const InputError& error, const std::string& title) {
    const SourceLocation& where = error.where();
    out += github_annotation("error", where.file, std::max(where.line, 1), title, error.what());
  };
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.error) add(*kernel.error, kernel.kernel + ": could not be run");
  }
  if (report.not_written) add(*report.not_written, "not all findings could be filed");
  if (report.interrupted)
    out += github_annotation("warning", "", 1, "interrupted", "the results are those so far");
  for (const PairReport& pair : report.pairs) {
    for (const auto& [what, failure] : pair_tests(pair)) {
      if (failure.empty()) continue;
      out += github_annotation("error", "", 1, pair.name + ": not so: " + what, failure);
    }
    if (!pair.found || pair.as_expected()) continue;
    out += github_annotation("warning", pair.finding.shown_file(), pair.finding.shown_line(),
                             pair.name + ": found otherwise", found_otherwise(pair));
  }
  return out;
}

std::string junit_report(const Report& report) {
  std::string out =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\" time=\"" +
      seconds_text(report.seconds) + "\">\n";
  for (const KernelReport& kernel : report.kernels) out += suite_xml(report, kernel);
  for (const PairReport& pair : report.pairs) out += pair_xml(pair);
  if (report.interrupted)
    out += run_error_xml("the run was interrupted", "interrupted: the results are those so far");
  if (report.not_written)
    out += run_error_xml("every finding is filed", report.not_written->what());
  return out + "</testsuites>\n";
}

}  // namespace assay
