// Where the coverage counters of a module belong in the user's source.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "devices/ptx/module.hpp"

namespace assay::ptx {

/// A line of the user's own text: the one that inlined them, for headers of the toolkit.
struct SourcePlace {
  std::string file;  ///< as the line table names it; "" without one
  int line = 0;      ///< of the file; of the PTX text where `file` is ""
  auto operator<=>(const SourcePlace&) const = default;
};

/// No place: the compiler gave the instruction no line.
inline constexpr int kNoPlace = -1;
/// No place: the counter belongs to a function that the entries cannot reach.
inline constexpr int kUnreachable = -2;

/// Each list goes by the numbers of counters.hpp.
struct CoverageMap {
  struct Block {
    bool reachable = false;
    std::vector<int> places;  ///< of its instructions, each once
  };
  struct Access {
    int place = kUnreachable;
    bool guarded = false;      ///< otherwise it cannot happen that no lane takes part
    bool may_be_operand = false;  ///< global or generic: it may touch an operand
  };
  std::vector<SourcePlace> places;
  std::vector<Block> blocks;
  std::vector<int> edges;  ///< place of the last instruction before the edge; of an entry kNoPlace
  std::vector<Access> accesses;
  std::vector<int> results;
};

/// `entries`: names of the kernels that are launched; they and what they call are mapped.
CoverageMap map_coverage(const Module& module, const std::set<std::string>& entries);

}  // namespace assay::ptx
