#include "kernels_under_test/toml_document.hpp"

// A header-only build of the library would abort on "[(" by an assertion about what it reports as
// an error a few lines later.
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

namespace assay {
namespace {

// The library's positions count lines and characters from 1.
class Converter {
 public:
  Converter(const std::string& text, const std::string& file) : file_(file) {
    size_t begin = 0;
    for (size_t i = 0; i <= text.size(); ++i) {
      if (i < text.size() && text[i] != '\n') continue;
      lines_.push_back(std::string_view(text).substr(begin, i - begin));
      begin = i + 1;
    }
  }

  SourceLocation place(const toml::source_region& region) const {
    return {file_, static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
  }

  TomlValue convert(const toml::node& node) const {
    TomlValue out;
    out.where = place(node.source());
    if (const toml::table* table = node.as_table()) {
      convert_table(*table, out);
    } else if (const toml::array* array = node.as_array()) {
      out.kind = TomlValue::Kind::array;
      for (const toml::node& item : *array) out.items.push_back(convert(item));
    } else if (const auto* text = node.as_string()) {
      out.kind = TomlValue::Kind::string;
      out.text = text->get();
      out.text_where = behind_quotes(out.where);
    } else if (const auto* integer = node.as_integer()) {
      out.kind = TomlValue::Kind::integer;
      out.integer = integer->get();
    } else if (const auto* real = node.as_floating_point()) {
      out.kind = TomlValue::Kind::real;
      out.real = real->get();
    } else if (const auto* boolean = node.as_boolean()) {
      out.kind = TomlValue::Kind::boolean;
      out.boolean = boolean->get();
    } else {
      out.kind = TomlValue::Kind::date;
    }
    return out;
  }

  /// What most likely went wrong at an error's place: a name or a formula without quotes, or a
  /// table that is written both ways.
  std::string hint(const SourceLocation& where, std::string_view description) const {
    if (description.find("cannot redefine existing table") != std::string_view::npos)
      return "; write it once, as a [section] or as 'name = { ... }' (several launches: "
             "[[launch]])";
    const bool in_string = description.find("parsing string") != std::string_view::npos;
    if (in_string || where.line < 1 || where.line > static_cast<int>(lines_.size())) return "";
    const std::string_view line = lines_[static_cast<size_t>(where.line - 1)];
    const std::string_view before = line.substr(0, line.size() - rest_of_line(where).size());
    // The error may be noticed in the middle of the word or behind it: "[n]", "2 * n".
    const size_t opened = before.find_last_of("=[,");
    const std::string_view value =
        opened == std::string_view::npos ? std::string_view{} : line.substr(opened + 1);
    const std::string_view bare = value.substr(0, value.find_first_of(",]}#"));
    const bool quoted = bare.find_first_of("\"'") != std::string_view::npos;
    const bool letters = std::any_of(bare.begin(), bare.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    });
    if (letters && !quoted) return "; write names and expressions in quotes";
    return "";
  }

 private:
  void convert_table(const toml::table& table, TomlValue& out) const {
    out.kind = TomlValue::Kind::table;
    for (const auto& [key, value] : table) {
      TomlEntry entry{std::string(key.str()), place(key.source()), convert(value)};
      if (const char quote = char_at(entry.where); quote == '"' || quote == '\'')
        ++entry.where.column;
      out.entries.push_back(std::move(entry));
    }
    std::stable_sort(
        out.entries.begin(), out.entries.end(), [](const TomlEntry& a, const TomlEntry& b) {
          return std::pair(a.where.line, a.where.column) < std::pair(b.where.line, b.where.column);
        });
  }

  // The rest of a line from a place on; columns count characters, not UTF-8 bytes.
  std::string_view rest_of_line(const SourceLocation& where) const {
    if (where.line < 1 || where.line > static_cast<int>(lines_.size())) return {};
    const std::string_view line = lines_[static_cast<size_t>(where.line - 1)];
    int column = 1;
    size_t at = 0;
    for (; at < line.size() && column < where.column; ++at) {
      const bool last_byte = at + 1 == line.size() || (line[at + 1] & 0xc0) != 0x80;
      if (last_byte) ++column;
    }
    return line.substr(at);
  }

  char char_at(const SourceLocation& where) const {
    const std::string_view rest = rest_of_line(where);
    return rest.empty() ? '\0' : rest[0];
  }

  // A newline right behind `"""` does not belong to the string.
  SourceLocation behind_quotes(SourceLocation where) const {
    std::string_view rest = rest_of_line(where);
    if (rest.substr(0, 3) != "\"\"\"" && rest.substr(0, 3) != "'''") {
      ++where.column;
      return where;
    }
    rest = rest.substr(3);
    if (rest.empty() || rest == "\r") return {where.file, where.line + 1, 1};
    where.column += 3;
    return where;
  }

  const std::string& file_;
  std::vector<std::string_view> lines_;
};

}  // namespace

const TomlEntry* TomlValue::find(const std::string& key) const {
  for (const TomlEntry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

const char* kind_name(TomlValue::Kind kind) {
  switch (kind) {
    case TomlValue::Kind::string:
      return "a string";
    case TomlValue::Kind::integer:
      return "an integer";
    case TomlValue::Kind::real:
      return "a real number";
    case TomlValue::Kind::boolean:
      return "a boolean";
    case TomlValue::Kind::date:
      return "a date or time";
    case TomlValue::Kind::array:
      return "an array";
    case TomlValue::Kind::table:
      return "a table";
  }
  return "a value";
}

TomlValue parse_toml(const std::string& text, const std::string& file) {
  const Converter converter(text, file);
  try {
    return converter.convert(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    const SourceLocation where = converter.place(error.source());
    throw InputError(where,
                     std::string(error.description()) + converter.hint(where, error.description()));
  }
}

std::string plain_text(const TomlValue& value) {
  const auto with_length = [](const std::string& text) {
    return std::to_string(text.size()) + ":" + text;
  };
  std::string out;
  switch (value.kind) {
    case TomlValue::Kind::string:
    case TomlValue::Kind::date:
      return with_length(value.text);
    case TomlValue::Kind::integer:
      return std::to_string(value.integer);
    case TomlValue::Kind::real: {
      char text[32];
      std::snprintf(text, sizeof text, "%.17g r", value.real);
      return text;
    }
    case TomlValue::Kind::boolean:
      return value.boolean ? "true" : "false";
    case TomlValue::Kind::array:
      for (const TomlValue& item : value.items) out += plain_text(item) + ",";
      return "[" + out + "]";
    case TomlValue::Kind::table:
      for (const TomlEntry& entry : value.entries) {
        out += with_length(entry.key) + "=" + plain_text(entry.value) + ",";
      }
      return "{" + out + "}";
  }
  return out;
}

}  // namespace assay
