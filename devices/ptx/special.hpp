// Names of special registers (PTX ISA 9.0, chapter 10).
#pragma once

#include <string_view>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// Special::none when the name is none that the machine has.
Special special_named(std::string_view name);
/// Whether the name is a special register of PTX at all.
bool is_special_name(std::string_view name);
/// 4 or 8.
int bytes_of(Special special);

}  // namespace assay::ptx
