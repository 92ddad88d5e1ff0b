// What no case may exceed, whatever its contract says.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

/// Of one operand's buffer: 64 TiB of sparse addresses.
inline constexpr int64_t kMostOperandBytes = int64_t{1} << 46;

// Of a launch, on every architecture since Maxwell (CUDA C++ Programming Guide 13.0, table
// "Technical Specifications per Compute Capability").
inline constexpr int64_t kMostGridX = 2147483647;
inline constexpr int64_t kMostGridYz = 65535;
inline constexpr int64_t kMostBlockThreads = 1024;  ///< of all axes together, and of x and y each
inline constexpr int64_t kMostBlockZ = 64;
inline constexpr int64_t kMostStaticShared = 48 << 10;

/// Most shared memory of a block in bytes, static and (by opt-in) dynamic together, on the
/// architecture that `target` names ("sm_80"; same table). The most of all for one not in it.
inline int64_t most_block_shared(std::string_view target) {
  struct Row {
    std::string_view target;
    int64_t kib;
  };
  constexpr Row kRows[] = {{"sm_70", 96}, {"sm_72", 96},  {"sm_75", 64}, {"sm_80", 163},
                           {"sm_86", 99}, {"sm_87", 163}, {"sm_89", 99}, {"sm_12", 99}};
  for (const Row& row : kRows) {
    if (target.starts_with(row.target)) return row.kib << 10;
  }
  return 227 << 10;  // 9.0, 10.x, 11.0
}

}  // namespace assay
