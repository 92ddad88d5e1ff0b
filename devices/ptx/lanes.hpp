// The lanes of a mask, one after the other.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::ptx {

/// Calls f(lane) for each bit of `mask`, from the lowest up.
template <class F>
void for_lanes(uint32_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

/// How many lanes: without the library's call that std::popcount is where the instruction may lack.
inline int lane_count(uint32_t mask) {
  if (mask == ~0u) return 32;
  if ((mask & (mask - 1)) == 0) return mask != 0;
  // Sums of pairs, of nibbles, of bytes (H. S. Warren, Hacker's Delight, 5-1).
  mask -= (mask >> 1) & 0x55555555u;
  mask = (mask & 0x33333333u) + ((mask >> 2) & 0x33333333u);
  return static_cast<int>((((mask + (mask >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24);
}

/// Lanes side by side.
struct LaneRun {
  int first = 0;
  int count = 0;
};

/// The lanes of `mask`, which is not 0; count 0: they have gaps.
inline LaneRun run_of(uint32_t mask) {
  const int first = std::countr_zero(mask);
  const uint32_t low = mask >> first;
  if ((low & (low + 1)) != 0) return {first, 0};
  return {first, std::countr_one(low)};
}

}  // namespace assay::ptx
