// Compiles a contract's formula: nodes, equal ones shared, and outputs.
#include "oracles/graph.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "generators/values.hpp"
#include "kernels_under_test/relations.hpp"
#include "oracles/accuracy_table.hpp"
#include "oracles/formula_compiler.hpp"
#include "oracles/functions.hpp"

namespace assay {

FormulaCompiler::FormulaCompiler(const Contract& contract, const Variant& variant)
    : contract_(contract), variant_(variant), sums_(types().sums), arithmetic_(types().others) {
  for (const OperandSpec& operand : contract.args)
    for (const Dimension& dimension : operand.shape)
      if (!dimension.name.empty()) dim_id(dimension.name);
  // A size that some reduction runs over is an index from the first line on.
  for (const std::string& name : reduced_dimensions(contract))
    if (is_size(name)) dim_id(name);
}

Graph FormulaCompiler::compile() {
  for (const FormulaLine& line : contract_.formula) {
    root_expression_ = line.expr.get();
    const int node = compile(*line.expr);
    const OperandSpec* operand = contract_.find_operand(line.name);
    if (operand != nullptr && operand->is_judged()) add_root(line, *operand, node);
    if (line.scatter.empty()) lines_[line.name] = node;
  }
  if (has_limits_) add_limits();
  for (size_t k = 0; k < contract_.oracles.size(); ++k) add_relation(static_cast<int>(k));
  for (const Node& n : graph_.nodes) need_accuracy(n);
  return std::move(graph_);
}

void FormulaCompiler::need_accuracy(const Node& n) const {
  const bool divides = n.op == Op::div && !n.integral;
  if (!divides && n.op != Op::function) return;
  const FunctionInfo* info = divides ? nullptr : find_function(n.text);
  if (info != nullptr && info->exact) return;
  const std::string operation = divides ? "div" : n.text;
  if (!accuracy_rows(operation, arithmetic_, math_figures(contract_)).empty()) return;
  throw InputError(n.where_,
                   "no published accuracy of '" + (divides ? "/" : operation) + "' in " +
                       std::string(name(arithmetic_)) +
                       ": give [accuracy] another `accumulate` (f32 serves kernels that compute "
                       "it in f32 and round), or write the formula without it");
}

void FormulaCompiler::add_limits() {
  const auto plain = lines_;
  in_limits_ = true;
  for (const FormulaLine& line : contract_.formula) {
    root_expression_ = line.expr.get();
    const int id = compile(*line.expr);
    if (line.scatter.empty()) lines_[line.name] = id;
    for (FormulaRoot& root : graph_.roots) {
      const DType type = resolve_dtype(contract_.args[static_cast<size_t>(root.operand)], variant_);
      if (root.output != line.name || root.accumulates || !is_floating(type)) continue;
      // Several lines may write one output by index.
      if (root.scatters && root.line != to_text(*line.expr)) continue;
      const int limits = output_value(id, type, *line.expr);
      if (limits != root.node) root.limits = limits;
    }
  }
  in_limits_ = false;
  lines_ = plain;
}

void FormulaCompiler::add_relation(int oracle) {
  RelationRoot root;
  root.oracle = oracle;
  for (const OracleRole& role : contract_.oracles[static_cast<size_t>(oracle)].roles) {
    if (role.expr == nullptr) continue;
    const OracleSpec& spec = contract_.oracles[static_cast<size_t>(oracle)];
    if (find_role(*find_relation_form(spec.op), role.name)->form != RoleForm::value) continue;
    root_expression_ = role.expr.get();
    const int id = compile(*role.expr);
    root.values[role.name] = node(id).integral ? id : arithmetic(id, *role.expr);
  }
  graph_.relations.push_back(std::move(root));
}

namespace {

bool is_named(const Expr& expr, const std::string& name) {
  const std::vector<std::string> all = names_in(expr);
  return std::find(all.begin(), all.end(), name) != all.end();
}

/// `total.before + sum(...)`: what a sum starts from is its own, and no operand of all else.
bool is_start_of_sum(const Expr& expr, const std::string& name) {
  if (expr.kind != Expr::Kind::binary || expr.text != "+") return false;
  const auto is_start = [&name](const Expr& e) {
    return e.kind == Expr::Kind::member && e.operands[0]->text == name;
  };
  const auto is_sum = [&name](const Expr& e) {
    return e.kind == Expr::Kind::call && e.text == "sum" && !is_named(e, name);
  };
  const Expr& a = *expr.operands[0];
  const Expr& b = *expr.operands[1];
  return (is_start(a) && is_sum(b)) || (is_sum(a) && is_start(b));
}

/// Values of an operand enter the formula or a relation: it may be an input and is named there.
bool is_read(const Contract& contract, const OperandSpec& operand) {
  if (operand.kind != OperandKind::input && operand.kind != OperandKind::inout) return false;
  const auto reads = [&operand](const ExprPtr& expr) {
    return expr != nullptr && is_named(*expr, operand.name) &&
           !is_start_of_sum(*expr, operand.name);
  };
  return std::any_of(contract.formula.begin(), contract.formula.end(),
                     [&](const FormulaLine& line) { return reads(line.expr); }) ||
         std::any_of(contract.oracles.begin(), contract.oracles.end(), [&](const OracleSpec& spec) {
           return std::any_of(spec.roles.begin(), spec.roles.end(),
                              [&](const OracleRole& role) { return reads(role.expr); });
         });
}

}  // namespace

ArithmeticTypes arithmetic_types(const Contract& contract,
                                 const std::function<DType(const OperandSpec&)>& type_of) {
  const bool reads_f64 =
      std::any_of(contract.args.begin(), contract.args.end(), [&](const OperandSpec& operand) {
        return is_read(contract, operand) && type_of(operand) == DType::f64;
      });
  const Accuracy& accuracy = contract.accuracy;
  // i32 and i64 speak of sums of integers, which are exact.
  if (!accuracy.states_accumulate)
    return reads_f64 ? ArithmeticTypes{DType::f64, DType::f64} : ArithmeticTypes{};
  const bool narrows = accuracy.accumulate == DType::f64 && !reads_f64;
  return {accuracy.accumulate, narrows ? DType::f32 : accuracy.accumulate};
}

ArithmeticTypes FormulaCompiler::types() const {
  return arithmetic_types(
      contract_, [this](const OperandSpec& operand) { return resolve_dtype(operand, variant_); });
}

void FormulaCompiler::fail(const Expr& at, const std::string& message) {
  throw InputError(at.where, message);
}

int FormulaCompiler::dim_id(const std::string& name) {
  const auto found = std::find(graph_.dims.begin(), graph_.dims.end(), name);
  if (found != graph_.dims.end()) return static_cast<int>(found - graph_.dims.begin());
  graph_.dims.push_back(name);
  return static_cast<int>(graph_.dims.size()) - 1;
}

bool FormulaCompiler::is_dim(const std::string& name) const {
  return std::find(graph_.dims.begin(), graph_.dims.end(), name) != graph_.dims.end();
}

bool FormulaCompiler::is_size(const std::string& name) const {
  return std::any_of(contract_.sizes.begin(), contract_.sizes.end(),
                     [&](const SizeSpec& size) { return size.name == name; });
}

int FormulaCompiler::operand_position(const OperandSpec& operand) const {
  return static_cast<int>(&operand - contract_.args.data());
}

std::string FormulaCompiler::key_of(const Node& node) {
  std::string key = std::to_string(static_cast<int>(node.op));
  const auto put = [&key](int64_t value) { key.append(",").append(std::to_string(value)); };
  put(node.integral);
  for (const auto* list : {&node.args, &node.dims, &node.reduced, &node.indexed}) {
    key += ";";
    for (const int value : *list) put(value);
  }
  put(node.operand);
  put(node.from_output);
  put(node.raw);
  put(node.dimension);
  put(static_cast<int>(node.type));
  put(node.weight);
  put(node.nonpositive);
  put(node.mma_products);
  put(node.integer);
  key.append(";").append(node.text).append(";");
  put(static_cast<int64_t>(std::bit_cast<uint64_t>(node.real)));
  return key;
}

int FormulaCompiler::put(Node node, const SourceLocation& where) {
  const std::string key = key_of(node);
  const auto [found, fresh] = known_.emplace(key, static_cast<int>(graph_.nodes.size()));
  if (fresh) {
    node.where_ = where;
    graph_.nodes.push_back(std::move(node));
  }
  return found->second;
}

std::vector<int> FormulaCompiler::union_dims(const std::vector<int>& args) const {
  std::vector<int> dims;
  for (const int arg : args)
    if (node(arg).dims.size() > dims.size()) dims = node(arg).dims;
  for (const int arg : args)
    for (const int dim : node(arg).dims)
      if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
  return dims;
}

int FormulaCompiler::significand_bits(double value) {
  return static_cast<double>(static_cast<float>(value)) == value ? 24 : 53;
}

int FormulaCompiler::literal(double value, const SourceLocation& where) {
  Node n;
  n.op = Op::literal;
  n.real = value;
  n.bits = significand_bits(value);
  return put(n, where);
}

int FormulaCompiler::integer_literal(int64_t value, const SourceLocation& where) {
  Node n;
  n.op = Op::literal;
  n.integral = true;
  n.integer = value;
  return put(n, where);
}

int FormulaCompiler::real(int id, const Expr& at) {
  const Node& n = node(id);
  if (!n.integral) return id;
  constexpr int64_t exact = int64_t{1} << 53;
  if (n.op == Op::literal && n.integer >= -exact && n.integer <= exact)
    return literal(static_cast<double>(n.integer), at.where);
  Node out;
  out.op = Op::to_real;
  out.args = {id};
  out.dims = n.dims;
  return put(out, at.where);
}

void FormulaCompiler::add_root(const FormulaLine& line, const OperandSpec& operand, int id) {
  FormulaRoot root;
  root.output = line.name;
  root.operand = operand_position(operand);
  root.line = to_text(*line.expr);
  const DType type = resolve_dtype(operand, variant_);
  const bool moves = (node(id).op == Op::load || node(id).op == Op::gather) && !line.accumulates;
  if (moves && node(id).type == type) {
    Node raw = node(id);
    raw.raw = true;
    raw.integral = true;
    root.raw_node = put(raw, line.where);
  }
  for (const auto& [label, index] : line.scatter) {
    root.scatters = true;
    root.scatter_indices.push_back(integer_node(*index));
    root.scatter_axes.push_back(axis_named(line, operand, label));
  }
  if (root.scatters)
    add_scatter(line, operand, id, root);
  else
    check_dims(line, operand, id);
  root.saturates = is_floating(type) && saturates(*line.expr, type);
  if (is_floating(type) && line.accumulates)
    id = arithmetic(id, *line.expr);
  else if (is_floating(type))
    id = output_value(id, type, *line.expr);
  if (!is_floating(type) && !node(id).integral)
    fail(*line.expr,
         "'" + line.name + "' is " + std::string(name(type)) + ", its formula is a real number");
  root.node = id;
  graph_.roots.push_back(std::move(root));
}

void FormulaCompiler::add_scatter(const FormulaLine& line, const OperandSpec& operand, int id,
                                  FormulaRoot& root) {
  root.accumulates = line.accumulates;
  const auto add = [&root](int dim) {
    auto& dims = root.writer_dims;
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
  };
  for (const int index : root.scatter_indices)
    for (const int dim : node(index).dims) add(dim);
  for (const int dim : node(id).dims) {
    bool in_row = false;
    for (size_t axis = 0; axis < operand.shape.size(); ++axis)
      in_row |= operand.shape[axis].name == graph_.dims[static_cast<size_t>(dim)] &&
                std::find(root.scatter_axes.begin(), root.scatter_axes.end(),
                          static_cast<int>(axis)) == root.scatter_axes.end();
    if (in_row) continue;
    const auto& dims = root.writer_dims;
    if (!line.accumulates && std::find(dims.begin(), dims.end(), dim) == dims.end())
      throw InputError(line.where, "formula of '" + line.name + "' varies over '" +
                                       graph_.dims[static_cast<size_t>(dim)] +
                                       "', over which no index on the left varies");
    add(dim);
  }
}

bool FormulaCompiler::saturates(const Expr& e, DType type) const {
  const bool quantised = e.kind == Expr::Kind::call && e.text == "quant";
  return quantised ||
         (bit_width(type) == 8 && contract_.policy.cast_overflow == CastOverflowPolicy::saturate);
}

int FormulaCompiler::axis_named(const FormulaLine& line, const OperandSpec& operand,
                                const std::string& label) {
  for (size_t axis = 0; axis < operand.shape.size(); ++axis)
    if (operand.shape[axis].name == label) return static_cast<int>(axis);
  throw InputError(line.where, "'" + operand.name + "' has no dimension '" + label + "'");
}

std::string FormulaCompiler::index_hint(int id, int dim) const {
  const std::string& name = graph_.dims[static_cast<size_t>(dim)];
  for (int k = 0; k <= id; ++k) {
    if (node(k).op != Op::dim_index || node(k).dimension != dim || !graph_.feeds(k, id)) continue;
    return "; `" + name + "` here is the index along " + name + ": write size(" + name +
           ") for the extent" +
           (is_integer_name(name) ? ", or give the dimension another name, \"" + name +
                                        "_: " + name + "\", for the value"
                                  : "");
  }
  return "";
}

void FormulaCompiler::check_dims(const FormulaLine& line, const OperandSpec& operand,
                                 int id) const {
  for (const int dim : node(id).dims) {
    const std::string& name = graph_.dims[static_cast<size_t>(dim)];
    const bool found = std::any_of(operand.shape.begin(), operand.shape.end(),
                                   [&](const Dimension& d) { return d.name == name; });
    if (!found)
      throw InputError(line.where, "formula of '" + line.name + "' varies over '" + name +
                                       "', a dimension that '" + operand.name + "' does not have" +
                                       index_hint(id, dim));
  }
}

int FormulaCompiler::output_value(int id, DType type, const Expr& e) {
  id = real(id, e);
  if (node(id).op == Op::settle && node(id).type == type && node(id).weight == 1) {
    const bool once = node(id).text == "cast";
    id = node(id).args[0];
    if (once) return id;
  }
  if (rounding_pending(id) && type != arithmetic_) id = settle(id, arithmetic_, 1, e.where);
  return id;
}

bool Graph::reduced_dim(int dimension) const {
  return std::any_of(nodes.begin(), nodes.end(), [dimension](const Node& node) {
    return std::find(node.reduced.begin(), node.reduced.end(), dimension) != node.reduced.end();
  });
}

namespace {

/// Nodes that `top` depends on, itself among them: arguments come before their users.
std::vector<bool> reached_from(const std::vector<Node>& nodes, int top) {
  std::vector<bool> reached(nodes.size(), false);
  reached[static_cast<size_t>(top)] = true;
  for (auto k = static_cast<size_t>(top) + 1; k-- > 0;)
    if (reached[k])
      for (const int arg : nodes[k].args) reached[static_cast<size_t>(arg)] = true;
  return reached;
}

}  // namespace

bool Graph::feeds(int node, int top) const {
  return node <= top && reached_from(nodes, top)[static_cast<size_t>(node)];
}

bool Graph::reduces(int top) const {
  const std::vector<bool> reached = reached_from(nodes, top);
  for (size_t k = 0; k < reached.size(); ++k)
    if (reached[k] && !nodes[k].reduced.empty() && nodes[k].op != Op::cumsum) return true;
  return false;
}

Graph compile_formula(const Contract& contract, const Variant& variant) {
  return FormulaCompiler(contract, variant).compile();
}

}  // namespace assay
