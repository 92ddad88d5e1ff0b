// Calls of a formula: library definitions, reductions, functions, conversions.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "kernels_under_test/formula_functions.hpp"
#include "oracles/accuracy_table.hpp"
#include "oracles/formula_compiler.hpp"
#include "oracles/functions.hpp"
#include "oracles/tensor_core_table.hpp"

namespace assay {

int FormulaCompiler::compile_call(const Expr& e) {
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
      return along(e, Op::cumsum);
    case FormulaForm::elementwise:
      return elementwise_call(e);
  }
  fail(e, "unknown function '" + e.text + "'");
}

int FormulaCompiler::expand(const Expr& e, const FormulaDefinition& definition) {
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
  has_limits_ |= !definition.limits.empty();
  const bool limits = in_limits_ && !definition.limits.empty();
  const std::string_view text = limits ? definition.limits : definition.text;
  const Bindings saved = std::exchange(bindings_, std::move(inner));
  Node n;
  n.op = Op::forms;
  n.args = {compile(*parse_expression(text, e.where))};
  n.text = "=";
  for (std::string_view form : definition.forms) {
    if (limits) break;  // a definition's limits are values that its forms do not give
    const bool marked = form.front() == '~' || form.front() == '#';
    n.text += marked ? form.front() : '=';
    if (marked) form.remove_prefix(1);
    n.args.push_back(compile(*parse_expression(form, e.where)));
  }
  bindings_ = saved;
  n.dims = node(n.args[0]).dims;
  return n.args.size() > 1 ? put(n, e.where) : n.args[0];
}

ExprPtr FormulaCompiler::resolved(const ExprPtr& e) const {
  if (bindings_.empty()) return e;
  if (e->kind == Expr::Kind::name) {
    const auto bound = bindings_.find(e->text);
    return bound != bindings_.end() && bound->second.size() == 1 ? bound->second.front() : e;
  }
  auto copy = std::make_shared<Expr>(*e);
  for (ExprPtr& operand : copy->operands) operand = resolved(operand);
  return copy;
}

std::vector<ExprPtr> FormulaCompiler::dimension_arguments(const Expr& e) const {
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

bool FormulaCompiler::names_dimensions(const Expr& e) const {
  const auto names = dimension_arguments(e);
  return std::all_of(names.begin(), names.end(), [this](const ExprPtr& n) {
    return n->kind == Expr::Kind::name && (is_dim(n->text) || is_size(n->text)) &&
           !lines_.contains(n->text);
  });
}

int FormulaCompiler::along(const Expr& e, Op op) {
  const int arg = compile(*e.operands[0]);
  const auto names = dimension_arguments(e);
  const bool one = names.size() == 1 && names[0]->kind == Expr::Kind::name;
  if (!one || !is_dim(names[0]->text)) fail(e, "'" + e.text + "' names one dimension");
  Node n;
  n.op = op;
  if (e.text.starts_with("cumsum_")) n.text = e.text.substr(7);
  n.integral = op != Op::cumsum || node(arg).integral;
  n.args = {node(arg).integral ? arg : arithmetic(arg, e)};
  n.reduced = {dim_id(names[0]->text)};
  n.dims = node(n.args[0]).dims;
  const auto place = std::find(n.dims.begin(), n.dims.end(), n.reduced[0]);
  if (place == n.dims.end())
    fail(*names[0], "'" + names[0]->text + "' is no dimension of the argument");
  if (op != Op::cumsum) n.dims.erase(place);
  return put(n, e.where);
}

int FormulaCompiler::reduction(const Expr& e) {
  if (e.text == "argmax") return along(e, Op::argmax);
  if (e.text == "argmin") return along(e, Op::argmin);
  static const std::map<std::string, Op> ops = {
      {"sum", Op::sum}, {"max", Op::max}, {"min", Op::min}, {"mean", Op::mean}, {"var", Op::var}};
  const auto op = ops.find(e.text);
  if (op == ops.end()) fail(e, "'" + e.text + "' is not judged yet");
  Node n;
  n.op = op->second;
  for (const ExprPtr& name : dimension_arguments(e)) {
    if (name->kind != Expr::Kind::name || !(is_dim(name->text) || is_size(name->text)))
      fail(*name,
           "unknown dimension '" + name->text + "' in '" + e.text + "'" + did_you_mean(name->text));
    n.reduced.push_back(dim_id(name->text));
  }
  const int arg = compile(*e.operands[0]);
  const bool stays_integral = op->second != Op::mean && op->second != Op::var;
  n.integral = node(arg).integral && stays_integral;
  n.args = {n.integral ? arg : arithmetic(arg, e)};
  if (n.op == Op::sum && !n.integral) {
    add_in_tensor_cores(n, arg);
    add_running(n);
  }
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

int FormulaCompiler::variance_argument(int id, const std::vector<int>& reduced) const {
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

std::optional<DType> FormulaCompiler::narrow_type(int id) const {
  const Node& n = node(id);
  switch (n.op) {
    case Op::literal:
      return n.real == 0 && !n.integral ? std::optional(DType::f64) : std::nullopt;
    case Op::load:
    case Op::gather:
      return is_tensor_core_input(n.type) ? std::optional(n.type) : std::nullopt;
    case Op::settle:
      return is_tensor_core_input(n.type) ? std::optional(n.type) : narrow_type(n.args[0]);
    case Op::neg:
    case Op::abs:
      return narrow_type(n.args[0]);
    case Op::where: {
      const auto a = narrow_type(n.args[1]);
      const auto b = narrow_type(n.args[2]);
      if (!a || !b) return std::nullopt;
      if (a == DType::f64) return b;
      return a == b || b == DType::f64 ? a : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<FormulaCompiler::TensorProduct> FormulaCompiler::tensor_product(int id) const {
  const Node& n = node(id);
  if (n.op == Op::settle) return tensor_product(n.args[0]);
  if (n.op == Op::where)  // a mask outside the product
    return narrow_type(n.args[2]) == DType::f64 ? tensor_product(n.args[1]) : std::nullopt;
  if (n.op != Op::mul || n.integral) return std::nullopt;
  const auto a = narrow_type(n.args[0]);
  const auto b = narrow_type(n.args[1]);
  if (!a || a != b || a == DType::f64) return std::nullopt;
  return TensorProduct{id, *a};
}

/// Products enter the adder unrounded: the sum takes them without the accumulator's rounding.
void FormulaCompiler::add_in_tensor_cores(Node& sum, int product) const {
  if (contract_.accuracy.mma_products == 0 || sums_ == DType::f64) return;
  const auto factors = tensor_product(product);
  if (!factors) return;
  const TensorCoreRow& row = tensor_core_row(contract_.source.target, factors->type);
  const auto k = static_cast<int>(contract_.accuracy.mma_products);
  sum.args = {product};
  sum.mma_products = std::min(row.products, k);
  sum.mma_steps = (k + sum.mma_products - 1) / sum.mma_products;
  sum.mma_extra_bits = row.extra_bits;
  sum.mma_product = factors->node;
  sum.mma_min_normal = std::ldexp(1.0, format_of(factors->type).min_exponent);
}

int FormulaCompiler::pair_choice(const Expr& e) {
  if (e.operands.size() != 2) fail(e, "'" + e.text + "' takes two values, or dimensions");
  const Op op = e.text == "max" ? Op::max2 : Op::min2;
  const int a = compile(*e.operands[0]);
  const int b = compile(*e.operands[1]);
  return arithmetic_pair(op, a, b, e);
}

DType FormulaCompiler::type_argument(const Expr& e) const {
  const auto type = variant_.types.find(e.text);
  if (type != variant_.types.end()) return type->second;
  const auto plain = parse_dtype(e.text);
  if (!plain) fail(e, "unknown type '" + e.text + "'");
  return *plain;
}

int FormulaCompiler::typed(const Expr& e) {
  const DType type = type_argument(*e.operands.back());
  if (!is_floating(type)) return to_integer_type(e, type);
  if (e.text == "quant" && &e != root_expression_)
    fail(e, "'quant' to " + std::string(name(type)) + " is judged as a whole formula only");
  // `cast` is one conversion. Otherwise the kernel computes in a type of its own, then rounds;
  // or rounds once, natively.
  int id = real(compile(*e.operands[0]), e);
  const bool once = e.text == "cast" && converts_at_once(id);
  if (!once && rounding_pending(id) && type != arithmetic_)
    id = settle(id, arithmetic_, 1, e.where);
  return settle(id, type, 1, e.where, once);
}

int FormulaCompiler::to_integer_type(const Expr& e, DType type) {
  const int arg = compile(*e.operands[0]);
  Node n;
  n.op = Op::cast;
  n.integral = true;
  n.text = e.text;
  n.type = type;
  n.args = {node(arg).integral ? arg : arithmetic(arg, e)};
  n.dims = node(n.args[0]).dims;
  if (!node(n.args[0]).integral) n.saturates_at = conversion_width(n.args[0], type);
  return put(n, e.where);
}

bool FormulaCompiler::may_be_half(int id) const {
  const Node& n = node(id);
  if (n.integral) return false;
  const auto any = [&] {
    return std::any_of(n.args.begin(), n.args.end(), [&](int arg) { return may_be_half(arg); });
  };
  switch (n.op) {
    case Op::load:
    case Op::gather:
    case Op::named:
      return is_floating(n.type) && bit_width(n.type) <= 16;
    case Op::settle:
      return bit_width(n.type) <= 16 || any();
    case Op::neg:
    case Op::abs:
    case Op::where:
    case Op::max:
    case Op::min:
    case Op::max2:
    case Op::min2:
      return any();
    case Op::function: {
      const FunctionInfo* info = find_function(n.text);
      return info != nullptr && info->exact && any();
    }
    default:
      return bit_width(arithmetic_) <= 16;
  }
}

// docs/judging/quantize.md has the table of what compilers emit.
int FormulaCompiler::conversion_width(int id, DType type) const {
  const bool from_cuda = contract_.source.language == Language::cuda;
  const int least = may_be_half(id) ? 8 : from_cuda ? 32 : 16;
  return std::max(least, bit_width(type));
}

int FormulaCompiler::largest_code(const Expr& e) {
  const DType type = type_argument(*e.operands[0]);
  if (is_floating(type)) return literal(format_of(type).largest, e.where);
  const int bits = bit_width(type) - (is_signed(type) ? 1 : 0);
  if (bits > 62) fail(e, "qmax of a 64-bit type is not judged yet");
  return integer_literal((int64_t{1} << bits) - 1, e.where);
}

int FormulaCompiler::given(const Expr& e) {
  const OperandSpec* operand = contract_.find_operand(e.operands[0]->text);
  if (operand == nullptr ||
      (operand->kind != OperandKind::output && operand->kind != OperandKind::inout))
    fail(e, "given() names an output");
  return load(e, *operand, true);
}

int FormulaCompiler::extent(const Expr& e) {
  const std::string& name = e.operands[0]->text;
  if (!is_dim(name) && !is_size(name)) fail(e, "unknown dimension '" + name + "'");
  Node n;
  n.op = Op::extent;
  n.integral = true;
  n.dimension = dim_id(name);
  return put(n, e.where);
}

int FormulaCompiler::elementwise_call(const Expr& e) {
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
  // An exponent's difference is taken as it is written.
  if (e.text == "exp" && node(n.args[0]).op == Op::total) n.args[0] = node(n.args[0]).args[0];
  std::optional<Shift> shift;
  if (e.text == "exp") {
    shift = shift_of(n.args[0]);
    n.nonpositive = shift && shift->own == 0;
    n.args[0] = exponent(n.args[0], e);
  }
  for (int& arg : n.args) arg = arithmetic(arg, e);
  n.integral = e.text == "is_nan" || e.text == "is_inf";  // truth values, as comparisons are
  n.dims = union_dims(n.args);
  const int id = put(n, e.where);
  if (const auto* how = documented_implementation(e.text, arithmetic_, contract_.accuracy.math))
    return by_implementation(id, *how, e);
  return shift ? rescaled(id, *shift, e) : id;
}

int FormulaCompiler::by_implementation(int function, const DocumentedImplementation& how,
                                       const Expr& e) {
  Bindings inner;
  for (size_t i = 0; i < how.parameters.size(); ++i)
    inner[std::string(how.parameters[i])] = {resolved(e.operands[i])};
  const Bindings saved = std::exchange(bindings_, std::move(inner));
  Node n;
  n.op = Op::forms;
  n.text = ".=";
  n.args = {function, compile(*parse_expression(how.text, e.where))};
  bindings_ = saved;
  n.dims = node(function).dims;
  return put(n, e.where);
}

int FormulaCompiler::exponent(int id, const Expr& e) {
  const bool plain = node(id).integral || (node(id).op != Op::sub && node(id).op != Op::add);
  if (contract_.accuracy.exp == ExpForm::direct)
    return node(id).op == Op::sub && !plain ? settle(id, arithmetic_, 2, e.where) : id;
  if (!plain) return elementwise(Op::prescaled, {id, node(id).args[0], node(id).args[1]}, false, e);
  // One product x log2e, whose rounding is this node's result's: the constant's error is left.
  const int nothing = literal(0, e.where);
  return elementwise(Op::prescaled, {arithmetic(id, e), nothing, nothing}, false, e);
}

}  // namespace assay
