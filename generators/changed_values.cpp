// Shifted and scaled values: the other runs of shift_invariant and scale_invariant.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "generators/row_map.hpp"
#include "generators/values.hpp"
#include "generators/variation_parts.hpp"

namespace assay {
namespace {

constexpr int64_t kChunkElements = 256;

/// What becomes of an operand's values.
struct Change {
  int64_t shift = 0;
  int exponent = 0;
  bool any() const { return shift != 0 || exponent != 0; }
};

Change change_of(const Derivation& derivation, const Tensor& tensor) {
  Change change;
  if (tensor.spec->name == derivation.operand) change.shift = derivation.shift;
  const auto scaled = derivation.exponents.find(tensor.spec->name);
  if (scaled != derivation.exponents.end()) change.exponent = scaled->second;
  return change;
}

/// `value` shifted or scaled; nullopt where the result is not exact. What is not finite stays.
std::optional<double> transformed(const Change& change, DType type, double value) {
  if (!std::isfinite(value)) return value;
  double result = 0;
  if (change.exponent != 0) {
    // Squares and their sums, on both sides, stay within the exponents of f32, and the values
    // within a half-precision type's normal numbers.
    const int room = std::min(31, format_of(type).max_exponent / 2);
    result = std::ldexp(value, change.exponent);
    for (const double side : {value, result}) {
      const double size = std::fabs(side);
      if (side != 0 && (size < std::ldexp(1.0, -room) || size > std::ldexp(1.0, room)))
        return std::nullopt;
    }
  } else {
    const auto shift = static_cast<double>(change.shift);
    result = value + shift;
    // The error of a sum, exactly (TwoSum; Knuth, The Art of Computer Programming 2, 4.2.2).
    const double part = result - value;
    if ((value - (result - part)) + (shift - part) != 0) return std::nullopt;
  }
  if (to_double(type, round_to_bits(type, result)) != result) return std::nullopt;
  return result;
}

bool admits(const ValuePlan& plan, double value) {
  if (plan.domain.empty()) return true;
  return std::any_of(plan.domain.begin(), plan.domain.end(), [&](const ValueRange& range) {
    return value >= range.low && value <= range.high;
  });
}

/// Whether every element of an operand has an exact counterpart that the contract admits.
bool is_exact(const Instance& base, const Tensor& tensor, const Change& change) {
  const int size = byte_size(tensor.dtype);
  uint8_t bits[8 * kChunkElements];
  for (int64_t at = 0; at < tensor.elements(); at += kChunkElements) {
    const int64_t count = std::min(kChunkElements, tensor.elements() - at);
    logical_values(base, tensor, at, count, bits);
    for (int64_t i = 0; i < count; ++i) {
      const double value = to_double(tensor.dtype, load_bits(bits + i * size, size));
      const auto result = transformed(change, tensor.dtype, value);
      if (!result || (std::isfinite(value) && !admits(tensor.plan, *result))) return false;
    }
  }
  return true;
}

/// Multiplies a scalar; false where the result is no normal number of its type.
bool scale_scalar(Tensor& scalar, int exponent) {
  if (scalar.scalar_value == 0) return true;
  const FloatFormat format = format_of(scalar.dtype);
  const double result = std::ldexp(scalar.scalar_value, exponent);
  for (const double side : {scalar.scalar_value, result}) {
    const double size = std::fabs(side);
    if (!(size >= std::ldexp(1.0, format.min_exponent) && size <= format.largest)) return false;
  }
  scalar.scalar_value = result;
  scalar.scalar_bits = round_to_bits(scalar.dtype, result);
  return true;
}

/// What a property scales, itself and along: operands, scalars and outputs, by exponent.
std::map<std::string, int> exponents_of(const Property& stated, int exponent) {
  std::map<std::string, int> exponents{{stated.of, exponent}};
  for (const auto& [operand, power] : stated.along) exponents[operand] = power * exponent;
  return exponents;
}

std::string changed_text(const Property& stated, const Derivation& derivation,
                         const std::map<std::string, int>& exponents) {
  if (exponents.empty())
    return stated.of + (derivation.shift < 0 ? " - " : " + ") +
           std::to_string(std::abs(derivation.shift));
  std::string text = stated.of + " times 2^" + std::to_string(exponents.at(stated.of));
  for (const auto& [operand, power] : stated.along)
    text += ", " + operand + " times 2^" + std::to_string(exponents.at(operand));
  return text;
}

/// An operand that lies in another's memory has its values: both change alike, or neither can.
std::string shared_problem(const Instance& base, const Derivation& derivation) {
  for (const Tensor& tensor : base.tensors) {
    if (!tensor.is_shared() || tensor.spec->kind != OperandKind::inout) continue;
    const Tensor& memory = base.tensors[static_cast<size_t>(tensor.shares)];
    const Change mine = change_of(derivation, tensor), theirs = change_of(derivation, memory);
    if (mine.shift != theirs.shift || mine.exponent != theirs.exponent)
      return "'" + tensor.spec->name + "' holds the values of '" + memory.spec->name + "', too";
  }
  return "";
}

/// Applies the exponents of what is read to the run, those of outputs to its comparison; why the
/// case admits that not, or "".
std::string scale_along(const Instance& base, const std::map<std::string, int>& exponents,
                        Derivation& derivation, Variation& run) {
  for (const auto& [operand, exponent] : exponents) {
    Tensor& tensor = run.instance.tensors[static_cast<size_t>(base.find(operand)->position)];
    if (!tensor.present) continue;
    if (tensor.is_judged()) run.exponents[operand] = exponent;
    if (tensor.is_scalar() && !scale_scalar(tensor, exponent))
      return "'" + operand + "' has no exact counterpart";
    if (!tensor.is_scalar() && tensor.is_read()) derivation.exponents[operand] = exponent;
  }
  return "";
}

}  // namespace

Variations vary_values(const Instance& base, const Property& stated) {
  const Tensor& tensor = *base.find(stated.of);
  if (!tensor.present) return none("'" + stated.of + "' is absent");
  if (!is_floating(tensor.dtype)) return none("'" + stated.of + "' holds integers");
  if (!base.the_case.blocks.empty()) return none("only some blocks of the case run");
  if (!stated.zero.empty() && base.find(stated.zero)->scalar_value != 0)
    return none("'" + stated.zero + "' is not 0");
  const PropertyCheck& property = base.the_case.property;
  Variation run{base};
  Derivation derivation;
  std::map<std::string, int> exponents;
  if (property.numbers.contains("by")) {
    derivation.operand = stated.of;
    derivation.shift = property.numbers.at("by");
  } else {
    exponents = exponents_of(stated, static_cast<int>(property.numbers.at("exponent")));
  }
  if (const std::string why = scale_along(base, exponents, derivation, run); !why.empty())
    return none(why);
  if (const std::string why = shared_problem(base, derivation); !why.empty()) return none(why);
  for (const Tensor& changed : base.tensors) {
    const Change change = change_of(derivation, changed);
    if (change.any() && !changed.is_shared() && !is_exact(base, changed, change))
      return none("the changed values are not exact, or not admitted");
  }
  run.instance.the_case = plain_case(base);
  run.text = changed_text(stated, derivation, exponents);
  run.own = stated.of + " itself";
  derivation.base = std::make_shared<const Instance>(base);
  run.instance.derivation = std::make_shared<const Derivation>(std::move(derivation));
  return {{std::move(run)}, ""};
}

void fill_derived(const Derivation& derivation, const Tensor& tensor, int64_t first, int64_t step,
                  int64_t count, uint8_t* out) {
  const Instance& base = *derivation.base;
  const Tensor& source = base.tensors[static_cast<size_t>(tensor.position)];
  const int size = byte_size(tensor.dtype);
  if (!derivation.dimension.empty()) {
    // How many rows run matters to nothing here.
    const RowMap rows = row_map(base, source, derivation.dimension, derivation.first, 0);
    if (rows.is_sums || rows.is_delimited)
      return fill_rows(base, rows, tensor, first, step, count, out);
  }
  for (int64_t done = 0; done < count;) {
    const MappedRun run = map_run(tensor, source, derivation.dimension, derivation.first,
                                  first + done * step, step, count - done);
    if (step == 1) {
      logical_values(base, source, run.base, run.count, out + done * size);
    } else {
      for (int64_t i = 0; i < run.count; ++i)
        logical_values(base, source, run.base + i * step, 1, out + (done + i) * size);
    }
    done += run.count;
  }
  const Change change = change_of(derivation, tensor);
  if (!change.any()) return;
  for (int64_t i = 0; i < count; ++i) {
    const double value = to_double(tensor.dtype, load_bits(out + i * size, size));
    if (!std::isfinite(value)) continue;
    const uint64_t bits =
        round_to_bits(tensor.dtype, *transformed(change, tensor.dtype, value));
    std::memcpy(out + i * size, &bits, size);
  }
}

}  // namespace assay
