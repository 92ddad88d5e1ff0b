// A kernel's parameter space for a launch of a case: the same bytes for every device but for the
// addresses of buffers.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "devices/ptx/module.hpp"
#include "generators/instance.hpp"

namespace assay {

/// Where the buffer of a present operand starts (before its offset) on the device.
using BufferAddress = std::function<uint64_t(const Tensor&)>;

/// The parameter space of `entry`, laid out as its declaration says. Throws InputError, at the
/// contract's argument, when the contract's arguments are not the entry's parameters byte for byte.
std::vector<uint8_t> launch_parameters(const Instance& instance, const ResolvedLaunch& launch,
                                       const ptx::Function& entry, const BufferAddress& address_of);

}  // namespace assay
