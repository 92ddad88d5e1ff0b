// How far a contract's sizes reach: what cases can have at most, and why no more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generators/case.hpp"

namespace assay {

/// The reach of one size that is given by limits (not by `in`).
struct SizeReach {
  std::string size;
  int64_t admitted = 0;  ///< the contract's `max`
  /// The largest with which a case resolves while the other sizes are least; less than `admitted`
  /// where a scalar cannot carry it. nullopt: relations between sizes leave it open.
  std::optional<int64_t> possible;
  const OperandSpec* limited_by = nullptr;  ///< the scalar that cannot carry more
};

/// One a size, in the contract's order. A few dozen resolved cases each; nothing runs.
std::vector<SizeReach> size_reaches(const Contract& contract);

/// "sizes n above 2147483647 can never run: scalar n is i32 (k.toml:12:3)"; one a size that a
/// scalar cuts; and limits of launches on which the search gave no answer.
std::vector<std::string> reach_notes(const Contract& contract);
/// Why the contract's `owns` never comes to bear, with the way out; "" where it does, or is absent.
std::string idle_ownership(const Contract& contract);

/// The elements of an operand with all of its sizes at their largest together; 0 where its shape
/// has no plain sizes or no such case resolves.
int64_t most_elements(const Contract& contract, const OperandSpec& operand);

}  // namespace assay
