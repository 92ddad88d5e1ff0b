#include "generators/launch_bounds.hpp"

#include <algorithm>
#include <limits>

namespace assay {

namespace {

/// Of two ranges that hold no negative value of interest: extents.
Interval times(const Interval& a, const Interval& b) {
  const auto product = [](int64_t x, int64_t y) {
    const __int128 wide = static_cast<__int128>(std::max<int64_t>(x, 0)) * std::max<int64_t>(y, 0);
    return static_cast<int64_t>(
        std::min<__int128>(wide, std::numeric_limits<int64_t>::max()));
  };
  return {product(a.low, b.low), product(a.high, b.high)};
}

}  // namespace

LaunchBounds::LaunchBounds(const Contract& contract, const std::vector<LaunchVariable>& variables,
                           const LaunchRanges& box)
    : contract_(contract) {
  scope_.value = [this](std::string_view name) { return value(std::string(name)); };
  scope_.call = [this](const Expr& call) { return called(call); };
  for (size_t i = 0; i < variables.size(); ++i) {
    const LaunchVariable& v = variables[i];
    const Interval within{v.value(box[i].first), v.value(box[i].second)};
    (v.kind == LaunchVariable::Kind::scalar ? positions_ : known_)[v.name] = within;
  }
  for (const NamedExpr& derived : contract.derive) known_[derived.name] = of(*derived.expr);
}

Interval LaunchBounds::number(const LaunchSpec& launch, LaunchNumber number) const {
  const auto axis = static_cast<size_t>(number);
  if (number == LaunchNumber::shared) return of(launch.shared, 0);
  if (number < LaunchNumber::block_x) return of(launch.grid[axis], 1);
  if (number < LaunchNumber::threads) return of(launch.block[axis - 3], 1);
  Interval product = Interval::of(1);
  for (const ExprPtr& extent : launch.block) product = times(product, of(extent, 1));
  return product;
}

Interval LaunchBounds::elements(const OperandSpec& operand) const {
  Interval product = Interval::of(1);
  for (const Dimension& dimension : operand.shape) {
    product = times(product, of(*dimension.extent));
  }
  return product;
}

std::optional<Interval> LaunchBounds::value(const std::string& name) const {
  if (const auto at = known_.find(name); at != known_.end()) return at->second;
  const OperandSpec* const operand = contract_.find_operand(name);
  if (operand == nullptr || operand->kind != OperandKind::scalar) return std::nullopt;
  if (operand->value) return of(*operand->value);
  const auto at = positions_.find(name);
  if (at == positions_.end()) return Interval{};
  Interval hull = of(*operand->values[static_cast<size_t>(at->second.low)]);
  for (int64_t i = at->second.low + 1; i <= at->second.high; ++i) {
    const Interval other = of(*operand->values[static_cast<size_t>(i)]);
    hull = {std::min(hull.low, other.low), std::max(hull.high, other.high)};
  }
  return hull;
}

std::optional<Interval> LaunchBounds::called(const Expr& call) const {
  if (call.operands.empty() || call.operands[0]->kind != Expr::Kind::name) return std::nullopt;
  const std::string& subject = call.operands[0]->text;
  if (call.text == "size") {
    for (const OperandSpec& operand : contract_.args) {
      for (const Dimension& dimension : operand.shape) {
        if (dimension.name == subject) return of(*dimension.extent);
      }
    }
    return value(subject);
  }
  const OperandSpec* const operand = contract_.find_operand(subject);
  if (operand == nullptr || operand->kind == OperandKind::scalar) return std::nullopt;
  if (call.text == "numel") return elements(*operand);
  if (call.text != "stride" || call.operands.size() != 2) return std::nullopt;
  return stride(*operand, *call.operands[1]);
}

std::optional<Interval> LaunchBounds::stride(const OperandSpec& operand, const Expr& which) const {
  Interval contiguous = Interval::of(1);
  for (size_t d = operand.shape.size(); d-- > 0;) {
    const bool ruled = d < operand.strides.size() && operand.strides[d].value;
    const Interval stride = ruled ? of(*operand.strides[d].value) : contiguous;
    const bool asked = which.kind == Expr::Kind::name
                           ? which.text == operand.shape[d].name
                           : which.kind == Expr::Kind::integer &&
                                 which.integer == static_cast<int64_t>(d);
    if (asked) return stride;
    const Interval extent = of(*operand.shape[d].extent);
    contiguous = times({std::max<int64_t>(stride.low, 1), std::max<int64_t>(stride.high, 1)},
                       {std::max<int64_t>(extent.low, 1), std::max<int64_t>(extent.high, 1)});
  }
  return std::nullopt;
}

}  // namespace assay
