// From PTX text to a Module without basic blocks: branch targets are instruction numbers.
#pragma once

#include <string>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// Throws InputError. Function::blocks is empty, and Instruction::target(s) of branches count
/// instructions, until build_blocks (devices/ptx/cfg.hpp) has run.
Module parse_module(const std::string& text, const std::string& file);

}  // namespace assay::ptx
