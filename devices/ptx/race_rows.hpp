// What the race checker does with a row of cells at once: the access of lanes of a warp that lie
// one behind the other. In two builds, as devices/ptx/row_kit.hpp.
#pragma once

#include <cstddef>

#include "devices/ptx/race_shadow.hpp"

namespace assay::ptx {

/// Which cells need no second look.
struct RaceFloors {
  RaceTime all = 0;    ///< accesses before it are ordered, whoever made them
  RaceTime block = 0;  ///< those of threads of the block
  RaceTime warp = 0;   ///< those of lanes of the warp
};

struct RaceRows {
  /// Records the access of `lanes` lanes from `first` on, 1 << log2 cells each, in cells from `at`
  /// on. False, and nothing is done: some earlier access needs a second look.
  bool (*read)(RaceShadow& shadow, size_t at, int log2, int lanes, const RaceFloors& floors,
               RaceAccess first);
  bool (*write)(RaceShadow& shadow, size_t at, int log2, int lanes, const RaceFloors& floors,
                RaceAccess first);
};

const RaceRows& race_rows(bool avx2);

}  // namespace assay::ptx
