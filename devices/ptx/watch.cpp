#include "devices/ptx/watch.hpp"

#include <bit>
#include <utility>

#include "devices/ptx/code.hpp"

namespace assay::ptx {

LastStore store_of(const AccessEvent& event, int lane, const Module& module,
                   const LaunchConfig& config) {
  Step step = step_of(module, *event.function, *event.instruction, "");
  LastStore store;
  store.file = std::move(step.file);
  store.line = step.line;
  store.ptx_line = step.ptx_line;
  store.block = unfold(event.block, config.grid);
  store.thread = unfold(int64_t{event.warp} * kLanes + lane, config.block);
  return store;
}

AccessObserver watch_stores(uint64_t address, int64_t bytes, const Module& module,
                            const LaunchConfig& config, std::optional<LastStore>& last) {
  return [=, &module, &config, &last](const AccessEvent& event) {
    if (!event.is_write || event.space != Space::global) return;
    for (uint32_t lanes = event.mask; lanes != 0; lanes &= lanes - 1) {
      const int lane = std::countr_zero(lanes);
      const uint64_t first = event.addresses[lane];
      if (first >= address + static_cast<uint64_t>(bytes)) continue;
      if (first + static_cast<uint64_t>(event.bytes) <= address) continue;
      LastStore store = store_of(event, lane, module, config);
      store.count = last ? last->count + 1 : 1;
      last = std::move(store);
    }
  };
}

}  // namespace assay::ptx
