// A contract to start from, made of what a kernel's signature and its compiled form say; it loads,
// and asks for the rest.
#pragma once

#include <string>

#include "compilers/signature.hpp"

namespace assay {

/// The text of a contract for `kernel` of a source, to be written to `contract_path`. Lines "# ? "
/// ask for what it cannot know. Throws InputError for a kernel that no contract can describe and
/// for one that does not compile.
std::string starter_contract(const std::string& source, const KernelSignature& kernel,
                             const std::string& contract_path);

}  // namespace assay
