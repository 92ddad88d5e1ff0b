// Compiles a formula's expressions into the graph, with equal nodes shared.
#include "oracles/graph.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernels_under_test/formula_functions.hpp"
#include "oracles/accuracy_table.hpp"

namespace assay {
namespace {

using Bindings = std::map<std::string, std::vector<ExprPtr>>;

class Compiler {
 public:
  Compiler(const Contract& contract, const Variant& variant)
      : contract_(contract), variant_(variant), accumulate_(effective_accumulator()) {
    for (const OperandSpec& operand : contract.args)
      for (const Dimension& dimension : operand.shape)
        if (!dimension.name.empty()) dim_id(dimension.name);
  }

  Graph compile() {
    for (const FormulaLine& line : contract_.formula) {
      const int node = compile(*line.expr);
      const OperandSpec* operand = contract_.find_operand(line.name);
      const bool is_output = operand != nullptr && (operand->kind == OperandKind::output ||
                                                    operand->kind == OperandKind::inout);
      if (is_output) add_root(line, *operand, node);
      if (line.scatter.empty()) lines_[line.name] = node;
    }
    return std::move(graph_);
  }

 private:
  // --- helpers -----------------------------------------------------------------------------------

  DType effective_accumulator() const {
    for (const OperandSpec& operand : contract_.args)
      if (operand.kind != OperandKind::scalar && resolve_dtype(operand, variant_) == DType::f64)
        return DType::f64;
    return contract_.accuracy.accumulate;
  }

  [[noreturn]] static void fail(const Expr& at, const std::string& message) {
    throw InputError(at.where, message);
  }

  int dim_id(const std::string& name) {
    const auto found = std::find(graph_.dims.begin(), graph_.dims.end(), name);
    if (found != graph_.dims.end()) return static_cast<int>(found - graph_.dims.begin());
    graph_.dims.push_back(name);
    return static_cast<int>(graph_.dims.size()) - 1;
  }

  bool is_dim(const std::string& name) const {
    return std::find(graph_.dims.begin(), graph_.dims.end(), name) != graph_.dims.end();
  }

  bool is_size(const std::string& name) const {
    return std::any_of(contract_.sizes.begin(), contract_.sizes.end(),
                       [&](const SizeSpec& size) { return size.name == name; });
  }

  int operand_position(const OperandSpec& operand) const {
    return static_cast<int>(&operand - contract_.args.data());
  }

  static std::string key_of(const Node& node) {
    std::string key = std::to_string(static_cast<int>(node.op));
    const auto put = [&key](int64_t value) { key += "," + std::to_string(value); };
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
    put(node.integer);
    key.append(";").append(node.text).append(";");
    put(static_cast<int64_t>(std::bit_cast<uint64_t>(node.real)));
    return key;
  }

  int put(Node node, const SourceLocation& where) {
    const std::string key = key_of(node);
    const auto [found, fresh] = known_.emplace(key, static_cast<int>(graph_.nodes.size()));
    if (fresh) {
      node.where_ = where;
      graph_.nodes.push_back(std::move(node));
    }
    return found->second;
  }

  const Node& node(int id) const { return graph_.nodes[static_cast<size_t>(id)]; }

  /// Dimensions of an elementwise node: those of the argument with most, then the others'.
  std::vector<int> union_dims(const std::vector<int>& args) const {
    std::vector<int> dims;
    for (const int arg : args)
      if (node(arg).dims.size() > dims.size()) dims = node(arg).dims;
    for (const int arg : args)
      for (const int dim : node(arg).dims)
        if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
    return dims;
  }

  /// 24 when the value is a float, otherwise 53.
  static int significand_bits(double value) {
    return static_cast<double>(static_cast<float>(value)) == value ? 24 : 53;
  }

  int literal(double value, const SourceLocation& where) {
    Node n;
    n.op = Op::literal;
    n.real = value;
    n.bits = significand_bits(value);
    return put(n, where);
  }

  int integer_literal(int64_t value, const SourceLocation& where) {
    Node n;
    n.op = Op::literal;
    n.integral = true;
    n.integer = value;
    return put(n, where);
  }

  int real(int id, const Expr& at) {
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

  // --- roundings ---------------------------------------------------------------------------------

  bool correctly_rounded(std::string_view operation) const {
    const auto rows = accuracy_rows(operation, accumulate_, contract_.accuracy.math);
    return !rows.empty() && rows.front().measure == ErrorMeasure::ulp && rows.front().base == 0 &&
           rows.front().slope == 0;
  }

  /// The kernel rounds this node's value to the accumulator's type, and its enclosure does not hold
  /// that rounding yet.
  bool rounding_pending(int id) const {
    const Node& n = node(id);
    if (n.integral) return false;
    switch (n.op) {
      case Op::literal:
      case Op::to_real:
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::mean:
      case Op::prescaled:
        return true;
      case Op::load:
      case Op::gather:
      case Op::named:
        return n.type == DType::f64 && accumulate_ != DType::f64;
      case Op::div:
        return correctly_rounded("div");
      case Op::function:
        return n.text == "sqrt" && correctly_rounded("sqrt");
      default:
        return false;
    }
  }

  int settle(int id, DType type, int weight, const SourceLocation& where) {
    const Node& n = node(id);
    Node out;
    out.op = Op::settle;
    out.args = {id};
    out.dims = n.dims;
    out.type = type;
    out.weight = weight;
    out.bits = n.bits;
    return put(out, where);
  }

  /// An argument as a kernel's next operation receives it.
  int arithmetic(int id, const Expr& at) {
    id = real(id, at);
    return rounding_pending(id) ? settle(id, accumulate_, 1, at.where) : id;
  }

  // --- expressions -------------------------------------------------------------------------------

  int compile(const Expr& e) {
    switch (e.kind) {
      case Expr::Kind::integer:
        return integer_literal(e.integer, e.where);
      case Expr::Kind::real:
        return literal(e.real, e.where);
      case Expr::Kind::name:
        return compile_name(e);
      case Expr::Kind::unary:
        return compile_unary(e);
      case Expr::Kind::binary:
        return compile_binary(e);
      case Expr::Kind::ternary:
        return compile_choice(e);
      case Expr::Kind::call:
        return compile_call(e);
      case Expr::Kind::index:
        return compile_gather(e);
      case Expr::Kind::member:
        return compile_member(e);
    }
    fail(e, "unknown expression");
  }

  int compile_name(const Expr& e) {
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

  /// A library definition's parameter stands for the caller's expression, in the caller's scope.
  int compile_bound(const Expr& e, const std::vector<ExprPtr>& bound) {
    if (bound.size() != 1) fail(e, "'" + e.text + "' stands for dimensions here");
    const Bindings saved = std::exchange(bindings_, {});
    const int id = compile(*bound.front());
    bindings_ = saved;
    return id;
  }

  bool is_integer_name(const std::string& name) const {
    const auto has = [&name](const auto& list) {
      return std::any_of(list.begin(), list.end(),
                         [&name](const auto& item) { return item.name == name; });
    };
    return has(contract_.sizes) || has(contract_.derive) || has(contract_.knobs) ||
           std::find(contract_.flags.begin(), contract_.flags.end(), name) != contract_.flags.end();
  }

  std::string did_you_mean(const std::string& name) const {
    std::set<std::string> names(graph_.dims.begin(), graph_.dims.end());
    for (const auto& operand : contract_.args) names.insert(operand.name);
    for (const auto& [line, id] : lines_) names.insert(line);
    for (const auto& size : contract_.sizes) names.insert(size.name);
    const std::string near = nearest_name(name, names);
    return near.empty() ? "" : " (did you mean '" + near + "'?)";
  }

  int dim_index(const Expr& e) {
    Node n;
    n.op = Op::dim_index;
    n.integral = true;
    n.dimension = dim_id(e.text);
    n.dims = {n.dimension};
    return put(n, e.where);
  }

  int load(const Expr& e, const OperandSpec& operand, bool from_output = false) {
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

  int compile_member(const Expr& e) {
    const Expr& base = *e.operands[0];
    const OperandSpec* operand = contract_.find_operand(base.text);
    if (e.text != "before" || operand == nullptr)
      fail(e, "expected OPERAND.before, got '" + base.text + "." + e.text + "'");
    return load(e, *operand);
  }

  int compile_gather(const Expr& e) {
    const Expr& base = *e.operands[0];
    const std::string& name = base.kind == Expr::Kind::member ? base.operands[0]->text : base.text;
    const OperandSpec* operand = contract_.find_operand(name);
    if (operand == nullptr || operand->kind == OperandKind::scalar)
      fail(base, "a gather reads an operand; '" + name + "' is none");
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

  static int axis_of(const Expr& e, const OperandSpec& operand, size_t position) {
    const std::string& label = e.labels[position];
    if (label.empty()) {
      if (position - 1 >= operand.shape.size())
        fail(e,
             "'" + operand.name + "' has " + std::to_string(operand.shape.size()) + " dimensions");
      return static_cast<int>(position) - 1;
    }
    for (size_t axis = 0; axis < operand.shape.size(); ++axis)
      if (operand.shape[axis].name == label) return static_cast<int>(axis);
    fail(*e.operands[position], "'" + operand.name + "' has no dimension '" + label + "'");
  }

  int integer_node(const Expr& e) {
    const int id = compile(e);
    if (!node(id).integral) fail(e, "expected an integer");
    return id;
  }

  int compile_unary(const Expr& e) {
    const int a = compile(*e.operands[0]);
    if (e.text == "!") return elementwise(Op::logical_not, {truth(a, e)}, true, e);
    if (e.text == "~") return elementwise(Op::bit_not, {integer_only(a, e)}, true, e);
    const Node& n = node(a);
    if (n.op == Op::literal)
      return n.integral ? integer_literal(-n.integer, e.where) : literal(-n.real, e.where);
    if (n.integral) return elementwise(Op::neg, {a}, true, e);
    return elementwise(Op::neg, {arithmetic(a, e)}, false, e);
  }

  int integer_only(int id, const Expr& e) {
    if (!node(id).integral) fail(e, "'" + e.text + "' needs integers");
    return id;
  }

  /// A condition as an integer 0 or 1. Comparisons of reals are integral nodes already.
  int truth(int id, const Expr& e) {
    if (node(id).integral) return id;
    return elementwise(Op::not_equal, {arithmetic(id, e), literal(0, e.where)}, true, e);
  }

  int elementwise(Op op, std::vector<int> args, bool integral, const Expr& e) {
    Node n;
    n.op = op;
    n.integral = integral;
    n.dims = union_dims(args);
    n.bits = result_bits(op, args);
    n.args = std::move(args);
    return put(n, e.where);
  }

  int result_bits(Op op, const std::vector<int>& args) const {
    const auto bits = [this](int id) { return node(id).bits; };
    switch (op) {
      case Op::neg:
      case Op::abs:
        return bits(args[0]);
      case Op::mul: {
        const int sum = bits(args[0]) + bits(args[1]);
        return bits(args[0]) > 0 && bits(args[1]) > 0 && sum <= 53 ? sum : 0;
      }
      case Op::max2:
      case Op::min2:
        return bits(args[0]) > 0 && bits(args[1]) > 0 ? std::max(bits(args[0]), bits(args[1])) : 0;
      case Op::where:
        return bits(args[1]) > 0 && bits(args[2]) > 0 ? std::max(bits(args[1]), bits(args[2])) : 0;
      default:
        return 0;
    }
  }

  int compile_binary(const Expr& e) {
    static const std::map<std::string, Op> arithmetic_ops = {
        {"+", Op::add}, {"-", Op::sub}, {"*", Op::mul}, {"/", Op::div}};
    static const std::map<std::string, Op> integer_ops = {
        {"%", Op::mod},     {"&", Op::bit_and},     {"|", Op::bit_or},
        {"^", Op::bit_xor}, {"<<", Op::shift_left}, {">>", Op::shift_right}};
    const int a = compile(*e.operands[0]);
    const int b = compile(*e.operands[1]);
    if (const auto op = arithmetic_ops.find(e.text); op != arithmetic_ops.end())
      return arithmetic_pair(op->second, a, b, e);
    if (const auto op = integer_ops.find(e.text); op != integer_ops.end())
      return elementwise(op->second, {integer_only(a, e), integer_only(b, e)}, true, e);
    if (e.text == "&&" || e.text == "||")
      return elementwise(e.text == "&&" ? Op::logical_and : Op::logical_or,
                         {truth(a, e), truth(b, e)}, true, e);
    return compare(e, a, b);
  }

  int arithmetic_pair(Op op, int a, int b, const Expr& e) {
    if (node(a).integral && node(b).integral) return elementwise(op, {a, b}, true, e);
    return elementwise(op, {arithmetic(a, e), arithmetic(b, e)}, false, e);
  }

  int compare(const Expr& e, int a, int b) {
    if (e.text == ">" || e.text == ">=") std::swap(a, b);
    const Op op = e.text == "=="       ? Op::equal
                  : e.text == "!="     ? Op::not_equal
                  : e.text.size() == 2 ? Op::less_equal
                                       : Op::less;
    if (node(a).integral && node(b).integral) return elementwise(op, {a, b}, true, e);
    return elementwise(op, {arithmetic(a, e), arithmetic(b, e)}, true, e);
  }

  /// A condition over flags and knobs alone is decided here: the operand behind it may be absent.
  std::optional<bool> decided(const Expr& condition) const {
    for (const std::string& name : names_in(condition))
      if (!variant_.knobs.contains(name) && !variant_.flags.contains(name)) return std::nullopt;
    const IntegerScope scope{
        [this](std::string_view name) -> std::optional<int64_t> {
          const std::string key(name);
          if (const auto k = variant_.knobs.find(key); k != variant_.knobs.end()) return k->second;
          const auto f = variant_.flags.find(key);
          return f == variant_.flags.end() ? std::nullopt : std::optional(f->second);
        },
        nullptr, nullptr};
    try {
      return evaluate_integer(condition, scope) != 0;
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  int compile_choice(const Expr& e) {
    if (const auto known = decided(*e.operands[0])) return compile(*e.operands[*known ? 1 : 2]);
    const int condition = truth(compile(*e.operands[0]), e);
    const int a = compile(*e.operands[1]);
    const int b = compile(*e.operands[2]);
    if (node(a).integral && node(b).integral)
      return elementwise(Op::where, {condition, a, b}, true, e);
    return elementwise(Op::where, {condition, arithmetic(a, e), arithmetic(b, e)}, false, e);
  }

  // --- calls -------------------------------------------------------------------------------------

  int compile_call(const Expr& e) {
    for (const FormulaDefinition& definition : formula_library())
      if (definition.name == e.text) return expand(e, definition);
    const FormulaFunction* function = find_formula_function(e.text);
    if (function == nullptr) fail(e, "unknown function '" + e.text + "' in a formula");
    const int count = static_cast<int>(e.operands.size());
    if (count < function->min_arguments)
      fail(e, "'" + e.text + "' takes at least " + std::to_string(function->min_arguments) +
                  " arguments, got " + std::to_string(count));
    switch (function->form) {
      case FormulaForm::reduction:
        return reduction(e);
      case FormulaForm::reduction_or_pair:
        return names_dimensions(e) ? reduction(e) : pair_choice(e);
      case FormulaForm::typed:
        return typed(e);
      case FormulaForm::of_type:
        return largest_code(e);
      case FormulaForm::of_output:
        return given(e);
      case FormulaForm::of_dimension:
        return extent(e);
      case FormulaForm::scan:
        fail(e, "'" + e.text + "' is not judged yet");
      case FormulaForm::elementwise:
        return elementwise_call(e);
    }
    fail(e, "unknown function '" + e.text + "'");
  }

  int expand(const Expr& e, const FormulaDefinition& definition) {
    Bindings inner;
    const size_t count = definition.parameters.size();
    if (e.operands.size() < count)
      fail(e, "'" + e.text + "' takes " + std::to_string(count) + " arguments");
    for (size_t i = 0; i < count; ++i) {
      auto& bound = inner[std::string(definition.parameters[i])];
      // The last parameter, when it is D, takes all dimensions that are left.
      const size_t end = definition.parameters[i] == "D" ? e.operands.size() : i + 1;
      for (size_t k = i; k < end; ++k) bound.push_back(resolved(e.operands[k]));
    }
    const ExprPtr body = parse_expression(definition.text, e.where);
    const Bindings saved = std::exchange(bindings_, std::move(inner));
    const int id = compile(*body);
    bindings_ = saved;
    return id;
  }

  /// A caller's argument with the caller's own parameters put in (definitions may nest).
  ExprPtr resolved(const ExprPtr& e) const {
    if (bindings_.empty()) return e;
    if (e->kind == Expr::Kind::name) {
      const auto bound = bindings_.find(e->text);
      return bound != bindings_.end() && bound->second.size() == 1 ? bound->second.front() : e;
    }
    auto copy = std::make_shared<Expr>(*e);
    for (ExprPtr& operand : copy->operands) operand = resolved(operand);
    return copy;
  }

  std::vector<ExprPtr> dimension_arguments(const Expr& e) const {
    std::vector<ExprPtr> names;
    for (size_t i = 1; i < e.operands.size(); ++i) {
      const auto bound = bindings_.find(e.operands[i]->text);
      if (e.operands[i]->kind == Expr::Kind::name && bound != bindings_.end())
        names.insert(names.end(), bound->second.begin(), bound->second.end());
      else
        names.push_back(e.operands[i]);
    }
    return names;
  }

  bool names_dimensions(const Expr& e) const {
    const auto names = dimension_arguments(e);
    return std::all_of(names.begin(), names.end(), [this](const ExprPtr& n) {
      return n->kind == Expr::Kind::name && (is_dim(n->text) || is_size(n->text)) &&
             !lines_.contains(n->text);
    });
  }

  int reduction(const Expr& e) {
    static const std::map<std::string, Op> ops = {
        {"sum", Op::sum}, {"max", Op::max}, {"min", Op::min}, {"mean", Op::mean}, {"var", Op::var}};
    const auto op = ops.find(e.text);
    if (op == ops.end()) fail(e, "'" + e.text + "' is not judged yet");
    Node n;
    n.op = op->second;
    for (const ExprPtr& name : dimension_arguments(e)) {
      if (name->kind != Expr::Kind::name || !(is_dim(name->text) || is_size(name->text)))
        fail(*name, "unknown dimension '" + name->text + "' in '" + e.text + "'" +
                        did_you_mean(name->text));
      n.reduced.push_back(dim_id(name->text));
    }
    const int arg = compile(*e.operands[0]);
    const bool stays_integral = op->second != Op::mean && op->second != Op::var;
    n.integral = node(arg).integral && stays_integral;
    n.args = {n.integral ? arg : arithmetic(arg, e)};
    if (n.op == Op::mean && variance_argument(n.args[0], n.reduced) >= 0) {
      n.args = {variance_argument(n.args[0], n.reduced)};
      n.op = Op::var;
    }
    for (const int dim : node(n.args[0]).dims)
      if (std::find(n.reduced.begin(), n.reduced.end(), dim) == n.reduced.end())
        n.dims.push_back(dim);
    if (n.op == Op::max || n.op == Op::min) n.bits = node(n.args[0]).bits;
    return put(n, e.where);
  }

  /// x, where `id` is (x - mean(x))^2 over the same dimensions; -1 for anything else. The variance
  /// is a primitive: composing it from its parts would lose that sum(x - mean) is 0.
  int variance_argument(int id, const std::vector<int>& reduced) const {
    const auto unsettled = [this](int k) { return node(k).op == Op::settle ? node(k).args[0] : k; };
    const Node& square = node(unsettled(id));
    if (square.op != Op::mul || square.args[0] != square.args[1]) return -1;
    const Node& difference = node(unsettled(square.args[0]));
    if (difference.op != Op::sub) return -1;
    const Node& mean = node(unsettled(difference.args[1]));
    if (mean.op != Op::mean || mean.reduced != reduced || mean.args[0] != difference.args[0])
      return -1;
    return difference.args[0];
  }

  int pair_choice(const Expr& e) {
    if (e.operands.size() != 2) fail(e, "'" + e.text + "' takes two values, or dimensions");
    const Op op = e.text == "max" ? Op::max2 : Op::min2;
    const int a = compile(*e.operands[0]);
    const int b = compile(*e.operands[1]);
    return arithmetic_pair(op, a, b, e);
  }

  DType type_argument(const Expr& e) const {
    const auto type = variant_.types.find(e.text);
    if (type != variant_.types.end()) return type->second;
    const auto plain = parse_dtype(e.text);
    if (!plain) fail(e, "unknown type '" + e.text + "'");
    return *plain;
  }

  int typed(const Expr& e) {
    const DType type = type_argument(*e.operands.back());
    if (!is_floating(type) || e.text == "quant")
      fail(e, "'" + e.text + "' to " + std::string(name(type)) + " is not judged yet");
    // The kernel computes in the accumulator's type, then rounds; or rounds once, natively.
    int id = real(compile(*e.operands[0]), e);
    if (rounding_pending(id) && type != accumulate_) id = settle(id, accumulate_, 1, e.where);
    return settle(id, type, 1, e.where);
  }

  int largest_code(const Expr& e) {
    const DType type = type_argument(*e.operands[0]);
    if (is_floating(type)) return literal(format_of(type).largest, e.where);
    const int bits = bit_width(type) - (is_signed(type) ? 1 : 0);
    if (bits > 62) fail(e, "qmax of a 64-bit type is not judged yet");
    return integer_literal((int64_t{1} << bits) - 1, e.where);
  }

  int given(const Expr& e) {
    const OperandSpec* operand = contract_.find_operand(e.operands[0]->text);
    if (operand == nullptr ||
        (operand->kind != OperandKind::output && operand->kind != OperandKind::inout))
      fail(e, "given() names an output");
    return load(e, *operand, true);
  }

  int extent(const Expr& e) {
    const std::string& name = e.operands[0]->text;
    if (!is_dim(name) && !is_size(name)) fail(e, "unknown dimension '" + name + "'");
    Node n;
    n.op = Op::extent;
    n.integral = true;
    n.dimension = dim_id(name);
    return put(n, e.where);
  }

  int elementwise_call(const Expr& e) {
    if (e.text == "where") return compile_choice(e);
    if (e.text == "div_floor" || e.text == "mod_floor" || e.text == "div_trunc" ||
        e.text == "mod_trunc") {
      static const std::map<std::string, Op> ops = {{"div_floor", Op::div_floor},
                                                    {"mod_floor", Op::mod_floor},
                                                    {"div_trunc", Op::div},
                                                    {"mod_trunc", Op::mod}};
      const int a = integer_node(*e.operands[0]);
      const int b = integer_node(*e.operands[1]);
      return elementwise(ops.at(e.text), {a, b}, true, e);
    }
    if (e.text == "abs") {
      const int a = compile(*e.operands[0]);
      return node(a).integral ? elementwise(Op::abs, {a}, true, e)
                              : elementwise(Op::abs, {arithmetic(a, e)}, false, e);
    }
    Node n;
    n.op = Op::function;
    n.text = e.text;
    for (const ExprPtr& operand : e.operands) n.args.push_back(compile(*operand));
    if (e.text == "exp") {
      n.nonpositive = below_its_maximum(n.args[0]);
      n.args[0] = exponent(n.args[0], e);
    }
    for (int& arg : n.args) arg = arithmetic(arg, e);
    n.dims = union_dims(n.args);
    return put(n, e.where);
  }

  /// x - max(x): rounding is monotonic, so a correct kernel's exponent is not positive.
  bool below_its_maximum(int id) const {
    const Node& n = node(id);
    if (n.op != Op::sub || n.integral) return false;
    const Node& m = node(n.args[1]);
    return m.op == Op::max && m.args[0] == n.args[0];
  }

  /// The rounding of an exponent that is a difference: 2u|x - m|, or with exp2(x log2e - m log2e)
  /// also u (|x| + |m|).
  int exponent(int id, const Expr& e) {
    if (node(id).op != Op::sub || node(id).integral) return id;
    if (contract_.accuracy.exp == ExpForm::direct) return settle(id, accumulate_, 2, e.where);
    return elementwise(Op::prescaled, {id, node(id).args[0], node(id).args[1]}, false, e);
  }

  // --- outputs -----------------------------------------------------------------------------------

  void add_root(const FormulaLine& line, const OperandSpec& operand, int id) {
    FormulaRoot root;
    root.output = line.name;
    root.operand = operand_position(operand);
    root.line = to_text(*line.expr);
    const DType type = resolve_dtype(operand, variant_);
    if ((node(id).op == Op::load || node(id).op == Op::gather) && node(id).type == type) {
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
    if (!root.scatters) check_dims(line, operand, id);
    if (is_floating(type)) id = output_value(id, type, *line.expr);
    if (!is_floating(type) && !node(id).integral)
      fail(*line.expr,
           "'" + line.name + "' is " + std::string(name(type)) + ", its formula is a real number");
    root.node = id;
    graph_.roots.push_back(std::move(root));
  }

  static int axis_named(const FormulaLine& line, const OperandSpec& operand,
                        const std::string& label) {
    for (size_t axis = 0; axis < operand.shape.size(); ++axis)
      if (operand.shape[axis].name == label) return static_cast<int>(axis);
    throw InputError(line.where, "'" + operand.name + "' has no dimension '" + label + "'");
  }

  void check_dims(const FormulaLine& line, const OperandSpec& operand, int id) const {
    for (const int dim : node(id).dims) {
      const std::string& name = graph_.dims[static_cast<size_t>(dim)];
      const bool found = std::any_of(operand.shape.begin(), operand.shape.end(),
                                     [&](const Dimension& d) { return d.name == name; });
      if (!found)
        throw InputError(line.where, "formula of '" + line.name + "' varies over '" + name +
                                         "', a dimension that '" + operand.name +
                                         "' does not have");
    }
  }

  /// The last rounding belongs to the output; one that the formula declares is the same rounding.
  int output_value(int id, DType type, const Expr& e) {
    id = real(id, e);
    if (node(id).op == Op::settle && node(id).type == type && node(id).weight == 1)
      id = node(id).args[0];
    if (rounding_pending(id) && type != accumulate_) id = settle(id, accumulate_, 1, e.where);
    return id;
  }

  const Contract& contract_;
  const Variant& variant_;
  const DType accumulate_;
  Graph graph_;
  std::map<std::string, int> lines_;
  std::map<std::string, int> known_;
  Bindings bindings_;
};

}  // namespace

bool Graph::reduced_dim(int dimension) const {
  return std::any_of(nodes.begin(), nodes.end(), [dimension](const Node& node) {
    return std::find(node.reduced.begin(), node.reduced.end(), dimension) != node.reduced.end();
  });
}

Graph compile_formula(const Contract& contract, const Variant& variant) {
  return Compiler(contract, variant).compile();
}

}  // namespace assay
