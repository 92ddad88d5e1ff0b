// Value classes: how the elements of an operand are made.
//
// An element is a pure function of (value seed, operand, logical index): counter_hash and basic
// IEEE operations, never libm, so that every machine and every device makes the same bits. Classes
// that speak of a row mean a run along the operand's *axis*: the dimension that the contract's
// formula reduces over, otherwise the last one.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "generators/case.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

enum class ValueClass : uint8_t {
  normal,          ///< mean + scale * (sum of four uniforms, unit variance)
  uniform,         ///< [low, high]
  bits,            ///< uniform bit patterns: NaN, infinities and subnormals among them
  log_uniform,     ///< +-2^e (1 + u), e uniform in [low, high] within the type's exponents
  subnormal,       ///< uniform subnormals of both signs
  zeros,           ///< +0 and -0
  infs,            ///< normal with +-inf at `rate`
  nans,            ///< normal with NaN at `rate`
  largest,         ///< +-largest finite
  ties,            ///< halfway between neighbours of a format with `precision` bits
  beside_ties,     ///< such a halfway point, one last place of the operand's type above or below it
  rounding_edges,  ///< where a type of `precision`, `largest` and `least` begins, ends and rounds
  cancelling,      ///< along a row: v, then -v (1 + `tiny` * normal)
  outlier,         ///< normal with one element a row times `factor`
  equal,           ///< every element is `value`
  equal_rows,      ///< every row has one integer of its own in [-limit, limit]
  sorted,          ///< ascending along a row within [-scale, scale]; descending when scale < 0
  tied,            ///< `rank` elements a row above a large group of equal ones
  huge_mean,       ///< scale * (ratio + normal)
  masked,          ///< logits: normal with -inf at `rate`; whole rows of -inf at `rows`
  near,            ///< value + [-spread, spread]
  prefix,          ///< first half of a row scaled by `ratio`, the rest normal
  peak,            ///< one 0 a row (anywhere, or `from_end` elements before the last), else `low`
  lone,            ///< normal with one `value` a row, most often where a row, warp or vector ends
  peak_rows,       ///< one row of zeros, else low / (row's length)^`power`: equal exponents but one
  edges,           ///< the type's special values: extremes, +-1, 0, their neighbours
  ramp,            ///< logical index modulo `modulus`, times `step`: every element its own value
  exact,           ///< integers in [-limit, limit] times `step`: sums are exact
  exact_logits,    ///< 0, or -inf at `rate`; every row has a 0
  patterns,   ///< bit pattern `first` + logical index / `each`: a narrow type's patterns in turn
  exponents,  ///< every sign and exponent in turn, `mantissas` numbers of each
  witness,    ///< exact; magnitudes in [base, 2 base), large partial sums, |row total| <= 100
  // Index operands.
  index_uniform,  ///< anything in the domain
  index_first,    ///< the domain's lowest value
  index_last,     ///< the domain's highest value
  index_repeats,  ///< few distinct values
  index_edges,    ///< ends of the domain's ranges
  index_ramp,     ///< ascending, wrapping around the domain
};

/// What a class's name, parameters and defaults are.
struct ValueClassInfo {
  struct Parameter {
    const char* name;
    double fallback;  ///< NaN: depends on the type or the row's length
  };
  ValueClass kind;
  const char* name;
  bool for_index;
  bool for_floating;
  bool for_integer;
  std::array<Parameter, 4> parameters;  ///< unused: name is nullptr
};
const std::vector<ValueClassInfo>& value_classes();
/// nullptr when no class has this name.
const ValueClassInfo* find_value_class(std::string_view name);

/// A closed range of admitted values.
struct ValueRange {
  double low = 0, high = 0;           ///< floating types, rounded inwards to the type
  int64_t low_int = 0, high_int = 0;  ///< integer types
};

/// A recipe resolved for one operand of one case.
struct ValuePlan {
  ValueClass kind = ValueClass::normal;
  bool exclude_nan = false;
  uint64_t key = 0;
  std::array<double, 4> p{};  ///< parameters in the order of ValueClassInfo
  int64_t axis_extent = 1;    ///< length of a row
  int64_t axis_step = 1;      ///< logical distance of a row's neighbours
  std::vector<ValueRange> domain;
  std::vector<std::pair<int64_t, uint64_t>> overrides;  ///< (logical index, bits), ascending
  int64_t domain_size = 0;                              ///< index operands: values in the domain
  int prefix_sum_of = -1;         ///< position of the operand whose prefix sums these are
  bool is_prefix_summed = false;  ///< another operand holds the prefix sums of this one
};

struct Tensor;
struct Instance;

/// Elements first, first + step, ... (`count` of them, step >= 0) as packed bits; indices must be
/// those of storage (coordinate 0 along stride-0 dimensions). Overrides included.
void fill_values(const Instance& instance, const Tensor& tensor, int64_t first, int64_t step,
                 int64_t count, uint8_t* out);

/// Bits of a number's magnitude: a float's significand with the implicit one, or an integer's
/// without its sign.
int precision_of(DType type);

/// Resolves recipe, domain and overrides; Tensor's shape and strides are final. Throws InputError.
ValuePlan plan_values(const Instance& instance, const Tensor& tensor, const std::string& file);

/// The poison of a type: a NaN with a telling payload, or 0xa5 bytes.
uint64_t poison_bits(DType type);

/// Bits of an override's value; throws InputError at `where` when the type cannot hold it.
uint64_t override_bits(const PointOverride& point, DType type, const SourceLocation& where);

/// Dimensions that some reduction of the contract's formula runs over, in order of appearance.
std::vector<std::string> reduced_dimensions(const Contract& contract);

}  // namespace assay
