// The race checker's shortcuts for lanes side by side and for lanes that repeat others: they find and
// remember what lanes one after the other do.
#include "devices/ptx/race_rows.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <tuple>
#include <vector>

#include "devices/ptx/races.hpp"
#include "devices/ptx/semantics.hpp"

namespace assay::ptx {
namespace {

using Told = std::tuple<RaceThread, RaceThread, bool, bool, uint64_t, int, uint32_t, uint32_t>;

class Listener : public RaceOwner {
 public:
  void race_found(const Race& r) override {
    told.emplace_back(r.earlier.thread, r.thread, r.earlier_writes, r.writes, r.address, r.bytes,
                      r.earlier.what, r.what);
  }
  void add_values(Race&, const RaceEvent&) override {}
  bool stores_what_is_there(const RaceEvent&, int) override { return false; }
  bool same_line(uint32_t, uint32_t) override { return false; }
  void stored_by_two_blocks(const RaceEvent&, int) override {}
  bool lanes_store_equal(const RaceEvent&, int, int) override { return false; }

  std::vector<Told> told;
};

constexpr int kWarps = 3;
constexpr int64_t kBytes = 4096;

/// An access whose lanes are a run, side by side or `period` of them repeated.
struct Step {
  int block = 0, warp = 0, bytes = 4;
  int barrier = -1;  ///< of this block, instead of an access
  bool shared = true, writes = false;
  uint64_t first = 0;
  LaneRun run;
  int period = 0;
  uint32_t site = 0;
};

std::vector<Step> random_steps(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return static_cast<int>(random() % n); };
  std::vector<Step> steps;
  for (int i = 0; i < 60; ++i) {
    Step s;
    s.block = below(2);
    s.warp = below(kWarps);
    if (below(4) == 0) s.barrier = s.block;
    s.shared = below(2) == 0;
    s.writes = below(3) == 0;
    s.bytes = 1 << below(5);
    s.first = static_cast<uint64_t>(below(6) * 16 + (below(8) == 0 ? s.bytes : 0));
    if (below(2) == 0) {
      s.run = {0, 32};
      s.period = below(2) == 0 ? 1 << below(5) : 0;
    } else {
      s.run.first = below(31);
      s.run.count = 1 + below(static_cast<uint32_t>(32 - s.run.first));
      s.period = s.run.count > 1 && below(3) == 0 ? 1 : 0;
    }
    s.site = static_cast<uint32_t>(i);
    steps.push_back(s);
  }
  return steps;
}

/// What is told when the checker knows how lanes lie (`shapes`), or takes one after the other.
std::vector<Told> told(const std::vector<Step>& steps, bool shapes, bool avx2) {
  Listener listener;
  Races races(listener, avx2);
  races.begin_launch();
  std::array<RaceBlock, 2> blocks;
  for (int b = 0; b < 2; ++b) EXPECT_TRUE(races.start_block(blocks[b], b, kWarps, kBytes));
  for (const Step& s : steps) {
    RaceBlock& block = blocks[static_cast<size_t>(s.block)];
    if (s.barrier >= 0) {
      races.barrier(block);
      continue;
    }
    uint64_t addresses[kRaceLanes] = {};
    RaceEvent event;
    for (int i = 0; i < s.run.count; ++i) {
      const int place = s.period != 0 ? i % s.period : i;
      addresses[s.run.first + i] = s.first + static_cast<uint64_t>(place * s.bytes);
      event.mask |= 1u << (s.run.first + i);
    }
    event.addresses = addresses;
    event.bytes = s.bytes;
    event.shared = s.shared;
    event.writes = s.writes;
    event.reads = !s.writes;
    event.what = s.site;
    if (shapes) {
      event.run = s.run;
      event.period = s.period;
    }
    RaceShadow* const shadow = s.shared ? &block.shared : races.page_shadow(1, kBytes);
    races.access(block, s.warp, event, *shadow, 0);
  }
  races.end_launch();
  return listener.told;
}

TEST(RaceRows, ShortcutsTellWhatLanesInTurnDo) {
  size_t most = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    const std::vector<Step> steps = random_steps(seed);
    const std::vector<Told> want = told(steps, false, false);
    most = std::max(most, want.size());
    for (const bool avx2 : {false, true}) {
      if (avx2 && !cpu_has_avx2()) continue;
      EXPECT_EQ(told(steps, true, avx2), want) << "seed " << seed << (avx2 ? ", AVX2" : "");
    }
  }
  EXPECT_GT(most, 10u);
}

}  // namespace
}  // namespace assay::ptx
