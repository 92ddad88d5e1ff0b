// Which store wrote a watched element last, and where a store stands: for observers of the
// machine's accesses.
#pragma once

#include <optional>

#include "devices/ptx/machine.hpp"

namespace assay::ptx {

/// Watches `bytes` bytes from `address` in the launch of `module` with `config`; `last` is
/// overwritten by each store that touches them. All three must outlive the observer.
AccessObserver watch_stores(uint64_t address, int64_t bytes, const Module& module,
                            const LaunchConfig& config, std::optional<LastStore>& last);

/// Where the store of a lane stands, and which thread of which block it is.
LastStore store_of(const AccessEvent& event, int lane, const Module& module,
                   const LaunchConfig& config);

}  // namespace assay::ptx
