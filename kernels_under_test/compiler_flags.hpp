// Compiler flags that decide what a kernel's arithmetic may do.
#pragma once

#include <string_view>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// Whether the source is compiled with `flag`, spelled here with one dash ("-prec-div=false"), in
/// the contract with one or two.
bool has_flag(const Source& source, std::string_view flag);

}  // namespace assay
