// The results of `assay cover` as one page: no scripts, nothing loaded, light and dark.
#include <algorithm>

#include "fuzz/cover.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

// Colours follow the reader's setting; a line's state also shows in the first column, in words.
constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --dim: #667; --rule: #d5d9df;
        --hit: #e9f6ec; --part: #fff5d6; --never: #fde5e3; }
@media (prefers-color-scheme: dark) {
  :root { --back: #14171b; --text: #dde2e8; --dim: #8b94a0; --rule: #333a43;
          --hit: #14301d; --part: #3a3012; --never: #451d1b; }
}
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
       max-width: 78em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; overflow-wrap: anywhere; }
p, li { color: var(--dim); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
.totals td, .totals th { border-bottom: 1px solid var(--rule); padding: .15em .8em .15em 0;
                         text-align: left; font-weight: normal; }
.source { font: 13px/1.45 ui-monospace, monospace; width: 100%; }
.source th { text-align: right; font-weight: normal; color: var(--dim); padding: 0 .8em;
             border-bottom: 1px solid var(--rule); }
.source td { padding: 0 .8em; text-align: right; white-space: pre; }
.source td:last-child, .source th:last-child { text-align: left; width: 100%; }
.hit { background: var(--hit); } .part { background: var(--part); }
.never { background: var(--never); }
.number { color: var(--dim); }
)";

std::string cell(const std::string& text, const char* kind = nullptr) {
  return (kind == nullptr ? "<td>" : std::string("<td class=\"") + kind + "\">") +
         xml_escaped(text) + "</td>";
}

std::string fraction(const Reached& reached) {
  return std::to_string(reached.reached) + "/" + std::to_string(reached.of);
}

/// A tooltip with the numbers behind the letters.
template <size_t kKinds>
std::string letters_cell(const std::array<CoverKind, kKinds>& kinds,
                         const std::array<Reached, kKinds>& reached) {
  if (has_none(reached)) return "<td></td>";
  std::string title;
  for (size_t i = 0; i < kKinds; ++i) {
    if (reached[i].of == 0) continue;
    title += (title.empty() ? "" : ", ") + std::string(kinds[i].name) + " " + fraction(reached[i]);
  }
  std::replace(title.begin(), title.end(), '_', ' ');
  return "<td title=\"" + xml_escaped(title) + "\">" + xml_escaped(letters(kinds, reached)) +
         "</td>";
}

std::string row(const CoveredFile& file, int number) {
  const size_t at = static_cast<size_t>(number) - 1;
  const std::string source = at < file.text.size() ? file.text[at] : "";
  const std::string tail = cell(std::to_string(number), "number") + cell(source) + "</tr>\n";
  const auto found = file.lines.find(number);
  if (found == file.lines.end()) return "<tr><td></td><td></td><td></td><td></td><td></td>" + tail;
  const CoveredLine& line = found->second;
  const Reached& blocks = line.counts.blocks;
  const char* const state = line.hits == 0                  ? "never"
                            : blocks.reached < blocks.of ? "part"
                                                            : "hit";
  return std::string("<tr class=\"") + state + "\">" +
         cell(line.hits > 0 ? short_count(line.hits) : "never") + cell(fraction(blocks)) +
         letters_cell(kLaneKinds, line.counts.lanes) + letters_cell(kEndKinds, line.counts.ends) +
         letters_cell(kResultKinds, line.counts.results) + tail;
}

std::string file_section(const CoveredFile& file) {
  std::string html = "<h2>" + xml_escaped(file.path) + "</h2>\n<div class=\"wide\">" +
                     "<table class=\"source\"><tr><th>hits</th><th>blocks</th><th>lanes</th>"
                     "<th>ends</th><th>results</th><th>line</th><th>source</th></tr>\n";
  if (file.text.empty()) {
    for (const auto& [number, line] : file.lines) html += row(file, number);
  }
  for (size_t i = 0; i < file.text.size(); ++i) html += row(file, static_cast<int>(i) + 1);
  return html + "</table></div>\n";
}

std::string total_row(const std::string& name, const Reached& reached) {
  const double share = reached.of > 0 ? 100.0 * static_cast<double>(reached.reached) /
                                            static_cast<double>(reached.of)
                                      : 0;
  return "<tr><th>" + xml_escaped(name) + "</th>" +
         cell(std::to_string(reached.reached) + " of " + std::to_string(reached.of)) +
         cell(format_text("%.0f %%", share)) + "</tr>\n";
}

template <size_t kKinds>
std::string total_rows(const char* head, const std::array<CoverKind, kKinds>& kinds,
                       const std::array<Reached, kKinds>& reached) {
  std::string html;
  for (size_t i = 0; i < kKinds; ++i) {
    std::string name = std::string(head) + ": " + kinds[i].name;
    std::replace(name.begin(), name.end(), '_', ' ');
    html += total_row(name, reached[i]);
  }
  return html;
}

std::string totals(const CoverCounts& c) {
  return "<table class=\"totals\">\n" + total_row("blocks", c.blocks) +
         total_row("edges", c.edges) + total_rows("lanes", kLaneKinds, c.lanes) +
         total_rows("ends", kEndKinds, c.ends) + total_rows("results", kResultKinds, c.results) +
         "</table>\n";
}

}  // namespace

std::string cover_html(const CoverReport& report) {
  const std::string title = "assay cover " + xml_escaped(report.kernel);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
      title + "</title>\n<style>" + kStyle + "</style></head>\n<body>\n<h1>" + title +
      "</h1>\n<p>" + counted(report.cases, "case") + ", " + std::to_string(report.variants) +
      " of " + counted(report.variants_total, "variant") + " reached, seed " +
      std::to_string(report.seed) + ". Contract: " + xml_escaped(report.contract) + "</p>\n" +
      totals(report.totals) + "<ul>\n";
  for (const std::string& line : cover_legend()) html += "<li>" + xml_escaped(line) + "</li>\n";
  html +=
      "<li>Lines with code are never reached (never), reached in some of their blocks (fewer than "
      "all), or in all; the colours say the same.</li>\n</ul>\n";
  for (const CoveredFile& file : report.files) html += file_section(file);
  return html + "</body></html>\n";
}

}  // namespace assay
