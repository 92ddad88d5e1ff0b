// An element in memory as a lane's part of a register.
#pragma once

#include <cstdint>
#include <cstring>

namespace assay::ptx {

/// An element of `bytes` in memory, extended to a register of `width` bytes.
inline void load_element(uint8_t* to, int width, const uint8_t* from, int bytes, bool sign_extend) {
  if (width == bytes) {
    std::memcpy(to, from, bytes);
    return;
  }
  uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  if (sign_extend) {
    const int shift = 64 - 8 * bytes;
    value = static_cast<uint64_t>(static_cast<int64_t>(value << shift) >> shift);
  }
  std::memcpy(to, &value, width);
}

}  // namespace assay::ptx
