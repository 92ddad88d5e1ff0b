// The cases of a run over several kernels, in order: covering cases of all, then generated ones in
// turn.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fuzz/find_kernels.hpp"
#include "generators/case.hpp"
#include "generators/facts.hpp"

namespace assay {

/// Case number i depends on the seed, the contracts and i alone. `contracts` must outlive it. A
/// contract that admits no case has none, and an entry of `errors`.
class SmokeCases {
 public:
  struct Item {
    size_t kernel = 0;  ///< index in `contracts`
    int64_t order = 0;
    Case the_case;
  };

  SmokeCases(const std::vector<ContractPtr>& contracts, uint64_t seed);

  /// Why kernels have no case, by their index in `contracts`.
  const std::map<size_t, InputError>& errors() const { return errors_; }
  /// Whether no kernel has any.
  bool empty() const { return with_cases_.empty(); }

  int64_t covering() const { return static_cast<int64_t>(covering_.size()); }
  size_t kernel_at(int64_t order) const;  ///< index in `contracts`
  /// How many generated cases of the same kernel come before this one.
  int64_t round_of(int64_t order) const;
  /// Throws InputError for one that cannot be made.
  Item at(int64_t order) const;

 private:
  const std::vector<ContractPtr>& contracts_;
  std::vector<Facts> facts_;  ///< one a contract
  uint64_t seed_;
  std::vector<Item> covering_;
  std::vector<size_t> with_cases_;
  std::map<size_t, InputError> errors_;
};

}  // namespace assay
