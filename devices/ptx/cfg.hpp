// Basic blocks, their order and back edges.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// Whether control may go on behind the instruction: not after an unconditional bra, brx, ret, exit
/// or trap.
bool falls_through(const Instruction& instruction);

/// Splits the code of a parsed function into blocks and turns branch targets from instruction
/// numbers into block numbers. Orders the blocks in reverse post-order with the blocks of each loop
/// in a row, so that lanes that leave a loop wait behind it; blocks that control does not reach
/// come last, in the order of the text.
void build_blocks(Function& function);

/// Blocks that control may enter from a block of a function whose blocks are built.
std::vector<int32_t> successors_of(const Function& function, const BasicBlock& block);

/// Nodes that each node has an edge to.
using Graph = std::vector<std::vector<int32_t>>;
/// Strongly connected components, in reverse topological order.
std::vector<std::vector<int32_t>> strongly_connected(const Graph& graph);

}  // namespace assay::ptx
