// Numbers that a contract states: told at their place where no case can mean them.
#include <algorithm>
#include <map>

#include "kernels_under_test/alignment.hpp"
#include "kernels_under_test/contract_parts.hpp"
#include "kernels_under_test/interval.hpp"
#include "kernels_under_test/limits.hpp"

namespace assay {
namespace {

[[noreturn]] void fail(const Expr& node, const std::string& message) {
  throw InputError(node.where, message);
}

/// What sizes, knobs, flags and derived values may be in some case; other names are open.
class Choices {
 public:
  explicit Choices(const Contract& contract) {
    const auto spread = [](const std::vector<int64_t>& values) {
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      return Interval{*low, *high};
    };
    for (const SizeSpec& size : contract.sizes)
      values_[size.name] = size.in.empty() ? Interval{size.min, size.max} : spread(size.in);
    for (const Knob& knob : contract.knobs)
      if (!knob.values.empty()) values_[knob.name] = spread(knob.values);
    for (const std::string& flag : contract.flags) values_[flag] = {0, 1};
    for (const NamedExpr& derived : contract.derive) values_[derived.name] = of(*derived.expr);
  }

  Interval of(const Expr& expr) const {
    IntervalScope scope;
    scope.value = [this](std::string_view name) -> std::optional<Interval> {
      const auto found = values_.find(std::string(name));
      return found == values_.end() ? std::nullopt : std::optional(found->second);
    };
    return evaluate_interval(expr, scope);
  }

 private:
  std::map<std::string, Interval> values_;
};

std::string found(const Expr& expr, const Interval& value) {
  if (expr.kind == Expr::Kind::integer) return to_text(expr);
  return "'" + to_text(expr) + "', which is " +
         (value.is_point() ? std::to_string(value.low)
                           : "at most " + std::to_string(value.high) + " in every case");
}

void check_operand(const OperandSpec& operand, const Choices& choices) {
  if (operand.align) {
    const Interval value = choices.of(*operand.align);
    const bool odd = value.is_point() && !is_alignment(value.low);
    if (value.high < 1 || value.low > kMostAlign || odd)
      fail(*operand.align, "'align' of '" + operand.name + "' is " + found(*operand.align, value) +
                               "; expected a power of two from 1 to " + std::to_string(kMostAlign) +
                               ", in bytes");
  }
  if (operand.overread) {
    const Interval value = choices.of(*operand.overread);
    if (value.high < 0 || value.low > kMostOperandBytes)
      fail(*operand.overread, "'overread' of '" + operand.name + "' is " +
                                  found(*operand.overread, value) +
                                  "; expected a number of elements, from 0 to 2^46");
  }
}

void check_positive(const ExprPtr& expr, const std::string& what, const Choices& choices) {
  if (expr == nullptr) return;
  const Interval value = choices.of(*expr);
  if (value.high < 1) fail(*expr, what + " is " + found(*expr, value) + "; expected at least 1");
}

/// Integers and operators alone.
bool is_constant(const Expr& node) {
  if (node.kind == Expr::Kind::integer) return true;
  const bool combines = node.kind == Expr::Kind::unary || node.kind == Expr::Kind::binary;
  return combines && std::all_of(node.operands.begin(), node.operands.end(),
                                 [](const ExprPtr& operand) { return is_constant(*operand); });
}

/// The dimension that a subscript stands for, by its label or its position.
const Dimension* dimension_of(const OperandSpec& operand, const std::string& label, size_t at) {
  if (label.empty()) return at < operand.shape.size() ? &operand.shape[at] : nullptr;
  for (const Dimension& dimension : operand.shape)
    if (dimension.name == label) return &dimension;
  return nullptr;
}

/// A subscript that no case has an element for.
void check_subscripts(const Expr& node, const Contract& contract, const Choices& choices) {
  const Expr& base = *node.operands[0];
  const std::string& name = base.kind == Expr::Kind::member ? base.operands[0]->text : base.text;
  const OperandSpec* operand = contract.find_operand(name);
  if (operand == nullptr) return;
  for (size_t i = 1; i < node.operands.size(); ++i) {
    const Expr& index = *node.operands[i];
    if (!is_constant(index)) continue;
    const Dimension* const dimension = dimension_of(*operand, node.labels[i], i - 1);
    if (dimension == nullptr) continue;
    const int64_t value = evaluate_integer(index, {});
    const Interval extent = choices.of(*dimension->extent);
    if (value >= 0 && value < extent.high) continue;
    fail(index, "index " + std::to_string(value) + " is outside of '" + name + "': its extent '" +
                    to_text(*dimension->extent) + "' is at most " + std::to_string(extent.high));
  }
}

void check_constants(const Expr& node, const Contract& contract, const Choices& choices) {
  if (is_constant(node)) {
    evaluate_integer(node, {});  // throws at the operator
    return;
  }
  if (node.kind == Expr::Kind::index) check_subscripts(node, contract, choices);
  for (const ExprPtr& operand : node.operands) check_constants(*operand, contract, choices);
}

}  // namespace

void check_numbers(const Contract& contract) {
  const Choices choices(contract);
  for (const OperandSpec& operand : contract.args) check_operand(operand, choices);
  check_positive(contract.accuracy.depth, "'depth'", choices);
  for (const NamedExpr& along : contract.accuracy.depth_along)
    check_positive(along.expr, "'depth' along '" + along.name + "'", choices);
  check_positive(contract.accuracy.online, "'online'", choices);
  for (const FormulaLine& line : contract.formula) {
    for (const auto& [dimension, index] : line.scatter) check_constants(*index, contract, choices);
    check_constants(*line.expr, contract, choices);
  }
  for (const OracleSpec& oracle : contract.oracles)
    for (const OracleRole& role : oracle.roles)
      if (role.expr != nullptr) check_constants(*role.expr, contract, choices);
}

}  // namespace assay
