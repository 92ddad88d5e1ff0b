// Is a formula elementwise: is each element of an output a function of one element of one or two
// operands, the one at its own place?
#pragma once

#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// The operands of which every output of the contract is an elementwise function under a variant,
/// as positions in Contract::args, ascending: one or two of them. Throws InputError, with the
/// place in the contract and the reason, where an output is no such function: a reduction, a
/// gather, an index, a broadcast operand, a third operand.
std::vector<int> elementwise_operands(const Contract& contract, const Variant& variant);

}  // namespace assay
