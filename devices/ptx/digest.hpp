// A digest over what is decoded.
#pragma once

#include <string>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// 16 hex digits over instructions, parameter layouts, variables and launch bounds. Names of
/// registers, labels, variables and device functions, source lines and debug sections do not
/// count: NVRTC puts its process id into some of them. Names of entries and of functions without a
/// body (vprintf) do.
std::string module_digest(const Module& module);

}  // namespace assay::ptx
