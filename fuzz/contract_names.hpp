// Names that the parts of a contract use.
#pragma once

#include <set>
#include <string>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// Of an expression; null: none.
void add_names(const ExprPtr& expr, std::set<std::string>& out);
/// Of an operand: `values` are those of its elements (live, domain, valid), `numbers` all others.
void add_operand_names(const OperandSpec& operand, std::set<std::string>& values,
                       std::set<std::string>& numbers);
/// The formula and the relations.
void add_formula_names(const Contract& contract, std::set<std::string>& out);
/// Depths and block lengths.
void add_accuracy_names(const Contract& contract, std::set<std::string>& out);
/// Grid, block and shared memory.
void add_shape_names(const LaunchSpec& launch, std::set<std::string>& out);

}  // namespace assay
