// TOML text as a plain tree in which everything knows its place in the file. Tables keep the order
// of the file (lines of a formula depend on it). The parser library stays behind this header.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels_under_test/input_error.hpp"

namespace assay {

struct TomlEntry;

struct TomlValue {
  enum class Kind { string, integer, real, boolean, date, array, table };
  Kind kind = Kind::table;
  std::string text;  ///< string
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<TomlValue> items;    ///< array
  std::vector<TomlEntry> entries;  ///< table, in the file's order
  SourceLocation where;
  SourceLocation text_where;  ///< string: its first character, behind the quotes

  const TomlEntry* find(const std::string& key) const;
};

struct TomlEntry {
  std::string key;
  SourceLocation where;  ///< of the key; behind the quote of a quoted one
  TomlValue value;
};

/// "a string", "an integer", ...: how messages call a kind.
const char* kind_name(TomlValue::Kind kind);

/// Parses a whole document. Throws InputError for syntax errors and for keys that stand twice.
TomlValue parse_toml(const std::string& text, const std::string& file);

/// A document on one line, without comments, spacing and ways of writing: equal texts mean equal
/// documents, whose tables have the same order.
std::string plain_text(const TomlValue& value);

}  // namespace assay
