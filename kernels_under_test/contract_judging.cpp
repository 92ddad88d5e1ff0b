// What decides whether an answer is right: formula or oracle, ownership, accuracy, policy.
#include <algorithm>
#include <regex>

#include "kernels_under_test/contract_parts.hpp"
#include "kernels_under_test/relations.hpp"

namespace assay {
namespace {

// "y", or "cache[slot = slots, ...]".
void read_left_side(const TomlEntry& entry, FormulaLine& line) {
  const ExprPtr left = parse_expression(entry.key, entry.where);
  if (left->kind == Expr::Kind::name) {
    line.name = left->text;
    return;
  }
  if (left->kind != Expr::Kind::index || left->operands[0]->kind != Expr::Kind::name)
    throw InputError(entry.where,
                     "expected a name or 'output[dimension = index]' on the left of a "
                     "formula line, found '" +
                         entry.key + "'");
  line.name = left->operands[0]->text;
  for (size_t i = 1; i < left->operands.size(); ++i) {
    if (left->labels[i].empty())
      throw InputError(left->operands[i]->where,
                       "name the dimension: '" + line.name + "[dimension = index]'");
    line.scatter.emplace_back(left->labels[i], left->operands[i]);
  }
}

}  // namespace

namespace {

void read_output_role(const TomlValue& value, const Contract& contract, OracleRole& role) {
  role.text = expect_string(value, "'" + role.name + "' of 'oracle'");
  std::vector<std::string> outputs;
  for (const OperandSpec& operand : contract.args)
    if (operand.is_judged()) outputs.push_back(operand.name);
  if (!contains(outputs, role.text))
    throw InputError(value.text_where, "'" + role.name + "' of 'oracle' needs an output, not '" +
                                           role.text + "'" + suggestion(role.text, outputs));
}

void read_dimension_role(const TomlValue& value, const Contract& contract, OracleRole& role) {
  role.text = expect_string(value, "'" + role.name + "' of 'oracle'");
  const std::vector<std::string> known = names_of_dimensions(contract);
  if (!contains(known, role.text))
    throw InputError(value.text_where, "unknown dimension '" + role.text + "' in 'oracle'" +
                                           suggestion(role.text, known));
}

void read_choice_role(const TomlValue& value, const RelationRole& form, OracleRole& role) {
  role.text = value.kind == TomlValue::Kind::boolean
                  ? (value.boolean ? "true" : "false")
                  : expect_string(value, "'" + role.name + "' of 'oracle'");
  std::string known;
  for (const std::string_view choice : form.choices) {
    if (choice.empty()) continue;
    if (role.text == choice) return;
    known += (known.empty() ? "'" : ", '") + std::string(choice) + "'";
  }
  throw InputError(value.where, "'" + role.name + "' of 'oracle' is one of " + known + ", not '" +
                                    role.text + "'");
}

OracleRole read_role(const TomlEntry& entry, const RelationForm& relation,
                     const Contract& contract) {
  const RelationRole* form = find_role(relation, entry.key);
  if (form == nullptr) {
    std::vector<std::string> known{"op"};
    for (const RelationRole& role : relation.roles)
      if (!role.name.empty()) known.emplace_back(role.name);
    throw InputError(entry.where, "relation '" + std::string(relation.name) + "' has no '" +
                                      entry.key + "'" + suggestion(entry.key, known));
  }
  OracleRole role;
  role.name = entry.key;
  role.where = entry.where;
  switch (form->form) {
    case RoleForm::output:
      read_output_role(entry.value, contract, role);
      break;
    case RoleForm::dimension:
      read_dimension_role(entry.value, contract, role);
      break;
    case RoleForm::choice:
      read_choice_role(entry.value, *form, role);
      break;
    case RoleForm::value:
    case RoleForm::number:
      role.expr = expect_expression(entry.value, "'" + entry.key + "' of 'oracle'");
      break;
  }
  return role;
}

OracleSpec read_relation(const TomlValue& value, const Contract& contract) {
  const TomlEntry* op = expect_table(value, "'oracle'").find("op");
  if (op == nullptr) throw InputError(value.where, "'oracle' needs 'op'");
  OracleSpec spec;
  spec.where = op->where;
  spec.op = expect_string(op->value, "'op' of 'oracle'");
  const RelationForm* relation = find_relation_form(spec.op);
  if (relation == nullptr) {
    std::vector<std::string> known;
    for (const RelationForm& form : kRelationForms) known.emplace_back(form.name);
    throw InputError(op->value.text_where,
                     "unknown relation '" + spec.op + "'" + suggestion(spec.op, known));
  }
  for (const TomlEntry& entry : value.entries)
    if (entry.key != "op") spec.roles.push_back(read_role(entry, *relation, contract));
  bool judges = false;
  for (const RelationRole& role : relation->roles) {
    if (role.name.empty()) continue;
    const bool given = spec.find(role.name) != nullptr;
    judges = judges || (given && role.form == RoleForm::output);
    if (role.required && !given)
      throw InputError(op->where,
                       "relation '" + spec.op + "' needs '" + std::string(role.name) + "'");
  }
  if (!judges) throw InputError(op->where, "relation '" + spec.op + "' names no output");
  return spec;
}

}  // namespace

void read_formula(const TomlValue& value, Contract& contract) {
  for (const TomlEntry& entry : expect_table(value, "[formula]").entries) {
    FormulaLine line;
    line.where = entry.where;
    read_left_side(entry, line);
    const bool is_list =
        entry.value.kind == TomlValue::Kind::table || entry.value.kind == TomlValue::Kind::array;
    if (is_list && !section_hint(entry.key).empty())
      throw InputError(entry.where,
                       "'" + entry.key + "' stands in [formula]" + section_hint(entry.key));
    line.expr = expect_expression(entry.value, "the formula of '" + line.name + "'");
    const Expr& right = *line.expr;
    line.accumulates = !line.scatter.empty() && right.kind == Expr::Kind::call &&
                       right.text == "add" && right.operands.size() == 1;
    if (line.accumulates) line.expr = ExprPtr(right.operands[0]);
    contract.formula.push_back(std::move(line));
  }
  if (contract.formula.empty()) throw InputError(value.where, "[formula] has no lines");
}

void read_oracle(const TomlValue& value, Contract& contract) {
  if (value.kind != TomlValue::Kind::array) {
    contract.oracles.push_back(read_relation(value, contract));
    return;
  }
  for (const TomlValue& item : value.items)
    contract.oracles.push_back(read_relation(item, contract));
  if (contract.oracles.empty()) throw InputError(value.where, "'oracle' lists no relations");
}

void read_ownership(const TomlValue& value, Contract& contract) {
  std::vector<std::string> outputs;
  for (const OperandSpec& operand : contract.args)
    if (operand.is_judged()) outputs.push_back(operand.name);
  for (const TomlEntry& entry : expect_table(value, "'owns'").entries) {
    if (!contains(outputs, entry.key))
      throw InputError(entry.where, "'owns' names '" + entry.key + "', which is no output" +
                                        suggestion(entry.key, outputs));
    contract.owns.push_back(
        {entry.key, expect_expression(entry.value, "'owns." + entry.key + "'"), entry.where});
  }
}

namespace {

/// An expression, or one a dimension: `depth = { D = "D / 16", token = "..." }`.
void read_depth(const TableReader& table, Accuracy& accuracy) {
  const TomlValue* depth = table.find("depth");
  if (depth == nullptr) return;
  if (depth->kind != TomlValue::Kind::table) {
    accuracy.depth = table.expression("depth");
    return;
  }
  for (const TomlEntry& entry : depth->entries)
    accuracy.depth_along.push_back(
        {entry.key, expect_expression(entry.value, "'depth' along '" + entry.key + "'"),
         entry.where});
}

/// The shape of the instruction, as PTX spells it.
void read_mma(const TableReader& table, Accuracy& accuracy) {
  const TomlValue* mma = table.find("mma");
  if (mma == nullptr) return;
  accuracy.mma = expect_string(*mma, "'mma' of [accuracy]");
  static const std::regex shape("m[0-9]{1,3}n[0-9]{1,3}k([0-9]{1,3})");
  std::smatch match;
  if (!std::regex_match(accuracy.mma, match, shape) || std::stoi(match[1]) == 0)
    throw InputError(mma->text_where, "'" + accuracy.mma +
                                          "' is no shape of mma or wmma; expected e.g. "
                                          "\"m16n8k16\"");
  accuracy.mma_products = std::stoi(match[1]);
}

/// A conversion to an integer type stands somewhere in the expression.
bool converts_to_integer(const Expr& node, const Contract& contract) {
  const bool typed = node.kind == Expr::Kind::call && node.operands.size() == 2 &&
                     (node.text == "cast" || node.text == "round" || node.text == "quant");
  if (typed && node.operands[1]->kind == Expr::Kind::name) {
    const std::string& type = node.operands[1]->text;
    if (contains(names_of_types(contract), type) || parse_dtype(type))
      for (const DType kind : kinds_of(type, contract))
        if (is_integer(kind)) return true;
  }
  return std::any_of(node.operands.begin(), node.operands.end(), [&](const ExprPtr& operand) {
    return converts_to_integer(*operand, contract);
  });
}

/// Saturation is judged of integers and of 8-bit floats. A policy of integer outputs, or of
/// integers inside a formula, does not speak of the floating outputs beside them.
void check_cast_overflow(const TomlValue& value, const Contract& contract) {
  const CastOverflowPolicy policy = *contract.policy.cast_overflow;
  if (policy == CastOverflowPolicy::inf) return;
  bool floating = false;
  bool integer = false;
  for (const OperandSpec& operand : contract.args) {
    if (!operand.is_judged()) continue;
    for (const DType kind : kinds_of(operand.dtype, contract)) {
      const bool saturates = policy == CastOverflowPolicy::saturate && bit_width(kind) == 8;
      integer |= !is_floating(kind);
      floating |= is_floating(kind) && !saturates;
    }
  }
  for (const FormulaLine& line : contract.formula)
    integer |= converts_to_integer(*line.expr, contract);
  if (floating && !integer)
    throw InputError(value.text_where,
                     "policy cast_overflow = \"" + value.text +
                         "\" is not judged of floating-point outputs; expected \"inf\", or a "
                         "conversion to an integer type in the formula");
}

}  // namespace

void read_accuracy(const TomlValue& value, Contract& contract) {
  const TableReader table(value, "[accuracy]",
                          {"accumulate", "math", "depth", "mma", "exp", "online", "variance",
                           "weak_reason", "peer_ratio"});
  Accuracy& accuracy = contract.accuracy;
  if (const TomlValue* accumulate = table.find("accumulate")) {
    accuracy.accumulate = expect_choice<DType>(*accumulate, "'accumulate'",
                                               {{"f64", DType::f64},
                                                {"f32", DType::f32},
                                                {"f16", DType::f16},
                                                {"bf16", DType::bf16},
                                                {"i64", DType::i64},
                                                {"i32", DType::i32}});
    accuracy.states_accumulate = is_floating(accuracy.accumulate);
  }
  if (const TomlValue* math = table.find("math"))
    accuracy.math = expect_choice<MathMode>(
        *math, "'math'",
        {{"precise", MathMode::precise}, {"fast", MathMode::fast}, {"triton", MathMode::triton}});
  read_depth(table, accuracy);
  read_mma(table, accuracy);
  if (const TomlValue* exp = table.find("exp"))
    accuracy.exp = expect_choice<ExpForm>(
        *exp, "'exp'", {{"direct", ExpForm::direct}, {"prescaled", ExpForm::prescaled}});
  accuracy.online = table.expression("online");
  if (const TomlValue* variance = table.find("variance"))
    accuracy.variance = expect_choice<VarianceForm>(*variance, "'variance'",
                                                    {{"two_pass", VarianceForm::two_pass},
                                                     {"one_pass", VarianceForm::one_pass},
                                                     {"welford", VarianceForm::welford}});
  accuracy.weak_reason = table.text("weak_reason");
  if (const TomlValue* ratio = table.find("peer_ratio")) {
    if (ratio->kind != TomlValue::Kind::real) expect_integer(*ratio, "'peer_ratio'");
    note_later(contract, ratio->where, "accuracy.peer_ratio");
  }
}

void read_policy(const TomlValue& value, Contract& contract) {
  const TableReader table(
      value, "[policy]",
      {"nan", "subnormals", "range", "tie", "zero_order", "empty", "cast_overflow"});
  Policy& policy = contract.policy;
  if (const TomlValue* nan = table.find("nan"))
    policy.nan = expect_choice<NanPolicy>(*nan, "policy 'nan'",
                                          {{"propagate", NanPolicy::propagate},
                                           {"ignore", NanPolicy::ignore},
                                           {"exclude", NanPolicy::exclude}});
  if (const TomlValue* subnormals = table.find("subnormals"))
    policy.subnormals = expect_choice<SubnormalPolicy>(*subnormals, "policy 'subnormals'",
                                                       {{"keep", SubnormalPolicy::keep},
                                                        {"flush", SubnormalPolicy::flush},
                                                        {"maybe", SubnormalPolicy::maybe}});
  if (const TomlValue* range = table.find("range"))
    policy.range = expect_choice<RangePolicy>(
        *range, "policy 'range'", {{"safe", RangePolicy::safe}, {"naive", RangePolicy::naive}});
  if (const TomlValue* tie = table.find("tie"))
    policy.tie = expect_choice<TiePolicy>(
        *tie, "policy 'tie'",
        {{"first", TiePolicy::first}, {"last", TiePolicy::last}, {"free", TiePolicy::free}});
  if (const TomlValue* zero = table.find("zero_order"))
    policy.zero_order = expect_choice<ZeroOrderPolicy>(
        *zero, "policy 'zero_order'",
        {{"equal", ZeroOrderPolicy::equal}, {"signed", ZeroOrderPolicy::signed_zero}});
  if (const TomlValue* empty = table.find("empty"))
    policy.empty = expect_choice<EmptyPolicy>(
        *empty, "policy 'empty'", {{"zero", EmptyPolicy::zero}, {"nan", EmptyPolicy::nan}});
  if (const TomlValue* overflow = table.find("cast_overflow")) {
    policy.cast_overflow =
        expect_choice<CastOverflowPolicy>(*overflow, "policy 'cast_overflow'",
                                          {{"saturate", CastOverflowPolicy::saturate},
                                           {"inf", CastOverflowPolicy::inf},
                                           {"nan", CastOverflowPolicy::nan},
                                           {"wrap", CastOverflowPolicy::wrap}});
    check_cast_overflow(*overflow, contract);
  }
}

}  // namespace assay
