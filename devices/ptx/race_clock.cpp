#include "devices/ptx/race_clock.hpp"

#include <algorithm>

namespace assay::ptx {

namespace {

/// Bounds that a clock may hold: beyond it, joins would cost more than what they find.
constexpr size_t kMostBounds = 256;

}  // namespace

bool RaceClock::knows(RaceThread thread, RaceTime time) const {
  if (time < all_) return true;
  if (time >= latest_) return false;
  const auto within = [&](uint64_t kind, uint32_t id) {
    const uint64_t key = kind << 32 | id;
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), std::pair{key, RaceTime{0}});
    return at != bounds_.end() && at->first == key && time < at->second;
  };
  return within(2, thread >> kBlockBits) || within(1, thread >> 5) || within(0, thread);
}

void RaceClock::add(uint64_t kind, uint32_t id, RaceTime bound) {
  latest_ = std::max(latest_, bound);
  const uint64_t key = kind << 32 | id;
  const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), std::pair{key, RaceTime{0}});
  if (at != bounds_.end() && at->first == key) {
    at->second = std::max(at->second, bound);
  } else {
    bounds_.insert(at, {key, bound});
  }
}

void RaceClock::join(const RaceClock& other, RaceTime now) {
  std::vector<std::pair<uint64_t, RaceTime>> joined;
  joined.reserve(bounds_.size() + other.bounds_.size());
  auto a = bounds_.begin();
  auto b = other.bounds_.begin();
  while (a != bounds_.end() || b != other.bounds_.end()) {
    if (b == other.bounds_.end() || (a != bounds_.end() && a->first < b->first)) {
      joined.push_back(*a++);
    } else if (a == bounds_.end() || b->first < a->first) {
      joined.push_back(*b++);
    } else {
      joined.push_back({a->first, std::max(a->second, b->second)});
      ++a;
      ++b;
    }
  }
  bounds_ = std::move(joined);
  all_ = std::max(all_, other.all_);
  latest_ = std::max(latest_, other.latest_);
  if (bounds_.size() > kMostBounds) {
    bounds_.clear();
    all_ = latest_ = now;
  }
}

ClockPointer join(const ClockPointer& a, const ClockPointer& b, RaceTime now) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  auto joined = std::make_shared<RaceClock>(*a);
  joined->join(*b, now);
  return joined;
}

}  // namespace assay::ptx
