#include "devices/ptx/watch.hpp"

#include <bit>

namespace assay::ptx {

namespace {

/// Coordinates of a linear index, x fastest.
std::array<int64_t, 3> coordinates(int64_t linear, const std::array<int64_t, 3>& shape) {
  return {linear % shape[0], linear / shape[0] % shape[1], linear / shape[0] / shape[1]};
}

}  // namespace

LastStore store_of(const AccessEvent& event, int lane, const Module& module,
                   const LaunchConfig& config) {
  LastStore store;
  if (const auto file = module.files.find(event.line->file); file != module.files.end()) {
    store.file = file->second;
    store.line = event.line->line;
  }
  store.ptx_line = event.instruction->ptx_line;
  store.block = coordinates(event.block, config.grid);
  store.thread = coordinates(int64_t{event.warp} * 32 + lane, config.block);
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
