// Sums that are kept narrower than they should be, found in the text of a function: an addition
// whose result, rounded to a narrow format, is added to again. docs/checkers.md, "Narrow
// accumulation".
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "devices/ptx/data_flow.hpp"

namespace assay::ptx {

/// What brings a narrow sum back to an addition.
enum class NarrowFeed : uint8_t {
  loop,      ///< a register that lives around a loop
  shuffle,   ///< three additions or more, a shuffle between each two
  unrolled,  ///< three additions or more from one place of the source, one after the other
  products,  ///< two matrix products or more, each the other's C
  memory,    ///< stored to shared or local memory, and loaded again: told only when that happens
  atomic,  ///< an atomic addition to narrow memory, or a loop of compare-and-swap around one: told
           ///< only when one place gets several
};

/// Instructions by their index in Function::code; -1: there is none.
struct NarrowChain {
  NarrowFeed feed{};
  int32_t add = -1;       ///< what adds
  int32_t rounding = -1;  ///< the cvt that narrows, when it is not the addition itself
  Type narrow = Type::none;
  int32_t back = -1;  ///< loop: the branch back; shuffle: it; unrolled and products: the addition
                      ///< before; memory: the store; atomic: the cas
  int32_t load = -1;  ///< memory: that of the sum
  /// loop: its first and last block, and those of the smallest loop around the whole cycle.
  std::array<std::pair<int32_t, int32_t>, 2> loops{{{-1, -1}, {-1, -1}}};
  /// memory: both operands of the addition come out of that memory, as in a tree of halves.
  bool tree = false;
};

/// Significand bits of a floating type, packed or not, the implicit one included; 0 for others.
int precision_of(Type type);

/// Whether the function has any arithmetic narrower than `precision` bits: a quick look.
bool may_narrow(const Function& function, int precision);
/// Chains narrower than `precision` bits. One an addition and kind of feed.
std::vector<NarrowChain> find_narrow_chains(const DataFlow& flow, int precision);

/// Whether some warp went around a loop: its first block was entered more often than the blocks
/// before it. `entries` tells how often a block was entered.
bool went_around(const Function& function, std::pair<int32_t, int32_t> loop,
                 const std::function<int64_t(int32_t)>& entries);

/// Whether two instructions come from one place: file, line and column, and those of every call
/// that was inlined.
bool same_place(const Function& function, int32_t a, int32_t b);

/// The first store or atomic to global memory that a result flows into and that `ran` admits,
/// through registers, shared and local memory; -1: none.
int32_t reached_store(const DataFlow& flow, int32_t from, const std::function<bool(int32_t)>& ran);

}  // namespace assay::ptx
