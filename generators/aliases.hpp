// Operands that lie in another's memory: which a case may have, and drawing them. Private to
// generators.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "generators/instance.hpp"

namespace assay {

/// Why `operand` cannot lie in the memory of `memory`, both operands of the contract, in this case,
/// whose shapes and types are known; "" when it can. Strides are compared later, as those of any
/// layout.
std::string alias_problem(const Instance& instance, const std::string& operand,
                          const std::string& memory);

/// A layout, values or elements that a case gives to what has no memory of its own: the problem and
/// the key of its place; "" when there is none.
std::pair<std::string, std::string> shared_statement(const Case& c);

/// Where a case says how an operand lies: the key of its place.
std::string layout_key(const Tensor& tensor);

}  // namespace assay
