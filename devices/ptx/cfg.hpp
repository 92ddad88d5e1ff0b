// Basic blocks, their order and back edges.
#pragma once

#include <cstdint>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// Whether control may go on behind the instruction: not after an unconditional bra, brx, ret, exit
/// or trap.
bool falls_through(const Instruction& instruction);

/// Where control may go behind a block: on, then where its last instruction may jump.
std::vector<int32_t> successors_of(const Function& function, const BasicBlock& block);

/// Calls visit(edge, from, to) for each way from block to block; `edge` counts within the function.
template <class Visit>
void for_edges(const Function& function, Visit visit) {
  for (size_t from = 0; from < function.blocks.size(); ++from) {
    const BasicBlock& block = function.blocks[from];
    int32_t edge = block.first_edge;
    const auto tell = [&](int32_t to) { visit(edge++, static_cast<int32_t>(from), to); };
    for (const int32_t to : block.successors) {
      if (to >= 0) tell(to);
    }
    for (const int32_t to : function.code[static_cast<size_t>(block.last) - 1].targets) tell(to);
  }
}

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
