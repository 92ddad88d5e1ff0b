// A contract: what a kernel promises, read once from TOML and kept as plain data
// (docs/contract.md).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels_under_test/dtype.hpp"
#include "kernels_under_test/expression.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

/// A named choice of a type; one dtype is drawn for each case.
struct TypeParameter {
  std::string name;
  std::vector<DType> kinds;
  SourceLocation where;
};

/// A size: either a range [min, max] or a list of admitted values.
struct SizeSpec {
  std::string name;
  int64_t min = 0;
  int64_t max = 0;
  std::vector<int64_t> in;
  SourceLocation where;
};

/// An integer choice that the answer must not depend on.
struct Knob {
  std::string name;
  std::vector<int64_t> values;
  SourceLocation where;
};

struct NamedExpr {
  std::string name;
  ExprPtr expr;
  SourceLocation where;
};

enum class OperandKind { input, output, inout, index, workspace, scalar };

/// One dimension of an operand. Its name serves in formulas; "" for a literal extent. A shape entry
/// is "rows" (name and extent), an integer, an expression (unnamed), or "name: expression".
struct Dimension {
  std::string name;
  ExprPtr extent;
};

/// One entry of `strides`, in elements: "any", or an expression.
struct StrideRule {
  bool any = false;
  ExprPtr value;
};

/// A closed range of `domain = "lo..hi | lo..hi"`.
struct DomainRange {
  ExprPtr low;
  ExprPtr high;
};

enum class Absent { null, none, alias };
enum class Dead { poison, in_range, none };

/// How a 4-bit operand lies in words. Everywhere but in formulas, which name its elements, the
/// operand is the array of its words: dtype, shape, strides and values are theirs.
struct Packing {
  DType element = DType::u4;  ///< u4 or i4
  std::string along;          ///< dimension of the elements that is packed
  std::string words;          ///< that dimension's name in the array of words
  DType word = DType::u32;
  bool low_first = true;      ///< the first element lies in the lowest bits
  int in_word() const { return bit_width(word) / 4; }
};

/// An operand that another may share its memory with, or stands for when that one is absent.
struct AliasTarget {
  std::string operand;
  SourceLocation where;
};

/// One argument of the kernel, in its order.
struct OperandSpec {
  std::string name;
  OperandKind kind = OperandKind::input;
  std::string dtype;  ///< a type parameter's name or a dtype's
  std::vector<Dimension> shape;
  ExprPtr align;                    ///< base alignment in bytes; null: the element's own
  std::vector<StrideRule> strides;  ///< empty: contiguous, row-major
  ExprPtr value;                    ///< scalar: its value
  std::vector<ExprPtr> values;      ///< scalar: a list to draw from
  std::vector<DomainRange> domain;
  bool distinct = false;
  bool repeats = false;
  bool sorted = false;
  std::string prefix_sum_of;
  ExprPtr live;
  Dead dead = Dead::poison;
  ExprPtr when;  ///< null: always present
  Absent absent = Absent::null;
  AliasTarget alias;  ///< for Absent::alias
  std::vector<AliasTarget> may_alias;  ///< inputs in whose memory it may be written
  std::vector<std::pair<ExprPtr, ExprPtr>> valid;  ///< [low, high) per dimension; empty: all
  ExprPtr overread;                                ///< elements readable past a row; null: none
  std::optional<Packing> pack;
  SourceLocation where;

  bool is_judged() const { return kind == OperandKind::output || kind == OperandKind::inout; }
};

struct LaunchSpec {
  std::string entry;  ///< template of the entry; the source's when empty
  ExprPtr when;
  std::array<ExprPtr, 3> grid;
  std::array<ExprPtr, 3> block;
  ExprPtr shared;                 ///< dynamic shared memory in bytes; null: 0
  std::vector<std::string> args;  ///< empty: the whole argument list
  SourceLocation where;
};

/// `y = "..."`, or `"cache[slot = slots]" = "k"` with `scatter` = {{"slot", slots}}, or
/// `"hist[bins = x]" = "add(1)"` which also `accumulates` (`expr` is what is added). A name that is
/// no output is an intermediate.
struct FormulaLine {
  std::string name;
  std::vector<std::pair<std::string, ExprPtr>> scatter;
  bool accumulates = false;
  ExprPtr expr;
  SourceLocation where;
};

enum class Language { cuda, triton, ptx, torch };
enum class CudaCompiler { nvrtc, nvcc };
enum class MathMode { precise, fast, triton };

struct Source {
  Language language = Language::cuda;
  std::string path;  ///< absolute, resolved from the contract's folder; torch: operator name
  std::string entry;
  CudaCompiler compiler = CudaCompiler::nvrtc;
  std::vector<std::string> include;  ///< absolute folders
  std::map<std::string, std::string> defines;
  std::vector<std::string> flags;
  std::string target = "sm_80";
  std::map<DType, std::string> cxx;  ///< spelling of dtypes in the entry's template arguments
  SourceLocation where;
  /// -ftz=true, or -use_fast_math, which implies it: f32 arithmetic flushes subnormals.
  bool flushes_subnormals() const;
};

enum class ExpForm { direct, prescaled };
enum class VarianceForm { two_pass, one_pass, welford };

struct Accuracy {
  DType accumulate = DType::f32;
  MathMode math = MathMode::precise;
  ExprPtr depth;  ///< additions on the longest path of a reduction; null: n - 1
  std::vector<NamedExpr> depth_along;  ///< the same, of reductions over one dimension
  std::string mma;                     ///< "m16n8k16": products of narrow types add in tensor cores
  int64_t mma_products = 0;            ///< its k; 0: no tensor cores
  ExpForm exp = ExpForm::direct;
  ExprPtr online;  ///< block length of an online softmax; null: not online
  VarianceForm variance = VarianceForm::two_pass;
  std::string weak_reason;  ///< why more than 20 % weakly judged elements are right here
  bool states_accumulate = false;  ///< `accumulate` is the contract's word, not the default
};

enum class NanPolicy { propagate, ignore, exclude };
enum class SubnormalPolicy { keep, flush, maybe };
enum class RangePolicy { safe, naive };
enum class TiePolicy { first, last, free };
enum class ZeroOrderPolicy { equal, signed_zero };
enum class EmptyPolicy { zero, nan };
enum class CastOverflowPolicy { saturate, inf, nan, wrap };

/// Unset members were not stated; a policy that matters and is missing is asked for once.
struct Policy {
  std::optional<NanPolicy> nan;
  std::optional<SubnormalPolicy> subnormals;
  std::optional<RangePolicy> range;
  std::optional<TiePolicy> tie;
  std::optional<ZeroOrderPolicy> zero_order;
  std::optional<EmptyPolicy> empty;
  std::optional<CastOverflowPolicy> cast_overflow;
};

struct Ownership {
  std::string output;
  ExprPtr relation;  ///< over dimension indices and block.x, block.y, block.z
  SourceLocation where;
};

/// One role of `oracle = { op = "topk", of = "x", ... }`; which roles there are, and what each may
/// hold, is in kernels_under_test/relations.hpp.
struct OracleRole {
  std::string name;
  std::string text;  ///< an output, a dimension or a choice
  ExprPtr expr;      ///< values and numbers
  SourceLocation where;
};

/// A relation that outputs must satisfy, by name.
struct OracleSpec {
  std::string op;
  std::vector<OracleRole> roles;
  SourceLocation where;
  const OracleRole* find(std::string_view role) const;
};

/// What must not change an answer (docs/properties.md).
enum class PropertyKind {
  rows_independent,  ///< how many rows run beside a row
  padding_free,      ///< what padding and dead entries hold
  repeatable,        ///< the order of blocks, the schedule of warps, a second run
  layout_free,       ///< strides, offset and base address
  knobs_free,        ///< the values of knobs
  shift_invariant,   ///< a constant added to an input
  scale_invariant,   ///< a power of two that multiplies an input
};
std::string_view name(PropertyKind kind);
std::optional<PropertyKind> parse_property_kind(std::string_view text);

/// One entry of `properties`: "rows_independent(rows)", "scale_invariant(x, eps: 2)".
struct Property {
  PropertyKind kind{};
  std::string of;                  ///< the rows' dimension, or the input that is shifted or scaled
  std::vector<std::string> knobs;  ///< of knobs_free: those that may change
  std::string zero;  ///< of scale_invariant: a scalar with a list of values; it holds where this is 0
  /// Of scale_invariant: what goes along when the input is multiplied by c, each by this power of c:
  /// operands and scalars that are read, and outputs that come out so.
  std::vector<std::pair<std::string, int>> along;
  SourceLocation where;
  std::string text() const;  ///< as a contract may state it
};

struct Contract {
  std::string name;
  std::string about;
  std::string path;  ///< of the contract file, absolute
  Source source;
  std::vector<TypeParameter> types;
  std::vector<SizeSpec> sizes;
  std::vector<NamedExpr> derive;
  std::vector<std::string> flags;
  SourceLocation flags_where;
  std::vector<Knob> knobs;
  std::vector<NamedExpr> require;  ///< `name` holds the text as written
  std::vector<OperandSpec> args;   ///< `strides_of` already expanded
  std::vector<LaunchSpec> launches;
  std::vector<Ownership> owns;
  std::vector<FormulaLine> formula;
  std::vector<OracleSpec> oracles;  ///< judge the outputs that no line of `formula` defines
  Accuracy accuracy;
  Policy policy;
  std::vector<Property> properties;
  int64_t builds = 64;  ///< compiled variants that a sweep may use
  /// Accepted keys whose part is not built yet, "file:line: key".
  std::vector<std::string> not_yet;

  const OperandSpec* find_operand(std::string_view operand) const;
  const Ownership* find_ownership(std::string_view output) const;
  const Property* find_property(PropertyKind kind, std::string_view of) const;
};

/// The size that is a dimension's whole extent, when some operand has the dimension and all that
/// have it say the same; or null.
const SizeSpec* size_along(const Contract& contract, std::string_view dimension);

/// Reads and checks a contract file. Throws InputError (file:line:column, what was expected, the
/// nearest valid name).
Contract load_contract(const std::string& path);
/// The same from text; `path` serves for messages and for resolving relative paths.
Contract parse_contract(const std::string& toml, const std::string& path);

/// One compiled choice of a contract: dtype of each type parameter, value of each knob and flag.
struct Variant {
  std::map<std::string, DType> types;
  std::map<std::string, int64_t> knobs;
  std::map<std::string, int64_t> flags;
  auto operator<=>(const Variant&) const = default;
  std::string text() const;  ///< "T=f16 BLOCK=256"
};

/// The dtype of an operand under a variant.
DType resolve_dtype(const OperandSpec& operand, const Variant& variant);

}  // namespace assay
