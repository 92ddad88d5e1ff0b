// The spellings that a row of the instruction table admits.
#pragma once

#include <string>
#include <vector>

#include "devices/ptx/table.hpp"

namespace assay {

/// Groups of modifiers of a row, each with its choices ("" or ".ca"), then the types.
std::vector<std::vector<std::string>> spelling_groups(const ptx::Row& row);
/// All choices of all groups.
std::vector<std::string> spellings_of(const ptx::Row& row);

}  // namespace assay
