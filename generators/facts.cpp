#include "generators/facts.hpp"

#include <algorithm>

#include "generators/values.hpp"
#include "kernels_under_test/formula_functions.hpp"

namespace assay {
namespace {

void collect_integers(const Expr* node, std::vector<int64_t>& out) {
  if (node == nullptr) return;
  if (node->kind == Expr::Kind::integer && node->integer > 2 && node->integer <= 65536) {
    out.push_back(node->integer);
  }
  for (const ExprPtr& operand : node->operands) collect_integers(operand.get(), out);
}

/// Calls a function with one of the traits (FormulaTrait).
bool calls(const Expr& node, unsigned traits) {
  if (node.kind == Expr::Kind::call) {
    const FormulaFunction* const function = find_formula_function(node.text);
    if (function != nullptr && function->has(traits)) return true;
  }
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](const ExprPtr& operand) { return calls(*operand, traits); });
}

bool reads_strides(const Expr& node) {
  return (node.kind == Expr::Kind::call && node.text == "stride") ||
         std::any_of(node.operands.begin(), node.operands.end(),
                     [](const ExprPtr& operand) { return reads_strides(*operand); });
}

bool mentions(const Expr& node, const std::string& name) {
  if (node.kind == Expr::Kind::name && node.text == name) return true;
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [&](const ExprPtr& operand) { return mentions(*operand, name); });
}

/// The axis is one that a formula names by index: only the elements that it names are looked at.
bool is_indexed(const Contract& contract, const OperandSpec& operand,
                const std::string& dimension) {
  for (const FormulaLine& line : contract.formula) {
    if (line.name != operand.name || operand.kind != OperandKind::inout) continue;
    for (const auto& [label, index] : line.scatter) {
      if (label == dimension) return true;
    }
  }
  return false;
}

/// Every extent of the operands that an expression reads.
template <typename Mark>
void mark_dimensions(const Contract& contract, const Expr* expr, const Mark& mark) {
  if (expr == nullptr) return;
  for (const std::string& name : names_in(*expr)) {
    const OperandSpec* const operand = contract.find_operand(name);
    if (operand == nullptr) continue;
    for (const Dimension& dimension : operand->shape) {
      if (dimension.extent) mark(*dimension.extent);
    }
  }
}

/// Names of operands in an expression, those of earlier lines included.
void collect_operands(const Contract& contract, const Expr& node, std::vector<std::string>& out) {
  if (node.kind == Expr::Kind::name) {
    if (const OperandSpec* operand = contract.find_operand(node.text)) {
      const bool value = operand->kind == OperandKind::input || operand->kind == OperandKind::inout;
      if (value && std::find(out.begin(), out.end(), node.text) == out.end())
        out.push_back(node.text);
    }
    for (const FormulaLine& line : contract.formula)
      if (line.name == node.text && line.expr.get() != &node &&
          contract.find_operand(line.name) == nullptr)
        collect_operands(contract, *line.expr, out);
    return;
  }
  for (const ExprPtr& operand : node.operands) collect_operands(contract, *operand, out);
}

/// Operands of sums of products inside of exponents.
void collect_exponent_factors(const Contract& contract, const Expr& node, bool inside,
                              std::vector<std::string>& out) {
  if (node.kind == Expr::Kind::name) {
    if (!inside || contract.find_operand(node.text) != nullptr) return;
    for (const FormulaLine& line : contract.formula)
      if (line.name == node.text) collect_exponent_factors(contract, *line.expr, true, out);
    return;
  }
  const bool call = node.kind == Expr::Kind::call;
  if (call && inside && node.text == "sum") {
    std::vector<std::string> factors;
    collect_operands(contract, *node.operands[0], factors);
    if (factors.size() > 1 && out.empty()) out = factors;
  }
  const FormulaFunction* const function = call ? find_formula_function(node.text) : nullptr;
  const bool exponent = function != nullptr && function->has(kExponential);
  for (const ExprPtr& operand : node.operands)
    collect_exponent_factors(contract, *operand, inside || exponent, out);
}

/// Directly, or by way of derived values.
bool depends_on(const Contract& contract, const Expr& node, const std::string& size) {
  if (mentions(node, size)) return true;
  return std::any_of(contract.derive.begin(), contract.derive.end(), [&](const NamedExpr& derived) {
    return mentions(node, derived.name) && depends_on(contract, *derived.expr, size);
  });
}

std::vector<int64_t> collect_steps(const Contract& contract) {
  std::vector<int64_t> steps;
  for (const Knob& knob : contract.knobs) {
    for (const int64_t value : knob.values) {
      if (value > 1) steps.push_back(value);
    }
  }
  for (const LaunchSpec& launch : contract.launches) {
    for (int axis = 0; axis < 3; ++axis) {
      collect_integers(launch.grid[axis].get(), steps);
      collect_integers(launch.block[axis].get(), steps);
    }
  }
  for (const NamedExpr& derived : contract.derive) collect_integers(derived.expr.get(), steps);
  for (const Ownership& owner : contract.owns) collect_integers(owner.relation.get(), steps);
  collect_integers(contract.accuracy.depth.get(), steps);
  for (const NamedExpr& depth : contract.accuracy.depth_along)
    collect_integers(depth.expr.get(), steps);
  collect_integers(contract.accuracy.online.get(), steps);
  if (contract.accuracy.mma_products > 1) steps.push_back(contract.accuracy.mma_products);
  steps.push_back(32);  // a warp
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

}  // namespace

Facts::Facts(const Contract& contract) : contract(contract), steps(collect_steps(contract)) {
  reduced = reduced_dimensions(contract);
  reducing = !reduced.empty();
  subset_allowed = !always_several_launches(contract);
  costly.assign(contract.sizes.size(), false);
  reduced_over.assign(contract.sizes.size(), false);
  const auto mark = [&](const Expr& extent) {
    for (size_t i = 0; i < contract.sizes.size(); ++i) {
      if (depends_on(contract, extent, contract.sizes[i].name)) costly[i] = true;
    }
  };
  // A reduction may run over a size that no operand has, as the tokens of a paged cache.
  for (size_t i = 0; i < contract.sizes.size(); ++i) {
    if (std::find(reduced.begin(), reduced.end(), contract.sizes[i].name) != reduced.end())
      costly[i] = reduced_over[i] = true;
  }
  // A size that only a grid has, as the number of segments of a split, costs threads.
  for (const LaunchSpec& launch : contract.launches) {
    for (const ExprPtr& extent : launch.grid) {
      if (extent) mark(*extent);
    }
  }
  for (const OperandSpec& operand : contract.args) {
    const bool judged = operand.is_judged();
    if (judged && contract.find_ownership(operand.name) == nullptr) subset_allowed = false;
    if (operand.kind == OperandKind::input || operand.kind == OperandKind::inout) ++value_inputs;
    for (const Dimension& dimension : operand.shape) {
      const bool is_reduced =
          std::find(reduced.begin(), reduced.end(), dimension.name) != reduced.end();
      const bool walked = judged && !is_indexed(contract, operand, dimension.name);
      if (dimension.extent && (walked || is_reduced)) mark(*dimension.extent);
    }
  }
  for (const OracleSpec& oracle : contract.oracles) {
    for (const OracleRole& role : oracle.roles) {
      mark_dimensions(contract, role.expr.get(), mark);
      ranking |= role.name == "along";
    }
  }
  for (const FormulaLine& line : contract.formula) {
    if (!line.expr) continue;
    // What writes by index is read whole.
    for (const auto& [dimension, index] : line.scatter) {
      mark_dimensions(contract, index.get(), mark);
      mark_dimensions(contract, line.expr.get(), mark);
    }
    collect_exponent_factors(contract, *line.expr, false, exponent_factors);
    exponential |= calls(*line.expr, kExponential | kSaturates);
    ranking |= calls(*line.expr, kRanks);
    selecting |= calls(*line.expr, kSelects);
    variance |= calls(*line.expr, kCentres);
  }
  selecting |= ranking;
  scarce = !exponent_factors.empty();
  for (size_t i = 0; i < contract.sizes.size(); ++i)
    scarce |= costly[i] && !contract.sizes[i].in.empty();
}

bool follows_size(const Contract& contract, const Expr& node, const std::string& size) {
  return depends_on(contract, node, size);
}

bool always_several_launches(const Contract& contract) {
  return std::count_if(contract.launches.begin(), contract.launches.end(),
                       [](const LaunchSpec& launch) { return !launch.when; }) > 1;
}

std::vector<size_t> free_strides(const OperandSpec& operand) {
  std::vector<size_t> out;
  for (size_t d = 0; d < operand.strides.size(); ++d) {
    const StrideRule& rule = operand.strides[d];
    if (rule.any) {
      out.push_back(d);
    } else if (!rule.value || reads_strides(*rule.value)) {
      return {};
    }
  }
  return out;
}

std::vector<int> narrower_precisions(const Contract& contract, const Variant& variant, DType type) {
  std::vector<int> out;
  const int own = precision_of(type);
  const auto add = [&](int precision) {
    const bool fresh = std::find(out.begin(), out.end(), precision) == out.end();
    if (precision + 1 < own && fresh) out.push_back(precision);
  };
  for (const OperandSpec& operand : contract.args) {
    if (operand.kind != OperandKind::output && operand.kind != OperandKind::inout) continue;
    const DType written = resolve_dtype(operand, variant);
    if (is_floating(written)) add(format_of(written).precision);
  }
  if (!out.empty()) add(format_of(DType::f32).precision);
  return out;
}

std::vector<DType> rounded_types(const Contract& contract, const Variant& variant, DType type) {
  std::vector<DType> out;
  if (type == DType::boolean) return out;
  for (const OperandSpec& operand : contract.args) {
    if (!operand.is_judged()) continue;
    const DType written = resolve_dtype(operand, variant);
    const bool narrows = is_integer(type) || precision_of(written) < precision_of(type);
    const bool loses = is_floating(written) ? narrows : written != DType::boolean;
    if (written != type && loses && std::find(out.begin(), out.end(), written) == out.end())
      out.push_back(written);
  }
  return out;
}

const SizeSpec* size_of_dimension(const Contract& contract, const Dimension& dimension) {
  if (!dimension.extent || dimension.extent->kind != Expr::Kind::name) return nullptr;
  for (const SizeSpec& size : contract.sizes) {
    if (size.name == dimension.extent->text) return &size;
  }
  return nullptr;
}

}  // namespace assay
