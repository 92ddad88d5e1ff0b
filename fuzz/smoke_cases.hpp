// The cases of a run over several kernels, in order: covering cases of all, then generated ones in
// turn.
#pragma once

#include <cstdint>
#include <vector>

#include "fuzz/find_kernels.hpp"
#include "generators/case.hpp"

namespace assay {

/// Case number i depends on the seed and i alone. `contracts` must outlive it.
class SmokeCases {
 public:
  struct Item {
    size_t kernel = 0;  ///< index in `contracts`
    int64_t order = 0;
    Case the_case;
  };

  SmokeCases(const std::vector<ContractPtr>& contracts, uint64_t seed);

  int64_t covering() const { return static_cast<int64_t>(covering_.size()); }
  Item at(int64_t order) const;

 private:
  const std::vector<ContractPtr>& contracts_;
  uint64_t seed_;
  std::vector<Item> covering_;
};

}  // namespace assay
