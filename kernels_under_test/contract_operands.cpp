// `args`: the kernel's operands in its own order.
#include <algorithm>

#include "kernels_under_test/contract_parts.hpp"
#include "kernels_under_test/operand_kind.hpp"

namespace assay {

const char* name_of(OperandKind kind) {
  switch (kind) {
    case OperandKind::input:
      return "input";
    case OperandKind::output:
      return "output";
    case OperandKind::inout:
      return "inout";
    case OperandKind::index:
      return "index";
    case OperandKind::workspace:
      return "workspace";
    case OperandKind::scalar:
      return "scalar";
  }
  return "";
}

namespace {

constexpr size_t kMostDimensions = 8;

bool holds(OperandKind kind, std::initializer_list<OperandKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

OperandKind read_kind(const TomlValue& value) {
  return expect_choice<OperandKind>(value, "'kind'",
                                    {{"input", OperandKind::input},
                                     {"output", OperandKind::output},
                                     {"inout", OperandKind::inout},
                                     {"index", OperandKind::index},
                                     {"workspace", OperandKind::workspace},
                                     {"scalar", OperandKind::scalar}});
}

// Keys that make sense for some kinds only.
void check_keys_fit(const TableReader& table, OperandKind kind) {
  using enum OperandKind;
  struct Rule {
    const char* key;
    std::initializer_list<OperandKind> kinds;
  };
  static const std::initializer_list<Rule> kRules{
      {"shape", {input, output, inout, index, workspace}},
      {"align", {input, output, inout, index, workspace}},
      {"strides", {input, output, inout, index, workspace}},
      {"value", {scalar}},
      {"strides_of", {scalar}},
      {"domain", {input, inout, index}},
      {"distinct", {index}},
      {"repeats", {index}},
      {"sorted", {input, index}},
      {"prefix_sum_of", {index}},
      {"live", {input, index}},
      {"dead", {input, index}},
      {"may_alias", {output, inout, workspace}},
      {"valid", {output, inout}},
      {"overread", {input, inout, index}},
      {"pack", {input}},
  };
  for (const TomlEntry& entry : table.table().entries)
    for (const Rule& rule : kRules)
      if (entry.key == rule.key && !holds(kind, rule.kinds))
        throw InputError(entry.where, "'" + entry.key + "' does not apply to an operand of kind '" +
                                          name_of(kind) + "'");
}

std::string read_dtype(const TomlValue& value, const Contract& contract) {
  const std::string& text = expect_string(value, "'dtype' of an operand");
  std::vector<std::string> known = names_of_types(contract);
  if (contains(known, text) || parse_dtype(text)) return text;
  for (int i = 0; i <= static_cast<int>(DType::i4); ++i)
    known.emplace_back(name(static_cast<DType>(i)));
  throw InputError(value.text_where, "unknown dtype '" + text + "'" + suggestion(text, known));
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

// "rows", 7, "2 * rows" or "name: expression".
Dimension read_dimension(const TomlValue& value) {
  if (value.kind == TomlValue::Kind::string) {
    const size_t colon = value.text.find(':');
    if (colon != std::string::npos) {
      const std::string label(trimmed(std::string_view(value.text).substr(0, colon)));
      if (is_identifier(label))
        return {label, parse_expression(std::string_view(value.text).substr(colon + 1),
                                        advanced(value.text_where, value.text, colon + 1))};
    }
  } else if (value.kind != TomlValue::Kind::integer) {
    throw InputError(value.where,
                     std::string("an extent must be an integer or an expression in quotes, not ") +
                         kind_name(value.kind));
  }
  ExprPtr extent = expect_expression(value, "an extent");
  if (extent->kind == Expr::Kind::integer && extent->integer < 0)
    throw InputError(value.where, "an extent cannot be negative");
  const std::string label = extent->kind == Expr::Kind::name ? extent->text : "";
  return {label, std::move(extent)};
}

void read_shape(const TomlValue& value, OperandSpec& operand) {
  for (const TomlValue& item : expect_array(value, "'shape' of '" + operand.name + "'").items) {
    operand.shape.push_back(read_dimension(item));
    if (operand.shape.size() > kMostDimensions)
      throw InputError(item.where, "'" + operand.name + "' has more than " +
                                       std::to_string(kMostDimensions) + " dimensions");
    const std::string& label = operand.shape.back().name;
    const auto same = [&](const Dimension& d) { return d.name == label; };
    if (!label.empty() && std::count_if(operand.shape.begin(), operand.shape.end(), same) > 1)
      throw InputError(item.text_where,
                       "dimension '" + label + "' stands twice in the shape of '" + operand.name +
                           "'; give one a name of its own: \"other: " + label + "\"");
  }
}

void read_strides(const TomlValue& value, OperandSpec& operand) {
  const TomlValue& array = expect_array(value, "'strides' of '" + operand.name + "'");
  for (const TomlValue& item : array.items) {
    StrideRule rule;
    rule.any = item.kind == TomlValue::Kind::string && item.text == "any";
    if (!rule.any) rule.value = expect_expression(item, "a stride");
    operand.strides.push_back(std::move(rule));
  }
  if (array.items.size() != operand.shape.size())
    throw InputError(array.where, "'" + operand.name + "' has " +
                                      counted(operand.shape.size(), "dimension") + " but " +
                                      counted(array.items.size(), "stride"));
}

bool is_literal(const Expr& expr) {
  if (expr.kind == Expr::Kind::unary) return expr.text == "-" && is_literal(*expr.operands[0]);
  return expr.kind == Expr::Kind::integer || expr.kind == Expr::Kind::real;
}

// "lo..hi | lo..hi"
void read_domain(const TomlValue& value, OperandSpec& operand) {
  const std::string& text = expect_string(value, "'domain' of '" + operand.name + "'");
  for (const Piece& range : split_outside_brackets(text, "|")) {
    const std::vector<Piece> bounds = split_outside_brackets(range.text, "..");
    const SourceLocation where = advanced(value.text_where, text, range.offset);
    if (bounds.size() != 2)
      throw InputError(where, "expected a range 'low..high' in 'domain', found '" +
                                  std::string(trimmed(range.text)) + "'");
    DomainRange out;
    out.low = parse_expression(bounds[0].text, where);
    out.high = parse_expression(bounds[1].text,
                                advanced(value.text_where, text, range.offset + bounds[1].offset));
    if (is_literal(*out.low) && is_literal(*out.high) &&
        evaluate_real(*out.low, {}) > evaluate_real(*out.high, {}))
      throw InputError(where, "empty range in 'domain': " + to_text(*out.low) + " is above " +
                                  to_text(*out.high));
    operand.domain.push_back(std::move(out));
  }
}

// "[0:n_post[0], :]", one slice a dimension.
void read_valid(const TomlValue& value, OperandSpec& operand) {
  const std::string& text = expect_string(value, "'valid' of '" + operand.name + "'");
  const size_t open = text.find_first_not_of(" \t");
  const size_t close = text.find_last_not_of(" \t");
  if (open == std::string::npos || text[open] != '[' || text[close] != ']' || open == close)
    throw InputError(value.text_where,
                     "expected '[low:high, ...]' in 'valid' of '" + operand.name + "'");
  const size_t inside = open + 1;
  const std::string_view list = std::string_view(text).substr(inside, close - inside);
  const std::vector<Piece> slices = split_outside_brackets(list, ",");
  if (slices.size() != operand.shape.size())
    throw InputError(value.text_where, "'" + operand.name + "' has " +
                                           counted(operand.shape.size(), "dimension") + " but " +
                                           counted(slices.size(), "slice") + " in 'valid'");
  for (size_t d = 0; d < slices.size(); ++d) {
    const size_t begin = inside + slices[d].offset;
    const SourceLocation where = advanced(value.text_where, text, begin);
    const std::vector<Piece> ends = split_outside_brackets(slices[d].text, ":");
    if (ends.size() != 2) throw InputError(where, "expected a slice 'low:high' in 'valid'");
    Expr zero;
    zero.where = where;
    ExprPtr low = trimmed(ends[0].text).empty() ? std::make_shared<const Expr>(zero)
                                                : parse_expression(ends[0].text, where);
    ExprPtr high = trimmed(ends[1].text).empty()
                       ? operand.shape[d].extent
                       : parse_expression(ends[1].text,
                                          advanced(value.text_where, text, begin + ends[1].offset));
    operand.valid.emplace_back(std::move(low), std::move(high));
  }
}

void read_value(const TomlValue& value, OperandSpec& operand) {
  if (value.kind != TomlValue::Kind::array) {
    operand.value = expect_expression(value, "'value' of '" + operand.name + "'");
    return;
  }
  for (const TomlValue& item : value.items)
    operand.values.push_back(expect_expression(item, "an entry of 'value'"));
  if (operand.values.empty())
    throw InputError(value.where, "'value' of '" + operand.name + "' lists no values");
}

void read_index_rules(const TableReader& table, const std::vector<std::string>& operands,
                      OperandSpec& operand) {
  if (const TomlValue* domain = table.find("domain")) read_domain(*domain, operand);
  operand.distinct = table.flag("distinct");
  operand.repeats = table.flag("repeats");
  operand.sorted = table.flag("sorted");
  if (operand.distinct && operand.repeats)
    throw InputError(table.find("repeats")->where, "'distinct' and 'repeats' exclude each other");
  if (const TomlValue* prefix = table.find("prefix_sum_of")) {
    operand.prefix_sum_of = expect_string(*prefix, "'prefix_sum_of'");
    if (!contains(operands, operand.prefix_sum_of) || operand.prefix_sum_of == operand.name)
      throw InputError(prefix->text_where, "unknown operand '" + operand.prefix_sum_of + "'" +
                                               suggestion(operand.prefix_sum_of, operands));
  }
  operand.live = table.expression("live");
  if (const TomlValue* dead = table.find("dead")) {
    if (operand.live == nullptr) throw InputError(dead->where, "'dead' needs 'live'");
    operand.dead = expect_choice<Dead>(*dead, "'dead'",
                                       {{"poison", Dead::poison},
                                        {"in_range", Dead::in_range},
                                        {"none", Dead::none}});
    if (operand.dead == Dead::none && operand.kind != OperandKind::index)
      throw InputError(dead->where, "'dead' of '" + operand.name +
                                        "' is \"none\", which only index operands can hold");
  }
}

void check_dtype_fits(const TomlValue& value, const Contract& contract,
                      const OperandSpec& operand) {
  for (const DType kind : kinds_of(operand.dtype, contract)) {
    const std::string spelled(name(kind));
    if (operand.kind == OperandKind::index && !is_integer(kind))
      throw InputError(value.text_where, "index operand '" + operand.name +
                                             "' needs integer types, not '" + spelled + "'");
    if (byte_size(kind) == 0 && operand.kind == OperandKind::scalar)
      throw InputError(value.text_where, "a scalar cannot be '" + spelled + "'");
    if (byte_size(kind) == 0 && operand.kind != OperandKind::input)
      throw InputError(value.text_where,
                       "'" + spelled + "' is packed, which only inputs can be, not '" +
                           operand.name + "' of kind '" + name_of(operand.kind) + "'");
    if (byte_size(kind) == 0 && !operand.pack)
      throw InputError(value.text_where,
                       "'" + spelled + "' needs 'pack', e.g. pack = { along = \"" +
                           (operand.shape.empty() ? "K" : operand.shape.back().name) +
                           "\", word = \"u32\", low_first = true }");
  }
}

// One scalar for each dimension of `target`, holding its stride.
std::vector<OperandSpec> expand_strides(const TableReader& table, const TomlValue& args,
                                        const std::vector<std::string>& operands,
                                        const Contract& contract) {
  const TomlValue& target_name = table.need("strides_of");
  const std::string& target = expect_string(target_name, "'strides_of'");
  for (const char* key : {"value", "shape"})
    if (const TomlEntry* entry = table.table().find(key))
      throw InputError(entry->where, std::string("'") + key + "' cannot stand beside 'strides_of'");
  const TomlValue* shape = nullptr;
  for (const TomlValue& item : args.items) {
    const TomlEntry* name = item.find("name");
    if (name != nullptr && name->value.text == target && item.find("shape") != nullptr)
      shape = &item.find("shape")->value;
  }
  if (shape == nullptr)
    throw InputError(target_name.text_where,
                     "unknown operand '" + target + "'" + suggestion(target, operands));
  const TomlValue* dtype = table.find("dtype");
  const std::string prefix = table.text("name", target + "_stride");
  std::vector<OperandSpec> out;
  for (size_t d = 0; d < shape->items.size(); ++d) {
    OperandSpec scalar;
    scalar.name = prefix + std::to_string(d);
    scalar.kind = OperandKind::scalar;
    scalar.dtype = dtype == nullptr ? "i64" : read_dtype(*dtype, contract);
    scalar.value = parse_expression("stride(" + target + ", " + std::to_string(d) + ")",
                                    target_name.text_where);
    scalar.where = target_name.text_where;
    read_presence(table, operands, scalar);
    out.push_back(std::move(scalar));
  }
  return out;
}

OperandSpec read_operand(const TableReader& table, const std::vector<std::string>& operands,
                         Contract& contract) {
  OperandSpec operand;
  const TomlValue& name = table.need("name");
  operand.name = expect_string(name, "'name' of an operand");
  operand.where = name.text_where;
  if (!is_identifier(operand.name))
    throw InputError(name.text_where, "'" + operand.name + "' is no name for an operand");
  operand.kind = read_kind(table.need("kind"));
  check_keys_fit(table, operand.kind);
  operand.dtype = read_dtype(table.need("dtype"), contract);
  if (operand.kind == OperandKind::scalar) {
    read_value(table.need("value"), operand);
  } else {
    read_shape(table.need("shape"), operand);
  }
  operand.align = table.expression("align");
  if (const TomlValue* strides = table.find("strides")) read_strides(*strides, operand);
  read_index_rules(table, operands, operand);
  read_presence(table, operands, operand);
  read_aliases(table, operands, operand);
  if (const TomlValue* valid = table.find("valid")) read_valid(*valid, operand);
  operand.overread = table.expression("overread");
  if (table.find("pack") != nullptr) read_packing(table, operand);
  check_dtype_fits(table.need("dtype"), contract, operand);
  return operand;
}

}  // namespace

std::vector<DType> kinds_of(const std::string& dtype, const Contract& contract) {
  for (const TypeParameter& type : contract.types)
    if (type.name == dtype) return type.kinds;
  return {*parse_dtype(dtype)};
}

void read_operands(const TomlValue& value, Contract& contract) {
  const TomlValue& args = expect_array(value, "'args'");
  if (args.items.empty()) throw InputError(args.where, "'args' lists no operands");
  std::vector<std::string> operands;
  for (const TomlValue& item : args.items)
    if (const TomlEntry* name = item.find("name");
        name != nullptr && name->value.kind == TomlValue::Kind::string)
      operands.push_back(name->value.text);
  for (const TomlValue& item : args.items) {
    const TableReader table(
        item, "an operand",
        {"name",  "kind",   "dtype",    "shape",     "align",  "strides",       "strides_of",
         "value", "domain", "distinct", "repeats",   "sorted", "prefix_sum_of", "live",
         "dead",  "when",   "absent",   "may_alias", "valid",  "overread",      "pack"});
    if (table.find("strides_of") != nullptr) {
      if (const TomlValue* kind = table.find("kind")) check_keys_fit(table, read_kind(*kind));
      for (OperandSpec& scalar : expand_strides(table, args, operands, contract))
        contract.args.push_back(std::move(scalar));
    } else {
      contract.args.push_back(read_operand(table, operands, contract));
    }
  }
}

}  // namespace assay
