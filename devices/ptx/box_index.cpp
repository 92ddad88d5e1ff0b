#include "devices/ptx/box_index.hpp"

#include <algorithm>
#include <set>

namespace assay::ptx {

BoxIndex::BoxIndex(std::vector<Box> boxes) : boxes_(std::move(boxes)) {
  if (boxes_.empty() || boxes_[0].ranges.empty()) return;
  size_t most = 0;
  for (size_t d = 0; d < boxes_[0].ranges.size(); ++d) {
    std::set<int64_t> begins;
    for (const Box& box : boxes_) begins.insert(box.ranges[d].first);
    if (begins.size() <= most) continue;
    most = begins.size();
    axis_ = d;
  }
  std::sort(boxes_.begin(), boxes_.end(),
            [this](const Box& a, const Box& b) { return a.ranges[axis_] < b.ranges[axis_]; });
  int64_t end = INT64_MIN;
  for (const Box& box : boxes_) {
    end = std::max(end, box.ranges[axis_].second);
    ends_.push_back(end);
  }
}

bool BoxIndex::contains(const std::vector<int64_t>& at) {
  if (boxes_.empty()) return false;
  if (boxes_[last_].holds(at)) return true;
  if (at.empty()) return false;
  const auto after = std::partition_point(boxes_.begin(), boxes_.end(), [&](const Box& box) {
    return box.ranges[axis_].first <= at[axis_];
  });
  for (auto i = static_cast<size_t>(after - boxes_.begin()); i-- > 0 && ends_[i] > at[axis_];) {
    if (!boxes_[i].holds(at)) continue;
    last_ = i;
    return true;
  }
  return false;
}

}  // namespace assay::ptx
