#include "generators/reductions.hpp"

#include <algorithm>
#include <utility>

#include "generators/draft.hpp"
#include "kernels_under_test/formula_functions.hpp"

namespace assay {
namespace {

void add_once(const std::string& name, std::vector<std::string>& out) {
  if (std::find(out.begin(), out.end(), name) == out.end()) out.push_back(name);
}

/// Every function of the table that may run over dimensions counts: none can be forgotten here.
bool is_reduction(const Expr& node) {
  if (node.kind != Expr::Kind::call) return false;
  const FormulaFunction* const function = find_formula_function(node.text);
  return function != nullptr && function->reduces();
}

void collect_reduced(const Expr& node, std::vector<std::string>& out) {
  const bool reduction = is_reduction(node);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    const Expr& operand = *node.operands[i];
    if (reduction && i > 0 && operand.kind == Expr::Kind::name) {
      add_once(operand.text, out);
    } else {
      collect_reduced(operand, out);
    }
  }
}

/// The line of a formula that is named so and is no operand.
const FormulaLine* intermediate(const Contract& contract, const std::string& name) {
  if (contract.find_operand(name) != nullptr) return nullptr;
  const auto line = std::find_if(contract.formula.begin(), contract.formula.end(),
                                 [&](const FormulaLine& l) { return l.name == name; });
  return line == contract.formula.end() ? nullptr : &*line;
}

void collect_operands(const Contract& contract, const Expr& node, bool inside,
                      std::vector<std::string>& out) {
  if (node.kind == Expr::Kind::name) {
    if (!inside) return;
    const OperandSpec* const operand = contract.find_operand(node.text);
    if (operand != nullptr &&
        (operand->kind == OperandKind::input || operand->kind == OperandKind::inout)) {
      add_once(node.text, out);
    }
    const FormulaLine* const line = intermediate(contract, node.text);
    if (line != nullptr && line->expr && line->expr.get() != &node)
      collect_operands(contract, *line->expr, true, out);
    return;
  }
  const bool reduction = is_reduction(node);
  for (size_t i = 0; i < node.operands.size(); ++i) {
    // The arguments after the first are dimensions.
    if (reduction && i > 0 && node.operands[i]->kind == Expr::Kind::name) continue;
    collect_operands(contract, *node.operands[i], inside || reduction, out);
  }
}

}  // namespace

std::vector<std::string> reduced_dimensions(const Contract& contract) {
  std::vector<std::string> out;
  for (const FormulaLine& line : contract.formula) {
    if (line.expr) collect_reduced(*line.expr, out);
  }
  // A relation along a dimension reads its lines whole too.
  for (const OracleSpec& oracle : contract.oracles) {
    for (const OracleRole& role : oracle.roles) {
      if (role.expr) collect_reduced(*role.expr, out);
      const bool fresh = std::find(out.begin(), out.end(), role.text) == out.end();
      if (role.name == "along" && fresh) out.push_back(role.text);
    }
  }
  return out;
}

std::vector<std::string> reduced_operands(const Contract& contract) {
  std::vector<std::string> out;
  for (const FormulaLine& line : contract.formula) {
    if (line.expr) collect_operands(contract, *line.expr, false, out);
  }
  return out;
}

int64_t reduced_extent(const Instance& instance) {
  int64_t most = 0;
  for (const std::string& dimension : reduced_dimensions(*instance.contract)) {
    if (const auto size = instance.names.find(dimension); size != instance.names.end())
      most = std::max(most, size->second);
    for (const Tensor& tensor : instance.tensors) {
      for (size_t d = 0; d < tensor.dims.size(); ++d)
        if (tensor.dims[d] == dimension) most = std::max(most, tensor.shape[d]);
    }
  }
  return most;
}

std::optional<Case> lengthened(const Contract& contract, Case c, int64_t extent, int64_t more_than,
                               int64_t work_limit) {
  c.layouts.clear();
  c.blocks.clear();
  c.aliases.clear();
  c.overrides.clear();
  c.property = {};
  // The other sizes, from much to little: listed ones as they are or first, the rest at 2 or 1.
  for (const auto& [listed, other] : {std::pair{true, 2}, {true, 1}, {false, 2}, {false, 1}}) {
    for (const SizeSpec& size : contract.sizes) {
      if (size.in.empty()) c.sizes[size.name] = std::clamp<int64_t>(other, size.min, size.max);
      if (!size.in.empty() && !listed) c.sizes[size.name] = size.in.front();
    }
    for (const SizeSpec& size : contract.sizes) {
      if (!size.in.empty()) continue;
      // Contracts count vectors of eight as well as elements.
      for (const int64_t unit : {1, 8}) {
        Case longer = c;
        longer.sizes[size.name] = std::clamp(extent / unit, size.min, size.max);
        fit_ties(contract, size.name, longer);
        const std::optional<Instance> instance = if_valid(contract, longer);
        if (!instance || reduced_extent(*instance) <= more_than) continue;
        if (work_if_valid(contract, longer).value_or(work_limit + 1) <= work_limit) return longer;
      }
    }
  }
  return std::nullopt;
}

}  // namespace assay
