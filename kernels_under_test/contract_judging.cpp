// What decides whether an answer is right: formula or oracle, ownership, accuracy, policy,
// properties.
#include "kernels_under_test/contract_parts.hpp"

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
    contract.formula.push_back(std::move(line));
  }
  if (contract.formula.empty()) throw InputError(value.where, "[formula] has no lines");
}

void read_oracle(const TomlValue& value, Contract& contract) {
  const TomlEntry* op = expect_table(value, "'oracle'").find("op");
  if (op == nullptr) throw InputError(value.where, "'oracle' needs 'op'");
  for (const TomlEntry& entry : value.entries) {
    if (entry.value.kind == TomlValue::Kind::integer)
      contract.oracle[entry.key] = std::to_string(entry.value.integer);
    else if (entry.value.kind == TomlValue::Kind::boolean)
      contract.oracle[entry.key] = entry.value.boolean ? "true" : "false";
    else
      contract.oracle[entry.key] = expect_string(entry.value, "'" + entry.key + "' of 'oracle'");
  }
  // Relation checks by name are not built yet: every operation is a later one.
  note_later(contract, op->where, "oracle.op = \"" + contract.oracle["op"] + "\"");
}

void read_ownership(const TomlValue& value, Contract& contract) {
  std::vector<std::string> outputs;
  for (const OperandSpec& operand : contract.args)
    if (operand.kind == OperandKind::output || operand.kind == OperandKind::inout)
      outputs.push_back(operand.name);
  for (const TomlEntry& entry : expect_table(value, "'owns'").entries) {
    if (!contains(outputs, entry.key))
      throw InputError(entry.where, "'owns' names '" + entry.key + "', which is no output" +
                                        suggestion(entry.key, outputs));
    contract.owns.push_back(
        {entry.key, expect_expression(entry.value, "'owns." + entry.key + "'"), entry.where});
  }
}

void read_accuracy(const TomlValue& value, Contract& contract) {
  const TableReader table(
      value, "[accuracy]",
      {"accumulate", "math", "depth", "exp", "online", "variance", "weak_reason", "peer_ratio"});
  Accuracy& accuracy = contract.accuracy;
  if (const TomlValue* accumulate = table.find("accumulate"))
    accuracy.accumulate = expect_choice<DType>(*accumulate, "'accumulate'",
                                               {{"f64", DType::f64},
                                                {"f32", DType::f32},
                                                {"f16", DType::f16},
                                                {"bf16", DType::bf16},
                                                {"i64", DType::i64},
                                                {"i32", DType::i32}});
  if (const TomlValue* math = table.find("math"))
    accuracy.math = expect_choice<MathMode>(
        *math, "'math'",
        {{"precise", MathMode::precise}, {"fast", MathMode::fast}, {"triton", MathMode::triton}});
  accuracy.depth = table.expression("depth");
  if (const TomlValue* exp = table.find("exp"))
    accuracy.exp = expect_choice<ExpForm>(
        *exp, "'exp'", {{"direct", ExpForm::direct}, {"prescaled", ExpForm::prescaled}});
  accuracy.online = table.expression("online");
  if (const TomlValue* variance = table.find("variance"))
    accuracy.variance = expect_choice<VarianceForm>(
        *variance, "'variance'",
        {{"two_pass", VarianceForm::two_pass}, {"one_pass", VarianceForm::one_pass}});
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
  if (policy.zero_order == ZeroOrderPolicy::signed_zero)
    note_later(contract, table.need("zero_order").where, "policy.zero_order = \"signed\"");
  if (const TomlValue* empty = table.find("empty"))
    policy.empty = expect_choice<EmptyPolicy>(
        *empty, "policy 'empty'", {{"zero", EmptyPolicy::zero}, {"nan", EmptyPolicy::nan}});
  if (const TomlValue* overflow = table.find("cast_overflow"))
    policy.cast_overflow =
        expect_choice<CastOverflowPolicy>(*overflow, "policy 'cast_overflow'",
                                          {{"saturate", CastOverflowPolicy::saturate},
                                           {"inf", CastOverflowPolicy::inf},
                                           {"nan", CastOverflowPolicy::nan},
                                           {"wrap", CastOverflowPolicy::wrap}});
}

void read_properties(const TomlValue& value, Contract& contract) {
  const std::vector<std::string> known{"rows_independent", "repeatable",   "layout_free",
                                       "knobs_free",       "padding_free", "shift_invariant",
                                       "scale_invariant"};
  for (const TomlValue& item : expect_array(value, "'properties'").items) {
    const std::string& property = expect_string(item, "a property");
    if (!contains(known, property))
      throw InputError(item.text_where,
                       "unknown property '" + property + "'" + suggestion(property, known));
    if (contains(contract.properties, property))
      throw InputError(item.text_where, "property '" + property + "' stands twice");
    contract.properties.push_back(property);
    note_later(contract, item.where, "property '" + property + "'");
  }
}

}  // namespace assay
