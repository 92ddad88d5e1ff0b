// What the control flow of a program says of lanes that parted: whether some have gone past a place
// where others wait.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/ptx/code.hpp"

namespace assay::ptx {

/// Of one program: its graph, and the answers that were given.
class Joins {
 public:
  explicit Joins(const Code& code);

  /// Whether a lane at `there` can no longer come to `here`, though lanes at `here` will come to
  /// `there`: every way from `here` to the function's end leads through the block of `there`, none
  /// leads back, and more is done there than to return. Places are indices in Code::ops.
  bool passed(int32_t here, int32_t there);
  /// The blocks whose entry has passed `here`; at most kMostBehind of them.
  const std::vector<int32_t>& behind(int32_t here);
  /// How often a block was entered from others, by the counts of the module's edges (counters.hpp).
  uint32_t entries(int32_t block, const std::vector<uint32_t>& edges) const;

  static constexpr size_t kMostBehind = 8;

 private:
  struct Node {
    std::vector<int32_t> next;
    std::vector<int32_t> entered_by;  ///< counters of the edges that lead here
    int32_t last_work = -1;  ///< its last op that does more than to return or to go on
    bool ends = false;       ///< returns or exits
  };
  bool leads_through(int32_t from, int32_t to) const;
  bool reaches(int32_t from, int32_t to) const;

  std::vector<std::pair<int32_t, int32_t>> starts_;  ///< first op, block; in the order of ops
  std::vector<int32_t> block_of_;                    ///< by op
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, bool> answers_;  ///< (here << 32 | there), blocks
  std::vector<std::unique_ptr<const std::vector<int32_t>>>
      behind_;  ///< by block; null: not asked yet
};

}  // namespace assay::ptx
