// Coverage: what the counters of devices/coverage.hpp see. Edges are counted where blocks are
// entered (executor.cpp).
//
// The results of floating instructions are looked at in windows: the beginning of a run, then one
// instruction in kRest or so. What a run computes is much alike from warp to warp: a sample tells
// nearly as much as all, for a small part of the time.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "devices/ptx/cfg.hpp"
#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

constexpr int64_t kNever = INT64_MAX;
/// Warp instructions of the first window, and of the others.
constexpr int64_t kFirstWindow = 512, kWindow = 128;
/// Windows between two that are looked at: their mean; lengths vary so that they fall into no step
/// with loops.
constexpr int64_t kRest = 24;

/// ResultSeen of `count` numbers, given by the bits of the smallest normal one and of infinity.
template <class U>
uint8_t classes_of(const U* numbers, int count, U smallest, U infinity) {
  using S = std::make_signed_t<U>;
  constexpr U kMagnitude = static_cast<U>(~U{0}) >> 1;
  const S low = static_cast<S>(smallest), inf = static_cast<S>(infinity);
  const S large = static_cast<S>(inf - low);  // one binade is as many bit patterns as `smallest`
  // The sign bit of what is or-ed says that some number is none of the normal ones.
  S outside = 0;
  for (int i = 0; i < count; ++i) {
    const S a = static_cast<S>(numbers[i] & kMagnitude);
    outside |= static_cast<S>(a - low) | static_cast<S>(large - 1 - a);
  }
  if (outside >= 0) return kNormalResult;
  S zero = 0, subnormal = 0, normal = 0, largest = 0, infinite = 0, nan = 0;
  for (int i = 0; i < count; ++i) {
    const S a = static_cast<S>(numbers[i] & kMagnitude);
    zero |= a == 0;
    subnormal |= (a > 0) & (a < low);
    normal |= (a >= low) & (a < large);
    largest |= (a >= large) & (a < inf);
    infinite |= a == inf;
    nan |= a > inf;
  }
  return static_cast<uint8_t>((zero ? kZeroResult : 0) | (subnormal ? kSubnormalResult : 0) |
                              (normal ? kNormalResult : 0) | (largest ? kLargestResult : 0) |
                              (infinite ? kInfiniteResult : 0) | (nan ? kNanResult : 0));
}

/// The numbers of the active lanes: the row itself when all are. Others repeat one that is.
template <class U, int kParts>
uint8_t classes_of_row(const uint8_t* row, uint32_t mask, U smallest, U infinity) {
  constexpr int kCount = kLanes * kParts;
  if (mask == ~0u) {
    return classes_of(reinterpret_cast<const U*>(row), kCount, smallest, infinity);
  }
  U numbers[kCount];
  const int some = std::countr_zero(mask);
  for (int lane = 0; lane < kLanes; ++lane) {
    const int from = (mask >> lane) & 1 ? lane : some;
    std::memcpy(numbers + kParts * lane, row + sizeof(U) * kParts * from, sizeof(U) * kParts);
  }
  return classes_of(numbers, kCount, smallest, infinity);
}

constexpr uint16_t kSmallestHalf = 1u << 10, kInfiniteHalf = 0x7c00;
constexpr uint16_t kSmallestBfloat = 1u << 7, kInfiniteBfloat = 0x7f80;
constexpr uint32_t kSmallestFloat = 1u << 23, kInfiniteFloat = 0x7f800000;
constexpr uint64_t kSmallestDouble = uint64_t{1} << 52, kInfiniteDouble = uint64_t{0x7ff} << 52;

uint8_t classes(ResultFormat format, const uint8_t* row, uint32_t mask) {
  switch (format) {
    case ResultFormat::f16:
      return classes_of_row<uint16_t, 1>(row, mask, kSmallestHalf, kInfiniteHalf);
    case ResultFormat::f16x2:
      return classes_of_row<uint16_t, 2>(row, mask, kSmallestHalf, kInfiniteHalf);
    case ResultFormat::bf16:
      return classes_of_row<uint16_t, 1>(row, mask, kSmallestBfloat, kInfiniteBfloat);
    case ResultFormat::bf16x2:
      return classes_of_row<uint16_t, 2>(row, mask, kSmallestBfloat, kInfiniteBfloat);
    case ResultFormat::f32:
      return classes_of_row<uint32_t, 1>(row, mask, kSmallestFloat, kInfiniteFloat);
    case ResultFormat::f64:
      return classes_of_row<uint64_t, 1>(row, mask, kSmallestDouble, kInfiniteDouble);
    case ResultFormat::none:
      break;
  }
  return 0;
}

/// Entries of blocks from those of the edges that lead to them.
std::vector<uint32_t> count_blocks(const Module& module, const Coverage& seen) {
  std::vector<uint32_t> entries(static_cast<size_t>(module.block_count), 0);
  for (const Function& function : module.functions) {
    if (function.blocks.empty()) continue;
    const uint32_t* edges = seen.edges.data() + function.first_edge_id;
    uint32_t* blocks = entries.data() + function.first_block_id;
    blocks[0] += edges[0];
    for_edges(function, [&](int32_t edge, int32_t, int32_t to) { blocks[to] += edges[edge]; });
  }
  return entries;
}

/// Of the edges that lead back: the order in which a block of lower or equal order is entered.
std::vector<uint32_t> turns_of_loops(const Module& module, const std::vector<uint32_t>& by_edge) {
  std::vector<uint32_t> turns;
  for (const Function& function : module.functions) {
    if (function.blocks.empty()) continue;
    for_edges(function, [&](int32_t edge, int32_t from, int32_t to) {
      const auto order = [&](int32_t block) {
        return function.blocks[static_cast<size_t>(block)].order;
      };
      if (order(to) > order(from)) return;
      turns.push_back(by_edge[static_cast<size_t>(function.first_edge_id + edge)]);
    });
  }
  return turns;
}

/// The order of floating numbers as integers: the distance of two is how many lie between.
template <class S, class F>
S ordered(F number) {
  static_assert(sizeof(S) == sizeof(F));
  S bits;
  std::memcpy(&bits, &number, sizeof bits);
  return bits < 0 ? static_cast<S>(std::numeric_limits<S>::min() - bits) : bits;
}

/// The least distance of the lanes of `mask`.
template <class T>
uint64_t nearest_of(const uint8_t* a_row, const uint8_t* b_row, uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  const T* const a = reinterpret_cast<const T*>(a_row);
  const T* const b = reinterpret_cast<const T*>(b_row);
  U nearest = std::numeric_limits<U>::max();
  for (int lane = 0; lane < kLanes; ++lane) {
    const U difference = a[lane] < b[lane]
                             ? static_cast<U>(static_cast<U>(b[lane]) - static_cast<U>(a[lane]))
                             : static_cast<U>(static_cast<U>(a[lane]) - static_cast<U>(b[lane]));
    const U left_out = (mask >> lane) & 1 ? U{0} : std::numeric_limits<U>::max();
    nearest = std::min<U>(nearest, difference | left_out);
  }
  return nearest;
}

template <class S, class F>
uint64_t nearest_floats(const uint8_t* a_row, const uint8_t* b_row, uint32_t mask) {
  alignas(32) S a[kLanes], b[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    a[lane] = ordered<S>(reinterpret_cast<const F*>(a_row)[lane]);
    b[lane] = ordered<S>(reinterpret_cast<const F*>(b_row)[lane]);
  }
  return nearest_of<S>(reinterpret_cast<const uint8_t*>(a), reinterpret_cast<const uint8_t*>(b),
                       mask);
}

uint64_t nearest(CompareFormat format, const uint8_t* a, const uint8_t* b, uint32_t mask) {
  switch (format) {
    case CompareFormat::s16:
      return nearest_of<int16_t>(a, b, mask);
    case CompareFormat::u16:
      return nearest_of<uint16_t>(a, b, mask);
    case CompareFormat::s32:
      return nearest_of<int32_t>(a, b, mask);
    case CompareFormat::u32:
      return nearest_of<uint32_t>(a, b, mask);
    case CompareFormat::s64:
      return nearest_of<int64_t>(a, b, mask);
    case CompareFormat::u64:
      return nearest_of<uint64_t>(a, b, mask);
    case CompareFormat::f32:
      return nearest_floats<int32_t, float>(a, b, mask);
    case CompareFormat::f64:
      return nearest_floats<int64_t, double>(a, b, mask);
    case CompareFormat::none:
      break;
  }
  return UINT64_MAX;
}

}  // namespace

void Executor::begin_coverage(const Module& module) {
#ifndef ASSAY_WITHOUT_CHECKERS
  counting_ = options_.coverage || options_.barriers || options_.narrow;
#endif
  counted_.clear();
  count_in(module);
  access_seen_ = &no_access_;
  looking_ = options_.coverage;
  look_change_ = options_.coverage && !options_.every_result ? kFirstWindow : kNever;
  look_state_ = 1;
}

/// Counters of a module: those that it has already in this run, or new ones.
void Executor::count_in(const Module& module) {
  const auto at = std::find_if(counted_.begin(), counted_.end(),
                               [&](const Counted& c) { return c.module == &module; });
  if (at != counted_.end()) {
    seen_ = &at->seen;
    turns_ = at->turns.empty() ? nullptr : at->turns.data();
    return;
  }
  counted_.push_back({&module, {}, {}});
  seen_ = &counted_.back().seen;
  if (options_.coverage) {
    counted_.back().turns.assign(static_cast<size_t>(module.edge_count), 0);
    seen_->compares.assign(static_cast<size_t>(module.compare_count), {});
  }
  turns_ = counted_.back().turns.empty() ? nullptr : counted_.back().turns.data();
  seen_->edges.assign(static_cast<size_t>(module.edge_count), 0);
  seen_->accesses.assign(static_cast<size_t>(module.access_count), 0);
  seen_->results.assign(static_cast<size_t>(module.result_count), 0);
}

std::vector<Coverage> Executor::take_coverage() {
  std::vector<Coverage> all;
  if (!options_.coverage) return all;
  for (Counted& counted : counted_) {
    counted.seen.blocks = count_blocks(*counted.module, counted.seen);
    counted.seen.turns = turns_of_loops(*counted.module, counted.turns);
    counted.seen.constants = counted.module->constants;
    counted.seen.program = counted.module->digest;
    all.push_back(std::move(counted.seen));
  }
  counted_.clear();
  seen_ = nullptr;
  turns_ = nullptr;
  access_seen_ = &no_access_;
  return all;
}

std::vector<uint32_t> Executor::block_hits(const Module& module) const {
  const auto at = std::find_if(counted_.begin(), counted_.end(),
                               [&](const Counted& c) { return c.module == &module; });
  if (at != counted_.end()) return count_blocks(module, at->seen);
  return std::vector<uint32_t>(static_cast<size_t>(module.block_count), 0);
}

/// The window is over: the next one begins.
void Executor::change_look() {
  looking_ = !looking_;
  int64_t length = kWindow;
  if (!looking_) {
    // Any full-period generator serves: Numerical Recipes' constants.
    look_state_ = look_state_ * 1664525 + 1013904223;
    length *= kRest / 2 + static_cast<int64_t>((look_state_ >> 16) % kRest);
  }
  look_change_ = instructions_ + length;
}

/// Which share of the warp's lanes takes part in an access. `all`: lanes of the group.
void Executor::note_access(const MicroOp& op, uint32_t mask, uint32_t all) {
  if (op.counter < 0) {
    access_seen_ = &no_access_;
    return;
  }
  access_seen_ = &seen_->accesses[static_cast<size_t>(op.counter)];
  *access_seen_ |= mask == 0                            ? kNoLane
                   : mask == all && mask == warp_->live ? kAllLanes
                                                        : kSomeLanes;
}

/// An access of bytes on a page that holds an end of an operand. Those that lanes leave out lie
/// between the first and the last.
void Executor::note_ends(const Page& page, int64_t offset, int64_t bytes) {
  if ((page.ends & ~*access_seen_) == 0) return;
  const RegionSpec& spec = memory_->regions()[static_cast<size_t>(page.region)].spec;
  const int64_t first = static_cast<int64_t>((page.number << kPageBits) - spec.base) + offset;
  if (first == 0) *access_seen_ |= kFirstElement;
  const int64_t last = spec.operand_bytes - 1;
  if (first <= last && last < first + bytes) *access_seen_ |= kLastElement;
}

void Executor::note_result(const MicroOp& op, const uint8_t* row, uint32_t mask) {
  seen_->results[static_cast<size_t>(op.counter)] |= classes(op.result, row, mask);
}

/// `holds`: the lanes, of all, for which the comparison held.
void Executor::note_compare(const MicroOp& op, uint32_t holds, uint32_t mask) {
  CompareSeen& seen = seen_->compares[static_cast<size_t>(op.counter)];
  if ((holds & mask) != 0) seen.outcomes |= CompareSeen::kHeld;
  if ((~holds & mask) != 0) seen.outcomes |= CompareSeen::kDidNotHold;
  if (seen.nearest == 0) return;
  seen.nearest = std::min(seen.nearest, nearest(op.compared, row(op.a), row(op.b), mask));
}

}  // namespace assay::ptx
