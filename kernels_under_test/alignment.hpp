// What a contract may state of base addresses.
#pragma once

#include <cstdint>

namespace assay {

/// The largest `align`, in bytes: the emulator's buffers have it (cudaMalloc: 256).
inline constexpr int64_t kMostAlign = int64_t{1} << 20;
inline bool is_alignment(int64_t bytes) {
  return bytes >= 1 && bytes <= kMostAlign && (bytes & (bytes - 1)) == 0;
}

}  // namespace assay
