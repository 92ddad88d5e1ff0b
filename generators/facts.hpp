// What the generators want to know about a contract, found once for many cases.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

struct Facts {
  explicit Facts(const Contract& contract);

  const Contract& contract;
  /// Lengths at which blocks, tiles and vectors end: knob values and integers in launches, derived
  /// values, ownership and depth. Ascending.
  std::vector<int64_t> steps;
  /// One a size: whether it multiplies the work (in an output's shape, a grid, or reduced over).
  std::vector<bool> costly;
  /// One a size: whether the formula reduces over a dimension of its name.
  std::vector<bool> reduced_over;
  /// Lists of sizes or attention's products leave little work to the other sizes: they share it.
  bool scarce = false;
  /// A case may have one launch, and `owns` speaks of every judged output.
  bool subset_allowed = false;
  /// Dimensions over which it reduces (reduced_dimensions).
  std::vector<std::string> reduced;
  bool reducing = false;        ///< the formula reduces
  bool exponential = false;     ///< the formula has exp, softmax or logsumexp
  bool variance = false;        ///< the formula has var or a square root
  bool selecting = false;       ///< one element of a row is the answer: max, argmax, top-k, softmax
  bool ranking = false;         ///< and its index is: argmax, top-k
  int value_inputs = 0;         ///< inputs and inouts
  /// Operands whose products are summed into exponents (queries and keys), in order of appearance;
  /// empty where exponents are operands themselves.
  std::vector<std::string> exponent_factors;
};

/// Whatever the sizes and choices are: two launches or more have no `when`.
bool always_several_launches(const Contract& contract);

/// Whether an expression names the size, directly or by way of derived values.
bool follows_size(const Contract& contract, const Expr& node, const std::string& size);

/// Positions of dimensions of `operand` whose stride a case may choose. The others follow from
/// sizes and choices (`half`, `2 * N`); empty when one follows from another stride.
std::vector<size_t> free_strides(const OperandSpec& operand);

/// Significand bits of the floating outputs that hold fewer than values of `type`, each once, and
/// of f32 where it lies between: a kernel may go by way of it.
std::vector<int> narrower_precisions(const Contract& contract, const Variant& variant, DType type);

/// Types other than `type` of the floating and integer outputs, each once: what its values are
/// rounded, or cast, to.
std::vector<DType> rounded_types(const Contract& contract, const Variant& variant, DType type);

/// The name of the size that is this dimension's whole extent, or nullptr.
const SizeSpec* size_of_dimension(const Contract& contract, const Dimension& dimension);

}  // namespace assay
