#include "devices/ptx/stillness.hpp"

#include <algorithm>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// The groups of a warp in the order of their lanes: the order in the warp's own list means
/// nothing.
std::vector<const Group*> groups_of(const WarpState& warp) {
  std::vector<const Group*> groups;
  for (const Group& g : warp.groups) groups.push_back(&g);
  std::sort(groups.begin(), groups.end(),
            [](const Group* a, const Group* b) { return a->mask < b->mask; });
  return groups;
}

/// All that a warp's next steps depend on but registers and memory. Epochs and counted back edges
/// choose an order of groups, and no order is presumed.
std::vector<int32_t> places_of(const WarpState& warp) {
  std::vector<int32_t> places{static_cast<int32_t>(warp.live), static_cast<int32_t>(warp.carry)};
  for (const Group* g : groups_of(warp)) {
    places.insert(places.end(),
                  {static_cast<int32_t>(g->mask), g->pc, static_cast<int32_t>(g->wait),
                   static_cast<int32_t>(g->wait_mask), static_cast<int32_t>(g->stack.size())});
    places.insert(places.end(), g->stack.begin(), g->stack.end());
  }
  return places;
}

/// Groups that can run, with how often each was passed over.
std::vector<std::pair<uint32_t, uint32_t>> epochs_of(const WarpState& warp) {
  std::vector<std::pair<uint32_t, uint32_t>> epochs;
  for (const Group* g : groups_of(warp)) {
    if (g->wait == Wait::none) epochs.emplace_back(g->mask, g->epoch);
  }
  return epochs;
}

bool equal(const BarrierState& a, const BarrierState& b) {
  return a.wanted == b.wanted && a.arrived_threads == b.arrived_threads && a.popc == b.popc &&
         a.participants == b.participants;
}

}  // namespace

Stillness::Stillness() = default;
Stillness::~Stillness() = default;

void Stillness::restart() {
  watching_ = false;
  rounds_ = 0;
  next_ = 1;
}

bool Stillness::recurs(const WarpState& warp, const WarpPicture& then) const {
  if (places_of(warp) != then.places) return false;
  // A warp with one group that can run has run it. Of several, each must have had its turn.
  const auto now = epochs_of(warp);
  for (size_t i = 0; i < now.size() && now.size() > 1; ++i) {
    if (now[i].second == then.epochs[i].second) return false;
  }
  return std::memcmp(warp.frame, then.frame.data(), then.frame.size()) == 0;
}

bool Stillness::after_round(const std::deque<std::unique_ptr<BlockState>>& blocks,
                            int64_t frame_bytes) {
  ++rounds_;
  if (watching_) {
    const bool at_once = releases_ != releases_then_;
    bool all = true;
    for (size_t b = 0; b < blocks.size(); ++b) {
      const BlockState& block = *blocks[b];
      BlockPicture& then = pictures_[b];
      all &= block.barrier_masks == then.barrier_masks &&
             std::equal(block.barriers.begin(), block.barriers.end(), then.barriers.begin(), equal);
      for (size_t w = 0; w < block.warps.size(); ++w) {
        WarpPicture& picture = then.warps[w];
        if (picture.recurred && !at_once) continue;
        picture.recurred = recurs(*block.warps[w], picture);
        all &= picture.recurred;
      }
    }
    if (all) return true;
  }
  if (rounds_ < next_) return false;
  next_ *= 2;
  take(blocks, frame_bytes);
  watching_ = true;
  return false;
}

void Stillness::take(const std::deque<std::unique_ptr<BlockState>>& blocks, int64_t frame_bytes) {
  releases_then_ = releases_;
  pictures_.resize(blocks.size());
  for (size_t b = 0; b < blocks.size(); ++b) {
    const BlockState& block = *blocks[b];
    BlockPicture& picture = pictures_[b];
    picture.barriers.assign(block.barriers.begin(), block.barriers.end());
    picture.barrier_masks = block.barrier_masks;
    picture.warps.resize(block.warps.size());
    for (size_t w = 0; w < block.warps.size(); ++w) {
      const WarpState& warp = *block.warps[w];
      picture.warps[w] = {places_of(warp), {warp.frame, warp.frame + frame_bytes}, epochs_of(warp),
                          false};
    }
  }
}

}  // namespace assay::ptx
