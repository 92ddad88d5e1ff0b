#include "devices/ptx/race_rows.hpp"

namespace assay::ptx {

namespace {

#define ASSAY_INLINE inline __attribute__((always_inline))

/// Not zero: an access that its own thread, `mine` of lane 0, did not make and that nothing orders.
/// `log2`, and `n` cells where the whole warp has them, are constants where this is inlined; bits
/// of `many`, which say several readers, are none of one thread's.
ASSAY_INLINE uint32_t unordered(const uint32_t* times, const uint32_t* threads,
                                const uint32_t* whats, uint32_t n, int log2,
                                const RaceFloors& floors, uint32_t mine) {
  uint32_t any = 0;
  for (uint32_t i = 0; i < n; ++i) {
    const uint32_t time = times[i];
    const uint32_t from = threads[i] ^ mine;  // 0 above bit 5: of this warp; above bit 10: block
    const uint32_t several = whats[i] >> RaceAccess::kManyShift;
    uint32_t late = static_cast<uint32_t>(time >= floors.all);
    late &= static_cast<uint32_t>(threads[i] != mine + (i >> log2)) |
            static_cast<uint32_t>(several != 0);
    late &= static_cast<uint32_t>((from >> kBlockBits) != 0) |
            static_cast<uint32_t>(time >= floors.block) |
            static_cast<uint32_t>(several > RaceAccess::block);
    late &= static_cast<uint32_t>((from >> 5) != 0) | static_cast<uint32_t>(time >= floors.warp) |
            static_cast<uint32_t>(several > RaceAccess::warp);
    any |= late;
  }
  return any;
}

ASSAY_INLINE bool clear(RaceShadow& shadow, size_t at, uint32_t n, int log2,
                        const RaceFloors& floors, uint32_t mine) {
  uint32_t any = 0;
  for (const auto first : {RaceShadow::write_time, RaceShadow::read_time}) {
    const auto part = [&](int k) {
      return shadow.column(static_cast<RaceShadow::Column>(first + k)) + at;
    };
    any |= unordered(part(0), part(1), part(2), n, log2, floors, mine);
  }
  return any == 0;
}

ASSAY_INLINE void record(RaceShadow& shadow, RaceShadow::Column first, size_t at, uint32_t n,
                         int log2, const RaceAccess& access) {
  const auto part = [&](int k) {
    return shadow.column(static_cast<RaceShadow::Column>(first + k)) + at;
  };
  uint32_t *const times = part(0), *const threads = part(1), *const whats = part(2);
  for (uint32_t i = 0; i < n; ++i) times[i] = access.time;
  for (uint32_t i = 0; i < n; ++i) threads[i] = access.thread + (i >> log2);
  for (uint32_t i = 0; i < n; ++i) whats[i] = access.what;
}

ASSAY_INLINE bool cells(RaceShadow& shadow, size_t at, uint32_t n, int log2,
                        const RaceFloors& floors, const RaceAccess& access, bool writes) {
  if (!clear(shadow, at, n, log2, floors, access.thread)) return false;
  record(shadow, writes ? RaceShadow::write_time : RaceShadow::read_time, at, n, log2, access);
  if (!writes) return true;
  uint32_t* const read = shadow.column(RaceShadow::read_time) + at;
  for (uint32_t i = 0; i < n; ++i) read[i] = 0;
  return true;
}

ASSAY_INLINE bool row(RaceShadow& shadow, size_t at, int log2, int lanes,
                      const RaceFloors& floors, const RaceAccess& access, bool writes) {
  if (lanes == 32) return cells(shadow, at, 32u << log2, log2, floors, access, writes);
  const uint32_t n = static_cast<uint32_t>(lanes) << log2;
  return cells(shadow, at, n, log2, floors, access, writes);
}

/// The cells of a lane as a constant, for loops of fixed length.
ASSAY_INLINE bool any_row(RaceShadow& shadow, size_t at, int log2, int lanes,
                          const RaceFloors& floors, const RaceAccess& access, bool writes) {
  switch (log2) {
    case 0:
      return row(shadow, at, 0, lanes, floors, access, writes);
    case 1:
      return row(shadow, at, 1, lanes, floors, access, writes);
    case 2:
      return row(shadow, at, 2, lanes, floors, access, writes);
    case 3:
      return row(shadow, at, 3, lanes, floors, access, writes);
    default:
      return false;
  }
}

bool read(RaceShadow& s, size_t at, int log2, int lanes, const RaceFloors& floors,
          RaceAccess first) {
  return any_row(s, at, log2, lanes, floors, first, false);
}
bool write(RaceShadow& s, size_t at, int log2, int lanes, const RaceFloors& floors,
           RaceAccess first) {
  return any_row(s, at, log2, lanes, floors, first, true);
}

#define ASSAY_AVX2 __attribute__((target("avx2")))

ASSAY_AVX2 bool read_avx2(RaceShadow& s, size_t at, int log2, int lanes, const RaceFloors& floors,
                          RaceAccess first) {
  return any_row(s, at, log2, lanes, floors, first, false);
}
ASSAY_AVX2 bool write_avx2(RaceShadow& s, size_t at, int log2, int lanes, const RaceFloors& floors,
                           RaceAccess first) {
  return any_row(s, at, log2, lanes, floors, first, true);
}

constexpr RaceRows kPlain = {read, write};
constexpr RaceRows kAvx2 = {read_avx2, write_avx2};

}  // namespace

const RaceRows& race_rows(bool avx2) { return avx2 ? kAvx2 : kPlain; }

}  // namespace assay::ptx
