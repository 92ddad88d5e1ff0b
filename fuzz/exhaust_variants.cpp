// Which variants have inputs of their own: those that differ in the launch's shape alone do not.
#include <algorithm>
#include <set>

#include "compilers/request.hpp"
#include "fuzz/contract_names.hpp"
#include "fuzz/exhaust.hpp"
#include "fuzz/lint.hpp"

namespace assay {

namespace {

using Names = std::set<std::string>;

/// With the names that derived values in it come from.
Names with_sources(const Contract& contract, Names names) {
  // A derived value comes from those before it.
  for (auto derived = contract.derive.rbegin(); derived != contract.derive.rend(); ++derived) {
    if (names.contains(derived->name)) add_names(derived->expr, names);
  }
  return names;
}

/// What the arguments, the formula, its tolerances and the choice of launches depend on.
Names names_of_values(const Contract& contract) {
  Names names;
  for (const OperandSpec& operand : contract.args) add_operand_names(operand, names, names);
  add_formula_names(contract, names);
  add_accuracy_names(contract, names);
  for (const LaunchSpec& launch : contract.launches) add_names(launch.when, names);
  return with_sources(contract, std::move(names));
}

Names names_of_launches(const Contract& contract) {
  Names names;
  for (const LaunchSpec& launch : contract.launches) add_shape_names(launch, names);
  return with_sources(contract, std::move(names));
}

/// Words of all that makes the program: entries, macros and the source, in which a knob that no
/// entry names is a macro (compilers/request.hpp).
Names words_of_program(const Contract& contract) {
  std::string text = contract.source.entry;
  for (const LaunchSpec& launch : contract.launches) text += "\n" + launch.entry;
  for (const auto& [macro, value] : contract.source.defines) text += "\n" + macro + "\n" + value;
  for (const std::string& flag : contract.source.flags) text += "\n" + flag;
  Names words = words_of(text);
  words.merge(source_words(contract));
  return words;
}

}  // namespace

std::vector<std::string> launch_knobs(const Contract& contract) {
  // What another language makes of a knob is not known here.
  if (contract.source.language != Language::cuda) return {};
  const Names shape = names_of_launches(contract);
  const Names values = names_of_values(contract);
  const Names program = words_of_program(contract);
  std::vector<std::string> knobs;
  for (const Knob& knob : contract.knobs) {
    if (shape.contains(knob.name) && !values.contains(knob.name) && !program.contains(knob.name))
      knobs.push_back(knob.name);
  }
  return knobs;
}

std::vector<Variant> without_knobs(const Contract& contract, const std::vector<std::string>& knobs,
                                   const WideInputs& wide, const std::vector<Variant>& variants) {
  if (knobs.empty()) return variants;
  // Inputs of the largest case, at most a unit's; 0: the variant has none, or its inputs cannot be
  // listed, which `input_space` tells again.
  const auto largest_case = [&](const Variant& variant) -> int64_t {
    try {
      const InputSpace space = input_space(contract, variant, wide);
      const Case c = space_case(contract, space, 0, std::min(space.size, kUnitInputs));
      return case_inputs(instantiate(contract, c), space);
    } catch (const InputError&) {
      return 0;
    }
  };
  std::vector<Variant> kept;
  std::vector<int64_t> largest;
  std::map<Variant, size_t> places;  // by all else that they choose
  for (const Variant& variant : variants) {
    Variant rest = variant;
    for (const std::string& knob : knobs) rest.knobs.erase(knob);
    const auto [place, fresh] = places.try_emplace(std::move(rest), kept.size());
    const int64_t inputs = largest_case(variant);
    if (fresh) {
      kept.push_back(variant);
      largest.push_back(inputs);
    } else if (inputs > largest[place->second]) {
      kept[place->second] = variant;
      largest[place->second] = inputs;
    }
  }
  return kept;
}

}  // namespace assay
