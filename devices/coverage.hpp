// What a run showed inside the kernel, as counters that are zero where nothing was seen. They steer
// the fuzzer; devices/ptx/coverage_map.hpp says which source line each one belongs to.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay {

/// Bits of Coverage::accesses.
enum AccessSeen : uint8_t {
  kNoLane = 1,         ///< its guard let no lane through
  kSomeLanes = 2,      ///< some of the lanes of the warp that have not exited
  kAllLanes = 4,       ///< all of them
  kFirstElement = 8,   ///< it touched the first byte of an operand
  kLastElement = 16,   ///< the last one
};

/// Bits of Coverage::results: classes of the format that the instruction writes.
enum ResultSeen : uint8_t {
  kZeroResult = 1,
  kSubnormalResult = 2,
  kNormalResult = 4,  ///< below the largest binade
  kLargestResult = 8, ///< finite, in the largest binade: twice it overflows
  kInfiniteResult = 16,
  kNanResult = 32,
};

/// What a comparison (setp of numbers) told apart. Compilers turn short branches into selections and
/// guards: what decides those is no edge.
struct CompareSeen {
  static constexpr uint8_t kHeld = 1, kDidNotHold = 2;
  uint8_t outcomes = 0;  ///< of those two, over all lanes
  /// How near the two numbers came to each other: their distance, of floating ones counted in
  /// numbers of the type that lie between.
  uint64_t nearest = UINT64_MAX;
  bool operator==(const CompareSeen&) const = default;
};

/// Of one decoded program. A launch's functions are numbered together, as devices/ptx/counters.hpp
/// says.
struct Coverage {
  std::string program;            ///< digest of the decoded module
  std::vector<uint32_t> blocks;   ///< PTX basic blocks: how often a group of lanes entered
  std::vector<uint32_t> edges;    ///< the same by the way that led there
  std::vector<uint8_t> accesses;  ///< memory instructions: AccessSeen
  std::vector<uint8_t> results;   ///< floating instructions: ResultSeen
  std::vector<CompareSeen> compares;
  /// Of each edge back to the head of a loop: how often at most a group of lanes took it in a row,
  /// with no other loop's in between.
  std::vector<uint32_t> turns;
  /// Numbers that the program compares or divides by, ascending: where it may change its way.
  std::shared_ptr<const std::vector<int64_t>> constants;
};

}  // namespace assay
