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

/// A spelling, or its beginning, with its modifiers in the order of a row that has them all:
/// "atom.cta.global.add.u32" of "atom.global.cta.add.u32". "" where no row has them.
std::string in_table_order(const std::string& spelling);

}  // namespace assay
