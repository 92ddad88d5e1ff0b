// Small pictures for explanations: wrong elements, source lines, a rule's text.
#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "fuzz/explain_case.hpp"
#include "fuzz/find_kernels.hpp"

namespace assay {

namespace {

constexpr int64_t kPictureRows = 16;
constexpr int64_t kPictureColumns = 64;

/// Rows and columns of a window of the output, and what one character stands for.
struct Window {
  int64_t first_row = 0, rows = 0, row_step = 1;
  int64_t first_column = 0, columns = 0, column_step = 1;
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A window around the wrong elements of an output seen as rows of its last dimension.
Window window_around(int64_t rows, int64_t columns, const std::vector<int64_t>& wrong) {
  Window w;
  const auto [low, high] = std::minmax_element(wrong.begin(), wrong.end());
  w.first_row = std::max<int64_t>(0, *low / columns - 1);
  w.rows = std::min(rows, *high / columns + 2) - w.first_row;
  w.columns = columns;
  w.row_step = ceil_div(w.rows, kPictureRows);
  w.column_step = ceil_div(w.columns, kPictureColumns);
  return w;
}

char cell_character(int64_t wrong, int64_t elements) {
  if (wrong == 0) return '.';
  return wrong >= elements ? '#' : '+';
}

std::string draw(const Window& w, const std::map<std::pair<int64_t, int64_t>, int64_t>& cells) {
  std::string text;
  for (int64_t row = 0; row < w.rows; row += w.row_step) {
    const std::string label = std::to_string(w.first_row + row);
    text += "  " + std::string(label.size() < 10 ? 10 - label.size() : 0, ' ') + label + " ";
    const int64_t cell_rows = std::min(w.row_step, w.rows - row);
    for (int64_t column = 0; column < w.columns; column += w.column_step) {
      const auto cell = cells.find({row / w.row_step, column / w.column_step});
      const int64_t cell_columns = std::min(w.column_step, w.columns - column);
      text += cell_character(cell == cells.end() ? 0 : cell->second, cell_rows * cell_columns);
    }
    text += "\n";
  }
  return text;
}

/// Without Markdown's emphasis.
std::string without_markup(std::string text) {
  for (size_t at; (at = text.find("**")) != std::string::npos;) text.erase(at, 2);
  return text;
}

}  // namespace

std::string picture(const Tensor& output, const std::vector<int64_t>& wrong) {
  const int64_t elements = output.elements();
  if (wrong.empty() || elements == 0) return "";
  const int64_t columns = output.shape.empty() ? 1 : output.shape.back();
  const Window w = window_around(elements / columns, columns, wrong);
  std::map<std::pair<int64_t, int64_t>, int64_t> cells;
  for (int64_t at : wrong) {
    ++cells[{(at / columns - w.first_row) / w.row_step, at % columns / w.column_step}];
  }
  return "a character is " + std::to_string(w.row_step) + " x " + std::to_string(w.column_step) +
         " elements: . right, + some wrong, # all wrong; the number is the row\n" + draw(w, cells);
}

std::string source_excerpt(const std::string& path, int line, int around) {
  std::ifstream in(path);
  std::string text;
  std::string content;
  for (int number = 1; line > 0 && std::getline(in, content); ++number) {
    if (number < line - around) continue;
    if (number > line + around) break;
    const std::string label = std::to_string(number);
    text += (number == line ? "> " : "  ") +
            std::string(label.size() < 5 ? 5 - label.size() : 0, ' ') + label + " | " + content +
            "\n";
  }
  return text;
}

std::string rule_text(const std::string& rule) {
  if (rule.size() < 2 || rule[0] != 'R') return "";
  std::ifstream in(source_root() + "/oracles/RULES.md");
  std::string text;
  for (std::string line; std::getline(in, line);) {
    // A rule starts with its number, perhaps behind markup ("## R3", "**R3.**", "R3.").
    const size_t start = line.find_first_not_of("#*- |`");
    const bool starts_rule = start != std::string::npos && line.compare(start, 1, "R") == 0 &&
                             start + 1 < line.size() && std::isdigit(line[start + 1]);
    if (!text.empty() && (starts_rule || line.empty() || line[0] == '#')) {
      if (text.find('\n') != text.size() - 1 || starts_rule) break;  // more than a heading
      continue;
    }
    if (!text.empty()) {
      text += line + "\n";
    } else if (starts_rule && line.compare(start, rule.size(), rule) == 0 &&
               (start + rule.size() == line.size() || !std::isdigit(line[start + rule.size()]))) {
      text = line.substr(start) + "\n";
    }
  }
  return without_markup(text);
}

}  // namespace assay
