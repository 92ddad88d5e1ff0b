// A kernel's parameters as the compiler sees them: aliases, macros and dependent types resolved.
#pragma once

#include <string>
#include <vector>

#include "compilers/signature.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

/// The parameters of launch number `launch` of a contract under a variant, without names, from the
/// type of the compiled function: right for extern "C" entries too. Compiles (nothing is cached)
/// and throws as compile() does; empty where the compiler's answer cannot be read.
std::vector<KernelParameter> compiled_parameters(const Contract& contract, const Variant& variant,
                                                 int launch);

/// The parameters that an entry's mangled name tells, without names; empty for extern "C".
std::vector<KernelParameter> mangled_parameters(const std::string& entry);

}  // namespace assay
