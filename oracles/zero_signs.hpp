// The sign of a zero that a maximum or minimum gives, where the policy says that -0 is less than +0
// (`zero_order = "signed"`; rule R9).
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "oracles/evaluate.hpp"
#include "oracles/graph.hpp"

namespace assay {

/// Signs that a zero may have, as bits; both: not known.
inline constexpr uint8_t kPlusZero = 1, kMinusZero = 2;
inline constexpr uint8_t kAnyZero = kPlusZero | kMinusZero;

/// Which signs the elements of a formula's result may have where they are 0. They are known of what
/// a maximum or minimum chooses among operands, numbers and absolute values, by way of conditions
/// and conversions; arithmetic on the way leaves both open, and so does a result that no maximum or
/// minimum has chosen.
class ZeroSigns {
 public:
  ZeroSigns(const Graph& graph, RowEvaluator& rows, const Chunk& chunk)
      : graph_(graph), rows_(rows), chunk_(chunk) {}

  /// By element of the node's array in the chunk; right where the element is 0 alone.
  const std::vector<uint8_t>& of(int node) { return signs(node, false); }

 private:
  /// `compared`: on the way to a maximum or minimum.
  const std::vector<uint8_t>& signs(int id, bool compared);
  void load(int id, std::vector<uint8_t>& out);
  void choose(const Node& node, bool compared, std::vector<uint8_t>& out);
  void extremum(const Node& node, std::vector<uint8_t>& out);
  Grid grid(int id) const { return grid_of(graph_.nodes[static_cast<size_t>(id)].dims, chunk_); }

  const Graph& graph_;
  RowEvaluator& rows_;
  const Chunk& chunk_;
  std::map<std::pair<int, bool>, std::vector<uint8_t>> signs_;
};

}  // namespace assay
