// What a resumed `assay fuzz` does with the findings of earlier runs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fuzz/overnight.hpp"

namespace assay {

/// Runs each finding of earlier runs again, in a process of its own. Those that pass now move to
/// OUT/fixed/KERNEL/; others, and what cannot be run, stay. Returns a line for each that moved, by
/// kernel. Stops early when a signal asks for an end.
std::map<std::string, std::vector<std::string>> set_fixed_aside(
    const FuzzFolders& folders, const std::vector<ContractPtr>& contracts,
    const std::string& device);

}  // namespace assay
