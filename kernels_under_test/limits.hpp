// What no case may exceed, whatever its contract says.
#pragma once

#include <cstdint>

namespace assay {

/// Of one operand's buffer: 64 TiB of sparse addresses.
inline constexpr int64_t kMostOperandBytes = int64_t{1} << 46;

}  // namespace assay
