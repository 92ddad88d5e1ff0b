#include "fuzz/judged_finding.hpp"

#include <algorithm>
#include <optional>

#include "fuzz/text_table.hpp"
#include "generators/unowned.hpp"

namespace assay {

std::vector<OutputElement> telling_elements(const Verdict& verdict) {
  std::vector<OutputElement> elements;
  const auto add = [&](const std::string& output, int64_t logical) {
    if (std::find(elements.begin(), elements.end(), OutputElement(output, logical)) ==
        elements.end())
      elements.emplace_back(output, logical);
  };
  if (verdict.worst_element >= 0) add(verdict.worst_output, verdict.worst_element);
  if (verdict.wrong_elements.empty()) return elements;
  add(verdict.first_output, verdict.wrong_elements.front());
  add(verdict.first_output, verdict.wrong_elements.back());
  return elements;
}

std::string unowned_text(const Instance& instance, const Verdict& verdict) {
  for (const auto& [name, logical] : telling_elements(verdict)) {
    const Tensor& output = *instance.find(name);
    if (!is_unowned(instance, output, output.coordinates(logical))) continue;
    const std::optional<std::vector<int64_t>> first = unowned_element(instance, output);
    std::string sizes;
    for (const auto& [size, value] : instance.the_case.sizes)
      sizes += " " + size + "=" + std::to_string(value);
    return "; " + name + bracketed(first.value_or(output.coordinates(logical))) +
           " is owned by no block of grid " + bracketed(instance.launches[0].grid) + ", and" +
           sizes + (instance.the_case.sizes.size() == 1 ? " is admitted" : " are admitted");
  }
  return "";
}

}  // namespace assay
