#include "fuzz/smoke_cases.hpp"

#include <algorithm>
#include <utility>

#include "fuzz/starting_cases.hpp"
#include "fuzz/stop_signals.hpp"
#include "fuzz/workers.hpp"
#include "generators/generate.hpp"

namespace assay {

SmokeCases::SmokeCases(const std::vector<ContractPtr>& contracts, uint64_t seed)
    : contracts_(contracts), seed_(seed) {
  std::vector<std::vector<Case>> covering;
  size_t longest = 0;
  for (size_t k = 0; k < contracts.size() && !StopSignals::asked(); ++k) {
    covering.emplace_back();
    facts_.emplace_back(*contracts[k]);
    try {
      covering.back() = starting_cases(*contracts[k]);
      with_cases_.push_back(k);
    } catch (const InputError& error) {
      errors_.emplace(k, error);
    }
    longest = std::max(longest, covering.back().size());
  }
  for (size_t i = 0; i < longest; ++i) {
    for (size_t k = 0; k < covering.size(); ++k) {
      if (i < covering[k].size()) covering_.push_back({k, 0, std::move(covering[k][i])});
    }
  }
}

size_t SmokeCases::kernel_at(int64_t order) const {
  if (order < covering()) return covering_[static_cast<size_t>(order)].kernel;
  return with_cases_[static_cast<uint64_t>(order - covering()) % with_cases_.size()];
}

int64_t SmokeCases::round_of(int64_t order) const {
  return std::max<int64_t>(order - covering(), 0) / static_cast<int64_t>(with_cases_.size());
}

SmokeCases::Item SmokeCases::at(int64_t order) const {
  if (order < covering()) {
    Item item = covering_[static_cast<size_t>(order)];
    item.order = order;
    return item;
  }
  const size_t kernel = kernel_at(order);
  const auto round = static_cast<uint64_t>(round_of(order));
  const Seed seed{case_seed(seed_, contracts_[kernel]->name, round)};
  return {kernel, order, generate_case(facts_[kernel], seed)};
}

}  // namespace assay
