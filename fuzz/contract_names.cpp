#include "fuzz/contract_names.hpp"

namespace assay {

void add_names(const ExprPtr& expr, std::set<std::string>& out) {
  if (!expr) return;
  for (std::string& name : names_in(*expr)) out.insert(std::move(name));
}

void add_operand_names(const OperandSpec& operand, std::set<std::string>& values,
                       std::set<std::string>& numbers) {
  numbers.insert(operand.dtype);
  for (const Dimension& dimension : operand.shape) add_names(dimension.extent, numbers);
  for (const StrideRule& rule : operand.strides) add_names(rule.value, numbers);
  for (const ExprPtr& value : operand.values) add_names(value, numbers);
  for (const ExprPtr* expr : {&operand.align, &operand.value, &operand.when, &operand.overread}) {
    add_names(*expr, numbers);
  }
  add_names(operand.live, values);
  for (const DomainRange& range : operand.domain) {
    add_names(range.low, values);
    add_names(range.high, values);
  }
  for (const auto& [low, high] : operand.valid) {
    add_names(low, values);
    add_names(high, values);
  }
  if (!operand.prefix_sum_of.empty()) values.insert(operand.prefix_sum_of);
  if (!operand.alias.operand.empty()) values.insert(operand.alias.operand);
}

void add_formula_names(const Contract& contract, std::set<std::string>& out) {
  for (const FormulaLine& line : contract.formula) {
    add_names(line.expr, out);
    for (const auto& [dimension, index] : line.scatter) {
      out.insert(dimension);
      add_names(index, out);
    }
  }
  for (const OracleSpec& oracle : contract.oracles) {
    for (const OracleRole& role : oracle.roles) {
      out.insert(role.text);
      add_names(role.expr, out);
    }
  }
}

void add_accuracy_names(const Contract& contract, std::set<std::string>& out) {
  add_names(contract.accuracy.depth, out);
  for (const NamedExpr& along : contract.accuracy.depth_along) add_names(along.expr, out);
  add_names(contract.accuracy.online, out);
}

void add_shape_names(const LaunchSpec& launch, std::set<std::string>& out) {
  for (const auto* extents : {&launch.grid, &launch.block}) {
    for (const ExprPtr& extent : *extents) add_names(extent, out);
  }
  add_names(launch.shared, out);
}

}  // namespace assay
