#include "generators/variation.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "generators/draft.hpp"
#include "generators/liveness.hpp"
#include "generators/values.hpp"
#include "generators/variation_parts.hpp"

namespace assay {
namespace {

constexpr std::array<Poison, 6> kPoisons{Poison::zero,   Poison::one,      Poison::largest,
                                         Poison::lowest, Poison::infinity, Poison::negative_infinity};
constexpr int kMostExponent = 32;
constexpr int64_t kMostShift = int64_t{1} << 31;
constexpr int64_t kBaseAlignment = 256;  // bytes

/// The keys that a property's line must have, and no others.
std::vector<std::string> keys_of(const Property& property) {
  switch (property.kind) {
    case PropertyKind::rows_independent:
      return {"count", "first"};
    case PropertyKind::repeatable:
      return {"blocks", "warps"};
    case PropertyKind::knobs_free:
      return property.knobs;
    case PropertyKind::shift_invariant:
      return {"by"};
    case PropertyKind::scale_invariant:
      return {"exponent"};
    case PropertyKind::padding_free:
    case PropertyKind::layout_free:
      break;
  }
  return {};
}

/// What the numbers of a line must be; "" when they are.
std::string number_problem(const Contract& contract, const Property& stated, const Case& c,
                           const std::string& key, int64_t value) {
  const auto outside = [&](int64_t low, int64_t high) {
    return value >= low && value <= high ? ""
                                         : key + "=" + std::to_string(value) + " is outside [" +
                                               std::to_string(low) + ", " + std::to_string(high) +
                                               "]";
  };
  switch (stated.kind) {
    case PropertyKind::rows_independent: {
      const int64_t rows = c.sizes.at(size_along(contract, stated.of)->name);
      if (key == "count") return outside(1, rows);
      return outside(0, rows - c.property.numbers.at("count"));
    }
    case PropertyKind::knobs_free:
      for (const Knob& knob : contract.knobs) {
        if (knob.name != key) continue;
        const bool known =
            std::find(knob.values.begin(), knob.values.end(), value) != knob.values.end();
        return known ? "" : "knob " + key + " has no value " + std::to_string(value);
      }
      return "";
    case PropertyKind::shift_invariant:
      return value == 0 ? "a shift by 0 changes nothing" : outside(-kMostShift, kMostShift);
    case PropertyKind::scale_invariant:
      return value == 0 ? "a scale of 2^0 changes nothing" : outside(-kMostExponent, kMostExponent);
    default:
      return outside(0, INT64_MAX);
  }
}

// --- what a case can be compared with
// ------------------------------------------------------------

/// Operands that are read have the base's shapes but along `dimension`.
bool shapes_match(const Instance& base, const Instance& other, const std::string& dimension) {
  for (size_t i = 0; i < base.tensors.size(); ++i) {
    const Tensor& a = base.tensors[i];
    const Tensor& b = other.tensors[i];
    if (a.present != b.present) return false;
    if (!a.present || a.is_scalar() || (!a.is_read() && !a.is_judged())) continue;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      if (a.dims[d] != dimension && a.shape[d] != b.shape[d]) return false;
    }
  }
  return true;
}

/// The rows are a view of the batch, as x[17:18] is: their addresses stay what they were, modulo
/// the alignment of bases. What follows from another address is a matter of layout_free.
void keep_alignment(const Tensor& tensor, const std::string& dimension, int64_t first, Case& c) {
  if (tensor.is_scalar() || !tensor.present || tensor.is_shared()) return;
  for (size_t d = 0; d < tensor.dims.size(); ++d) {
    if (tensor.dims[d] != dimension) continue;
    const int64_t period = kBaseAlignment / byte_size(tensor.dtype);
    const int64_t step = tensor.strides[d] % period * (first % period);
    const int64_t offset = (tensor.offset + step) % period;
    if (offset != tensor.offset) c.layouts[tensor.spec->name].offset = offset;
  }
}

Variations vary_rows(const Instance& base, const Property& stated) {
  if (!base.the_case.blocks.empty()) return none("only some blocks of the case run");
  const PropertyCheck& property = base.the_case.property;
  const int64_t count = property.numbers.at("count"), first = property.numbers.at("first");
  Case c = plain_case(base);
  const std::string size = size_along(*base.contract, stated.of)->name;
  const int64_t rows = c.sizes.at(size);
  c.sizes[size] = count;
  c.overrides.clear();  // the base's values hold them
  for (const Tensor& tensor : base.tensors) keep_alignment(tensor, stated.of, first, c);
  std::optional<Instance> instance = if_valid(*base.contract, c);
  if (!instance || !shapes_match(base, *instance, stated.of))
    return none("no case has " + size + "=" + std::to_string(count) + " and all else alike");
  Derivation derivation;
  derivation.base = std::make_shared<const Instance>(base);
  derivation.dimension = stated.of;
  derivation.first = first;
  instance->derivation = std::make_shared<const Derivation>(std::move(derivation));
  Variation run{std::move(*instance)};
  run.dimension = stated.of;
  run.first = first;
  run.text = size + "=" + std::to_string(count) + ", " + std::to_string(first) +
             (count > 1 ? " to " + std::to_string(first + count - 1) : "") + " of the " +
             std::to_string(rows);
  return {{std::move(run)}, ""};
}

Variations vary_schedule(const Instance& base) {
  const PropertyCheck& property = base.the_case.property;
  Variation other{base};
  other.instance.the_case = plain_case(base);
  Variation again = other;
  again.text = "the same run again";
  Case& c = other.instance.the_case;
  c.block_seed = static_cast<uint64_t>(property.numbers.at("blocks"));
  c.warp_seed = static_cast<uint64_t>(property.numbers.at("warps"));
  other.text = "block order " + std::to_string(c.block_seed) + " and warp schedule " +
               std::to_string(c.warp_seed) + " for " + std::to_string(base.the_case.block_seed) +
               " and " + std::to_string(base.the_case.warp_seed);
  return {{std::move(other), std::move(again)}, ""};
}

bool has_padding(const Tensor& tensor) {
  if (!tensor.present || tensor.is_scalar() || !tensor.is_read()) return false;
  if (tensor.spec->live && tensor.spec->dead == Dead::poison && can_be_dead(tensor)) return true;
  int64_t places = 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.strides[d] != 0 || tensor.shape[d] == 0) places *= tensor.shape[d];
  }
  return places > 0 && tensor.storage_elements > places;
}

Variations vary_padding(const Instance& base) {
  if (std::none_of(base.tensors.begin(), base.tensors.end(), has_padding))
    return none("no operand has padding or dead entries");
  Variation run{base};
  run.instance.the_case = plain_case(base);
  Derivation derivation;
  derivation.poison = *parse_poison(base.the_case.property.poison);
  run.instance.derivation = std::make_shared<const Derivation>(std::move(derivation));
  run.text = "padding and dead entries hold " + base.the_case.property.poison + ", not NaN";
  return {{std::move(run)}, ""};
}

/// Another case of the same values; `text` says what differs.
Variations vary_case(const Instance& base, const Case& c, std::string text) {
  std::optional<Instance> instance = if_valid(*base.contract, c);
  if (!instance || !shapes_match(base, *instance, ""))
    return none("the contract admits no such case: " + text);
  Variation run{std::move(*instance)};
  run.text = std::move(text);
  run.is_plain = true;
  return {{std::move(run)}, ""};
}

Variations vary_layout(const Instance& base) {
  if (base.the_case.layouts.empty()) return none("every operand is contiguous already");
  for (const Tensor& tensor : base.tensors) {
    if (tensor.broadcast) return none("an operand is broadcast: contiguous, it has other values");
  }
  Case c = plain_case(base);
  c.layouts.clear();
  return vary_case(base, c, "every operand contiguous");
}

Variations vary_knobs(const Instance& base) {
  Case c = plain_case(base);
  std::string text;
  for (const auto& [knob, value] : base.the_case.property.numbers) {
    if (c.knobs[knob] != value)
      text += (text.empty() ? "" : ", ") + knob + "=" + std::to_string(value) + " for " +
              std::to_string(c.knobs[knob]);
    c.knobs[knob] = value;
  }
  if (text.empty()) return none("the knobs are the same");
  if (!c.blocks.empty()) return none("a few blocks run, and what each writes may follow the knobs");
  return vary_case(base, c, text);
}

}  // namespace

Case plain_case(const Instance& base) {
  Case c = base.the_case;
  c.property = {};
  c.recorded = {};
  c.places = {};
  return c;
}

const std::vector<std::string>& poison_names() {
  static const std::vector<std::string> kNames{"zero",   "one", "largest",
                                               "lowest", "inf", "negative_inf"};
  return kNames;
}

std::optional<Poison> parse_poison(std::string_view name) {
  const auto& names = poison_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return kPoisons[static_cast<size_t>(found - names.begin())];
}

uint64_t poison_bits(DType type, Poison poison) {
  if (poison == Poison::usual) return poison_bits(type);
  if (poison == Poison::zero) return 0;
  const bool low = poison == Poison::lowest || poison == Poison::negative_infinity;
  if (!is_floating(type)) {
    if (poison == Poison::one) return 1;
    const int bits = bit_width(type);
    const uint64_t sign = uint64_t{1} << (bits - 1);
    const uint64_t mask = (sign - 1) | sign;
    if (!is_signed(type)) return low ? 0 : mask;
    return low ? sign : sign - 1;
  }
  if (poison == Poison::one) return round_to_bits(type, 1);
  const FloatFormat format = format_of(type);
  const bool infinite = poison == Poison::infinity || poison == Poison::negative_infinity;
  const double size = infinite && format.has_infinity ? HUGE_VAL : format.largest;
  return round_to_bits(type, low ? -size : size);
}

Variations vary(const Instance& base) {
  const PropertyCheck& property = base.the_case.property;
  const Property& stated =
      *base.contract->find_property(*parse_property_kind(property.name), property.of);
  switch (stated.kind) {
    case PropertyKind::rows_independent:
      return vary_rows(base, stated);
    case PropertyKind::padding_free:
      return vary_padding(base);
    case PropertyKind::repeatable:
      return vary_schedule(base);
    case PropertyKind::layout_free:
      return vary_layout(base);
    case PropertyKind::knobs_free:
      return vary_knobs(base);
    case PropertyKind::shift_invariant:
    case PropertyKind::scale_invariant:
      break;
  }
  return vary_values(base, stated);
}

std::pair<std::string, std::string> property_problem(const Contract& contract, const Case& c) {
  const PropertyCheck& property = c.property;
  const auto kind = parse_property_kind(property.name);
  const Property* stated = kind ? contract.find_property(*kind, property.of) : nullptr;
  if (stated == nullptr) {
    std::vector<std::string> known;
    for (const Property& one : contract.properties)
      known.push_back(std::string(name(one.kind)) + (one.of.empty() ? "" : "(" + one.of + ")"));
    return {"the contract states no property '" + property.name +
                (property.of.empty() ? "" : "(" + property.of + ")") + "'" +
                (known.empty() ? "" : "; it states " + joined(known)),
            "property"};
  }
  const std::vector<std::string> keys = keys_of(*stated);
  for (const auto& [key, value] : property.numbers) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return {"property " + property.name + " has no '" + key + "'" +
                  (keys.empty() ? "" : "; it has " + joined(keys)),
              "property." + key};
  }
  for (const std::string& key : keys) {
    if (!property.numbers.contains(key))
      return {"property " + property.name + " needs " + key + "=", "property"};
  }
  for (const std::string& key : keys) {
    const std::string problem =
        number_problem(contract, *stated, c, key, property.numbers.at(key));
    if (!problem.empty()) return {problem, "property." + key};
  }
  if (stated->kind != PropertyKind::padding_free) {
    if (property.poison.empty()) return {};
    return {"property " + property.name + " has no 'poison'", "property.poison"};
  }
  if (parse_poison(property.poison)) return {};
  return {"expected poison=, one of " + joined(poison_names()) +
              (property.poison.empty() ? "" : "; not '" + property.poison + "'"),
          property.poison.empty() ? "property" : "property.poison"};
}

MappedRun map_run(const Tensor& tensor, const Tensor& base, const std::string& dimension,
                  int64_t first, int64_t linear, int64_t step, int64_t count) {
  int64_t inner = 1;
  size_t d = tensor.dims.size();
  while (d > 0 && tensor.dims[d - 1] != dimension) inner *= tensor.shape[--d];
  if (dimension.empty() || d == 0) return {linear, count};
  // Both are runs of rows of `inner` elements, the variation's `mine` of them the base's `theirs`.
  const int64_t mine = tensor.shape[d - 1] * inner, theirs = base.shape[d - 1] * inner;
  const int64_t within = linear % mine;
  const int64_t room = step > 0 ? (mine - within + step - 1) / step : count;
  return {linear / mine * theirs + within + first * inner, std::min(count, room)};
}

}  // namespace assay
