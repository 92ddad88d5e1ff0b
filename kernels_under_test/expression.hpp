// The one expression language of a contract: sizes, derive, require, launch, domain and formulas.
//
// Grammar, loosest first:
//   ternary `c ? a : b`;  `||`;  `&&`;  `==` `!=`;  `<` `<=` `>` `>=`;  `|` `^` `&`;  `<<` `>>`;
//   `+` `-`;  `*` `/` `%`;  unary `-` `!` `~`;  postfix `name(args)`, `name[a, dim = b]`,
//   `name.member`;  numbers (integers stay integers; 1e-6, 0x1p-3, inf, nan), names, parentheses.
// On integers `/` truncates and `%` takes the dividend's sign, as in C.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels_under_test/input_error.hpp"

namespace assay {

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  enum class Kind {
    integer,  ///< `integer`
    real,     ///< `real`
    name,     ///< `text`
    unary,    ///< `text` is "-", "!" or "~"; operands[0]
    binary,   ///< `text` is the operator's spelling; operands[0], operands[1]
    ternary,  ///< operands[0] ? operands[1] : operands[2]
    call,     ///< `text` is the function's name; operands are its arguments
    index,    ///< operands[0] is the base; operands[1..] subscripts, named by labels[1..]
    member,   ///< operands[0].text: `residual.before`, `block.x`
  };
  Kind kind = Kind::integer;
  std::string text;
  int64_t integer = 0;
  double real = 0;
  std::vector<ExprPtr> operands;
  std::vector<std::string> labels;  ///< index only: one a operand, "" where positional
  SourceLocation where;             ///< of the operator or the first character
};

/// Parses `text` whole. `where` is the place of its first character; errors point into it.
ExprPtr parse_expression(std::string_view text, const SourceLocation& where);

/// Text that parses back to the same tree (fully parenthesised where needed).
std::string to_text(const Expr& expr);

/// What integer evaluation may ask for. An unset function, or nullopt, is an unknown name.
struct IntegerScope {
  /// Sizes, derived values, knobs, flags, scalars, dimension indices.
  std::function<std::optional<int64_t>(std::string_view name)> value;
  /// `stride(x, 0)` and `size(rows)`, `numel(x)`; arguments as written.
  std::function<std::optional<int64_t>(const Expr& call)> call;
  /// `lens[i]`: element of an index operand; `block.x` comes as member.
  std::function<std::optional<int64_t>(const Expr& node)> element;
};

/// Integer value of an expression without reals. Functions: min, max, abs, ceil_div, align_up,
/// is_pow2, log2_ceil, next_pow2, div_floor, mod_floor, div_trunc, mod_trunc. Comparisons give 0
/// or 1; &&, || and ?: evaluate lazily. Overflow of int64, division by 0 and unknown names throw
/// InputError at the node (with the nearest known name when `known_names` is given). A dtype's name
/// that the scope does not know stands for its DType number, so that a scope which gives a type
/// parameter's DType as its value serves `Q == e4m3`. Good input costs
/// neither exceptions nor allocation.
int64_t evaluate_integer(const Expr& expr, const IntegerScope& scope,
                         const std::vector<std::string>& known_names = {});

/// Double value of an expression, for scalar operands' values: as above, with reals, `exp2` (whole
/// exponents only: exact on every machine), `sqrt`, `inf`, `nan`. Integers stay integers until they
/// meet a real: `1 / 2` is 0, `1.0 / 2` is 0.5.
double evaluate_real(const Expr& expr, const IntegerScope& scope);

/// True when `call` is one of the functions above; throws InputError when it has the wrong number of
/// arguments. For checks before any evaluation.
bool check_builtin_call(const Expr& call);
std::vector<std::string> builtin_functions();

/// Every plain name in the tree, callee names and labels excluded, in order of appearance.
std::vector<std::string> names_in(const Expr& expr);

}  // namespace assay
