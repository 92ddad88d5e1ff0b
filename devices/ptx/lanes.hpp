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

}  // namespace assay::ptx
