// Operators of a formula, and the roundings that a kernel makes between them.
#include <algorithm>
#include <utility>

#include "oracles/accuracy_table.hpp"
#include "oracles/formula_compiler.hpp"

namespace assay {

bool FormulaCompiler::correctly_rounded(std::string_view operation) const {
  const auto rows = accuracy_rows(operation, arithmetic_, math_figures(contract_));
  return !rows.empty() && rows.front().measure == ErrorMeasure::ulp && rows.front().base == 0 &&
         rows.front().slope == 0;
}

bool FormulaCompiler::rounding_pending(int id) const {
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
      return n.type == DType::f64 && arithmetic_ != DType::f64;
    case Op::sum:
    case Op::cumsum:
    case Op::var:
      return sums_ != arithmetic_;
    case Op::forms:  // a form that rounds already rounds once more in the middle of a formula
      return std::any_of(n.args.begin(), n.args.end(),
                         [this](int form) { return rounding_pending(form); });
    case Op::hull:
    case Op::div:
      return correctly_rounded("div");
    case Op::function:
      return n.text == "sqrt" && correctly_rounded("sqrt");
    default:
      return false;
  }
}

bool FormulaCompiler::converts_at_once(int id) const {
  const Op op = node(id).op;
  return op == Op::to_real || op == Op::load || op == Op::gather || op == Op::named;
}

int FormulaCompiler::settle(int id, DType type, int weight, const SourceLocation& where,
                            bool once) {
  const Node& n = node(id);
  Node out;
  out.op = Op::settle;
  out.args = {id};
  out.dims = n.dims;
  out.type = type;
  out.weight = weight;
  if (once) out.text = "cast";
  out.bits = n.bits;
  return put(out, where);
}

int FormulaCompiler::arithmetic(int id, const Expr& at) {
  id = real(id, at);
  return rounding_pending(id) ? settle(id, arithmetic_, 1, at.where) : id;
}

int FormulaCompiler::compile(const Expr& e) {
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

int FormulaCompiler::compile_unary(const Expr& e) {
  const int a = compile(*e.operands[0]);
  if (e.text == "!") return elementwise(Op::logical_not, {truth(a, e)}, true, e);
  if (e.text == "~") return elementwise(Op::bit_not, {integer_only(a, e)}, true, e);
  const Node& n = node(a);
  if (n.op == Op::literal)
    return n.integral ? integer_literal(-n.integer, e.where) : literal(-n.real, e.where);
  if (n.integral) return elementwise(Op::neg, {a}, true, e);
  return elementwise(Op::neg, {arithmetic(a, e)}, false, e);
}

int FormulaCompiler::integer_only(int id, const Expr& e) {
  if (!node(id).integral) fail(e, "'" + e.text + "' needs integers");
  return id;
}

int FormulaCompiler::truth(int id, const Expr& e) {
  if (node(id).integral) return id;
  return elementwise(Op::not_equal, {arithmetic(id, e), literal(0, e.where)}, true, e);
}

int FormulaCompiler::elementwise(Op op, std::vector<int> args, bool integral, const Expr& e) {
  Node n;
  n.op = op;
  n.integral = integral;
  n.dims = union_dims(args);
  n.bits = result_bits(op, args);
  n.args = std::move(args);
  return put(n, e.where);
}

int FormulaCompiler::result_bits(Op op, const std::vector<int>& args) const {
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

int FormulaCompiler::compile_binary(const Expr& e) {
  static const std::map<std::string, Op> arithmetic_ops = {
      {"+", Op::add}, {"-", Op::sub}, {"*", Op::mul}, {"/", Op::div}};
  static const std::map<std::string, Op> integer_ops = {
      {"%", Op::mod},     {"&", Op::bit_and},     {"|", Op::bit_or},
      {"^", Op::bit_xor}, {"<<", Op::shift_left}, {">>", Op::shift_right}};
  const int a = compile(*e.operands[0]);
  const int b = compile(*e.operands[1]);
  if (const auto op = arithmetic_ops.find(e.text); op != arithmetic_ops.end())
    return total(weighted_mean(arithmetic_pair(op->second, a, b, e), e), e);
  if (const auto op = integer_ops.find(e.text); op != integer_ops.end())
    return elementwise(op->second, {integer_only(a, e), integer_only(b, e)}, true, e);
  if (e.text == "&&" || e.text == "||")
    return elementwise(e.text == "&&" ? Op::logical_and : Op::logical_or,
                       {truth(a, e), truth(b, e)}, true, e);
  return compare(e, a, b);
}

int FormulaCompiler::arithmetic_pair(Op op, int a, int b, const Expr& e) {
  if (node(a).integral && node(b).integral) return elementwise(op, {a, b}, true, e);
  return elementwise(op, {arithmetic(a, e), arithmetic(b, e)}, false, e);
}

int FormulaCompiler::compare(const Expr& e, int a, int b) {
  if (e.text == ">" || e.text == ">=") std::swap(a, b);
  const Op op = e.text == "=="       ? Op::equal
                : e.text == "!="     ? Op::not_equal
                : e.text.size() == 2 ? Op::less_equal
                                     : Op::less;
  if (node(a).integral && node(b).integral) return elementwise(op, {a, b}, true, e);
  return elementwise(op, {arithmetic(a, e), arithmetic(b, e)}, true, e);
}

std::optional<DType> FormulaCompiler::type_named(const std::string& name) const {
  const auto type = variant_.types.find(name);
  return type != variant_.types.end() ? std::optional(type->second) : parse_dtype(name);
}

std::optional<bool> FormulaCompiler::decided(const Expr& condition) const {
  for (const std::string& name : names_in(condition))
    if (!variant_.knobs.contains(name) && !variant_.flags.contains(name) && !type_named(name))
      return std::nullopt;
  const IntegerScope scope{[this](std::string_view name) -> std::optional<int64_t> {
                             const std::string key(name);
                             if (const auto k = variant_.knobs.find(key); k != variant_.knobs.end())
                               return k->second;
                             const auto f = variant_.flags.find(key);
                             if (f != variant_.flags.end()) return f->second;
                             const auto type = type_named(key);
                             return type ? std::optional(static_cast<int64_t>(*type))
                                         : std::nullopt;
                           },
                           nullptr, nullptr};
  try {
    return evaluate_integer(condition, scope) != 0;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

int FormulaCompiler::compile_choice(const Expr& e) {
  if (const auto known = decided(*e.operands[0])) return compile(*e.operands[*known ? 1 : 2]);
  const int condition = truth(compile(*e.operands[0]), e);
  const int a = compile(*e.operands[1]);
  const int b = compile(*e.operands[2]);
  if (node(a).integral && node(b).integral)
    return elementwise(Op::where, {condition, a, b}, true, e);
  return elementwise(Op::where, {condition, arithmetic(a, e), arithmetic(b, e)}, false, e);
}

}  // namespace assay
