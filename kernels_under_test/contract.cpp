#include "kernels_under_test/contract.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "kernels_under_test/contract_parts.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;
constexpr std::uintmax_t kMostBytes = 1 << 20;

// --- choices -------------------------------------------------------------------------------------

void read_types(const TomlValue& value, Contract& contract) {
  std::vector<std::string> known;
  for (int i = 0; i <= static_cast<int>(DType::i4); ++i)
    known.emplace_back(name(static_cast<DType>(i)));
  for (const TomlEntry& entry : expect_table(value, "'types'").entries) {
    TypeParameter type{entry.key, {}, entry.where};
    for (const TomlValue& item : expect_array(entry.value, "type '" + entry.key + "'").items) {
      const std::string& text = expect_string(item, "a kind of type '" + entry.key + "'");
      const std::optional<DType> kind = parse_dtype(text);
      if (!kind)
        throw InputError(item.text_where, "unknown dtype '" + text + "'" + suggestion(text, known));
      if (std::find(type.kinds.begin(), type.kinds.end(), *kind) != type.kinds.end())
        throw InputError(item.text_where, "dtype '" + text + "' stands twice");
      type.kinds.push_back(*kind);
    }
    if (type.kinds.empty())
      throw InputError(entry.value.where, "type '" + entry.key + "' has no dtypes");
    contract.types.push_back(std::move(type));
  }
}

// A list of distinct integers, at least one.
std::vector<int64_t> read_choices(const TomlValue& value, const std::string& what) {
  std::vector<int64_t> out;
  for (const TomlValue& item : expect_array(value, what).items) {
    const int64_t number = expect_integer(item, "a value of " + what);
    if (std::find(out.begin(), out.end(), number) != out.end())
      throw InputError(item.where, "value " + std::to_string(number) + " stands twice");
    out.push_back(number);
  }
  if (out.empty()) throw InputError(value.where, what + " has no values");
  return out;
}

int64_t read_extent(const TomlValue& value, const std::string& what) {
  const int64_t extent = expect_integer(value, what);
  if (extent < 0) throw InputError(value.where, what + " is negative: " + std::to_string(extent));
  return extent;
}

void read_sizes(const TomlValue& value, Contract& contract) {
  for (const TomlEntry& entry : expect_table(value, "'sizes'").entries) {
    const std::string what = "size '" + entry.key + "'";
    const TableReader table(entry.value, what, {"min", "max", "in"});
    SizeSpec size;
    size.name = entry.key;
    size.where = entry.where;
    if (const TomlValue* in = table.find("in")) {
      for (const char* key : {"min", "max"})
        if (const TomlEntry* beside = entry.value.find(key))
          throw InputError(beside->where, "'" + std::string(key) + "' cannot stand beside 'in'");
      size.in = read_choices(*in, what);
      for (const TomlValue& item : in->items) read_extent(item, what);
      const auto [low, high] = std::minmax_element(size.in.begin(), size.in.end());
      size.min = *low;
      size.max = *high;
    } else {
      if (const TomlValue* min = table.find("min"))
        size.min = read_extent(*min, table.label("min"));
      size.max = read_extent(table.need("max"), table.label("max"));
      if (size.min > size.max)
        throw InputError(entry.value.where, what + " has min " + std::to_string(size.min) +
                                                " above max " + std::to_string(size.max));
    }
    contract.sizes.push_back(std::move(size));
  }
}

void read_derive(const TomlValue& value, Contract& contract) {
  for (const TomlEntry& entry : expect_table(value, "'derive'").entries)
    contract.derive.push_back(
        {entry.key, expect_expression(entry.value, "'derive." + entry.key + "'"), entry.where});
}

void read_flags(const TomlValue& value, Contract& contract) {
  contract.flags = expect_strings(value, "'flags'");
  contract.flags_where = value.where;
}

void read_knobs(const TomlValue& value, Contract& contract) {
  for (const TomlEntry& entry : expect_table(value, "'knobs'").entries)
    contract.knobs.push_back(
        {entry.key, read_choices(entry.value, "knob '" + entry.key + "'"), entry.where});
}

void read_require(const TomlValue& value, Contract& contract) {
  for (const TomlValue& item : expect_array(value, "'require'").items) {
    const std::string& text = expect_string(item, "an entry of 'require'");
    contract.require.push_back({text, parse_expression(text, item.text_where), item.text_where});
  }
}

void read_builds(const TomlValue& value, Contract& contract) {
  contract.builds = expect_integer(value, "'builds'");
  if (contract.builds < 1) throw InputError(value.where, "'builds' must be at least 1");
  note_later(contract, value.where, "builds");
}

// --- launches ------------------------------------------------------------------------------------

// "rows", 4 or ["rows", 4]: up to three extents, 1 where not given.
std::array<ExprPtr, 3> read_extents(const TomlValue& value, const std::string& what) {
  std::vector<ExprPtr> given;
  if (value.kind == TomlValue::Kind::array) {
    for (const TomlValue& item : value.items)
      given.push_back(expect_expression(item, "an extent of " + what));
  } else {
    given.push_back(expect_expression(value, what));
  }
  if (given.empty() || given.size() > 3)
    throw InputError(value.where, what + " needs one to three extents");
  auto one = std::make_shared<Expr>();
  one->integer = 1;
  one->where = value.where;
  std::array<ExprPtr, 3> out{one, one, one};
  std::copy(given.begin(), given.end(), out.begin());
  return out;
}

LaunchSpec read_launch(const TomlValue& value, const Contract& contract) {
  const TableReader table(value, "a launch", {"entry", "when", "grid", "block", "shared", "args"});
  LaunchSpec launch;
  launch.where = value.where;
  if (const TomlValue* entry = table.find("entry")) {
    launch.entry = expect_string(*entry, "'entry' of a launch");
    check_entry(launch.entry, entry->text_where, contract);
  }
  launch.when = table.expression("when");
  launch.grid = read_extents(table.need("grid"), "'grid'");
  // Triton derives the block from num_warps.
  if (contract.source.language != Language::triton || table.find("block") != nullptr)
    launch.block = read_extents(table.need("block"), "'block'");
  launch.shared = table.expression("shared");
  if (const TomlValue* args = table.find("args")) {
    launch.args = expect_strings(*args, "'args' of a launch");
    const std::vector<std::string> operands = names_of_operands(contract);
    for (const TomlValue& item : args->items)
      if (!contains(operands, item.text))
        throw InputError(item.text_where,
                         "unknown operand '" + item.text + "'" + suggestion(item.text, operands));
    if (launch.args.empty()) throw InputError(args->where, "'args' of a launch lists no operands");
  }
  const bool needs_entry =
      contract.source.language == Language::cuda || contract.source.language == Language::ptx;
  if (needs_entry && launch.entry.empty() && contract.source.entry.empty())
    throw InputError(value.where, "no entry: neither 'source' nor this launch has one");
  return launch;
}

// --- the whole -----------------------------------------------------------------------------------

void read_name(const TomlValue& value, Contract& contract) {
  contract.name = expect_string(value, "'name'");
  const bool good = !contract.name.empty() && contract.name[0] != '-' &&
                    contract.name.find_first_not_of(
                        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789_-") == std::string::npos;
  if (!good)
    throw InputError(
        value.text_where,
        "'" + contract.name + "' is no kernel name; expected letters, digits, '_' and '-'");
}

void check_judged(const TomlValue& document, const Contract& contract) {
  const bool judged = std::any_of(contract.args.begin(), contract.args.end(),
                                  [](const OperandSpec& operand) { return operand.is_judged(); });
  const TomlEntry* args = document.find("args");
  if (!judged) throw InputError(args->where, "no operand is 'output' or 'inout': nothing to judge");
  const TomlEntry* oracle = document.find("oracle");
  const TomlEntry* formula = document.find("formula");
  if (oracle == nullptr && formula == nullptr) {
    const auto output =
        std::find_if(contract.args.begin(), contract.args.end(),
                     [](const OperandSpec& operand) { return operand.is_judged(); });
    throw InputError(output->where, "output '" + output->name +
                                        "' has no formula: add [formula] with " + output->name +
                                        " = \"...\"");
  }
}

/// A needed key; below a [section] line it is part of the section: TOML's rule, often met.
const TomlValue& need_of_whole(const TableReader& table, const char* key) {
  if (table.find(key) == nullptr) {
    for (const TomlEntry& section : table.table().entries) {
      const TomlEntry* const entry = section.value.find(key);
      if (entry == nullptr) continue;
      throw InputError(entry->where, "'" + std::string(key) + "' stands in the section [" +
                                         section.key + "]" + section_hint(key));
    }
  }
  return table.need(key);
}

Contract read_contract(const TomlValue& document, const std::string& path) {
  const TableReader table(document, "a contract", kContractKeys);
  Contract contract;
  contract.path = fs::absolute(path).lexically_normal().string();
  read_name(need_of_whole(table, "name"), contract);
  contract.about = table.text("about");
  using Step = void (*)(const TomlValue&, Contract&);
  const auto optional = [&](const char* key, Step step) {
    if (const TomlValue* value = table.find(key)) step(*value, contract);
  };
  read_source(need_of_whole(table, "source"), fs::path(contract.path).parent_path().string(),
              contract);
  optional("types", read_types);
  optional("sizes", read_sizes);
  optional("derive", read_derive);
  optional("flags", read_flags);
  optional("knobs", read_knobs);
  optional("require", read_require);
  read_operands(need_of_whole(table, "args"), contract);
  if (contract.source.language != Language::torch) need_of_whole(table, "launch");
  optional("launch", read_launches);
  optional("owns", read_ownership);
  optional("formula", read_formula);
  optional("oracle", read_oracle);
  optional("accuracy", read_accuracy);
  optional("policy", read_policy);
  optional("builds", read_builds);
  unpack_elements(contract);
  check_judged(document, contract);
  check_names(contract);
  check_aliases(contract);
  check_entry(contract.source.entry, contract.source.where, contract);
  check_formula(contract);
  check_given_outputs(contract);
  check_numbers(contract);
  optional("properties", read_properties);
  return contract;
}

// The message without its place; control characters that it quotes from the file as escapes.
std::string one_line(const InputError& error) {
  const std::string_view what = error.what();
  std::string out;
  for (const char c : what.substr(error.where().text().size() + 2)) {
    if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += '?';
    else
      out += c;
  }
  return out;
}

}  // namespace

void note_later(Contract& contract, const SourceLocation& where, const std::string& key) {
  contract.not_yet.push_back(SourceLocation{where.file, where.line, 0}.text() + ": " + key);
}

void read_launches(const TomlValue& value, Contract& contract) {
  if (value.kind != TomlValue::Kind::array) {
    contract.launches.push_back(read_launch(expect_table(value, "'launch'"), contract));
    return;
  }
  for (const TomlValue& item : value.items)
    contract.launches.push_back(read_launch(item, contract));
  if (contract.launches.empty()) throw InputError(value.where, "'launch' lists no launches");
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> names_of_types(const Contract& contract) {
  std::vector<std::string> names;
  for (const TypeParameter& type : contract.types) names.push_back(type.name);
  return names;
}

std::vector<std::string> names_of_operands(const Contract& contract) {
  std::vector<std::string> names;
  for (const OperandSpec& operand : contract.args) names.push_back(operand.name);
  return names;
}

std::vector<std::string> names_of_values(const Contract& contract) {
  std::vector<std::string> names;
  for (const SizeSpec& size : contract.sizes) names.push_back(size.name);
  for (const NamedExpr& derived : contract.derive) names.push_back(derived.name);
  for (const Knob& knob : contract.knobs) names.push_back(knob.name);
  names.insert(names.end(), contract.flags.begin(), contract.flags.end());
  for (const TypeParameter& type : contract.types) names.push_back(type.name);
  return names;
}

std::vector<std::string> names_of_dimensions(const Contract& contract) {
  std::vector<std::string> names;
  for (const OperandSpec& operand : contract.args)
    for (const Dimension& dimension : operand.shape)
      if (!dimension.name.empty() && !contains(names, dimension.name))
        names.push_back(dimension.name);
  return names;
}

const OperandSpec* Contract::find_operand(std::string_view operand) const {
  for (const OperandSpec& spec : args)
    if (spec.name == operand) return &spec;
  return nullptr;
}

const OracleRole* OracleSpec::find(std::string_view role) const {
  for (const OracleRole& given : roles)
    if (given.name == role) return &given;
  return nullptr;
}

const Ownership* Contract::find_ownership(std::string_view output) const {
  for (const Ownership& ownership : owns)
    if (ownership.output == output) return &ownership;
  return nullptr;
}

Contract load_contract(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw InputError({path}, "no such contract file");
  if (!fs::is_regular_file(status)) throw InputError({path}, "not a file: expected a contract");
  if (fs::file_size(path, error) > kMostBytes)
    throw InputError({path}, "larger than 1 MiB: this is no contract");
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || (text.fail() && errno != 0)) {  // an empty file fails, too, but without an errno
    throw InputError({path, 1, 1}, std::string("cannot read it (") + std::strerror(errno) +
                                       "): expected a contract, TOML text");
  }
  return parse_contract(text.str(), path);
}

Contract parse_contract(const std::string& toml, const std::string& path) {
  try {
    return read_contract(parse_toml(toml, path), path);
  } catch (const InputError& error) {
    throw InputError(error.where(), one_line(error));
  }
}

std::string Variant::text() const {
  std::string out;
  const auto add = [&out](const std::string& key, const std::string& value) {
    out += (out.empty() ? "" : " ") + key + "=" + value;
  };
  for (const auto& [key, type] : types) add(key, std::string(name(type)));
  for (const auto& [key, value] : knobs) add(key, std::to_string(value));
  for (const auto& [key, value] : flags) add(key, std::to_string(value));
  return out;
}

DType resolve_dtype(const OperandSpec& operand, const Variant& variant) {
  const auto found = variant.types.find(operand.dtype);
  if (found != variant.types.end()) return found->second;
  if (const std::optional<DType> type = parse_dtype(operand.dtype)) return *type;
  throw InputError(operand.where, "the case gives no type " + operand.dtype + " for operand '" +
                                      operand.name + "'");
}

}  // namespace assay
