// The results of `assay exhaust` as text and as a picture.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "fuzz/exhaust.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

std::string value_text(DType type, uint64_t bits) {
  if (is_integer(type)) return std::to_string(static_cast<int64_t>(to_integer(type, bits)));
  return format_text("%.9g", to_double(type, bits));
}

std::string bits_text(DType type, uint64_t bits) {
  return format_text("0x%0*llx", bit_width(type) / 4, static_cast<unsigned long long>(bits));
}

/// Digits enough to tell on which side of the histogram's edges it lies: 0.50003 is no 0.5.
std::string ulps_text(double ulps) {
  if (ulps < 0) return "-";
  if (ulps >= 1e4) return format_text("%.3e", ulps);
  const auto side = [](double value, double edge) { return (value > edge) - (value < edge); };
  for (int digits = 4;; ++digits) {
    const std::string text = format_text("%.*g", digits, ulps);
    const double read = std::strtod(text.c_str(), nullptr);
    const bool told = std::all_of(kErrorEdges.begin(), kErrorEdges.end(), [&](double edge) {
      return side(read, edge) == side(ulps, edge);
    });
    if (told || digits == 17) return text;
  }
}

std::string count_text(int64_t count) { return std::to_string(count); }

/// "T=f16 OP=0 BLOCK=128", and the output where there are several.
std::string row_name(const VariantResult& result, const ErrorStats& stats) {
  std::string text = result.space.variant.text();
  if (text.empty()) text = "(one variant)";
  return result.outputs.size() > 1 ? text + " " + stats.output : text;
}

/// "all 65536", "all 1025 admitted of 65536", "4096 of 65536 pairs".
std::string done_text(const VariantResult& result) {
  const std::string whole = result.space.text();
  const int64_t done = result.done();
  if (done == result.space.size) return (result.space.sampled() ? "" : "all ") + whole;
  const bool admitted = done > 0 && done + result.outside() == result.space.size;
  return (admitted ? "all " + count_text(done) + " admitted" : count_text(done)) + " of " + whole;
}

std::string rounded_text(const ErrorStats& stats) {
  if (stats.measured() == 0) return "-";
  // Rounded down: 100 % means all.
  const double share =
      1e4 * static_cast<double>(stats.correctly_rounded) / static_cast<double>(stats.measured());
  return format_text("%.2f", std::floor(share) / 100);
}

std::string error_table(const ExhaustReport& report) {
  std::vector<std::vector<std::string>> rows{
      {"variant", "inputs", "max ulps", "rounded %", "no bound", "breaks", "findings", "worst at"}};
  for (const VariantResult& result : report.variants) {
    for (const ErrorStats& stats : result.outputs) {
      rows.push_back({row_name(result, stats), done_text(result), ulps_text(stats.max_ulps),
                      rounded_text(stats), count_text(stats.no_bound),
                      stats.ordered ? count_text(stats.breaks) : "-",
                      std::to_string(result.finding_count()),
                      stats.max_ulps < 0 ? "-" : input_text(result.space, stats.max_at)});
    }
  }
  return rows.size() > 1 ? text_table(rows, true) : "";
}

std::string histogram_table(const ExhaustReport& report) {
  std::vector<std::vector<std::string>> rows{{"error, ulps, up to"}};
  for (size_t i = 0; i < kErrorClasses; ++i) rows[0].push_back(error_class_name(i));
  rows[0].insert(rows[0].end(), {"special", "not comparable"});
  for (const VariantResult& result : report.variants) {
    for (const ErrorStats& stats : result.outputs) {
      std::vector<std::string> row{row_name(result, stats)};
      for (const int64_t count : stats.classes) row.push_back(count > 0 ? count_text(count) : ".");
      row.push_back(count_text(stats.special));
      row.push_back(count_text(stats.incomparable));
      rows.push_back(std::move(row));
    }
  }
  if (rows.size() == 1) return "";
  return "\n" + text_table(rows);
}

std::string break_text(const VariantResult& result, const ErrorStats& stats) {
  const DType in = result.space.operands[0].type;
  const std::string& x = result.space.operands[0].name;
  std::string text;
  for (const MonotonicityBreak& one : stats.first_breaks) {
    const auto side = [&](const InputPoint& point) {
      return format_text("%s(%s = %s) = %s, exactly %.9g", stats.output.c_str(), x.c_str(),
                         value_text(in, point.inputs[0]).c_str(),
                         value_text(stats.type, point.got_bits).c_str(), point.exact);
    };
    text += row_name(result, stats) + ": monotonicity breaks: " + side(one.lower) + "; " +
            side(one.upper) + "\n";
  }
  return text;
}

/// A line a reason, in the order in which they come.
std::string skipped_text(const ExhaustReport& report) {
  std::vector<std::pair<std::string, std::string>> names;  // by reason
  for (const VariantResult& result : report.variants) {
    if (result.skipped.empty()) continue;
    auto at = std::find_if(names.begin(), names.end(),
                           [&](const auto& one) { return one.first == result.skipped; });
    if (at == names.end()) at = names.insert(at, {result.skipped, ""});
    const std::string variant = result.space.variant.text();
    at->second += (at->second.empty() ? "" : ", ") + (variant.empty() ? "(one variant)" : variant);
  }
  std::string text;
  for (const auto& [reason, variants] : names) text += variants + ": skipped: " + reason + "\n";
  return text;
}

/// Inputs that have no place in the table, by reason.
std::string uncompared_text(const VariantResult& result, const ErrorStats& stats) {
  std::string text;
  const auto line = [&](int64_t count, const char* what) {
    if (count > 0) {
      text += row_name(result, stats) + ": " + counted(count, "input") + " " + what + "\n";
    }
  };
  line(stats.outside_domain, "outside what the contract admits");
  line(stats.faulted, "on which the kernel faults, not compared");
  line(stats.not_alone, "in cases in which the kernel faults, not tried alone, not compared");
  line(stats.unwritten, "whose output the kernel does not write");
  if (stats.inputs > 0 && stats.judged() == 0) {
    text += row_name(result, stats) + ": no input is judged: nothing is documented for any\n";
  }
  return text;
}

std::string notes_text(const ExhaustReport& report) {
  std::string text = skipped_text(report);
  for (const VariantResult& result : report.variants) {
    for (const ErrorStats& stats : result.outputs) {
      text += uncompared_text(result, stats);
      if (stats.max_unbounded_ulps >= 0) {
        text += row_name(result, stats) + ": where nothing is documented (rule R10), at most " +
                ulps_text(stats.max_unbounded_ulps) + " ulps, at " +
                input_text(result.space, stats.max_unbounded_at) + "\n";
      }
      text += break_text(result, stats);
    }
  }
  for (const std::string& note : report.notes) text += note + "\n";
  return text;
}

std::string outcome_text(const ExhaustReport& report) {
  switch (report.exit()) {
    case Exit::findings:
      return counted(report.finding_count(), "finding");
    case Exit::skipped:
      return "no findings, but " + counted(report.variants_skipped(), "variant") + " skipped";
    case Exit::clean:
      return "clean";
    default:
      return "no input was judged, nothing is proven";
  }
}

std::string verdict_text(const ExhaustReport& report) {
  std::string text = outcome_text(report) + ": " + report.kernel + ", " +
                     count_text(report.inputs_done()) + " of " +
                     counted(report.inputs_total(), "input");
  const auto part = [&](int64_t count, const char* what) {
    if (count > 0) text += ", " + count_text(count) + " " + what;
  };
  text += " of " + count_text(report.variants_ran()) + " of " +
          counted(report.variants_total, "variant") + format_text(" in %.1f s", report.seconds);
  part(report.inputs_outside(), "outside what the contract admits");
  part(report.inputs_done() - report.inputs_judged(), "without a documented bound");
  part(report.inputs_lost(), "faulting or unwritten");
  if (report.inputs_left() > 0)
    text += report.interrupted ? "; interrupted" : "; the time was over";
  return text + "\n";
}

constexpr int kPanelWidth = 360, kPanelHeight = 150, kPanelsInRow = 3, kPlotHeight = 90;

/// One variant's histogram: a bar a class, as high as the logarithm of its count.
std::string panel(const VariantResult& result, const ErrorStats& stats, int x, int y) {
  std::string svg = format_text("<g transform=\"translate(%d,%d)\">", x, y);
  svg += "<text x=\"10\" y=\"14\">" + xml_escaped(row_name(result, stats)) + ": max " +
         ulps_text(stats.max_ulps) + " ulps</text>\n";
  const double most = std::log10(
      1.0 + static_cast<double>(*std::max_element(stats.classes.begin(), stats.classes.end())));
  const int step = (kPanelWidth - 20) / static_cast<int>(kErrorClasses);
  for (size_t i = 0; i < kErrorClasses; ++i) {
    const int64_t count = stats.classes[i];
    const double share = most > 0 ? std::log10(1.0 + static_cast<double>(count)) / most : 0;
    const int height = static_cast<int>(share * kPlotHeight);
    const int left = 10 + step * static_cast<int>(i);
    svg += format_text(
        "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"><title>%lld</title></rect>", left,
        20 + kPlotHeight - height, step - 3, height, static_cast<long long>(count));
    svg += format_text("<text class=\"tick\" x=\"%d\" y=\"%d\">", left, 20 + kPlotHeight + 12) +
           error_class_name(i) + "</text>\n";
  }
  return svg + "</g>\n";
}

}  // namespace

std::string input_text(const InputSpace& space, const InputPoint& point) {
  std::string text;
  for (size_t i = 0; i < point.inputs.size(); ++i) {
    const OperandSpace& operand = space.operands[i];
    text += (i > 0 ? ", " : "") + operand.name + " = " + value_text(operand.type, point.inputs[i]) +
            " (" + bits_text(operand.type, point.inputs[i]) + ")";
  }
  return text;
}

std::string exhaust_text(const ExhaustReport& report) {
  std::string text = error_table(report) + histogram_table(report) + notes_text(report);
  for (const VariantResult& result : report.variants) {
    for (const UnitResult& unit : result.with_findings) {
      for (size_t i = 0; i < unit.findings.size(); ++i) {
        const Finding& f = unit.findings[i];
        text += f.shown_file() + (f.shown_line() > 0 ? ":" + std::to_string(f.shown_line()) : "") +
                ": " + f.kernel + ": " + f.kind +
                (f.rule == f.kind || f.rule.empty() ? "" : " (" + f.rule + ")") + ": " + f.message +
                "\n";
        text += "  " + repro_command(report.filed(unit, i)) + "\n";
      }
    }
  }
  return text + verdict_text(report);
}

std::string exhaust_svg(const ExhaustReport& report) {
  int panels = 0;
  std::string body;
  for (const VariantResult& result : report.variants) {
    for (const ErrorStats& stats : result.outputs) {
      body += panel(result, stats, panels % kPanelsInRow * kPanelWidth,
                    30 + panels / kPanelsInRow * kPanelHeight);
      ++panels;
    }
  }
  const int rows = (panels + kPanelsInRow - 1) / kPanelsInRow;
  return format_text(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
             "font-family=\"sans-serif\" font-size=\"11\" fill=\"#345\">\n",
             kPanelsInRow * kPanelWidth, 40 + rows * kPanelHeight) +
         "<style>.tick{font-size:8px}rect{fill:#47a}</style>\n"
         "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff\"/>\n<text x=\"10\" y=\"18\" "
         "font-size=\"14\">" +
         xml_escaped(report.kernel) +
         ": elements by error in ulps, up to (bars: logarithm of the count)</text>\n" + body +
         "</svg>\n";
}

}  // namespace assay
