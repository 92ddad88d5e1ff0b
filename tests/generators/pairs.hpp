#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernels_under_test/dtype.hpp"
#include "kernels_under_test/variants.hpp"

namespace assay {

/// Every pair of choices of a variant, as text.
inline std::set<std::string> pairs_of(const Variant& variant) {
  std::vector<std::string> choices;
  for (const auto& [parameter, type] : variant.types)
    choices.push_back(parameter + "=" + std::string(name(type)));
  for (const auto& [knob, value] : variant.knobs)
    choices.push_back(knob + "=" + std::to_string(value));
  for (const auto& [flag, value] : variant.flags)
    choices.push_back(flag + "=" + std::to_string(value));
  std::set<std::string> pairs(choices.begin(), choices.end());
  for (const std::string& a : choices) {
    for (const std::string& b : choices) pairs.insert(a + " " + b);
  }
  return pairs;
}

inline std::set<std::string> pairs_of(const std::vector<Variant>& variants) {
  std::set<std::string> pairs;
  for (const Variant& variant : variants) pairs.merge(pairs_of(variant));
  return pairs;
}

}  // namespace assay
