// `properties`: what must not change an answer. A property that the formula contradicts is an error
// here, so that no run is needed to tell.
#include <algorithm>
#include <array>
#include <charconv>
#include <functional>

#include "kernels_under_test/contract_parts.hpp"
#include "kernels_under_test/delimited.hpp"

namespace assay {
namespace {

using Names = std::vector<std::string>;

/// What stands between the parentheses.
enum class Argument { none, dimension, knobs, input, input_and_scalars };

struct PropertyForm {
  PropertyKind kind;
  std::string_view name;
  Argument argument;
};

constexpr std::array kForms = std::to_array<PropertyForm>({
    {PropertyKind::rows_independent, "rows_independent", Argument::dimension},
    {PropertyKind::padding_free, "padding_free", Argument::none},
    {PropertyKind::repeatable, "repeatable", Argument::none},
    {PropertyKind::layout_free, "layout_free", Argument::none},
    {PropertyKind::knobs_free, "knobs_free", Argument::knobs},
    {PropertyKind::shift_invariant, "shift_invariant", Argument::input},
    {PropertyKind::scale_invariant, "scale_invariant", Argument::input_and_scalars},
});

const PropertyForm& form_of(PropertyKind kind) {
  return *std::find_if(kForms.begin(), kForms.end(),
                       [&](const PropertyForm& form) { return form.kind == kind; });
}

/// Whether an expression over sizes depends on `size`, itself or by way of `derive`.
bool depends_on(const Contract& contract, const Expr& expr, const std::string& size) {
  for (const std::string& name : names_in(expr)) {
    if (name == size) return true;
    for (const NamedExpr& derived : contract.derive)
      if (derived.name == name && depends_on(contract, *derived.expr, size)) return true;
  }
  return false;
}

/// Every expression of these lines, and of the relations.
void for_each_expression(const Contract& contract, const std::vector<const FormulaLine*>& lines,
                         const std::function<void(const Expr&)>& visit) {
  for (const FormulaLine* line : lines) {
    visit(*line->expr);
    for (const auto& [dimension, index] : line->scatter) visit(*index);
  }
  for (const OracleSpec& oracle : contract.oracles)
    for (const OracleRole& role : oracle.roles)
      if (role.expr) visit(*role.expr);
}

/// Every expression that says what is right.
void for_each_formula(const Contract& contract, const std::function<void(const Expr&)>& visit) {
  std::vector<const FormulaLine*> lines;
  for (const FormulaLine& line : contract.formula) lines.push_back(&line);
  for_each_expression(contract, lines, visit);
}

// --- rows_independent ----------------------------------------------------------------------------

/// The dimension that subscript `i` of a gather stands for; "" where that is not known.
std::string subscripted(const Contract& contract, const Expr& gather, size_t i) {
  if (!gather.labels[i].empty()) return gather.labels[i];
  const OperandSpec* operand = contract.find_operand(gather.operands[0]->text);
  return operand != nullptr && i <= operand->shape.size() ? operand->shape[i - 1].name : "";
}

/// Where a formula lets elements at one place along `rows` depend on others, or on the place: a
/// reduction over it, its index as a value, its extent, a gather along it. Null where it does not.
const Expr* mixes_rows(const Contract& contract, const Expr& node, const std::string& rows,
                       const std::string& size) {
  if (node.kind == Expr::Kind::name)
    return node.text == rows || depends_on(contract, node, size) ? &node : nullptr;
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Expr& operand = *node.operands[i];
    if (node.kind == Expr::Kind::index && i > 0 && subscripted(contract, node, i) == rows) {
      if (operand.kind != Expr::Kind::name || operand.text != rows) return &node;
      continue;  // its own place
    }
    if (const Expr* found = mixes_rows(contract, operand, rows, size)) return found;
  }
  return nullptr;
}

/// The formula's lines on which outputs with the dimension `rows` and relations depend; what other
/// outputs sum over the rows is not compared.
std::vector<const FormulaLine*> lines_of_rows(const Contract& contract, const std::string& rows) {
  Names wanted;
  const auto want = [&](const Expr& expr) {
    for (const std::string& name : names_in(expr))
      if (!contains(wanted, name)) wanted.push_back(name);
  };
  const auto along = [&](const Dimension& dimension) { return dimension.name == rows; };
  for (const OperandSpec& operand : contract.args)
    if (operand.is_judged() && std::any_of(operand.shape.begin(), operand.shape.end(), along))
      wanted.push_back(operand.name);
  for_each_expression(contract, {}, want);
  std::vector<const FormulaLine*> lines;
  for (size_t k = 0; k < wanted.size(); ++k) {
    for (const FormulaLine& line : contract.formula) {
      if (line.name != wanted[k]) continue;
      lines.push_back(&line);
      for_each_expression(contract, {&line}, want);
    }
  }
  return lines;
}

/// Why the rows of the kernel cannot be independent along `rows`, by the operands; "" if they can.
std::string rows_problem(const Contract& contract, const std::string& rows,
                         const std::string& size) {
  const bool has_sums =
      std::any_of(contract.args.begin(), contract.args.end(), [&](const OperandSpec& operand) {
        return sums_along(contract, operand, rows);
      });
  Names along_rows{rows};
  for (const DelimitedDimension& one : delimited_dimensions(contract, rows))
    along_rows.push_back(one.dimension);
  bool judged = false;
  for (const OperandSpec& operand : contract.args) {
    int along = 0;
    const bool sums = sums_along(contract, operand, rows);
    for (const Dimension& dimension : operand.shape) {
      const bool has = contains(along_rows, dimension.name);
      along += has;
      if (!has && !sums && operand.kind != OperandKind::workspace &&
          depends_on(contract, *dimension.extent, size))
        return "the extent " + to_text(*dimension.extent) + " of '" + operand.name +
               "' depends on it" +
               (has_sums && !dimension.name.empty()
                    ? " (that it is made of rows between prefix sums is said by live = \"" +
                          dimension.name + " < SUMS[...]\")"
                    : "");
    }
    if (along > 1) return "'" + operand.name + "' has it twice";
    judged = judged || (along == 1 && operand.is_judged());
    // Lengths may share what there is: those of a part are the same.
    const bool shares = has_sums && operand.shape.size() == 1 && operand.shape[0].name == rows;
    for (const DomainRange& range : operand.domain)
      if (!shares && (depends_on(contract, *range.low, size) ||
                      depends_on(contract, *range.high, size)))
        return "the domain of '" + operand.name + "' depends on it";
  }
  return judged ? "" : "no output has this dimension";
}

void check_rows(const Contract& contract, const Property& property, const SourceLocation& where) {
  const Names known = names_of_dimensions(contract);
  if (!contains(known, property.of))
    throw InputError(where, "unknown dimension '" + property.of + "' in 'rows_independent'" +
                                suggestion(property.of, known));
  const SizeSpec* size = size_along(contract, property.of);
  if (size == nullptr)
    throw InputError(where, "'rows_independent(" + property.of +
                                ")': the extent of this dimension is no plain size");
  if (const std::string why = rows_problem(contract, property.of, size->name); !why.empty())
    throw InputError(where, "'rows_independent(" + property.of + ")' cannot hold: " + why);
  // Of rows that prefix sums delimit the formula tells places apart; whether it mixes them shows in
  // no part of it.
  const bool delimited = !delimited_dimensions(contract, property.of).empty();
  for_each_expression(contract, lines_of_rows(contract, property.of), [&](const Expr& expr) {
    if (delimited) return;
    const Expr* at = mixes_rows(contract, expr, property.of, size->name);
    if (at == nullptr) return;
    throw InputError(where, "'rows_independent(" + property.of +
                                ")' contradicts the formula, which uses '" + to_text(*at) +
                                "' in line " + std::to_string(at->where.line));
  });
  for (const OracleSpec& oracle : contract.oracles) {
    const OracleRole* along = oracle.find("along");
    if (along != nullptr && along->text == property.of)
      throw InputError(where, "'rows_independent(" + property.of +
                                  ")' contradicts the oracle, which ranks along it");
  }
}

/// Without an argument: the first dimension of the first output.
std::string usual_rows(const Contract& contract, const SourceLocation& where) {
  for (const OperandSpec& operand : contract.args) {
    if (!operand.is_judged()) continue;
    if (!operand.shape.empty() && !operand.shape.front().name.empty())
      return operand.shape.front().name;
    break;
  }
  throw InputError(where,
                   "the first output has no named first dimension: say which is meant, "
                   "'rows_independent(DIMENSION)'");
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// --- knobs_free, shift_invariant, scale_invariant ------------------------------------------------

void check_knob(const Contract& contract, const std::string& knob, const SourceLocation& where) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(where, "'knobs_free' cannot hold for knob '" + knob + "': " + what +
                                "; name the knobs that are meant, 'knobs_free(KNOB, ...)'");
  };
  for_each_formula(contract, [&](const Expr& expr) {
    if (depends_on(contract, expr, knob)) refuse("the formula depends on it");
  });
  for (const OperandSpec& operand : contract.args)
    for (const Dimension& dimension : operand.shape)
      if (operand.kind != OperandKind::workspace && depends_on(contract, *dimension.extent, knob))
        refuse("the shape of '" + operand.name + "' depends on it");
}

void check_input(const Contract& contract, const Property& property, const SourceLocation& where) {
  Names known;
  for (const OperandSpec& operand : contract.args)
    if (operand.kind == OperandKind::input) known.push_back(operand.name);
  if (!contains(known, property.of))
    throw InputError(where, "'" + std::string(name(property.kind)) + "' needs an input, not '" +
                                property.of + "'" + suggestion(property.of, known));
}

/// "eps = 0": a scalar with a list of values, one of them 0.
std::string read_zero(const Contract& contract, std::string_view text,
                      const SourceLocation& where) {
  const size_t equals = text.find('=');
  std::string scalar(text.substr(0, equals));
  while (!scalar.empty() && scalar.back() == ' ') scalar.pop_back();
  const std::string_view value =
      equals == std::string_view::npos ? "" : text.substr(text.find_first_not_of(" =", equals));
  if (value != "0")
    throw InputError(where, "expected 'SCALAR = 0' or 'NAME: POWER' here, found '" +
                                std::string(text) + "'");
  Names known;
  for (const OperandSpec& operand : contract.args)
    if (operand.kind == OperandKind::scalar && !operand.values.empty())
      known.push_back(operand.name);
  if (!contains(known, scalar))
    throw InputError(where, "'" + scalar + "' is no scalar with a list of values" +
                                suggestion(scalar, known));
  for (const ExprPtr& choice : contract.find_operand(scalar)->values)
    if (names_in(*choice).empty() && evaluate_real(*choice, {}) == 0) return scalar;
  throw InputError(where, "scalar '" + scalar + "' never is 0: its 'value' lists no 0");
}

/// "eps: 2": what is multiplied along, by which power of the factor.
void read_along(const Contract& contract, std::string_view text, const SourceLocation& where,
                Property& property) {
  constexpr int kMostPower = 4;
  const size_t colon = text.find(':');
  const std::string operand(trimmed(text.substr(0, colon)));
  const std::string_view digits = trimmed(text.substr(colon + 1));
  int power = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), power);
  if (error != std::errc() || end != digits.data() + digits.size() || power == 0 ||
      power < -kMostPower || power > kMostPower)
    throw InputError(where, "expected 'NAME: POWER' with a whole power from -" +
                                std::to_string(kMostPower) + " to " + std::to_string(kMostPower) +
                                ", not 0, found '" + std::string(text) + "'");
  Names known;
  for (const OperandSpec& one : contract.args) {
    const std::vector<DType> kinds = kinds_of(one.dtype, contract);
    const bool real = std::all_of(kinds.begin(), kinds.end(), is_floating);
    if (real && one.kind != OperandKind::workspace && one.name != property.of)
      known.push_back(one.name);
  }
  if (!contains(known, operand))
    throw InputError(where, "'" + operand + "' is no other operand or scalar of a floating type" +
                                suggestion(operand, known));
  for (const auto& [other, taken] : property.along)
    if (other == operand) throw InputError(where, "'" + operand + "' stands twice");
  property.along.emplace_back(operand, power);
}

// --- the list ------------------------------------------------------------------------------------

/// "name" or "name(a, b)".
struct Written {
  std::string name;
  std::vector<std::pair<std::string, SourceLocation>> arguments;
};

Written read_written(const std::string& text, const SourceLocation& where) {
  Written written;
  const size_t open = text.find('(');
  written.name = std::string(trimmed(std::string_view(text).substr(0, open)));
  if (open == std::string::npos) return written;
  if (trimmed(text).back() != ')' || text.find(')') != text.rfind(')'))
    throw InputError(advanced(where, text, open), "'(' of a property is not closed at its end");
  const size_t close = text.rfind(')');
  const std::string_view inside = std::string_view(text).substr(open + 1, close - open - 1);
  for (const Piece& piece : split_outside_brackets(inside, ",")) {
    const std::string_view argument = trimmed(piece.text);
    const size_t at = open + 1 + piece.offset + piece.text.find_first_not_of(' ');
    if (argument.empty())
      throw InputError(advanced(where, text, open), "a property's argument is empty");
    written.arguments.emplace_back(argument, advanced(where, text, at));
  }
  return written;
}

void expect_arguments(const Written& written, size_t least, size_t most, const char* what,
                      const SourceLocation& where) {
  if (written.arguments.size() >= least && written.arguments.size() <= most) return;
  throw InputError(where, "'" + written.name + "' takes " + what);
}

Property read_property(const std::string& text, const SourceLocation& where,
                       const Contract& contract) {
  const Written written = read_written(text, where);
  const std::optional<PropertyKind> kind = parse_property_kind(written.name);
  if (!kind) {
    Names known;
    for (const PropertyForm& form : kForms) known.emplace_back(form.name);
    throw InputError(where,
                     "unknown property '" + written.name + "'" + suggestion(written.name, known));
  }
  Property property;
  property.kind = *kind;
  property.where = where;
  const auto first_place = [&] {
    return written.arguments.empty() ? where : written.arguments.front().second;
  };
  switch (form_of(*kind).argument) {
    case Argument::none:
      expect_arguments(written, 0, 0, "no argument", where);
      break;
    case Argument::dimension:
      expect_arguments(written, 0, 1, "one dimension", where);
      property.of = written.arguments.empty() ? usual_rows(contract, where)
                                              : written.arguments.front().first;
      check_rows(contract, property, first_place());
      break;
    case Argument::knobs: {
      if (contract.knobs.empty()) throw InputError(where, "'knobs_free', but there are no knobs");
      Names known;
      for (const Knob& knob : contract.knobs) known.push_back(knob.name);
      for (const auto& [knob, place] : written.arguments) {
        if (!contains(known, knob))
          throw InputError(place, "unknown knob '" + knob + "'" + suggestion(knob, known));
        property.knobs.push_back(knob);
      }
      if (property.knobs.empty()) property.knobs = known;
      for (const std::string& knob : property.knobs) check_knob(contract, knob, first_place());
      break;
    }
    case Argument::input:
      expect_arguments(written, 1, 1, "one input: 'shift_invariant(x)'", where);
      property.of = written.arguments.front().first;
      check_input(contract, property, first_place());
      break;
    case Argument::input_and_scalars:
      expect_arguments(written, 1, SIZE_MAX,
                       "one input, then what must be 0 and what is scaled along: "
                       "'scale_invariant(x, eps = 0)', 'scale_invariant(x, eps: 2)'",
                       where);
      property.of = written.arguments.front().first;
      check_input(contract, property, first_place());
      for (size_t i = 1; i < written.arguments.size(); ++i) {
        const auto& [argument, place] = written.arguments[i];
        if (argument.find(':') != std::string::npos) {
          read_along(contract, argument, place, property);
        } else if (property.zero.empty()) {
          property.zero = read_zero(contract, argument, place);
        } else {
          throw InputError(place, "'" + property.zero + " = 0' stands already");
        }
      }
      break;
  }
  return property;
}

}  // namespace

std::string_view name(PropertyKind kind) { return form_of(kind).name; }

std::optional<PropertyKind> parse_property_kind(std::string_view text) {
  for (const PropertyForm& form : kForms)
    if (form.name == text) return form.kind;
  return std::nullopt;
}

std::string Property::text() const {
  std::string inside = of;
  for (const std::string& knob : knobs) inside += (inside.empty() ? "" : ", ") + knob;
  if (!zero.empty()) inside += ", " + zero + " = 0";
  for (const auto& [operand, power] : along)
    inside += ", " + operand + ": " + std::to_string(power);
  return std::string(name(kind)) + (inside.empty() ? "" : "(" + inside + ")");
}

const Property* Contract::find_property(PropertyKind kind, std::string_view of) const {
  for (const Property& property : properties)
    if (property.kind == kind && property.of == of) return &property;
  return nullptr;
}

const SizeSpec* size_along(const Contract& contract, std::string_view dimension) {
  const Expr* extent = nullptr;
  for (const OperandSpec& operand : contract.args) {
    for (const Dimension& d : operand.shape) {
      if (d.name != dimension) continue;
      if (d.extent->kind != Expr::Kind::name) return nullptr;
      if (extent != nullptr && extent->text != d.extent->text) return nullptr;
      extent = d.extent.get();
    }
  }
  if (extent == nullptr) return nullptr;
  for (const SizeSpec& size : contract.sizes)
    if (size.name == extent->text) return &size;
  return nullptr;
}

void read_properties(const TomlValue& value, Contract& contract) {
  for (const TomlValue& item : expect_array(value, "'properties'").items) {
    const std::string& text = expect_string(item, "a property");
    Property property = read_property(text, item.text_where, contract);
    if (contract.find_property(property.kind, property.of) != nullptr)
      throw InputError(item.text_where, "property '" + property.text() + "' stands twice");
    contract.properties.push_back(std::move(property));
  }
}

}  // namespace assay
