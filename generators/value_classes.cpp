// The table of value classes, and recipes resolved against an operand of a case.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "generators/hash.hpp"
#include "generators/instance.hpp"
#include "generators/values.hpp"

namespace assay {
namespace {

constexpr double kAuto = std::numeric_limits<double>::quiet_NaN();  // resolved by the plan
using Parameter = ValueClassInfo::Parameter;
constexpr Parameter kNone = {nullptr, 0};

}  // namespace

const std::vector<ValueClassInfo>& value_classes() {
  using V = ValueClass;
  constexpr bool yes = true, no = false;
  // In the order of ValueClass.
  // name, for index, for floating, for integer, parameters with their defaults
  static const std::vector<ValueClassInfo> kTable = {
      {V::normal, "normal", no, yes, yes, {{{"scale", 1}, {"mean", 0}, kNone, kNone}}},
      {V::uniform, "uniform", no, yes, yes, {{{"low", -1}, {"high", 1}, kNone, kNone}}},
      {V::bits, "bits", no, yes, yes, {{kNone, kNone, kNone, kNone}}},
      {V::log_uniform,
       "log_uniform",
       no,
       yes,
       yes,
       {{{"low", kAuto}, {"high", kAuto}, kNone, kNone}}},
      {V::subnormal, "subnormal", no, yes, no, {{kNone, kNone, kNone, kNone}}},
      {V::zeros, "zeros", no, yes, yes, {{{"negative", 0.5}, kNone, kNone, kNone}}},
      {V::infs, "infs", no, yes, no, {{{"rate", 0.05}, {"scale", 1}, kNone, kNone}}},
      {V::nans, "nans", no, yes, no, {{{"rate", 0.02}, {"scale", 1}, kNone, kNone}}},
      {V::largest, "largest", no, yes, yes, {{{"rate", 1}, {"scale", 1}, kNone, kNone}}},
      {V::ties, "ties", no, yes, no, {{{"precision", 11}, kNone, kNone, kNone}}},
      {V::beside_ties, "beside_ties", no, yes, yes, {{{"precision", 8}, kNone, kNone, kNone}}},
      {V::rounding_edges,
       "rounding_edges",
       no,
       yes,
       yes,
       {{{"precision", 11}, {"largest", 65504}, {"least", 0x1p-24}, kNone}}},
      {V::cancelling, "cancelling", no, yes, yes, {{{"tiny", 1e-6}, {"scale", 1}, kNone, kNone}}},
      {V::outlier, "outlier", no, yes, yes, {{{"factor", 1e4}, {"scale", 1}, kNone, kNone}}},
      {V::equal, "equal", no, yes, yes, {{{"value", 1}, kNone, kNone, kNone}}},
      {V::equal_rows, "equal_rows", no, yes, yes, {{{"limit", 8}, kNone, kNone, kNone}}},
      {V::sorted, "sorted", no, yes, yes, {{{"scale", 4}, kNone, kNone, kNone}}},
      {V::tied, "tied", no, yes, yes, {{{"rank", 4}, kNone, kNone, kNone}}},
      {V::huge_mean, "huge_mean", no, yes, no, {{{"ratio", 1e4}, {"scale", 1}, kNone, kNone}}},
      {V::masked, "masked", no, yes, no, {{{"scale", 3}, {"rate", 0.3}, {"rows", 0.05}, kNone}}},
      {V::near, "near", no, yes, yes, {{{"value", 88.5}, {"spread", 0.5}, kNone, kNone}}},
      {V::prefix, "prefix", no, yes, yes, {{{"ratio", 1e4}, {"scale", 1}, kNone, kNone}}},
      {V::peak, "peak", no, yes, yes, {{{"low", -7}, {"from_end", kAuto}, kNone, kNone}}},
      {V::lone, "lone", no, yes, yes, {{{"value", kAuto}, {"scale", 1}, kNone, kNone}}},
      {V::peak_rows,
       "peak_rows",
       no,
       yes,
       no,
       {{{"low", -7}, {"power", 1}, {"from_end", kAuto}, kNone}}},
      {V::edges, "edges", no, yes, yes, {{kNone, kNone, kNone, kNone}}},
      {V::ramp, "ramp", no, yes, yes, {{{"modulus", kAuto}, {"step", 1}, kNone, kNone}}},
      {V::exact, "exact", no, yes, yes, {{{"limit", kAuto}, {"step", 1}, {"degree", 2}, kNone}}},
      {V::exact_logits, "exact_logits", no, yes, no, {{{"rate", 0.5}, kNone, kNone, kNone}}},
      {V::patterns, "patterns", no, yes, yes, {{{"first", 0}, {"each", 1}, kNone, kNone}}},
      {V::exponents,
       "exponents",
       no,
       yes,
       no,
       {{{"first", 0}, {"each", 1}, {"mantissas", 16}, kNone}}},
      {V::witness,
       "witness",
       no,
       yes,
       yes,
       {{{"base", kAuto}, {"gap", kAuto}, kNone, {"tail", 0}}}},
      {V::index_uniform, "index_uniform", yes, no, no, {{kNone, kNone, kNone, kNone}}},
      {V::index_first, "index_first", yes, no, no, {{kNone, kNone, kNone, kNone}}},
      {V::index_last, "index_last", yes, no, no, {{kNone, kNone, kNone, kNone}}},
      {V::index_repeats, "index_repeats", yes, no, no, {{{"distinct", 3}, kNone, kNone, kNone}}},
      {V::index_edges, "index_edges", yes, no, no, {{kNone, kNone, kNone, kNone}}},
      {V::index_ramp, "index_ramp", yes, no, no, {{{"step", 1}, kNone, kNone, kNone}}},
  };
  return kTable;
}

const ValueClassInfo* find_value_class(std::string_view name) {
  for (const ValueClassInfo& info : value_classes()) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

uint64_t poison_bits(DType type) {
  switch (type) {
    case DType::f64:
      return 0x7ff8a5a5a5a5a5a5;
    case DType::f32:
      return 0x7fe5a5a5;
    case DType::f16:
      return 0x7ea5;
    case DType::bf16:
      return 0x7fe5;
    case DType::e4m3:
      return 0x7f;
    case DType::e5m2:
      return 0x7f;
    default:
      break;
  }
  const int bits = bit_width(type);
  return bits == 64 ? 0xa5a5a5a5a5a5a5a5 : 0xa5a5a5a5a5a5a5a5 & ((uint64_t{1} << bits) - 1);
}

// --- overrides
// ------------------------------------------------------------------------------------

namespace {

uint64_t floating_override(const std::string& text, DType type) {
  std::string_view body = text;
  const bool negative = body[0] == '-';
  if (body[0] == '-' || body[0] == '+') body.remove_prefix(1);
  double value = 0;
  const auto result = std::from_chars(body.data(), body.data() + body.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // Too large or too small for a double: decide by the exponent's sign.
    const size_t exponent = body.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos && exponent + 1 < body.size() &&
                      body[exponent + 1] == '-';
    value = tiny ? 0.0 : std::numeric_limits<double>::infinity();
  }
  return round_to_bits(type, negative ? -value : value);
}

uint64_t integer_override(const std::string& text, DType type, const SourceLocation& where) {
  const std::string shown = "'" + text + "' is no value of type " + std::string(name(type));
  const bool negative = text[0] == '-';
  const char* const first = text.data() + (text[0] == '-' || text[0] == '+' ? 1 : 0);
  uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), magnitude);
  if (error != std::errc() || end != text.data() + text.size()) throw InputError(where, shown);
  const int bits = bit_width(type);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  const uint64_t out = (negative ? ~magnitude + 1 : magnitude) & mask;
  const __int128 wanted = negative ? -static_cast<__int128>(magnitude) : magnitude;
  if (to_integer(type, out) != wanted) throw InputError(where, shown);
  return out;
}

}  // namespace

uint64_t override_bits(const PointOverride& point, DType type, const SourceLocation& where) {
  if (!point.text.empty()) {
    return is_floating(type) ? floating_override(point.text, type)
                             : integer_override(point.text, type, where);
  }
  const int bits = bit_width(type);
  if (bits < 64 && point.bits >> bits != 0) {
    throw InputError(where, "the bits do not fit " + std::string(name(type)));
  }
  return point.bits;
}

// --- plans
// ----------------------------------------------------------------------------------------

namespace {

/// The axis (a row's direction), and how many elements one reduced value sums.
int64_t plan_axis(const Contract& contract, const Tensor& tensor, ValuePlan& plan) {
  const size_t rank = tensor.shape.size();
  if (rank == 0) return 1;
  const std::vector<std::string> reduced = reduced_dimensions(contract);
  size_t axis = rank - 1;
  int64_t length = 1;
  bool found = false;
  for (size_t d = rank; d-- > 0;) {
    if (std::find(reduced.begin(), reduced.end(), tensor.dims[d]) == reduced.end()) continue;
    if (!found) axis = d;
    found = true;
    length *= std::max<int64_t>(1, tensor.shape[d]);
  }
  plan.axis_extent = std::max<int64_t>(1, tensor.shape[axis]);
  for (size_t d = axis + 1; d < rank; ++d) {
    plan.axis_step *= std::max<int64_t>(1, tensor.shape[d]);
  }
  return found ? length : plan.axis_extent;
}

/// Largest integer `limit` such that `length` terms of `degree` factors sum exactly.
double exact_limit(double length, double degree, int accumulator_precision, int precision) {
  const double units = std::ldexp(1.0, accumulator_precision);
  double limit = std::floor((units - 1) / length);
  if (degree >= 2) {
    // Integer square root by bisection on exact comparisons: no libm in what makes values.
    double low = 0, high = 0x1p27;
    while (high - low > 1) {
      const double middle = std::floor((low + high) / 2);
      (middle * middle <= limit ? low : high) = middle;
    }
    limit = low;
  }
  return std::clamp(limit, 1.0, std::ldexp(1.0, std::min(precision, 24)) - 1);
}

/// Fills in the parameters whose default depends on the type or on the length of a row.
void plan_automatic(const Contract& contract, const Tensor& tensor, int64_t length,
                    ValuePlan& plan) {
  auto& p = plan.p;
  const auto automatic = [](double value) { return value != value; };
  const bool floating = is_floating(tensor.dtype);
  const int precision = precision_of(tensor.dtype);
  const DType accumulator = contract.accuracy.accumulate;
  const int wide = is_floating(accumulator) ? format_of(accumulator).precision : 24;
  if (plan.kind == ValueClass::log_uniform) {
    if (automatic(p[0])) p[0] = floating ? format_of(tensor.dtype).min_exponent : 0;
    if (automatic(p[1])) p[1] = floating ? format_of(tensor.dtype).max_exponent : precision - 1;
  } else if (plan.kind == ValueClass::ramp) {
    if (automatic(p[0])) p[0] = std::ldexp(1.0, std::min(precision, 24));
  } else if (plan.kind == ValueClass::exact) {
    if (automatic(p[0])) p[0] = exact_limit(static_cast<double>(length), p[2], wide, precision);
  } else if (plan.kind == ValueClass::peak_rows) {
    const auto extent = static_cast<double>(plan.axis_extent);
    p[0] /= p[1] > 0.75 ? extent : p[1] > 0.25 ? std::sqrt(extent) : 1.0;
    const int64_t rows = std::max<int64_t>(1, tensor.elements() / plan.axis_extent);
    const auto last = static_cast<double>(rows - 1);
    p[2] = automatic(p[2])
               ? static_cast<double>(reduced(mix64(plan.key), static_cast<uint64_t>(rows)))
               : std::clamp(last - p[2], 0.0, last);
  } else if (plan.kind == ValueClass::witness) {
    if (automatic(p[0])) p[0] = std::ldexp(1.0, std::min(precision, 11) - 1);
    p[0] = std::clamp(std::floor(p[0]), 1.0, 0x1p40);
    // Elements beyond this many stay 0, so that the sum of magnitudes is exact in the accumulator.
    const double most = std::ldexp(1.0, std::min(wide, 24)) / (2 * p[0]) - 1;
    const double row = std::min<double>(static_cast<double>(plan.axis_extent), most);
    p[2] = std::max(2.0, 2 * std::floor(row / 2));
    if (automatic(p[1])) p[1] = std::floor(p[2] / 2);
    p[1] = std::clamp(std::floor(p[1]), 1.0, p[2] / 2);
  }
}

/// The admitted values of a domain, ends rounded inwards to the type.
ValueRange plan_range(const Instance& instance, const DomainRange& range, DType type) {
  ValueRange out;
  IntegerScope scope;
  scope.value = [&](std::string_view wanted) -> std::optional<int64_t> {
    const auto found = instance.names.find(std::string(wanted));
    if (found == instance.names.end()) return std::nullopt;
    return found->second;
  };
  if (!is_floating(type)) {
    out.low_int = instance.evaluate(*range.low);
    out.high_int = instance.evaluate(*range.high);
    return out;
  }
  const double low = evaluate_real(*range.low, scope);
  const double high = evaluate_real(*range.high, scope);
  const double largest = format_of(type).largest;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (low > largest || high < -largest) {  // beyond what is finite: an infinity, or nothing
    const double end = low > largest ? kInfinity : -kInfinity;
    const bool holds = format_of(type).has_infinity && low <= end && end <= high;
    return holds ? ValueRange{end, end} : ValueRange{1, 0};
  }
  out.low = to_double(type, round_to_bits(type, std::max(low, -largest)));
  out.high = to_double(type, round_to_bits(type, std::min(high, largest)));
  if (out.low < low) out.low = to_double(type, round_to_bits(type, out.low + ulp(type, out.low)));
  if (out.high > high)
    out.high = to_double(type, round_to_bits(type, out.high - ulp(type, out.high)));
  if (low == -std::numeric_limits<double>::infinity() && format_of(type).has_infinity)
    out.low = low;
  if (high == std::numeric_limits<double>::infinity() && format_of(type).has_infinity)
    out.high = high;
  return out;
}

/// The ranges of a sorted index operand: ascending, and one of those that overlap.
void order_ranges(std::vector<ValueRange>& ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const ValueRange& a, const ValueRange& b) { return a.low_int < b.low_int; });
  std::vector<ValueRange> apart;
  for (const ValueRange& range : ranges) {
    if (range.low_int > range.high_int) continue;
    if (!apart.empty() && range.low_int <= apart.back().high_int) {
      apart.back().high_int = std::max(apart.back().high_int, range.high_int);
    } else {
      apart.push_back(range);
    }
  }
  if (!apart.empty()) ranges = std::move(apart);
}

bool admits(const ValuePlan& plan, DType type, uint64_t bits) {
  if (is_floating(type)) {
    const double value = to_double(type, bits);
    if (value != value) return !plan.exclude_nan && plan.domain.empty();
    if (plan.domain.empty()) return true;
    return std::any_of(plan.domain.begin(), plan.domain.end(), [&](const ValueRange& range) {
      return value >= range.low && value <= range.high;
    });
  }
  const __int128 value = to_integer(type, bits);
  return plan.domain.empty() ||
         std::any_of(plan.domain.begin(), plan.domain.end(), [&](const ValueRange& range) {
           return value >= range.low_int && value <= range.high_int;
         });
}

void plan_overrides(const Instance& instance, const Tensor& tensor, const std::string& file,
                    ValuePlan& plan) {
  const Case& c = instance.the_case;
  for (size_t i = 0; i < c.overrides.size(); ++i) {
    const PointOverride& point = c.overrides[i];
    if (point.operand != tensor.spec->name) continue;
    const SourceLocation where = c.places.find("set." + std::to_string(i), file);
    const auto fail = [&](const std::string& message) {
      throw InputError(where, "'" + point.operand + "': " + message);
    };
    if (point.at.size() != tensor.shape.size()) {
      fail(std::to_string(point.at.size()) + " coordinates for " +
           std::to_string(tensor.shape.size()) + " dimensions");
    }
    std::vector<int64_t> at = point.at;
    for (size_t d = 0; d < at.size(); ++d) {
      if (at[d] < 0 || at[d] >= tensor.shape[d]) {
        fail("coordinate " + std::to_string(at[d]) + " is outside [0, " +
             std::to_string(tensor.shape[d]) + ")");
      }
      if (tensor.strides[d] == 0) at[d] = 0;  // all of them are one element
    }
    const OperandSpec& spec = *tensor.spec;
    if (spec.distinct || spec.sorted || !spec.prefix_sum_of.empty()) {
      fail("an element of a distinct, sorted or prefix-sum operand cannot be set");
    }
    const uint64_t bits = override_bits(point, tensor.dtype, where);
    if (!admits(plan, tensor.dtype, bits))
      fail("the contract's domain or NaN policy excludes this value");
    const int64_t linear = tensor.linear(at);
    const auto place = std::lower_bound(plan.overrides.begin(), plan.overrides.end(), linear,
                                        [](const std::pair<int64_t, uint64_t>& entry,
                                           int64_t wanted) { return entry.first < wanted; });
    if (place != plan.overrides.end() && place->first == linear) fail("this element is set twice");
    plan.overrides.insert(place, {linear, bits});
  }
}

/// Class and parameters of the recipe that the case gives, or the default's.
void plan_recipe(const Instance& instance, const Tensor& tensor, const std::string& file,
                 ValuePlan& plan) {
  static const ValueRecipe kNormal{"normal", {}};
  static const ValueRecipe kIndex{"index_uniform", {}};
  const Case& c = instance.the_case;
  const OperandSpec& spec = *tensor.spec;
  const bool is_index = spec.kind == OperandKind::index;
  const auto given = c.values.find(spec.name);
  const ValueRecipe& recipe = given != c.values.end() ? given->second : is_index ? kIndex : kNormal;
  const auto fail = [&](const std::string& message) {
    throw InputError(c.places.find("values." + spec.name, file), message);
  };
  const ValueClassInfo* const info = find_value_class(recipe.name);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const ValueClassInfo& entry : value_classes()) known.emplace_back(entry.name);
    const std::string near = nearest_name(recipe.name, known);
    fail("unknown value class '" + recipe.name + "'" +
         (near.empty() ? "" : " (did you mean '" + near + "'?)"));
  }
  const bool fits = is_index ? info->for_index
                             : (is_floating(tensor.dtype) ? info->for_floating : info->for_integer);
  if (!fits) {
    fail("value class '" + recipe.name + "' is not for '" + spec.name + "', " +
         (is_index ? "an index operand" : "of type " + std::string(name(tensor.dtype))));
  }
  plan.kind = info->kind;
  for (size_t i = 0; i < info->parameters.size(); ++i) plan.p[i] = info->parameters[i].fallback;
  for (const auto& [key, value] : recipe.parameters) {
    size_t at = 0;
    while (at < info->parameters.size() &&
           (info->parameters[at].name == nullptr || key != info->parameters[at].name)) {
      ++at;
    }
    if (at == info->parameters.size()) {
      std::vector<std::string> known;
      for (const auto& parameter : info->parameters) {
        if (parameter.name != nullptr) known.push_back(parameter.name);
      }
      const std::string near = nearest_name(key, known);
      fail("value class '" + recipe.name + "' has no parameter '" + key + "'" +
           (near.empty() ? "" : " (did you mean '" + near + "'?)") +
           (known.empty() ? "; it has none" : "; it has " + joined(known)));
    }
    // What counts elements or makes integers stays far from the ends of int64.
    const bool is_value = plan.kind == ValueClass::equal || plan.kind == ValueClass::near ||
                          plan.kind == ValueClass::lone || plan.kind == ValueClass::rounding_edges;
    const bool may_be_infinite = plan.kind == ValueClass::equal || plan.kind == ValueClass::lone;
    if (std::isinf(value) && !may_be_infinite) {
      fail("parameter '" + key + "' of '" + recipe.name + "' must be finite");
    }
    const bool counts = is_integer(tensor.dtype) || plan.kind == ValueClass::exact ||
                        plan.kind == ValueClass::witness || plan.kind == ValueClass::tied ||
                        plan.kind == ValueClass::equal_rows || plan.kind == ValueClass::patterns ||
                        plan.kind == ValueClass::exponents;
    plan.p[at] = counts && !is_value ? std::clamp(value, -0x1p52, 0x1p52) : value;
  }
}

void plan_index(const Instance& instance, const Tensor& tensor, ValuePlan& plan) {
  const OperandSpec& spec = *tensor.spec;
  const auto fail = [&](const std::string& message) {
    throw InputError(spec.where, "index operand '" + spec.name + "' " + message);
  };
  if (!spec.prefix_sum_of.empty()) {
    const Tensor* const summed = instance.find(spec.prefix_sum_of);
    if (summed == nullptr || summed->shape.size() != 1 || tensor.shape.size() != 1 ||
        tensor.shape[0] > summed->shape[0] + 1) {
      fail("needs one dimension, one longer than that of '" + spec.prefix_sum_of + "'");
    }
    plan.prefix_sum_of = summed->position;
    return;
  }
  if (plan.domain.empty()) fail("has no domain");
  __int128 size = 0;
  for (const ValueRange& range : plan.domain) {
    size += std::max<__int128>(0, static_cast<__int128>(range.high_int) - range.low_int + 1);
  }
  plan.domain_size = static_cast<int64_t>(std::min<__int128>(size, int64_t{1} << 62));
  if (tensor.elements() > 0 && size == 0) fail("has elements, but its domain is empty");
  if (spec.distinct && tensor.elements() > plan.domain_size) {
    fail("must be distinct, but has " + std::to_string(tensor.elements()) + " elements and " +
         std::to_string(plan.domain_size) + " values");
  }
}

bool needs_axis(ValueClass kind) {
  switch (kind) {
    case ValueClass::cancelling:
    case ValueClass::outlier:
    case ValueClass::equal_rows:
    case ValueClass::sorted:
    case ValueClass::tied:
    case ValueClass::masked:
    case ValueClass::prefix:
    case ValueClass::peak:
    case ValueClass::lone:
    case ValueClass::peak_rows:
    case ValueClass::exact:
    case ValueClass::exact_logits:
    case ValueClass::witness:
      return true;
    default:
      return false;
  }
}

}  // namespace

int precision_of(DType type) {
  if (is_floating(type)) return format_of(type).precision;
  return bit_width(type) - (is_signed(type) ? 1 : 0);
}

ValuePlan plan_values(const Instance& instance, const Tensor& tensor, const std::string& file) {
  const Contract& contract = *instance.contract;
  ValuePlan plan;
  plan_recipe(instance, tensor, file, plan);
  plan.key = stream_key(instance.the_case.value_seed, static_cast<uint64_t>(tensor.position));
  plan.exclude_nan = contract.policy.nan == NanPolicy::exclude;
  for (const DomainRange& range : tensor.spec->domain) {
    plan.domain.push_back(plan_range(instance, range, tensor.dtype));
  }
  const bool is_index = tensor.spec->kind == OperandKind::index;
  if (is_index && tensor.spec->sorted) order_ranges(plan.domain);
  if (!is_index && !plan.domain.empty() &&
      std::none_of(plan.domain.begin(), plan.domain.end(), [&](const ValueRange& range) {
        return is_floating(tensor.dtype) ? range.low <= range.high
                                         : range.low_int <= range.high_int;
      })) {
    throw InputError(tensor.spec->where, "'" + tensor.spec->name + "': the domain is empty in " +
                                             std::string(name(tensor.dtype)));
  }
  if (is_index) {
    plan_index(instance, tensor, plan);
    if (!tensor.shape.empty()) plan.axis_extent = std::max<int64_t>(1, tensor.shape.back());
  } else if (needs_axis(plan.kind)) {
    const int64_t length = plan_axis(contract, tensor, plan);
    plan_automatic(contract, tensor, length, plan);
  } else {
    plan_automatic(contract, tensor, 1, plan);
  }
  plan_overrides(instance, tensor, file, plan);
  return plan;
}

}  // namespace assay
