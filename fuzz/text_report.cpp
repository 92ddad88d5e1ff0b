// The table and the findings as a person reads them.
#include <algorithm>

#include "fuzz/report.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

/// A share of the elements of ordinary cases in per cent; "-" where there are none.
std::string share_text(const KernelReport& kernel, double share) {
  return kernel.ordinary == 0 ? "-" : format_text("%.1f", 100 * share);
}

std::string variants_text(const KernelReport& kernel) {
  return format_text("%zu of %lld", kernel.variants.size(),
                     static_cast<long long>(kernel.variants_total));
}

int64_t findings_of(const Report& report, const KernelReport& kernel) {
  return std::count_if(
      report.findings.begin(), report.findings.end(),
      [&](const FiledFinding& filed) { return filed.finding.kernel == kernel.kernel; });
}

std::string kernel_table(const Report& report) {
  std::vector<std::vector<std::string>> rows{
      {"kernel", "cases", "variants", "skipped", "weak %", "no bound %", "findings",
       std::string(report.command == Command::smoke ? "seconds checking" : "seconds") +
           (report.jobs > 1 ? ", " + std::to_string(report.jobs) + " jobs" : "")}};
  for (const KernelReport& kernel : report.kernels) {
    std::vector<std::string> row{kernel.kernel, std::to_string(kernel.cases)};
    row.push_back(variants_text(kernel));
    row.push_back(std::to_string(kernel.skipped_cases()));
    row.push_back(share_text(kernel, kernel.weak_share()));
    row.push_back(share_text(kernel, kernel.no_bound_share()));
    row.push_back(std::to_string(findings_of(report, kernel)));
    row.push_back(format_text("%.1f", kernel.seconds));
    rows.push_back(std::move(row));
  }
  return text_table(rows);
}

std::string calibration_table(const Report& report) {
  std::vector<std::vector<std::string>> rows{{"kernel", "cases", "runs", "weak %", "no bound %",
                                              "findings", "honest: largest", "mean",
                                              "adversarial: largest", "mean"}};
  for (const KernelReport& kernel : report.kernels) {
    const CalibratedKernel& c = *kernel.calibrated;
    rows.push_back(
        {kernel.kernel, std::to_string(kernel.cases), std::to_string(c.runs),
         share_text(kernel, kernel.weak_share()), share_text(kernel, kernel.no_bound_share()),
         std::to_string(findings_of(report, kernel)), format_text("%.3f", c.honest.largest),
         format_text("%.4f", c.honest.mean()), format_text("%.3f", c.adversarial.largest),
         format_text("%.4f", c.adversarial.mean())});
  }
  return text_table(rows);
}

/// One row a kernel, size and kind of data with a defect, one cell a defect.
template <typename Cell>
std::string defect_table(const Report& report, const std::string& heading, Cell cell) {
  std::vector<std::vector<std::string>> rows{{"kernel", "reduced", "data"}};
  for (int kind = 0; kind < kPlantedKinds; ++kind)
    rows.front().push_back(std::string(name(static_cast<Planted>(kind))) + heading);
  for (const KernelReport& kernel : report.kernels) {
    const SensitivityTable& counts = kernel.calibrated->sensitivity;
    for (int key = 0; key < kSizeClasses * kDataKinds; ++key) {
      const auto size = static_cast<SizeClass>(key / kDataKinds);
      const auto data = static_cast<DataKind>(key % kDataKinds);
      std::vector<std::string> row{kernel.kernel, std::string(name(size)), std::string(name(data))};
      bool any = false;
      for (int kind = 0; kind < kPlantedKinds; ++kind) {
        const auto found = counts.find({size, data, static_cast<Planted>(kind)});
        any = any || found != counts.end();
        row.push_back(found == counts.end() ? "-" : cell(found->second));
      }
      if (any) rows.push_back(std::move(row));
    }
  }
  return rows.size() > 1 ? "\n" + text_table(rows) : "";
}

/// Defects caught of those planted that changed an output, in per cent; then how small those were.
std::string sensitivity_table(const Report& report) {
  const std::string shares = defect_table(report, " % of", [](const Sensitivity& count) {
    return format_text("%.0f %lld", 100.0 * double(count.caught) / double(count.planted),
                       static_cast<long long>(count.planted));
  });
  if (shares.empty()) return "";
  return shares + "\nsmallest defect caught / largest missed, ulps of the output:" +
         defect_table(report, "", [](const Sensitivity& count) {
           return (count.caught > 0 ? format_text("%.3g", count.smallest_caught) : "none") + " / " +
                  (count.caught < count.planted ? format_text("%.3g", count.largest_missed)
                                                : "none");
         }) +
         "\n";
}

std::string place(const Finding& finding) {
  const int line = finding.shown_line();
  return finding.shown_file() + (line > 0 ? ":" + std::to_string(line) : "");
}

std::string finding_text(const FiledFinding& filed) {
  const Finding& f = filed.finding;
  std::string text = (f.file.empty() ? "" : place(f) + ": ") + f.kernel + ": " + f.kind;
  if (f.rule != f.kind && !f.rule.empty()) text += " (" + f.rule + ")";
  text += ": " + f.message + "\n";
  if (!filed.with_above.empty()) text = "with the above, " + filed.with_above + ": " + text;
  if (filed.known) text += "  known: an entry of the kernel's open/ folder\n";
  if (filed.seen > 1) text += "  seen in " + counted(filed.seen, "case") + "\n";
  if (const std::string command = repro_command(filed); !command.empty()) {
    text += "  " + command + "\n";
    if (!filed.shrunk) {
      text += "  not shrunk fully: " + shrink_command(filed) + "\n";
    }
  }
  return text;
}

std::string notes_text(const Report& report) {
  std::string text;
  for (const KernelReport& kernel : report.kernels) {
    for (const auto& [reason, count] : kernel.skipped) {
      text += kernel.kernel + ": " + counted(count, "case") + " skipped: " + reason + "\n";
    }
    for (const auto& [reason, count] : kernel.unjudged) {
      text += kernel.kernel + ": " + counted(count, "case") + " not judged: " + reason + "\n";
    }
    if (kernel.error) {
      text += kernel.kernel +
              (kernel.cases > 0 ? ": ended by an error: " : ": could not be run: ") +
              kernel.error->what() + "\n";
    }
    for (const std::string& note : kernel.notes) text += kernel.kernel + ": " + note + "\n";
    if (kernel.too_weak()) {
      text += kernel.kernel +
              ": more than 20 % of the elements of ordinary cases are weakly judged " +
              "(allowance above a quarter of the value)\n";
    }
    if (kernel.too_unbounded()) {
      text += kernel.kernel +
              ": more than 20 % of the elements of ordinary cases are not judged: no documented " +
              "bound (R10)\n";
    }
  }
  return text;
}

/// Where most cases of a kernel had nothing judged, a clean run says little.
std::string clean_text(const Report& report) {
  std::string text = "clean";
  for (const KernelReport& kernel : report.kernels) {
    if (!kernel.mostly_unjudged()) continue;
    text += (text == "clean" ? " as far as it was judged, but not judged were " : ", ") +
            std::to_string(kernel.unjudged_cases()) + " of " + counted(kernel.cases, "case") +
            " of " + kernel.kernel + " (" + kernel.why_unjudged() + ")";
  }
  return text;
}

std::string skipped_text(const Report& report) {
  std::string text;
  if (report.skipped_cases() > 0)
    text = counted(report.skipped_cases(), "case") + " skipped as unsupported";
  for (const KernelReport& kernel : report.kernels) {
    if (!kernel.nothing_judged()) continue;
    text += (text.empty() ? "" : ", and ") + std::string("no case of ") + kernel.kernel +
            " was judged (" + kernel.why_unjudged() + ")";
  }
  return text;
}

/// " (2000 runs, each case in 4 settings)" of a calibration.
std::string settings_text(const Report& report) {
  if (report.command != Command::calibrate) return "";
  int64_t runs = 0;
  for (const KernelReport& kernel : report.kernels) runs += kernel.calibrated->runs;
  return " (" + counted(runs, "run") + ", each case in 4 settings)";
}

std::string findings_text(const Report& report) {
  const int64_t fresh = report.new_findings();
  std::string text = counted(fresh, "finding");
  if (report.causes() < fresh)
    text += format_text(", %lld distinct by case", static_cast<long long>(report.causes()));
  return text;
}

/// "1 of 3 kernels could not be run, 2 findings".
std::string errors_text(const Report& report) {
  const int64_t with_error =
      std::count_if(report.kernels.begin(), report.kernels.end(),
                    [](const auto& kernel) { return kernel.error.has_value(); });
  std::string text;
  if (with_error > 0) {
    text = std::to_string(with_error) + " of " +
           counted(static_cast<int64_t>(report.kernels.size()), "kernel") + " could not be run";
  }
  if (report.not_written)
    text += (text.empty() ? "" : ", ") + std::string("not all findings could be filed");
  return text + ", " + findings_text(report);
}

std::string verdict_text(const Report& report) {
  std::string text;
  const int64_t fresh = report.new_findings();
  switch (report.exit()) {
    case Exit::clean:
      text = clean_text(report);
      break;
    case Exit::findings:
      text = findings_text(report);
      break;
    case Exit::skipped:
      text = "no findings, but " + skipped_text(report);
      break;
    case Exit::interrupted:
      text = "no findings so far";
      break;
    default:
      if (!report.errors().empty()) {
        text = errors_text(report);
        break;
      }
      text = "no element of " + counted(static_cast<int64_t>(unproven(report).size()), "kernel") +
             " was judged, nothing is proven";
      break;
  }
  if (report.interrupted) text = "interrupted: " + text;
  const int64_t known = static_cast<int64_t>(report.findings.size()) - fresh;
  if (known > 0) text += format_text(" (%lld known)", static_cast<long long>(known));
  std::string seconds = format_text("%.1f s", report.seconds);
  if (report.shrinking_seconds >= 0.1 && !report.findings.empty())
    seconds += format_text(" (%.1f of them shrinking)", report.shrinking_seconds);
  return text + ": " + counted(report.cases(), "case") + settings_text(report) + " of " +
         counted(static_cast<int64_t>(report.kernels.size()), "kernel") +
         (report.compared_cases() > 0
              ? ", " + std::to_string(report.compared_cases()) + " compared by a property"
              : "") +
         format_text(", %lld of %lld variants reached, in %s, seed %llu\n",
                     static_cast<long long>(report.variants_reached()),
                     static_cast<long long>(report.variants_total()), seconds.c_str(),
                     static_cast<unsigned long long>(report.seed));
}

}  // namespace

std::string text_report(const Report& report) {
  if (report.command == Command::score) return score_text(report);
  const bool calibrated = report.command == Command::calibrate;
  std::string text =
      (calibrated ? calibration_table(report) + sensitivity_table(report) : kernel_table(report)) +
      notes_text(report);
  for (const FiledFinding& filed : report.findings) text += finding_text(filed);
  return text + verdict_text(report);
}

}  // namespace assay
