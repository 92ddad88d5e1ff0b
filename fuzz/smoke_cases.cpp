#include "fuzz/smoke_cases.hpp"

#include <algorithm>
#include <utility>

#include "fuzz/starting_cases.hpp"
#include "fuzz/workers.hpp"
#include "generators/generate.hpp"

namespace assay {

SmokeCases::SmokeCases(const std::vector<ContractPtr>& contracts, uint64_t seed)
    : contracts_(contracts), seed_(seed) {
  std::vector<std::vector<Case>> covering;
  size_t longest = 0;
  for (const ContractPtr& contract : contracts) {
    covering.push_back(starting_cases(*contract));
    longest = std::max(longest, covering.back().size());
  }
  for (size_t i = 0; i < longest; ++i) {
    for (size_t k = 0; k < covering.size(); ++k) {
      if (i < covering[k].size()) covering_.push_back({k, 0, std::move(covering[k][i])});
    }
  }
}

SmokeCases::Item SmokeCases::at(int64_t order) const {
  if (order < covering()) {
    Item item = covering_[static_cast<size_t>(order)];
    item.order = order;
    return item;
  }
  const uint64_t number = static_cast<uint64_t>(order - covering());
  const size_t kernel = number % contracts_.size();
  const uint64_t round = number / contracts_.size();
  const Seed seed{case_seed(seed_, contracts_[kernel]->name, round)};
  return {kernel, order, generate_case(*contracts_[kernel], seed)};
}

}  // namespace assay
