// Loads and stores: generic addresses resolve to global, shared or local memory; only active lanes'
// addresses count. The common shapes move whole rows (executor_memory_rows.cpp); everything else
// goes lane by lane.
#include <bit>
#include <cstring>

#include "devices/ptx/elements.hpp"
#include "devices/ptx/executor.hpp"

namespace assay::ptx {

/// Fills address_ with the addresses of all lanes.
void Executor::addresses(const MicroOp& op) {
  const uint8_t* a = row(op.a);
  if (code_->sites[op.site].address_width == 4) {
    kit_.addresses32(address_, reinterpret_cast<const uint32_t*>(a), op.offset);
    return;
  }
  const uint64_t* wide = reinterpret_cast<const uint64_t*>(a);
  const uint64_t offset = static_cast<uint64_t>(op.offset);
  for (int i = 0; i < kLanes; ++i) address_[i] = wide[i] + offset;
}

/// Tells the observer of an access of `mask` to address_; `bytes` of a lane, 0: as the site says.
void Executor::tell_observer(const MicroOp& op, uint32_t mask, Space space, Access access,
                             int bytes) {
  const Site& site = code_->sites[op.site];
  if (bytes == 0) {
    const bool atomic = access == Access::atomic;  // its rows are operands of one element
    bytes = static_cast<int>(site.element_bytes * (atomic ? 1 : site.rows.size()));
  }
  observer({site.function, site.instruction, space, mask, address_, bytes, access != Access::write,
            access != Access::read, access == Access::atomic, warp_->block->linear, warp_->index});
}

/// The lanes of `mask` whose address lies in the same space as the first one's; `space` becomes
/// that space, and their addresses become those within it.
uint32_t Executor::split_spaces(const MicroOp& op, uint32_t mask, Space& space) {
  space = code_->sites[op.site].space;
  if (space == Space::const_ || space == Space::param) space = Space::global;
  if (space != Space::generic) return mask;
  const auto space_of = [](uint64_t address) {
    const uint64_t window = address >> 32;
    return window == kSharedWindow >> 32  ? Space::shared
           : window == kLocalWindow >> 32 ? Space::local
                                          : Space::global;
  };
  space = space_of(address_[std::countr_zero(mask)]);
  uint32_t same = 0;
  for_lanes(mask, [&](int lane) {
    if (space_of(address_[lane]) == space) same |= 1u << lane;
  });
  if (space == Space::global) return same;
  const uint64_t window = space == Space::shared ? kSharedWindow : kLocalWindow;
  for_lanes(same, [&](int lane) { address_[lane] -= window; });
  return same;
}

/// The bytes [address, address + bytes) when one stretch of memory holds them all in bounds; else
/// nothing, and the caller goes lane by lane.
Target Executor::span(Space space, uint64_t address, int64_t bytes) {
  if (space == Space::shared) {
    BlockState& block = *warp_->block;
    const uint64_t offset = address - kSharedStart;
    if (offset > block.shared.size() ||
        bytes > static_cast<int64_t>(block.shared.size() - offset)) {
      return {};
    }
    return {block.shared.data() + offset, block.shared_state.data() + offset, nullptr};
  }
  Page* page = memory_->page(address);
  if (page == nullptr) return {};
  const int64_t offset = static_cast<int64_t>(address & (kPageBytes - 1));
  if (offset < page->low || offset + bytes > page->high) return {};
  if (page->ends != 0) note_ends(*page, offset, bytes);
  return {page->data + offset, page->state + offset, page};
}

/// One lane's bytes; ends the run when they are misaligned or out of bounds.
Target Executor::locate(const MicroOp& op, Space space, int lane, uint64_t address, int bytes,
                        bool is_store) {
  if ((address & static_cast<uint64_t>(bytes - 1)) != 0) {
    misaligned(op, space, lane, address, bytes);
  }
  if (space == Space::local) {
    const int64_t size = code_->local_bytes;
    const int64_t offset = static_cast<int64_t>(address);
    if (offset < kLocalStart || offset > size - bytes) {
      out_of_bounds(op, space, lane, address, bytes, is_store);
    }
    const int64_t at = lane * size + offset;
    return {warp_->local + at, warp_->local_state + at, nullptr};
  }
  const Target target = span(space, address, bytes);
  if (target.data == nullptr) out_of_bounds(op, space, lane, address, bytes, is_store);
  return target;
}

void Executor::load(const MicroOp& op, uint32_t mask) {
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, mask);
  while (mask != 0) {
    Space space;
    const uint32_t same = split_spaces(op, mask, space);
    observe_access(op, same, space, Access::read);
    if (!load_wide(op, same, space) && !load_near(op, same, space)) load_from(op, same, space);
    if (shadow_ && code_->memory_carries_wrap && space != Space::global) {
      load_deltas(op, same, space);
    }
    mask &= ~same;
  }
}

/// One stretch of memory that holds the bytes of all lanes of `mask`, aligned and in bounds, at
/// their addresses less `first`; nothing when there is none.
Target Executor::span_of_lanes(uint32_t mask, Space space, int bytes, uint64_t* first) {
  if (space == Space::local) return {};
  uint64_t low = ~uint64_t{0}, high = 0, all = 0;
  for_lanes(mask, [&](int lane) {
    const uint64_t address = address_[lane];
    low = std::min(low, address);
    high = std::max(high, address);
    all |= address;
  });
  if ((all & static_cast<uint64_t>(bytes - 1)) != 0 || high - low >= (uint64_t{1} << 20)) return {};
  *first = low;
  return span(space, low, static_cast<int64_t>(high - low) + bytes);
}

/// Loads whose lanes all lie in one defined stretch of memory. False: not of that shape.
bool Executor::load_near(const MicroOp& op, uint32_t mask, Space space) {
  const Site& site = code_->sites[op.site];
  const int count = static_cast<int>(site.rows.size());
  const int bytes = site.element_bytes * count;
  uint64_t first = 0;
  const Target from = span_of_lanes(mask, space, bytes, &first);
  if (from.data == nullptr) return false;
  if (shadow_ && (from.page == nullptr || from.page->has_undefined)) {
    uint8_t any = 0;
    for_lanes(mask, [&](int lane) {
      const uint8_t* state = from.state + (address_[lane] - first);
      for (int i = 0; i < bytes; ++i) any |= state[i];
    });
    if ((any & kUndefined) != 0) return false;
  }
  for (int k = 0; k < count; ++k) {
    if (site.rows[k] == kNoSlot) continue;
    const int width = site.widths[k];
    result_defined(site.flags[k], site.rows[k], width, mask);
    uint8_t* to = frame_row(site.rows[k]);
    const uint8_t* element = from.data + k * site.element_bytes;
    if (width == 4 && site.element_bytes == 4) {
      for_lanes(mask, [&](int lane) {
        std::memcpy(to + 4 * lane, element + (address_[lane] - first), 4);
      });
    } else if (width == 2 && site.element_bytes == 2) {
      for_lanes(mask, [&](int lane) {
        std::memcpy(to + 2 * lane, element + (address_[lane] - first), 2);
      });
    } else {
      for_lanes(mask, [&](int lane) {
        load_element(to + lane * width, width, element + (address_[lane] - first),
                     site.element_bytes, site.sign_extend);
      });
    }
  }
  return true;
}

void Executor::load_from(const MicroOp& op, uint32_t mask, Space space) {
  const Site& site = code_->sites[op.site];
  const int count = static_cast<int>(site.rows.size());
  const int bytes = site.element_bytes * count;
  for (int k = 0; k < count; ++k) {
    if (site.rows[k] != kNoSlot) result_defined(site.flags[k], site.rows[k], site.widths[k], mask);
  }
  for_lanes(mask, [&](int lane) {
    const Target from = locate(op, space, lane, address_[lane], bytes, false);
    for (int k = 0; k < count; ++k) {
      if (site.rows[k] == kNoSlot) continue;
      const int width = site.widths[k];
      const int offset = k * site.element_bytes;
      load_element(frame_row(site.rows[k]) + lane * width, width, from.data + offset,
                   site.element_bytes, site.sign_extend);
      if (!shadow_) continue;
      uint8_t any = 0;
      for (int i = 0; i < site.element_bytes; ++i) any |= from.state[offset + i];
      if ((any & kUndefined) == 0) continue;
      if (site.flags[k] == 0) continue;
      uint8_t* undefined = undefined_row(site.flags[k], site.rows[k], width) + lane * width;
      int first = -1;
      for (int i = 0; i < width; ++i) {
        const int source = std::min(i, site.element_bytes - 1);
        const bool extra = i >= site.element_bytes && !site.sign_extend;
        const bool bad = !extra && (from.state[offset + source] & kUndefined) != 0;
        undefined[i] = bad ? 0xff : 0;
        if (bad && first < 0) first = source;
      }
      trail_at(site.flags[k], lane) = trail_in_memory(
          op.site, space, lane, address_[lane] + static_cast<uint64_t>(offset + first));
    }
  });
}

void Executor::store(const MicroOp& op, uint32_t mask) {
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, mask);
  while (mask != 0) {
    Space space;
    const uint32_t same = split_spaces(op, mask, space);
    observe_access(op, same, space, Access::write);
    // Only the lane-by-lane form tells whether a byte changes.
    if (stillness_.watching() || (!store_wide(op, same, space) && !store_near(op, same, space))) {
      store_to(op, same, space);
    }
    if (shadow_ && code_->memory_carries_wrap && space != Space::global) {
      store_deltas(op, same, space);
    }
    mask &= ~same;
  }
}

/// Stores of defined values whose lanes all lie in one stretch of memory.
bool Executor::store_near(const MicroOp& op, uint32_t mask, Space space) {
  const Site& site = code_->sites[op.site];
  const int count = static_cast<int>(site.rows.size());
  const int bytes = site.element_bytes * count;
  for (int k = 0; k < count; ++k) {
    if (shadow_ && (warp_->flags[site.flags[k]] & kMaybeUndefined) != 0) return false;
  }
  uint64_t first = 0;
  const Target to = span_of_lanes(mask, space, bytes, &first);
  if (to.data == nullptr) return false;
  if (to.page != nullptr) {
    if (!memory_->regions()[to.page->region].spec.writable) return false;
    to.page->written = true;
  }
  const uint8_t* rows[8] = {};
  for (int k = 0; k < count; ++k) rows[k] = row(site.rows[k]);
  // Lane after lane: of lanes that store to one place, the last one wins.
  for_lanes(mask, [&](int lane) {
    const uint64_t at = address_[lane] - first;
    for (int k = 0; k < count; ++k) {
      const uint8_t* from = rows[k] + lane * site.widths[k];
      const uint64_t place = at + static_cast<uint64_t>(k * site.element_bytes);
      if (site.element_bytes == 4) {
        std::memcpy(to.data + place, from, 4);
      } else {
        std::memcpy(to.data + place, from, site.element_bytes);
      }
    }
    std::memset(to.state + at, kWritten, static_cast<size_t>(bytes));
  });
  return true;
}

void Executor::store_to(const MicroOp& op, uint32_t mask, Space space) {
  const Site& site = code_->sites[op.site];
  const int count = static_cast<int>(site.rows.size());
  const int bytes = site.element_bytes * count;
  for_lanes(mask, [&](int lane) {
    const Target to = locate(op, space, lane, address_[lane], bytes, true);
    if (to.page != nullptr) {
      stray_write(op, lane, address_[lane], bytes);
      to.page->written = true;
    }
    for (int k = 0; k < count; ++k) {
      const int offset = k * site.element_bytes;
      const uint8_t* value = row(site.rows[k]) + lane * site.widths[k];
      if (stillness_.watching() &&
          std::memcmp(to.data + offset, value, static_cast<size_t>(site.element_bytes)) != 0) {
        stillness_.disturb();
      }
      std::memcpy(to.data + offset, value, site.element_bytes);
      std::memset(to.state + offset, kWritten, site.element_bytes);
      if (!shadow_ || (warp_->flags[site.flags[k]] & kMaybeUndefined) == 0) continue;
      const uint8_t* undefined = warp_->undefined + site.rows[k] + lane * site.widths[k];
      bool any = false;
      for (int i = 0; i < site.element_bytes; ++i) {
        if (undefined[i] == 0) continue;
        to.state[offset + i] |= kUndefined;
        any = true;
      }
      if (!any) continue;
      undefined_stored(op, space, lane, to.page, address_[lane] + static_cast<uint64_t>(offset),
                       site.element_bytes, trail_through(op, site.flags[k], lane));
    }
  });
}

/// What a function's registers and local memory hold from an earlier call is nothing to this one.
void Executor::forget_locals(WarpState& warp, const CallInfo& call, uint32_t mask) {
  if (!options_.definedness) return;
  for (const auto& [offset, bytes] : call.fresh) {
    for_lanes(mask, [&](int lane) {
      std::memset(warp.local_state + lane * code_->local_bytes + offset, kUndefined,
                  static_cast<size_t>(bytes));
    });
    if (warp.local_trails.empty()) continue;
    for_lanes(mask, [&](int lane) {
      const uint64_t base = static_cast<uint64_t>(lane) << 32;
      for (int32_t at = offset & ~3; at < offset + bytes; at += 4) {
        warp.local_trails.erase(base | static_cast<uint32_t>(at));
      }
    });
  }
  for (const int32_t index : call.unset) {
    const Code::MaybeUnset& r = code_->maybe_unset[static_cast<size_t>(index)];
    if (r.width == 0) {
      set_predicate_undefined(r.flag, r.slot, mask, mask);
    } else {
      mark_undefined(r.flag, r.slot, r.width, mask);
    }
    for_lanes(mask, [&](int lane) { trail_at(r.flag, lane) = {}; });
  }
}

/// Call parameters travel through local memory, lane by lane, with their shadows.
void Executor::copy_local(WarpState& warp, const std::vector<LocalCopy>& copies, uint32_t mask) {
  const int64_t size = code_->local_bytes;
  for (const LocalCopy& copy : copies) {
    for_lanes(mask, [&](int lane) {
      uint8_t* to = warp.local + lane * size + copy.to;
      const uint8_t* from = warp.local + lane * size + copy.from;
      if (stillness_.watching() && std::memcmp(to, from, copy.bytes) != 0) stillness_.disturb();
      std::memcpy(to, from, copy.bytes);
      std::memcpy(warp.local_state + lane * size + copy.to,
                  warp.local_state + lane * size + copy.from, copy.bytes);
      copy_local_trails(warp, copy, lane);
      if (warp.local_deltas.empty()) return;
      for (int i = 0; i < copy.bytes; i += 4) {
        const uint64_t base = static_cast<uint64_t>(lane) << 32;
        const auto found = warp.local_deltas.find(base | static_cast<uint32_t>(copy.from + i));
        if (found == warp.local_deltas.end()) {
          warp.local_deltas.erase(base | static_cast<uint32_t>(copy.to + i));
        } else {
          const Delta delta = found->second;
          warp.local_deltas[base | static_cast<uint32_t>(copy.to + i)] = delta;
        }
      }
    });
  }
}

}  // namespace assay::ptx
