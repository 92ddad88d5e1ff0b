// What a warp has copied with cp.async but not yet waited for.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

/// One lane's copy. It is done at the latest moment that PTX allows: when its group is waited for.
struct AsyncCopy {
  uint8_t* to = nullptr;  ///< in shared memory
  uint8_t* to_state = nullptr;
  const uint8_t* from = nullptr;  ///< null: zeros only
  const uint8_t* from_state = nullptr;
  uint64_t shared_address = 0;
  uint64_t global_address = 0;
  uint64_t order = 0;  ///< when it was issued, among those of its warp
  uint32_t group = 0;
  int32_t site = -1;
  uint8_t lane = 0;
  uint8_t bytes = 0;         ///< written: 4, 8 or 16
  uint8_t source_bytes = 0;  ///< read; zeros follow
};

/// A cp.async.mbarrier.arrive that waits for the lane's earlier copies.
struct AsyncArrival {
  uint64_t address = 0;  ///< of the mbarrier, in shared memory
  uint64_t order = 0;
  uint8_t lane = 0;
  int32_t site = -1;
};

struct AsyncState {
  std::vector<AsyncCopy> copies;          ///< in order of issue
  std::array<uint32_t, kLanes> groups{};  ///< committed by each lane
  std::vector<AsyncArrival> arrivals;
  uint64_t issued = 0;

  void clear() {
    copies.clear();
    groups.fill(0);
    arrivals.clear();
    issued = 0;
  }
};

}  // namespace assay::ptx
