// What an atomic operation makes of the old value in memory.
#pragma once

#include <cstdint>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// New value of `old` under the operation with operands b and, for cas, c (bits of `type` in the
/// low end). `flush` : subnormals of f32 additions become zero, as on global memory (PTX
/// ISA 9.7.13.5).
uint64_t atomic_result(Atom operation, Type type, uint64_t old, uint64_t b, uint64_t c, bool flush);

}  // namespace assay::ptx
