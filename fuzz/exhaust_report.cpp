// The results of `assay exhaust` as text and as a picture.
#include <algorithm>
#include <cmath>

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

std::string ulps_text(double ulps) {
  if (ulps < 0) return "-";
  return ulps < 1e4 ? format_text("%.4g", ulps) : format_text("%.3e", ulps);
}

std::string count_text(int64_t count) { return std::to_string(count); }

/// "T=f16 OP=0 BLOCK=128", and the output where there are several.
std::string row_name(const VariantResult& result, const ErrorStats& stats) {
  std::string text = result.space.variant.text();
  if (text.empty()) text = "(one variant)";
  return result.outputs.size() > 1 ? text + " " + stats.output : text;
}

std::string done_text(const VariantResult& result) {
  const std::string whole = result.space.text();
  if (result.done == result.space.size) return whole;
  return std::to_string(result.done) + " of " + whole;
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
    size_t findings = 0;
    for (const UnitResult& unit : result.with_findings) findings += unit.findings.size();
    for (const ErrorStats& stats : result.outputs) {
      rows.push_back({row_name(result, stats), done_text(result), ulps_text(stats.max_ulps),
                      rounded_text(stats), count_text(stats.no_bound),
                      stats.ordered ? count_text(stats.breaks) : "-", std::to_string(findings),
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

std::string notes_text(const ExhaustReport& report) {
  std::string text;
  for (const VariantResult& result : report.variants) {
    if (!result.skipped.empty()) {
      text += result.space.variant.text() + ": skipped: " + result.skipped + "\n";
    }
    for (const ErrorStats& stats : result.outputs) {
      if (stats.outside_domain > 0) {
        text += row_name(result, stats) + ": " + count_text(stats.outside_domain) +
                " inputs are outside what the contract admits\n";
      }
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

std::string verdict_text(const ExhaustReport& report) {
  const int64_t findings = report.finding_count();
  std::string text = findings > 0 ? std::to_string(findings) + " findings" : "clean";
  text += ": " + report.kernel + ", " + count_text(report.inputs_done()) + " of " +
          count_text(report.inputs_total()) + " inputs of " +
          std::to_string(report.variants.size()) + " of " + count_text(report.variants_total) +
          " variants" + format_text(" in %.1f s", report.seconds);
  if (report.inputs_done() < report.inputs_total()) {
    text += report.interrupted ? "; interrupted" : "; the time was over";
  }
  return text + "\n";
}

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return out;
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

int64_t ExhaustReport::finding_count() const {
  size_t count = 0;
  for (const VariantResult& result : variants) {
    for (const UnitResult& unit : result.with_findings) count += unit.findings.size();
  }
  return static_cast<int64_t>(count);
}

int64_t ExhaustReport::inputs_done() const {
  int64_t sum = 0;
  for (const VariantResult& result : variants) sum += result.done;
  return sum;
}

int64_t ExhaustReport::inputs_total() const {
  int64_t sum = 0;
  for (const VariantResult& result : variants) sum += result.space.size;
  return sum;
}

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
        text += f.file + ":" + std::to_string(f.line) + ": " + f.kernel + ": " + f.kind +
                (f.rule == f.kind ? "" : " (" + f.rule + ")") + ": " + f.message + "\n";
        text += "  " + repro_command({f, unit.case_files[i], report.contract}) + "\n";
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
