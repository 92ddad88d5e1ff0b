// What a run showed inside the kernel, as counters that are zero where nothing was seen. They steer
// the fuzzer; devices/ptx/coverage_map.hpp says which source line each one belongs to.
#pragma once

#include <cstdint>
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

/// Of one decoded program. A launch's functions are numbered together, as devices/ptx/counters.hpp
/// says.
struct Coverage {
  std::string program;            ///< digest of the decoded module
  std::vector<uint32_t> blocks;   ///< PTX basic blocks: how often a group of lanes entered
  std::vector<uint32_t> edges;    ///< the same by the way that led there
  std::vector<uint8_t> accesses;  ///< memory instructions: AccessSeen
  std::vector<uint8_t> results;   ///< floating instructions: ResultSeen
};

}  // namespace assay
