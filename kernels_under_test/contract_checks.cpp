// Names: distinct, and known wherever an expression outside the formula uses one.
#include <algorithm>
#include <cstring>
#include <map>

#include "kernels_under_test/contract_parts.hpp"
#include "kernels_under_test/limits.hpp"
#include "kernels_under_test/live.hpp"
#include "kernels_under_test/relations.hpp"

namespace assay {
namespace {

using Names = std::vector<std::string>;

bool is_tensor(const OperandSpec& operand) { return operand.kind != OperandKind::scalar; }

// Whatever dtype a case draws for the operand, it is an integer.
bool is_always_integer(const Contract& contract, const OperandSpec& operand) {
  for (const TypeParameter& type : contract.types)
    if (type.name == operand.dtype)
      return std::all_of(type.kinds.begin(), type.kinds.end(), is_integer);
  return is_integer(*parse_dtype(operand.dtype));
}

// What one expression may use.
struct Scope {
  const Contract& contract;
  std::string what;       ///< "'grid' of a launch"
  Names names;            ///< plain names
  bool shapes = false;    ///< stride(x, d), size(dim), numel(x)
  bool block = false;     ///< block.x, block.y, block.z
  bool elements = false;  ///< x[i] of operands
  bool reals = false;     ///< 1e-6, sqrt, exp2
};

[[noreturn]] void fail(const Expr& node, const std::string& message) {
  throw InputError(node.where, message);
}

const OperandSpec& tensor_named(const Expr& node, const Scope& scope) {
  Names tensors;
  for (const OperandSpec& operand : scope.contract.args)
    if (is_tensor(operand)) tensors.push_back(operand.name);
  if (node.kind == Expr::Kind::name && contains(tensors, node.text))
    return *scope.contract.find_operand(node.text);
  const std::string text = to_text(node);
  fail(node, "expected an operand in " + scope.what + ", found '" + text + "'" +
                 suggestion(text, tensors));
}

void check_stride_call(const Expr& call, const Scope& scope) {
  if (call.operands.size() != 2) fail(call, "'stride' takes an operand and a dimension");
  const OperandSpec& operand = tensor_named(*call.operands[0], scope);
  const Expr& which = *call.operands[1];
  Names dimensions;
  for (const Dimension& dimension : operand.shape) dimensions.push_back(dimension.name);
  if (which.kind == Expr::Kind::name && contains(dimensions, which.text)) return;
  const auto rank = static_cast<int64_t>(operand.shape.size());
  if (which.kind == Expr::Kind::integer && which.integer >= 0 && which.integer < rank) return;
  fail(which, "'" + operand.name + "' has no dimension '" + to_text(which) + "'; it has " +
                  counted(operand.shape.size(), "dimension"));
}

void check_size_call(const Expr& call, const Scope& scope) {
  Names known = names_of_dimensions(scope.contract);
  for (const SizeSpec& size : scope.contract.sizes) known.push_back(size.name);
  for (const NamedExpr& derived : scope.contract.derive) known.push_back(derived.name);
  if (call.operands.size() != 1) fail(call, "'size' takes one dimension");
  const std::string text = to_text(*call.operands[0]);
  if (!contains(known, text))
    fail(*call.operands[0], "unknown dimension '" + text + "'" + suggestion(text, known));
}

void check_expression(const Expr& node, const Scope& scope);

void check_call(const Expr& call, const Scope& scope) {
  if (check_builtin_call(call)) {
    if (!scope.reals && (call.text == "sqrt" || call.text == "exp2"))
      fail(call, "'" + call.text + "' gives a real number, but " + scope.what + " is an integer");
    for (const ExprPtr& operand : call.operands) check_expression(*operand, scope);
    return;
  }
  const bool shape_call = call.text == "stride" || call.text == "size" || call.text == "numel";
  if (!shape_call) {
    Names known = builtin_functions();
    if (scope.shapes) known.insert(known.end(), {"stride", "size", "numel"});
    fail(call, "unknown function '" + call.text + "'" + suggestion(call.text, known));
  }
  if (!scope.shapes) fail(call, "'" + call.text + "' is not known yet in " + scope.what);
  if (call.text == "stride") return check_stride_call(call, scope);
  if (call.text == "size") return check_size_call(call, scope);
  if (call.operands.size() != 1) fail(call, "'numel' takes one operand");
  tensor_named(*call.operands[0], scope);
}

void check_element(const Expr& node, const Scope& scope) {
  if (!scope.elements) fail(node, "elements of operands cannot be used in " + scope.what);
  const OperandSpec& operand = tensor_named(*node.operands[0], scope);
  if (!is_always_integer(scope.contract, operand))
    fail(*node.operands[0],
         "'" + operand.name + "' holds no integers and cannot be used in " + scope.what);
  if (node.operands.size() != operand.shape.size() + 1)
    fail(*node.operands[0], "'" + operand.name + "' has " +
                                counted(operand.shape.size(), "dimension") + ", not " +
                                std::to_string(node.operands.size() - 1));
  for (size_t i = 1; i < node.operands.size(); ++i) {
    if (!node.labels[i].empty())
      fail(*node.operands[i], "subscripts are positional in " + scope.what);
    check_expression(*node.operands[i], scope);
  }
}

void check_member(const Expr& node, const Scope& scope) {
  const std::string text = to_text(node);
  if (!scope.block) fail(node, "'" + text + "' cannot be used in " + scope.what);
  const Names known{"block.x", "block.y", "block.z"};
  if (!contains(known, text))
    fail(*node.operands[0], "unknown name '" + text + "'" + suggestion(text, known));
}

void check_name(const Expr& node, const Scope& scope) {
  if (contains(scope.names, node.text) || parse_dtype(node.text)) return;
  const OperandSpec* operand = scope.contract.find_operand(node.text);
  if (operand != nullptr && is_tensor(*operand))
    fail(node, "operand '" + node.text + "' has no single value in " + scope.what);
  if (operand != nullptr && !is_always_integer(scope.contract, *operand))
    fail(node, "scalar '" + node.text + "' is no integer and cannot be used in " + scope.what);
  if (operand != nullptr)
    fail(node, "the value of scalar '" + node.text + "' is not known yet in " + scope.what);
  for (const NamedExpr& derived : scope.contract.derive)
    if (derived.name == node.text)
      fail(node, "'" + node.text + "' is used in " + scope.what + " before its own line");
  fail(node,
       "unknown name '" + node.text + "' in " + scope.what + suggestion(node.text, scope.names));
}

void check_expression(const Expr& node, const Scope& scope) {
  switch (node.kind) {
    case Expr::Kind::name:
      return check_name(node, scope);
    case Expr::Kind::call:
      return check_call(node, scope);
    case Expr::Kind::index:
      return check_element(node, scope);
    case Expr::Kind::member:
      return check_member(node, scope);
    case Expr::Kind::real:
      if (!scope.reals)
        fail(node, "a real number cannot stand in " + scope.what + ", which is an integer");
      return;
    default:
      for (const ExprPtr& operand : node.operands) check_expression(*operand, scope);
  }
}

void check(const ExprPtr& expr, Scope scope, const std::string& what) {
  scope.what = what;
  if (expr != nullptr) check_expression(*expr, scope);
}

// --- distinct names ------------------------------------------------------------------------------

class NameRegister {
 public:
  void add(const std::string& name, const char* what, const SourceLocation& where,
           const std::string& hint = "") {
    check_word(name, what, where);
    const auto [place, fresh] = owners_.emplace(name, std::pair(what, where));
    if (fresh) return;
    throw InputError(where, std::string(what) + " '" + name + "': the name is taken by the " +
                                place->second.first + " in line " +
                                std::to_string(place->second.second.line) + hint);
  }

  // A scalar may carry the name of the size (or knob, ...) that it passes on.
  void add_operand(const OperandSpec& operand) {
    const bool passes_on = operand.kind == OperandKind::scalar && operand.value != nullptr &&
                           operand.value->kind == Expr::Kind::name &&
                           operand.value->text == operand.name;
    const auto owner = owners_.find(operand.name);
    if (passes_on && owner != owners_.end() && std::string_view(owner->second.first) != "operand") {
      if (!passed_on_.emplace(operand.name, 0).second)
        throw InputError(operand.where, "operand '" + operand.name + "' stands twice");
      return;
    }
    const bool scalar = operand.kind == OperandKind::scalar;
    if (scalar && owner != owners_.end() && operand.value != nullptr &&
        operand.value->kind == Expr::Kind::name && !owners_.contains(operand.value->text)) {
      const std::string near = nearest_name(operand.value->text, names());
      if (!near.empty())
        throw InputError(operand.value->where, "unknown name '" + operand.value->text +
                                                   "' (did you mean '" + near + "'?)");
    }
    add(operand.name, "operand", operand.where,
        scalar ? "; a scalar may share it only as value = \"" + operand.name + "\"" : "");
  }

 private:
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, owner] : owners_) all.push_back(name);
    return all;
  }

  static void check_word(const std::string& name, const char* what, const SourceLocation& where) {
    const std::string thing =
        (std::strchr("aeiou", what[0]) != nullptr ? "an " : "a ") + std::string(what);
    if (!is_identifier(name))
      throw InputError(
          where, "'" + name + "' is no name for " + thing + "; expected letters, digits and '_'");
    if (is_reserved_word(name))
      throw InputError(where, "'" + name + "' is a word of the language and no name for " + thing);
  }

  std::map<std::string, std::pair<const char*, SourceLocation>> owners_;
  std::map<std::string, int> passed_on_;
};

void check_distinct(const Contract& contract) {
  NameRegister names;
  for (const TypeParameter& type : contract.types) names.add(type.name, "type", type.where);
  for (const SizeSpec& size : contract.sizes) names.add(size.name, "size", size.where);
  for (const NamedExpr& derived : contract.derive)
    names.add(derived.name, "derived value", derived.where);
  for (const Knob& knob : contract.knobs) names.add(knob.name, "knob", knob.where);
  for (const std::string& flag : contract.flags) names.add(flag, "flag", contract.flags_where);
  for (const OperandSpec& operand : contract.args) names.add_operand(operand);
}

// Broadcasting by name needs one extent a name; and a label hides no other thing.
void check_dimensions(const Contract& contract) {
  struct First {
    std::string extent;
    std::string operand;
  };
  std::map<std::string, First> extents;
  const Names values = names_of_values(contract);
  for (const OperandSpec& operand : contract.args) {
    for (const Dimension& dimension : operand.shape) {
      if (dimension.name.empty()) continue;
      const std::string extent = to_text(*dimension.extent);
      const auto [first, fresh] = extents.emplace(dimension.name, First{extent, operand.name});
      if (!fresh && first->second.extent != extent)
        fail(*dimension.extent, "dimension '" + dimension.name + "' of '" + operand.name +
                                    "' has extent " + extent + ", but " + first->second.extent +
                                    " in '" + first->second.operand + "'");
      if (extent == dimension.name) continue;
      if (contains(values, dimension.name) || contract.find_operand(dimension.name) != nullptr)
        fail(*dimension.extent, "dimension '" + dimension.name +
                                    "' carries the name of something else but not its extent");
    }
  }
}

// --- expressions by section ----------------------------------------------------------------------

Names plus(Names names, const Names& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

Names dimensions_of(const OperandSpec& operand) {
  Names names;
  for (const Dimension& dimension : operand.shape)
    if (!dimension.name.empty()) names.push_back(dimension.name);
  return names;
}

void check_derived(const Contract& contract) {
  Names known = names_of_values(contract);
  for (const NamedExpr& derived : contract.derive)
    known.erase(std::find(known.begin(), known.end(), derived.name));
  for (const NamedExpr& derived : contract.derive) {
    check(derived.expr, {contract, "", known}, "'derive." + derived.name + "'");
    known.push_back(derived.name);
  }
}

// What an `any` runs over is a dimension of the contract or a size; its condition is checked as any
// other.
void check_live(const Contract& contract, const OperandSpec& operand, Scope scope,
                const std::string& what) {
  const auto somewhere = live_somewhere(operand);
  if (!somewhere) return check(operand.live, scope, what);
  Names known = names_of_dimensions(contract);
  for (const SizeSpec& size : contract.sizes)
    if (!contains(known, size.name)) known.push_back(size.name);
  for (size_t i = 0; i < somewhere->over.size(); ++i)
    if (!contains(known, somewhere->over[i]))
      fail(*operand.live->operands[i + 1], "unknown dimension '" + somewhere->over[i] + "' in " +
                                               what + suggestion(somewhere->over[i], known));
  scope.names = plus(scope.names, somewhere->over);
  check(operand.live->operands[0], scope, what);
}

void check_operand(const Contract& contract, const OperandSpec& operand, const Scope& everything) {
  const Names values = names_of_values(contract);
  const Scope plain{contract, "", values};
  const Scope shapes{contract, "", values, true};
  const std::string of = " of '" + operand.name + "'";
  for (const Dimension& dimension : operand.shape) check(dimension.extent, plain, "the shape" + of);
  check(operand.when, plain, "'when'" + of);
  check(operand.align, shapes, "'align'" + of);
  check(operand.overread, shapes, "'overread'" + of);
  for (const StrideRule& rule : operand.strides) check(rule.value, shapes, "'strides'" + of);
  Scope value_scope = shapes;
  value_scope.reals = !is_always_integer(contract, operand);
  check(operand.value, value_scope, "'value'" + of);
  for (const ExprPtr& value : operand.values) check(value, value_scope, "'value'" + of);
  Scope domain = everything;
  domain.reals = value_scope.reals;
  for (const DomainRange& range : operand.domain) {
    check(range.low, domain, "'domain'" + of);
    check(range.high, domain, "'domain'" + of);
  }
  Scope live = everything;
  live.elements = true;
  live.names = plus(live.names, dimensions_of(operand));
  check_live(contract, operand, live, "'live'" + of);
  Scope valid = everything;
  valid.elements = true;
  for (const auto& [low, high] : operand.valid) {
    check(low, valid, "'valid'" + of);
    check(high, valid, "'valid'" + of);
  }
}

// An operand that is too large, or whose extent overflows, with every size at its least above 0, is
// so in all cases that have elements. Extents of other names than sizes and knobs wait for a case.
void check_extents(const Contract& contract, const OperandSpec& operand) {
  IntegerScope least;
  least.value = [&](std::string_view wanted) -> std::optional<int64_t> {
    for (const SizeSpec& size : contract.sizes) {
      if (size.name != wanted) continue;
      int64_t value = size.in.empty() ? std::max<int64_t>(size.min, 1) : 0;
      for (const int64_t one : size.in) {
        if (one > 0 && (value == 0 || one < value)) value = one;
      }
      return value;
    }
    for (const Knob& knob : contract.knobs) {
      if (knob.name == wanted) return *std::min_element(knob.values.begin(), knob.values.end());
    }
    return std::nullopt;
  };
  __int128 bytes = 1;
  for (const Dimension& dimension : operand.shape) {
    const Names names = names_in(*dimension.extent);
    const bool known = std::all_of(names.begin(), names.end(),
                                   [&](const std::string& name) { return !!least.value(name); });
    if (!known) continue;
    const int64_t extent = evaluate_integer(*dimension.extent, least);
    bytes *= std::max<int64_t>(extent, 1);
    if (bytes <= kMostOperandBytes) continue;
    fail(*dimension.extent,
         "operand '" + operand.name + "' is larger than 64 TiB with the extent " +
             to_text(*dimension.extent) + ", however small the sizes: expected at most 64 TiB");
  }
}

// Where every launch lists its arguments, some launch has to pass each output.
void check_passed(const Contract& contract) {
  for (const OperandSpec& operand : contract.args) {
    if (operand.kind != OperandKind::output && operand.kind != OperandKind::inout) continue;
    const bool passed = std::any_of(
        contract.launches.begin(), contract.launches.end(), [&](const LaunchSpec& launch) {
          return launch.args.empty() || contains(launch.args, operand.name);
        });
    if (!passed && !contract.launches.empty())
      throw InputError(operand.where, "output '" + operand.name + "' is passed to no launch");
  }
}

void check_launch(const LaunchSpec& launch, const Scope& everything) {
  check(launch.when, everything, "'when' of a launch");
  for (const ExprPtr& extent : launch.grid) check(extent, everything, "'grid' of a launch");
  for (const ExprPtr& extent : launch.block) check(extent, everything, "'block' of a launch");
  check(launch.shared, everything, "'shared' of a launch");
}

void check_depths(const Contract& contract, const Scope& everything) {
  Names known;
  for (const OperandSpec& operand : contract.args)
    for (const std::string& dimension : dimensions_of(operand))
      if (!contains(known, dimension)) known.push_back(dimension);
  for (const SizeSpec& size : contract.sizes)
    if (!contains(known, size.name)) known.push_back(size.name);
  for (const NamedExpr& depth : contract.accuracy.depth_along) {
    if (!contains(known, depth.name))
      throw InputError(depth.where, "'depth' names '" + depth.name + "', which is no dimension" +
                                        suggestion(depth.name, known));
    check(depth.expr, everything, "'depth' of [accuracy]");
  }
}

}  // namespace

void check_names(const Contract& contract) {
  check_distinct(contract);
  check_dimensions(contract);
  check_derived(contract);
  Names names = names_of_values(contract);
  for (const OperandSpec& operand : contract.args)
    if (operand.kind == OperandKind::scalar && is_always_integer(contract, operand))
      names.push_back(operand.name);
  const Scope everything{contract, "", names, true};
  for (const OperandSpec& operand : contract.args) {
    check_operand(contract, operand, everything);
    check_extents(contract, operand);
  }
  for (const NamedExpr& relation : contract.require) check(relation.expr, everything, "'require'");
  for (const LaunchSpec& launch : contract.launches) check_launch(launch, everything);
  check_passed(contract);
  check(contract.accuracy.depth, everything, "'depth' of [accuracy]");
  check_depths(contract, everything);
  check(contract.accuracy.online, everything, "'online' of [accuracy]");
  for (const OracleSpec& oracle : contract.oracles)
    for (const OracleRole& role : oracle.roles)
      if (find_role(*find_relation_form(oracle.op), role.name)->form == RoleForm::number)
        check(role.expr, everything, "'" + role.name + "' of 'oracle'");
  for (const Ownership& ownership : contract.owns) {
    Scope scope = everything;
    scope.block = true;
    scope.names = plus(scope.names, dimensions_of(*contract.find_operand(ownership.output)));
    check(ownership.relation, scope, "'owns." + ownership.output + "'");
  }
}

void check_entry(const std::string& entry, const SourceLocation& where, const Contract& contract) {
  Names known = names_of_types(contract);
  for (const Knob& knob : contract.knobs) known.push_back(knob.name);
  known.insert(known.end(), contract.flags.begin(), contract.flags.end());
  for (size_t open = entry.find('{'); open != std::string::npos; open = entry.find('{', open + 1)) {
    const SourceLocation place = advanced(where, entry, open);
    const size_t close = entry.find('}', open);
    if (close == std::string::npos) throw InputError(place, "'{' in an entry is not closed");
    const std::string name = entry.substr(open + 1, close - open - 1);
    if (!contains(known, name))
      throw InputError(place, "'{" + name + "}' in an entry names no type, knob or flag" +
                                  suggestion(name, known));
  }
}

}  // namespace assay
