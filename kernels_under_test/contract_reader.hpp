// Typed, strict access to a contract's TOML tree; every failure is an InputError at its place.
// Internal to the contract parser.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels_under_test/expression.hpp"
#include "kernels_under_test/toml_document.hpp"

namespace assay {

/// " (did you mean 'x'?)", or a list of the candidates when none is near and they are few.
std::string suggestion(const std::string& name, const std::vector<std::string>& candidates);

/// "1 dimension", "2 dimensions".
std::string counted(size_t count, const std::string& noun);

bool is_identifier(std::string_view text);
/// Words that no size, operand or choice may be called: inf, nan, block, any and the dtypes.
bool is_reserved_word(std::string_view text);

/// `what` completes "<what> must be a string, not an array".
const std::string& expect_string(const TomlValue& value, const std::string& what);
int64_t expect_integer(const TomlValue& value, const std::string& what);
bool expect_boolean(const TomlValue& value, const std::string& what);
const TomlValue& expect_table(const TomlValue& value, const std::string& what);
const TomlValue& expect_array(const TomlValue& value, const std::string& what);
std::vector<std::string> expect_strings(const TomlValue& value, const std::string& what);
/// A string in the expression language, an integer or a real number.
ExprPtr expect_expression(const TomlValue& value, const std::string& what);

/// A table whose keys are known in advance: an unknown one fails at once, a later one is noted.
/// The keys of a whole contract.
inline constexpr std::initializer_list<const char*> kContractKeys{
    "name", "about",  "source", "types",   "sizes",  "derive",   "flags",  "knobs",      "require",
    "args", "launch", "owns",   "formula", "oracle", "accuracy", "policy", "properties", "builds"};
/// For one of these keys where it does not belong: "; keys below a [section] line belong to it,
/// ..."
std::string section_hint(const std::string& key);

class TableReader {
 public:
  /// `what` names the table in messages: "an operand", "[policy]".
  TableReader(const TomlValue& table, std::string what,
              std::initializer_list<const char*> known_keys);

  const TomlValue* find(const std::string& key) const;
  /// As find; fails at the table when the key is not there.
  const TomlValue& need(const std::string& key) const;
  std::string text(const std::string& key, const std::string& fallback = "") const;
  bool flag(const std::string& key) const;
  ExprPtr expression(const std::string& key) const;  ///< null when not there
  std::vector<std::string> strings(const std::string& key) const;
  std::string label(const std::string& key) const { return "'" + key + "' of " + what_; }
  const TomlValue& table() const { return table_; }

 private:
  const TomlValue& table_;
  std::string what_;
};

/// The choice that a string names; fails with the nearest or all choices.
template <typename T>
T expect_choice(const TomlValue& value, const std::string& what,
                std::initializer_list<std::pair<const char*, T>> choices) {
  const std::string& text = expect_string(value, what);
  std::vector<std::string> names;
  for (const auto& [name, choice] : choices) {
    if (text == name) return choice;
    names.emplace_back(name);
  }
  throw InputError(value.text_where,
                   "unknown value '" + text + "' for " + what + suggestion(text, names));
}

/// The place `offset` bytes into a one-line string.
SourceLocation advanced(const SourceLocation& where, std::string_view text, size_t offset);

/// Splits at `separator` outside brackets and parentheses; pieces keep their offsets.
struct Piece {
  std::string_view text;
  size_t offset;
};
std::vector<Piece> split_outside_brackets(std::string_view text, std::string_view separator);

}  // namespace assay
