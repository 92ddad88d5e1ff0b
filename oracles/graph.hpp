// A contract's formula as a small graph: the textbook definition, compiled once a variant.
//
// A node stands for a dense array over its named dimensions; arithmetic broadcasts by name. Values
// are exact reals (or integers); what a kernel's rounding may add is written into the graph as
// `settle` nodes, so that every evaluator only ever sees one meaning for each node
// (docs/judging.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

enum class Op : uint8_t {
  // Leaves.
  literal,    ///< `integer` or `real`
  named,      ///< `text`: a size, derived value, knob, flag or scalar argument
  dim_index,  ///< index along dims[0]
  extent,     ///< extent of dimension `dimension`
  load,       ///< operand `operand`, over its named dimensions
  gather,     ///< operand `operand`, one integer argument a subscripted dimension
  // Elementwise. Integral when the node is; the integer forms wrap nowhere (128 bits).
  to_real,
  neg,
  abs,
  add,
  sub,
  mul,
  div,  ///< integers: truncates
  mod,  ///< integers: sign of the dividend
  div_floor,
  mod_floor,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  less,
  less_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  logical_not,
  max2,
  min2,
  where,     ///< condition, then, otherwise
  function,  ///< `text` of the function table, one argument (two for pow, atan2, ...)
  // Reductions over `reduced`.
  sum,
  max,
  min,
  mean,
  var,
  argmax,  ///< integral: the first of the largest, where that is known
  argmin,
  cumsum,  ///< along `reduced`, which stays: element j holds the sum of 0..j; `text`: "reversed",
           ///< of j.. to the end; "exclusive", of those before j
  cast,  ///< to the integers of `type`: `text` is "cast" (truncates) or "quant" (rounds, saturates)
  // What a kernel's arithmetic does to the exact value of its argument.
  settle,     ///< `weight` roundings into `type`
  prescaled,  ///< difference (or sum), x, m: the rounding of x log2e - m log2e; with x and m 0, of
              ///< log2e alone
  rescaled,   ///< e^(x - m), s, others: what an online softmax's factors add along `reduced`, where
              ///< m is the maximum of s and of the others; x is args[1 + integer]
  hull,       ///< q, w, t: q = sum(w t) / sum(w) over `reduced` lies within the hull of t
  forms,  ///< one function in its usual forms: a correct kernel computes one of them. `text`: of
          ///< each "=", "#" where it is equal for its literals as they are, "~" where its own value
          ///< is only near, or "." where it is none of them but the value itself
  total,  ///< a, parts: a adds the parts, which one accumulator may add in any order. `text`:
          ///< of each part "+" or "-"; of a sum that joins term by term "a" or "s"
};

struct Node {
  Op op = Op::literal;
  bool integral = false;
  std::vector<int> args;
  std::vector<int> dims;     ///< ids into Graph::dims, the order of the array
  std::vector<int> reduced;  ///< reductions only
  int operand = -1;          ///< load, gather: position in Contract::args
  std::vector<int> indexed;  ///< gather: axis of the operand that args[i] subscripts
  bool from_output = false;  ///< load: what the kernel wrote (`given`)
  bool raw = false;          ///< load, gather: the bits themselves, as an unsigned integer
  int dimension = -1;
  std::string text;
  double real = 0;
  int64_t integer = 0;
  DType type = DType::f32;  ///< settle: format; load, gather: the operand's dtype
  int weight = 1;
  /// sum: products that one step of a tensor core adds, steps of an instruction, and bits kept
  /// below the 24 of f32 (tensor_core_table.hpp); 0 products: ordinary additions.
  int mma_products = 0;
  int mma_steps = 0;
  int mma_extra_bits = 0;
  int mma_product = -1;       ///< the multiplication itself, below what rounds or masks it
  double mma_min_normal = 0;  ///< of the factors' type: smaller ones are not normalised
  /// exp: its argument is x - m, m the maximum of x or of that and more, which rounds to at most 0.
  bool nonpositive = false;
  int saturates_at = 0;  ///< cast of a real: the narrowest width at which compiled code saturates
  std::vector<int> share_of;  ///< hull of w / sum(w) itself, between 0 and 1: the sum's dimensions
  bool joins = false;         ///< sum: some total adds its terms
  /// Significand bits that hold any value of this node exactly; 0 when no bound is known.
  int bits = 0;
  SourceLocation where_;
};

/// The types that a kernel of a contract computes in.
struct ArithmeticTypes {
  DType sums = DType::f32;    ///< partial sums
  DType others = DType::f32;  ///< all else: the coarser where a contract leaves a choice
};
/// The contract's word on `accumulate`. Without it f64 where the formula reads an f64 operand, f32
/// otherwise: an f64 workspace or total says how wide some sum is, not what all else is computed in.
ArithmeticTypes arithmetic_types(const Contract& contract,
                                 const std::function<DType(const OperandSpec&)>& type_of);

/// What one output must equal.
struct FormulaRoot {
  std::string output;
  int operand = -1;  ///< position in Contract::args
  int node = -1;
  int limits = -1;         ///< what the definition gives where `node` is NaN (R5); -1: the same
  int raw_node = -1;       ///< bits are moved and nothing else: compared bit by bit (rule R2)
  bool saturates = false;  ///< beyond the largest finite number that number is written
  bool scatters = false;
  bool accumulates = false;          ///< scattered: `node` is added to what is there
  std::vector<int> scatter_axes;     ///< axis of the output that ...
  std::vector<int> scatter_indices;  ///< ... this integer node subscripts
  /// Scattered: dimensions that one writer is a point of; the output's other axes are its row.
  std::vector<int> writer_dims;
  std::string line;  ///< text of the formula, for reports
};

/// What the roles of a relation stand for (kernels_under_test/relations.hpp).
struct RelationRoot {
  int oracle = -1;                    ///< position in Contract::oracles
  std::map<std::string, int> values;  ///< node of each role that is an expression
};

struct Graph {
  std::vector<Node> nodes;  ///< arguments come before their users
  std::vector<std::string> dims;
  std::vector<FormulaRoot> roots;
  std::vector<RelationRoot> relations;
  bool reduced_dim(int dimension) const;  ///< some reduction runs over it
  bool feeds(int node, int top) const;    ///< `top` depends on `node`, or is it
  bool reduces(int top) const;            ///< `top` depends on a reduction
};

/// Compiles the formula for one choice of dtypes, knobs and flags. Throws InputError at the place
/// of an unknown name, dimension or function.
Graph compile_formula(const Contract& contract, const Variant& variant);

/// Definitions that read like a textbook and expand into formulas: softmax, logsumexp, amax, ...
struct FormulaDefinition {
  std::string_view name;
  std::vector<std::string_view> parameters;
  std::string_view text;
  /// Other forms that kernels usually have. "~": not equal but near; "#": equal to the last digit.
  std::vector<std::string_view> forms = {};
  /// What the textbook's own form gives where `text`, which kernels compute, is NaN: the logarithm
  /// of an infinite sum. "": the same.
  std::string_view limits = "";
};
const std::vector<FormulaDefinition>& formula_library();

}  // namespace assay
