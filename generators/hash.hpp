// The counter-based hash behind every generated value and every choice of the generators.
//
// The finaliser is that of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014; constants: Stafford's variant 13). Integer operations only, so the
// same bits come out on every machine, and any element can be made without its neighbours.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace assay {

inline constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;

constexpr uint64_t mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Hash of element `counter` in the stream `key`.
constexpr uint64_t counter_hash(uint64_t key, uint64_t counter) {
  return mix64(key + counter * kGoldenGamma);
}

/// A stream of its own for each (seed, tag).
constexpr uint64_t stream_key(uint64_t seed, uint64_t tag) {
  return mix64(mix64(seed + kGoldenGamma) ^ (tag + 1) * 0xd1342543de82ef95);
}

/// Uniform in [0, 1): the upper 53 bits.
constexpr double unit_real(uint64_t hash) { return static_cast<double>(hash >> 11) * 0x1p-53; }

/// A hash reduced to [0, bound) by the high half of the product (Lemire, "Fast random integer
/// generation in an interval", 2019, without the rejection: bounds here are far below 2^64).
constexpr uint64_t reduced(uint64_t hash, uint64_t bound) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * bound) >> 64);
}

/// A sequence of choices; the counter is the only state.
class Random {
 public:
  explicit Random(uint64_t seed) : key_(stream_key(seed, 0)) {}
  uint64_t next() { return counter_hash(key_, ++counter_); }
  /// Uniform in [0, bound), bound >= 1.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(reduced(next(), static_cast<uint64_t>(bound)));
  }
  /// Uniform in [low, high].
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(double probability) { return unit_real(next()) < probability; }
  template <typename Container>
  const auto& pick(const Container& items) {
    return *(items.begin() + below(static_cast<int64_t>(items.size())));
  }
  template <typename T>
  T pick(std::initializer_list<T> items) {
    return *(items.begin() + below(static_cast<int64_t>(items.size())));
  }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
};

}  // namespace assay
