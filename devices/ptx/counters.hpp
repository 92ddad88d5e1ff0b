// Which parts of a module have coverage counters, and how they are numbered: functions in the order
// of the text, in each its blocks, memory instructions, floating instructions and comparisons in
// the order of the text. The edges of a function are its entry (by a launch or a call), then those
// out of each block in the order of successors_of (cfg.hpp).
#pragma once

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// Loads, stores, atomics, and the instructions that copy between memories or move matrices;
/// parameters aside.
bool accesses_memory(const Instruction& instruction);

/// Format of the numbers that a floating instruction writes to registers; none for all others and
/// for those that only move numbers (mov, selp, loads, shuffles).
enum class ResultFormat : uint8_t { none, f16, bf16, f16x2, bf16x2, f32, f64 };
ResultFormat result_format(const Instruction& instruction);

/// Type of the two numbers that an instruction compares; none for what is no comparison of numbers,
/// and for those of halves.
enum class CompareFormat : uint8_t { none, s16, u16, s32, u32, s64, u64, f32, f64 };
CompareFormat compare_format(const Instruction& instruction);

/// Sizes at which a module may change its way: integers that it compares with, divides by, or
/// masks with (2^k - 1 keeps the rest of a division by 2^k). Ascending, each once, at least 2.
std::vector<int64_t> notable_constants(const Module& module);

/// Numbers the counters of a module whose functions have their blocks.
void number_counters(Module& module);

}  // namespace assay::ptx
