// What a compiled kernel does with the memory behind its pointers.
#pragma once

#include <vector>

#include "devices/ptx/module.hpp"

namespace assay {

/// Of one parameter: whether the kernel loads, and whether it stores, at addresses made of it.
struct PointerUse {
  bool read = false;
  bool written = false;
};

/// One for each parameter of an entry. Addresses are followed through registers, whatever the order
/// of the code. Empty where functions that were not inlined may use the pointers, too.
std::vector<PointerUse> pointer_uses(const ptx::Function& entry);

}  // namespace assay
