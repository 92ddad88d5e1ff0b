// Text as a person reads it: printf into a string, and columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

std::string format_text(const char* text, ...) __attribute__((format(printf, 1, 2)));

/// "1 case", "2 cases".
std::string counted(int64_t count, const char* noun);

/// "[16, 1, 1]".
template <typename List>
std::string bracketed(const List& values) {
  std::string text = "[";
  for (int64_t value : values) text += (text.size() > 1 ? ", " : "") + std::to_string(value);
  return text + "]";
}

/// A path without its folder.
std::string base_name(const std::string& path);

/// A word as a POSIX shell takes it back: in single quotes where it holds more than plain
/// characters.
std::string shell_word(const std::string& word);

/// XML 1.0 and HTML text: markup escaped, control characters that XML does not admit shown as '?'.
std::string xml_escaped(const std::string& text);

/// Columns as wide as their widest cell; the first is left-aligned, the last where it is prose.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       bool last_is_left = false);

}  // namespace assay
