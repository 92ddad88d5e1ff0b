// Stores to elements that a launch may not write: between and around the elements of an operand,
// and to those that another block owns.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "devices/ptx/box_index.hpp"
#include "devices/ptx/machine.hpp"
#include "generators/instance.hpp"

namespace assay::ptx {

/// Whether each element of an output is one block's: `owns` says so, and one launch writes it.
bool is_owned(const Instance& instance, const Tensor& tensor);

/// Of one case. Which store it was is not kept while a case runs: where memory shows that there was
/// one, the run is repeated under an observer that tells each, with its line and thread.
class StrayStores {
 public:
  /// `address_of`: where an operand's buffer begins. `instance` must outlive this.
  StrayStores(const Instance& instance, uint64_t (*address_of)(const Tensor&));

  /// Whether the launch that just ended has stored to padding, or to what no block of the case
  /// owns. `regions`: of the operands, by position.
  bool seen(const Memory& memory, const std::map<int, int>& regions);

  /// Tells the stray stores of a launch into `found`, one a line. All must outlive the observer.
  AccessObserver teller(const Module& module, const LaunchConfig& config,
                        std::vector<Diagnostic>& found);

 private:
  struct Operand {
    const Tensor* tensor = nullptr;
    uint64_t base = 0;
    bool has_padding = false;  ///< not every element of its storage is one of its own
    bool is_owned = false;     ///< the contract says which block writes what
    std::map<int64_t, BoxIndex> owned;  ///< by block; -1: of all blocks of the case
  };
  /// What is wrong with a store to an element of the storage; "" when nothing is. Block -1: any
  /// that the case runs.
  std::string objection(Operand& operand, int64_t storage, int64_t block);
  BoxIndex& owned_by(Operand& operand, int64_t block);
  void tell(const AccessEvent& event, const Module& module, const LaunchConfig& config,
            std::vector<Diagnostic>& found);

  const Instance& instance_;
  const bool subset_;
  std::vector<Operand> operands_;
};

}  // namespace assay::ptx
