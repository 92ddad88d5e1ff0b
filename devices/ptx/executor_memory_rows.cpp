// Loads and stores whose lanes lie side by side, or repeat those that do: whole rows at once.
#include <algorithm>
#include <bit>
#include <cstring>

#include "devices/ptx/elements.hpp"
#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// Elements of `count` lanes that lie one after the other, kVector to a lane; a null row is left
/// out.
template <class T, int kVector>
[[gnu::always_inline]] inline void take_apart(const uint8_t* from, uint8_t* const* rows,
                                              int count) {
  for (int k = 0; k < kVector; ++k) {
    if (rows[k] == nullptr) continue;
    T* to = reinterpret_cast<T*>(rows[k]);
    for (int lane = 0; lane < count; ++lane) {
      std::memcpy(to + lane, from + sizeof(T) * (lane * kVector + k), sizeof(T));
    }
  }
}

template <class T, int kVector>
[[gnu::always_inline]] inline void put_together(uint8_t* to, const uint8_t* const* rows,
                                                int count) {
  for (int k = 0; k < kVector; ++k) {
    const T* from = reinterpret_cast<const T*>(rows[k]);
    for (int lane = 0; lane < count; ++lane) {
      std::memcpy(to + sizeof(T) * (lane * kVector + k), from + lane, sizeof(T));
    }
  }
}

/// A whole warp has loops of fixed length.
template <class T, int kVector>
void deinterleave(const uint8_t* from, uint8_t* const* rows, int count) {
  if (count == kLanes) return take_apart<T, kVector>(from, rows, kLanes);
  take_apart<T, kVector>(from, rows, count);
}

template <class T, int kVector>
void interleave(uint8_t* to, const uint8_t* const* rows, int count) {
  if (count == kLanes) return put_together<T, kVector>(to, rows, kLanes);
  put_together<T, kVector>(to, rows, count);
}

/// One value for `count` lanes.
template <class T>
void spread(uint8_t* row, const uint8_t* value, int count) {
  T one;
  std::memcpy(&one, value, sizeof one);
  std::fill_n(reinterpret_cast<T*>(row), count, one);
}

void spread(uint8_t* row, const uint8_t* value, int width, int count) {
  switch (width) {
    case 2:
      return spread<uint16_t>(row, value, count);
    case 4:
      return spread<uint32_t>(row, value, count);
    default:
      return spread<uint64_t>(row, value, count);
  }
}

}  // namespace

/// How the addresses of `lanes` lie.
AddressPattern Executor::pattern_of(const uint64_t* addresses, const LaneRun& lanes,
                                    int bytes) const {
  if (lanes.count == kLanes) return kit_.pattern(addresses, bytes);
  return kit_.pattern_of(addresses + lanes.first, lanes.count, bytes);
}

bool Executor::any_undefined(const uint8_t* state, int64_t bytes) const {
  const int64_t rows = bytes & ~int64_t{31};
  if (rows != 0 && kit_.any_bit(state, rows, kUndefined)) return true;
  uint8_t any = 0;
  for (int64_t i = rows; i < bytes; ++i) any |= state[i];
  return (any & kUndefined) != 0;
}

/// False: not of a shape that this serves, and nothing was done.
bool Executor::load_wide(const MicroOp& op, uint32_t mask, Space space) {
  const LaneRun lanes = run_of(mask);
  if (lanes.count == 0 || space == Space::local) return false;
  const Site& site = code_->sites[op.site];
  const int parts = static_cast<int>(site.rows.size());
  const int element = site.element_bytes;
  const int bytes = element * parts;
  const AddressPattern pattern = pattern_of(address_, lanes, bytes);
  const bool uniform = pattern == AddressPattern::uniform;
  int distinct = uniform ? 1 : lanes.count;
  if (pattern == AddressPattern::scattered) {
    distinct = lanes.count == kLanes ? kit_.period(address_, bytes) : 0;
    if (distinct == 0) return false;
  }
  const uint64_t first = address_[lanes.first];
  if ((first & static_cast<uint64_t>(bytes - 1)) != 0) return false;
  const int64_t total = int64_t{bytes} * distinct;
  const Target from = span(space, first, total);
  if (from.data == nullptr) return false;
  if (shadow_ && (from.page == nullptr || from.page->has_undefined) &&
      any_undefined(from.state, total)) {
    return false;
  }
  uint8_t* rows[8] = {};  // from the first lane on
  bool same_width = true;
  for (int k = 0; k < parts; ++k) {
    if (site.rows[k] == kNoSlot) continue;
    rows[k] = frame_row(site.rows[k]) + lanes.first * site.widths[k];
    same_width &= site.widths[k] == element;
    if (warp_->flags[site.flags[k]] != 0) {
      result_defined(site.flags[k], site.rows[k], site.widths[k], mask);
    }
  }
  if (uniform) {
    for (int k = 0; k < parts; ++k) {
      if (rows[k] == nullptr) continue;
      uint8_t value[8];
      load_element(value, site.widths[k], from.data + k * element, element, site.sign_extend);
      spread(rows[k], value, site.widths[k], lanes.count);
    }
    return true;
  }
  if (same_width && parts == 1) {
    if (rows[0] != nullptr) std::memcpy(rows[0], from.data, static_cast<size_t>(total));
  } else if (same_width && element == 4 && parts == 4) {
    deinterleave<uint32_t, 4>(from.data, rows, distinct);
  } else if (same_width && element == 4 && parts == 2) {
    deinterleave<uint32_t, 2>(from.data, rows, distinct);
  } else if (same_width && element == 8 && parts == 2) {
    deinterleave<uint64_t, 2>(from.data, rows, distinct);
  } else {
    for (int k = 0; k < parts; ++k) {
      for (int lane = 0; rows[k] != nullptr && lane < distinct; ++lane) {
        load_element(rows[k] + lane * site.widths[k], site.widths[k],
                     from.data + lane * bytes + k * element, element, site.sign_extend);
      }
    }
  }
  for (int k = 0; k < parts && distinct < lanes.count; ++k) {
    if (rows[k] == nullptr) continue;
    const int width = site.widths[k];
    for (int filled = distinct * width; filled < kLanes * width; filled *= 2) {
      std::memcpy(rows[k] + filled, rows[k], static_cast<size_t>(filled));
    }
  }
  return true;
}

bool Executor::store_wide(const MicroOp& op, uint32_t mask, Space space) {
  const LaneRun lanes = run_of(mask);
  if (lanes.count == 0 || space == Space::local) return false;
  const Site& site = code_->sites[op.site];
  const int parts = static_cast<int>(site.rows.size());
  const int element = site.element_bytes;
  const int bytes = element * parts;
  const uint8_t* rows[8] = {};  // from the first lane on
  for (int k = 0; k < parts; ++k) {
    if (shadow_ && (warp_->flags[site.flags[k]] & kMaybeUndefined) != 0) return false;
    if (site.widths[k] != element) return false;
    rows[k] = row(site.rows[k]) + lanes.first * element;
  }
  // Of lanes that store to one place the last one wins: that is left to the others' way.
  if (pattern_of(address_, lanes, bytes) != AddressPattern::consecutive) return false;
  const uint64_t first = address_[lanes.first];
  if ((first & static_cast<uint64_t>(bytes - 1)) != 0) return false;
  const int64_t total = int64_t{bytes} * lanes.count;
  const bool known = parts == 1 || (element == 4 && (parts == 4 || parts == 2)) ||
                     (element == 8 && parts == 2) || (element == 2 && (parts == 4 || parts == 2));
  if (!known) return false;
  const Target to = span(space, first, total);
  if (to.data == nullptr) return false;
  if (to.page != nullptr) {
    if (!memory_->regions()[to.page->region].spec.writable) return false;
    to.page->written = true;
  }
  if (parts == 1) {
    std::memcpy(to.data, rows[0], static_cast<size_t>(total));
  } else if (element == 4 && parts == 4) {
    interleave<uint32_t, 4>(to.data, rows, lanes.count);
  } else if (element == 4) {
    interleave<uint32_t, 2>(to.data, rows, lanes.count);
  } else if (element == 8) {
    interleave<uint64_t, 2>(to.data, rows, lanes.count);
  } else if (parts == 4) {
    interleave<uint16_t, 4>(to.data, rows, lanes.count);
  } else {
    interleave<uint16_t, 2>(to.data, rows, lanes.count);
  }
  std::memset(to.state, kWritten, static_cast<size_t>(total));
  return true;
}

}  // namespace assay::ptx
