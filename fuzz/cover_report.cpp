// What `assay cover` prints: the source, and beside each line what the cases reached there.
#include <algorithm>

#include "fuzz/cover.hpp"
#include "fuzz/program_name.hpp"
#include "fuzz/text_table.hpp"

namespace assay {

namespace {

std::string fraction(const Reached& reached) {
  return std::to_string(reached.reached) + " of " + std::to_string(reached.of);
}

template <size_t kKinds>
std::string kinds_text(const char* head, const std::array<CoverKind, kKinds>& kinds,
                       const std::array<Reached, kKinds>& reached) {
  std::string text = std::string(head) + ":";
  for (size_t i = 0; i < kKinds; ++i) {
    std::string name = kinds[i].name;
    std::replace(name.begin(), name.end(), '_', ' ');
    text += (i == 0 ? " " : ", ") + name + " " + fraction(reached[i]);
  }
  return text;
}

std::string line_text(const CoveredFile& file, int number) {
  const auto found = file.lines.find(number);
  const size_t at = static_cast<size_t>(number) - 1;
  const std::string source = at < file.text.size() ? " " + file.text[at] : "";
  std::string columns = format_text("%39s", "");
  if (found != file.lines.end()) {
    const CoveredLine& line = found->second;
    const CoverCounts& c = line.counts;
    const std::string blocks =
        std::to_string(c.blocks.reached) + "/" + std::to_string(c.blocks.of);
    const std::string hits = line.hits > 0 ? short_count(line.hits) : "never";
    columns = format_text("%6s  %7s  %5s  %4s  %-7s", hits.c_str(), blocks.c_str(),
                          has_none(c.lanes) ? "" : letters(kLaneKinds, c.lanes).c_str(),
                          has_none(c.ends) ? "" : letters(kEndKinds, c.ends).c_str(),
                          has_none(c.results) ? "" : letters(kResultKinds, c.results).c_str());
    columns.resize(39, ' ');
  }
  const char mark = found != file.lines.end() && found->second.hits == 0 ? '!' : ' ';
  std::string text = format_text("%c %s %5d |", mark, columns.c_str(), number) + source;
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string file_text(const CoveredFile& file) {
  std::string text = "\n" + file.path + (file.text.empty() ? " (cannot be read)" : "") + "\n";
  text += "    hits   blocks  lanes  ends  results  line\n";
  if (file.text.empty()) {
    for (const auto& [number, line] : file.lines) text += line_text(file, number);
    return text;
  }
  const int last = std::max(static_cast<int>(file.text.size()),
                            file.lines.empty() ? 0 : file.lines.rbegin()->first);
  for (int number = 1; number <= last; ++number) text += line_text(file, number);
  return text;
}

std::string missed_text(const CoverReport& report) {
  std::string text;
  for (const CoveredFile& file : report.files) {
    for (const MissedLines& lines : missed_lines(file)) {
      text += text.empty() ? "never reached: " : ", ";
      text += base_name(file.path) + ":" + std::to_string(lines.first);
      if (lines.last > lines.first) text += "-" + std::to_string(lines.last);
    }
  }
  return text.empty() ? "every line that has code was reached\n" : text + "\n";
}

}  // namespace

std::string short_count(int64_t count) {
  if (count < 100000) return std::to_string(count);
  const char* unit = "k";
  double value = static_cast<double>(count) / 1e3;
  for (const char* next : {"M", "G", "T"}) {
    if (value < 999.5) break;
    value /= 1e3;
    unit = next;
  }
  return format_text(value < 9.95 ? "%.1f%s" : "%.0f%s", value, unit);
}

std::vector<std::string> cover_legend() {
  return {
      "hits: entries of a warp's lanes into the PTX blocks that hold code of the line; blocks: "
      "those "
      "entered, of all. Variants are added up.",
      "lanes: N no lane, S some, A all lanes of the warp took part in a load, store or atomic of "
      "the "
      "line.",
      "ends: F the first element of an operand was touched, L the last one.",
      "results: Z zero, S subnormal, N normal, B in the largest binade, I infinity, Q NaN came out "
      "of "
      "a floating instruction.",
      "An upper case letter: of each such instruction of the line, lower case: of some, a dot: of "
      "none; '-': there is none that could."};
}

std::string cover_text(const CoverReport& report) {
  std::string text;
  for (const std::string& line : cover_legend()) text += line + "\n";
  for (const CoveredFile& file : report.files) text += file_text(file);
  const CoverCounts& c = report.totals;
  text += "\nblocks " + fraction(c.blocks) + ", edges " + fraction(c.edges) + "\n";
  text += kinds_text("lanes", kLaneKinds, c.lanes) + "\n";
  text += kinds_text("ends", kEndKinds, c.ends) + "\n";
  text += kinds_text("results", kResultKinds, c.results) + "\n";
  if (!report.files.empty()) text += missed_text(report);
  for (const auto& [reason, count] : report.skipped) {
    text += counted(count, "case") + " skipped: " + reason + "\n";
  }
  if (!report.findings.empty()) {
    text += counted(static_cast<int64_t>(report.findings.size()), "finding") + " on the way: `" +
            program_name() + " smoke " + shell_word(report.contract) + "` shows what\n";
  }
  return text + (report.interrupted ? "interrupted: " : "") + counted(report.cases, "case") +
         " of " + report.kernel + ", " + std::to_string(report.variants) + " of " +
         counted(report.variants_total, "variant") + " reached, in " +
         format_text("%.1f s, seed ", report.seconds) + std::to_string(report.seed) + "\n";
}

}  // namespace assay
