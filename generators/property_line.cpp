// The `property` line of a case: what it must say, by the contract's statement.
#include <algorithm>

#include "generators/variation.hpp"

namespace assay {
namespace {

constexpr int kMostExponent = 32;
constexpr int64_t kMostShift = int64_t{1} << 31;

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

}  // namespace

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

}  // namespace assay
