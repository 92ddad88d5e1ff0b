#include "kernels_under_test/contract_reader.hpp"

#include <algorithm>
#include <map>

#include "kernels_under_test/dtype.hpp"

namespace assay {
namespace {

constexpr size_t kMostListed = 80;  // all functions of formulas, on one line

[[noreturn]] void wrong_kind(const TomlValue& value, const std::string& what,
                             const std::string& expected) {
  throw InputError(value.where, what + " must be " + expected + ", not " + kind_name(value.kind));
}

}  // namespace

namespace {

/// What other systems call the same thing; "" when the word is not known, or what it means is no
/// candidate.
std::string synonym(const std::string& name, const std::vector<std::string>& candidates) {
  static const std::map<std::string, std::string> kMeans{
      {"float", "f32"},          {"float32", "f32"},      {"fp32", "f32"},
      {"single", "f32"},         {"double", "f64"},       {"float64", "f64"},
      {"fp64", "f64"},           {"half", "f16"},         {"float16", "f16"},
      {"fp16", "f16"},           {"__half", "f16"},       {"bfloat16", "bf16"},
      {"__nv_bfloat16", "bf16"}, {"bfloat", "bf16"},      {"fp8", "e4m3"},
      {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"}, {"int", "i32"},
      {"int32", "i32"},          {"int32_t", "i32"},      {"long", "i64"},
      {"int64", "i64"},          {"int64_t", "i64"},      {"short", "i16"},
      {"int16", "i16"},          {"int8", "i8"},          {"char", "i8"},
      {"uint8", "u8"},           {"uint8_t", "u8"},       {"uint16", "u16"},
      {"uint32", "u32"},         {"uint64", "u64"},       {"unsigned", "u32"},
      {"size_t", "u64"},         {"out", "output"},       {"in", "input"},
      {"in_out", "inout"},       {"io", "inout"},         {"temp", "workspace"},
      {"scratch", "workspace"}};
  const auto at = kMeans.find(name);
  if (at == kMeans.end()) return "";
  return std::find(candidates.begin(), candidates.end(), at->second) == candidates.end()
             ? ""
             : at->second;
}

}  // namespace

std::string suggestion(const std::string& name, const std::vector<std::string>& candidates) {
  if (const std::string meant = synonym(name, candidates); !meant.empty())
    return " (did you mean '" + meant + "'?)";
  const std::string near = nearest_name(name, candidates);
  // 'k' is not meant as 'x': a near name shares something with what was written.
  const bool shares = !near.empty() && edit_distance(name, near) < static_cast<int>(name.size());
  if (shares) return " (did you mean '" + near + "'?)";
  std::vector<std::string> distinct;
  for (const std::string& candidate : candidates)
    if (std::find(distinct.begin(), distinct.end(), candidate) == distinct.end())
      distinct.push_back(candidate);
  if (distinct.empty() || distinct.size() > kMostListed) return "";
  return "; expected " + std::string(distinct.size() == 1 ? "" : "one of ") + joined(distinct);
}

std::string section_hint(const std::string& key) {
  if (std::find(kContractKeys.begin(), kContractKeys.end(), key) == kContractKeys.end()) return "";
  return "; keys below a [section] line belong to it: write '" + key +
         "', a key of the whole contract, above the first one";
}

std::string counted(size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool is_reserved_word(std::string_view text) {
  return text == "inf" || text == "nan" || text == "block" || text == "any" ||
         parse_dtype(text).has_value();
}

bool is_identifier(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !text.empty() && letter(text[0]) && std::all_of(text.begin(), text.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9');
  });
}

const std::string& expect_string(const TomlValue& value, const std::string& what) {
  if (value.kind != TomlValue::Kind::string) wrong_kind(value, what, "a string");
  return value.text;
}

int64_t expect_integer(const TomlValue& value, const std::string& what) {
  if (value.kind != TomlValue::Kind::integer) wrong_kind(value, what, "an integer");
  return value.integer;
}

bool expect_boolean(const TomlValue& value, const std::string& what) {
  if (value.kind != TomlValue::Kind::boolean) wrong_kind(value, what, "true or false");
  return value.boolean;
}

const TomlValue& expect_table(const TomlValue& value, const std::string& what) {
  if (value.kind != TomlValue::Kind::table) wrong_kind(value, what, "a table");
  return value;
}

const TomlValue& expect_array(const TomlValue& value, const std::string& what) {
  if (value.kind != TomlValue::Kind::array) wrong_kind(value, what, "an array");
  return value;
}

std::vector<std::string> expect_strings(const TomlValue& value, const std::string& what) {
  std::vector<std::string> out;
  for (const TomlValue& item : expect_array(value, what).items)
    out.push_back(expect_string(item, "an entry of " + what));
  return out;
}

ExprPtr expect_expression(const TomlValue& value, const std::string& what) {
  if (value.kind == TomlValue::Kind::string) return parse_expression(value.text, value.text_where);
  Expr literal;
  literal.where = value.where;
  if (value.kind == TomlValue::Kind::integer) {
    literal.kind = Expr::Kind::integer;
    literal.integer = value.integer;
  } else if (value.kind == TomlValue::Kind::real) {
    literal.kind = Expr::Kind::real;
    literal.real = value.real;
  } else {
    wrong_kind(value, what, "an expression in quotes or a number");
  }
  return std::make_shared<const Expr>(std::move(literal));
}

TableReader::TableReader(const TomlValue& table, std::string what,
                         std::initializer_list<const char*> known_keys)
    : table_(expect_table(table, what)), what_(std::move(what)) {
  const std::vector<std::string> known(known_keys.begin(), known_keys.end());
  for (const TomlEntry& entry : table_.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      throw InputError(entry.where,
                       "unknown key '" + entry.key + "' in " + what_ +
                           (section_hint(entry.key).empty() ? suggestion(entry.key, known)
                                                            : section_hint(entry.key)));
}

const TomlValue* TableReader::find(const std::string& key) const {
  const TomlEntry* entry = table_.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

const TomlValue& TableReader::need(const std::string& key) const {
  if (const TomlValue* value = find(key)) return *value;
  const TomlValue* const name = find("name");
  const bool named =
      what_ == "an operand" && name != nullptr && name->kind == TomlValue::Kind::string;
  throw InputError(table_.where,
                   (named ? "operand '" + name->text + "'" : what_) + " needs '" + key + "'");
}

std::string TableReader::text(const std::string& key, const std::string& fallback) const {
  const TomlValue* value = find(key);
  return value == nullptr ? fallback : expect_string(*value, label(key));
}

bool TableReader::flag(const std::string& key) const {
  const TomlValue* value = find(key);
  return value != nullptr && expect_boolean(*value, label(key));
}

ExprPtr TableReader::expression(const std::string& key) const {
  const TomlValue* value = find(key);
  return value == nullptr ? nullptr : expect_expression(*value, label(key));
}

std::vector<std::string> TableReader::strings(const std::string& key) const {
  const TomlValue* value = find(key);
  return value == nullptr ? std::vector<std::string>{} : expect_strings(*value, label(key));
}

SourceLocation advanced(const SourceLocation& where, std::string_view text, size_t offset) {
  SourceLocation out = where;
  for (size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') {
      ++out.line;
      out.column = 1;
    } else if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) {
      ++out.column;
    }
  }
  return out;
}

std::vector<Piece> split_outside_brackets(std::string_view text, std::string_view separator) {
  std::vector<Piece> pieces;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (depth != 0 || text.substr(i, separator.size()) != separator) continue;
    pieces.push_back({text.substr(begin, i - begin), begin});
    i += separator.size() - 1;
    begin = i + 1;
  }
  pieces.push_back({text.substr(begin), begin});
  return pieces;
}

}  // namespace assay
