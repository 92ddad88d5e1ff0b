// `live = "any(page == table[B, token / BS] && slot == token % BS && token < lens[B], B, token)"`:
// an element of k[page, slot, ...] is used where some B and token name it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// The parts of a `live` that begins with `any`. Pointers into the contract's expressions.
struct LiveSomewhere {
  struct Address {
    size_t axis;        ///< of the operand's shape
    const Expr* value;  ///< what its index equals, over the dimensions of `over`
  };
  std::vector<std::string> over;         ///< dimensions or sizes, one loop each
  std::vector<Address> addresses;        ///< at least one
  std::vector<const Expr*> conditions;   ///< the rest of the conjunction, over `over` too
};

/// nullopt: the operand's `live` is none of this form, or it has none. Throws InputError where an
/// `any` does not have it: a conjunction, of which each part is either an equality between one of
/// the operand's dimensions and something that mentions none of them, or mentions none.
std::optional<LiveSomewhere> live_somewhere(const OperandSpec& operand);

}  // namespace assay
