// The checker of narrow accumulation: chains that the program's text shows (narrow_chains.hpp),
// told of when a run executed them and what they sum was stored.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "devices/ptx/machine.hpp"
#include "devices/ptx/narrow_chains.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay::ptx {

/// Chains of one function.
struct FunctionChains {
  DataFlow flow;
  std::vector<NarrowChain> chains;
};
/// Those of an entry and of every function that it may call; functions without any are left out.
/// `module` must outlive them.
std::vector<FunctionChains> chains_of(const Module& module, const Function& entry, int precision);

/// Bits that a sum must have by the contract; 0: nothing is narrow, because the contract sums
/// nothing or sums integers.
int summed_precision(const Contract& contract);

/// Watches one launch. All arguments must outlive it.
class NarrowLaunch {
 public:
  NarrowLaunch(const Module& module, const std::vector<FunctionChains>& functions,
               std::string accumulate, const std::vector<uint32_t>& hits_before);

  /// What has to see the accesses; empty when no chain goes through memory.
  AccessObserver observer();
  /// Adds what the launch showed to `findings`, each line once.
  void report(const std::vector<uint32_t>& hits, std::vector<Diagnostic>& findings) const;

 private:
  /// How many narrow additions the sum in some memory has gone through.
  struct Depth {
    int additions = 0;
    int64_t place = -1;  ///< which additions count together
  };
  struct Watched {
    const Function* function = nullptr;
    const NarrowChain* chain = nullptr;
    int64_t place = 0;
    bool seen = false;
    std::unordered_map<uint64_t, Depth> loaded;  ///< by thread
  };
  void see(const AccessEvent& event);
  void see_atomic(Watched& watched, const AccessEvent& event, int lane);
  void see_memory(Watched& watched, const AccessEvent& event, int lane);
  Diagnostic describe(const FunctionChains& function, const NarrowChain& chain,
                      int32_t store) const;

  const Module& module_;
  const std::vector<FunctionChains>& functions_;
  std::string accumulate_;
  std::vector<uint32_t> hits_before_;
  std::vector<Watched> watched_;
  std::unordered_multimap<const Instruction*, size_t> by_instruction_;
  std::unordered_map<uint64_t, Depth> memory_;                   ///< by half word
  std::unordered_map<uint64_t, std::vector<int64_t>> swappers_;  ///< by address: threads
};

}  // namespace assay::ptx
