#include "generators/thresholds.hpp"

#include <algorithm>

#include "generators/case_numbers.hpp"
#include "generators/draft.hpp"
#include "kernels_under_test/limits.hpp"

namespace assay {
namespace {

bool compares(const Expr& node) {
  static constexpr std::array<std::string_view, 6> kComparisons{"<", "<=", ">", ">=", "==", "!="};
  if (node.operands.size() != 2) return false;
  if (node.kind == Expr::Kind::call) return node.text == "min" || node.text == "max";
  return node.kind == Expr::Kind::binary &&
         std::find(kComparisons.begin(), kComparisons.end(), node.text) != kComparisons.end();
}

void collect(const ExprPtr& node, std::vector<Sides>& out) {
  if (!node) return;
  if (compares(*node)) out.emplace_back(node->operands[0].get(), node->operands[1].get());
  for (const ExprPtr& operand : node->operands) collect(operand, out);
}

Expr integer(int64_t value) {
  Expr node;
  node.integer = value;
  return node;
}

/// What is compared where a launch is made.
std::vector<Sides> comparisons(const Contract& contract) {
  static const Expr kMostBlocks = integer(kMostGridYz);
  std::vector<Sides> out;
  for (const NamedExpr& derived : contract.derive) collect(derived.expr, out);
  for (const LaunchSpec& launch : contract.launches) {
    for (const ExprPtr& extent : launch.grid) {
      collect(extent, out);
      if (extent) out.emplace_back(extent.get(), &kMostBlocks);
    }
    for (const ExprPtr& extent : launch.block) collect(extent, out);
    collect(launch.shared, out);
    collect(launch.when, out);
  }
  return out;
}

}  // namespace

CaseNumbers::CaseNumbers(const Contract& contract, Case c)
    : contract_(contract), case_(std::move(c)) {
  scope_.value = [this](std::string_view name) { return named(name); };
}

std::optional<int64_t> CaseNumbers::value(const Expr& expr) const {
  try {
    return evaluate_integer(expr, scope_);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::optional<int> CaseNumbers::order(const Sides& sides) const {
  const std::optional<int64_t> left = value(*sides.first), right = value(*sides.second);
  if (!left || !right) return std::nullopt;
  return (*left > *right) - (*left < *right);
}

std::optional<int64_t> CaseNumbers::named(std::string_view wanted) const {
  const std::string name(wanted);
  for (const auto* values : {&case_.sizes, &case_.knobs, &case_.flags}) {
    if (const auto at = values->find(name); at != values->end()) return at->second;
  }
  for (const NamedExpr& derived : contract_.derive) {
    if (derived.name == name) return evaluate_integer(*derived.expr, scope_);
  }
  if (const auto type = case_.types.find(name); type != case_.types.end()) {
    return static_cast<int64_t>(type->second);
  }
  const OperandSpec* const operand = contract_.find_operand(name);
  if (operand == nullptr || !operand->value) return std::nullopt;
  return evaluate_integer(*operand->value, scope_);
}

std::optional<int64_t> launch_number(const Contract& contract, const Case& c, const Expr& expr) {
  return CaseNumbers(contract, c).value(expr);
}

std::vector<int64_t> thresholds(const Contract& contract, const Case& c, const SizeSpec& size) {
  std::vector<int64_t> out;
  if (!size.in.empty() || size.min >= size.max) return out;
  CaseNumbers numbers(contract, c);
  for (const Sides& sides : comparisons(contract)) {
    const auto order_at = [&](int64_t value) {
      numbers.set(size.name, value);
      return numbers.order(sides);
    };
    const std::optional<int> first = order_at(size.min), last = order_at(size.max);
    if (!first || !last || *first == *last || *last == 0) continue;
    const int64_t below = largest_where(
        size.min, size.max, [&](int64_t value) { return order_at(value) != last; });
    out.push_back(below + 1);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace assay
