#include "kernels_under_test/variants.hpp"

#include <algorithm>
#include <map>

namespace assay {

namespace {

constexpr int64_t kMostVariants = 1 << 20;  // beyond this the count is of no use to a reader

/// A relation over types, knobs and flags alone; anything else is left to the case's own check.
bool may_hold(const NamedExpr& relation, const Variant& variant) {
  IntegerScope scope;
  scope.value = [&](std::string_view name) { return choice_value(variant, name); };
  try {
    return evaluate_integer(*relation.expr, scope) != 0;
  } catch (const InputError&) {
    return true;
  }
}

/// Goes through the choices of types, then knobs, then flags.
class VariantWalk {
 public:
  VariantWalk(const Contract& contract, const std::function<bool(const Variant&)>& visit)
      : contract_(contract), visit_(visit) {}

  bool choose(size_t position) {
    const size_t types = contract_.types.size();
    const size_t knobs = types + contract_.knobs.size();
    if (position < types) {
      const TypeParameter& type = contract_.types[position];
      return each(type.kinds, variant_.types[type.name], position);
    }
    if (position < knobs) {
      const Knob& knob = contract_.knobs[position - types];
      return each(knob.values, variant_.knobs[knob.name], position);
    }
    if (position < knobs + contract_.flags.size()) {
      static const std::vector<int64_t> both{0, 1};
      return each(both, variant_.flags[contract_.flags[position - knobs]], position);
    }
    return !admits_choices(contract_, variant_) || visit_(variant_);
  }

 private:
  template <typename T>
  bool each(const std::vector<T>& values, T& place, size_t position) {
    for (const T value : values) {
      place = value;
      if (!choose(position + 1)) return false;
    }
    return true;
  }

  const Contract& contract_;
  const std::function<bool(const Variant&)>& visit_;
  Variant variant_;
};

/// The choices that `--only` may name, each with its values as text.
std::map<std::string, std::vector<std::string>> choices_of(const Contract& contract) {
  std::map<std::string, std::vector<std::string>> choices;
  for (const TypeParameter& type : contract.types) {
    for (const DType kind : type.kinds) choices[type.name].emplace_back(name(kind));
  }
  for (const Knob& knob : contract.knobs) {
    for (const int64_t value : knob.values) choices[knob.name].push_back(std::to_string(value));
  }
  for (const std::string& flag : contract.flags) choices[flag] = {"0", "1"};
  return choices;
}

std::pair<std::string, std::string> parse_choice(const Contract& contract,
                                                 const std::string& text) {
  const auto choices = choices_of(contract);
  std::vector<std::string> names;
  for (const auto& [name, values] : choices) names.push_back(name);
  const size_t equals = text.find('=');
  if (equals == std::string::npos) {
    throw InputError({}, "--only: expected NAME=VALUE, not '" + text + "'");
  }
  const std::string name = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  const auto found = choices.find(name);
  if (found == choices.end()) {
    throw InputError({}, "--only: '" + name + "' is no type, knob or flag of '" + contract.name +
                             "'; it has " + (names.empty() ? "none" : joined(names)));
  }
  if (std::find(found->second.begin(), found->second.end(), value) == found->second.end()) {
    throw InputError({}, "--only: '" + name + "' of '" + contract.name + "' is never '" + value +
                             "'; it is one of " + joined(found->second));
  }
  return {name, value};
}

bool has_choice(const Variant& variant, const std::string& wanted, const std::string& value) {
  if (const auto at = variant.types.find(wanted); at != variant.types.end()) {
    return name(at->second) == value;
  }
  if (const auto at = variant.knobs.find(wanted); at != variant.knobs.end()) {
    return std::to_string(at->second) == value;
  }
  return std::to_string(variant.flags.at(wanted)) == value;
}

}  // namespace

std::optional<int64_t> choice_value(const Variant& variant, std::string_view name) {
  const std::string text(name);
  if (auto type = variant.types.find(text); type != variant.types.end()) {
    return static_cast<int64_t>(type->second);
  }
  if (auto knob = variant.knobs.find(text); knob != variant.knobs.end()) return knob->second;
  if (auto flag = variant.flags.find(text); flag != variant.flags.end()) return flag->second;
  if (auto dtype = parse_dtype(name)) return static_cast<int64_t>(*dtype);
  return std::nullopt;
}

bool admits_choices(const Contract& contract, const Variant& partial) {
  return std::all_of(contract.require.begin(), contract.require.end(),
                     [&](const NamedExpr& relation) { return may_hold(relation, partial); });
}

void for_variants(const Contract& contract, const std::function<bool(const Variant&)>& visit) {
  VariantWalk(contract, visit).choose(0);
}

int64_t count_variants(const Contract& contract) {
  int64_t count = 0;
  for_variants(contract, [&](const Variant&) { return ++count < kMostVariants; });
  return count;
}

std::vector<Variant> chosen_variants(const Contract& contract, const std::vector<std::string>& only,
                                     size_t most) {
  std::vector<std::pair<std::string, std::string>> wanted;
  for (const std::string& text : only) wanted.push_back(parse_choice(contract, text));
  std::vector<Variant> chosen;
  for_variants(contract, [&](const Variant& variant) {
    const bool fits = std::all_of(wanted.begin(), wanted.end(), [&](const auto& choice) {
      return has_choice(variant, choice.first, choice.second);
    });
    if (fits) chosen.push_back(variant);
    return chosen.size() <= most;
  });
  if (chosen.size() > most) {
    throw InputError({contract.path}, "more than " + std::to_string(most) +
                                          " variants; choose some with --only NAME=VALUE");
  }
  if (chosen.empty()) throw InputError({contract.path}, "no variant is what --only asks for");
  return chosen;
}

}  // namespace assay
