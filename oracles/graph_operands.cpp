// Names, operands and gathers of a formula.
#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "oracles/formula_compiler.hpp"

namespace assay {

int FormulaCompiler::compile_name(const Expr& e) {
  if (const auto bound = bindings_.find(e.text); bound != bindings_.end())
    return compile_bound(e, bound->second);
  if (e.text == "inf") return literal(std::numeric_limits<double>::infinity(), e.where);
  if (e.text == "nan") return literal(std::numeric_limits<double>::quiet_NaN(), e.where);
  if (const auto line = lines_.find(e.text); line != lines_.end()) return line->second;
  const OperandSpec* operand = contract_.find_operand(e.text);
  if (operand != nullptr && operand->kind != OperandKind::scalar) return load(e, *operand);
  if (is_dim(e.text)) return dim_index(e);
  Node n;
  n.op = Op::named;
  n.text = e.text;
  if (operand != nullptr) {
    n.operand = operand_position(*operand);
    n.type = resolve_dtype(*operand, variant_);
    n.integral = is_integer(n.type);
    n.bits = n.integral ? 0 : format_of(n.type).precision;
  } else if (is_integer_name(e.text)) {
    n.integral = true;
  } else {
    fail(e, "unknown name '" + e.text + "' in a formula" + did_you_mean(e.text));
  }
  return put(n, e.where);
}

int FormulaCompiler::compile_bound(const Expr& e, const std::vector<ExprPtr>& bound) {
  if (bound.size() != 1) fail(e, "'" + e.text + "' stands for dimensions here");
  const Bindings saved = std::exchange(bindings_, {});
  const int id = compile(*bound.front());
  bindings_ = saved;
  return id;
}

bool FormulaCompiler::is_integer_name(const std::string& name) const {
  const auto has = [&name](const auto& list) {
    return std::any_of(list.begin(), list.end(),
                       [&name](const auto& item) { return item.name == name; });
  };
  return has(contract_.sizes) || has(contract_.derive) || has(contract_.knobs) ||
         std::find(contract_.flags.begin(), contract_.flags.end(), name) != contract_.flags.end();
}

std::string FormulaCompiler::did_you_mean(const std::string& name) const {
  std::set<std::string> names(graph_.dims.begin(), graph_.dims.end());
  for (const auto& operand : contract_.args) names.insert(operand.name);
  for (const auto& [line, id] : lines_) names.insert(line);
  for (const auto& size : contract_.sizes) names.insert(size.name);
  const std::string near = nearest_name(name, names);
  return near.empty() ? "" : " (did you mean '" + near + "'?)";
}

int FormulaCompiler::dim_index(const Expr& e) {
  Node n;
  n.op = Op::dim_index;
  n.integral = true;
  n.dimension = dim_id(e.text);
  n.dims = {n.dimension};
  return put(n, e.where);
}

int FormulaCompiler::load(const Expr& e, const OperandSpec& operand, bool from_output) {
  if (operand.kind == OperandKind::workspace)
    fail(e, "'" + operand.name + "' is a workspace: a formula cannot read it");
  if (operand.kind == OperandKind::output && !from_output)
    fail(e, "'" + operand.name + "' is an output: use given(" + operand.name +
                ") to read what the kernel wrote");
  Node n;
  n.op = Op::load;
  n.operand = operand_position(operand);
  n.from_output = from_output;
  n.type = resolve_dtype(operand, variant_);
  n.integral = is_integer(n.type);
  n.bits = n.integral ? 0 : format_of(n.type).precision;
  for (const Dimension& dimension : operand.shape)
    if (!dimension.name.empty()) n.dims.push_back(dim_id(dimension.name));
  return put(n, e.where);
}

int FormulaCompiler::compile_member(const Expr& e) {
  const Expr& base = *e.operands[0];
  const OperandSpec* operand = contract_.find_operand(base.text);
  if (e.text != "before" || operand == nullptr)
    fail(e, "expected OPERAND.before, got '" + base.text + "." + e.text + "'");
  return load(e, *operand);
}

int FormulaCompiler::compile_gather(const Expr& e) {
  const Expr& base = *e.operands[0];
  const std::string& name = base.kind == Expr::Kind::member ? base.operands[0]->text : base.text;
  const OperandSpec* operand = contract_.find_operand(name);
  if (operand == nullptr || operand->kind == OperandKind::scalar)
    fail(base, "a gather reads an operand, and '" + name +
                   "' is none: gather from the operands it is made of");
  Node n;
  n.op = Op::gather;
  n.operand = operand_position(*operand);
  n.type = resolve_dtype(*operand, variant_);
  n.integral = is_integer(n.type);
  n.bits = n.integral ? 0 : format_of(n.type).precision;
  for (size_t i = 1; i < e.operands.size(); ++i) {
    n.indexed.push_back(axis_of(e, *operand, i));
    n.args.push_back(integer_node(*e.operands[i]));
  }
  n.dims = union_dims(n.args);
  for (size_t axis = 0; axis < operand->shape.size(); ++axis) {
    const std::string& dim = operand->shape[axis].name;
    const bool indexed =
        std::find(n.indexed.begin(), n.indexed.end(), static_cast<int>(axis)) != n.indexed.end();
    if (indexed || dim.empty()) continue;
    const int id = dim_id(dim);
    if (std::find(n.dims.begin(), n.dims.end(), id) == n.dims.end()) n.dims.push_back(id);
  }
  return put(n, e.where);
}

int FormulaCompiler::axis_of(const Expr& e, const OperandSpec& operand, size_t position) {
  const std::string& label = e.labels[position];
  if (label.empty()) {
    if (position - 1 >= operand.shape.size())
      fail(e, "'" + operand.name + "' has " + std::to_string(operand.shape.size()) + " dimensions");
    return static_cast<int>(position) - 1;
  }
  for (size_t axis = 0; axis < operand.shape.size(); ++axis)
    if (operand.shape[axis].name == label) return static_cast<int>(axis);
  fail(*e.operands[position], "'" + operand.name + "' has no dimension '" + label + "'");
}

int FormulaCompiler::integer_node(const Expr& e) {
  const int id = compile(e);
  if (!node(id).integral) fail(e, "expected an integer");
  return id;
}

}  // namespace assay
