// Undefined values that several lanes make or share: shuffles, votes, bar.red.
#include <bit>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

/// The undefined bits of a shuffle's result: those of the lane that is read, `given`; all where it
/// is `absent`, the one `asked` for, or where the choice is undefined.
void Executor::shuffle_undefined(const MicroOp& op, uint32_t mask, const int* sources,
                                 const UndefinedLanes& given, const UndefinedSources& chooser,
                                 uint32_t absent, const int* asked) {
  if (op.fd == 0 || !options_.definedness) return;
  const uint32_t whole = absent | chooser.lanes();
  for_lanes(mask & ~whole, [&](int lane) {
    const uint64_t bits = given.bits[static_cast<size_t>(sources[lane])];
    if (bits == 0) return;
    std::memcpy(undefined_row(op.fd, op.d, 4) + 4 * lane, &bits, 4);
    trail_at(op.fd, lane) = given.trails[static_cast<size_t>(sources[lane])];
  });
  mark_undefined(op.fd, op.d, 4, whole);
  for_lanes(absent, [&](int lane) {
    Trail& trail = trail_at(op.fd, lane);
    trail = new_trail(Trail::Source::absent_lane, op.site, lane);
    trail.place = static_cast<uint64_t>(asked[lane]);
    if ((warp_->live >> asked[lane] & 1) == 0) trail.place |= kExitedLane;
  });
  hand_on(op, op.fd, chooser.lanes() & ~absent, chooser);
}

/// Undefined bits of a participant's lanes, and their trails through the instruction.
void Executor::gather_undefined(const MicroOp& op, uint32_t flag, Slot slot, int width,
                                uint32_t mask, UndefinedLanes& lanes) {
  const uint32_t undefined = undefined_lanes(flag, slot, width, mask);
  if (undefined == 0) return;
  lanes.mask |= undefined;
  lanes.trails.resize(kLanes);
  for_lanes(undefined, [&](int lane) {
    std::memcpy(&lanes.bits[static_cast<size_t>(lane)], warp_->undefined + slot + lane * width,
                static_cast<size_t>(width));
    lanes.trails[static_cast<size_t>(lane)] = trail_through(op, flag, lane);
  });
}

/// One lane's part of a result that several lanes made; `made_of` holds what is undefined of them.
void Executor::set_collective(const MicroOp& op, int lane, uint32_t value, uint32_t undefined,
                              const UndefinedLanes& made_of) {
  if (op.d == kNoSlot) return;
  std::memcpy(frame_row(op.d) + 4 * lane, &value, 4);
  result_defined(op.fd, op.d, 4, 1u << lane);
  if (undefined == 0 || op.fd == 0) return;
  std::memcpy(undefined_row(op.fd, op.d, 4) + 4 * lane, &undefined, 4);
  trail_at(op.fd, lane) = made_of.trails[static_cast<size_t>(std::countr_zero(made_of.mask))];
}

void Executor::set_collective_predicate(const MicroOp& op, bool value, uint32_t mask,
                                        bool undefined, const UndefinedLanes& made_of) {
  if (op.p1 == kNoSlot) return;
  set_result_predicate(op, value ? ~0u : 0u, mask, undefined ? mask : 0);
  if (!undefined) return;
  for_lanes(mask, [&](int lane) {
    trail_at(op.fp1, lane) = made_of.trails[static_cast<size_t>(std::countr_zero(made_of.mask))];
  });
}

/// What bar.red tells each lane of `mask`.
void Executor::set_reduction(const MicroOp& op, BarKind kind, uint32_t mask,
                             const BarrierState& done) {
  UndefinedLanes unsure;
  if (done.undefined != 0) {
    unsure.mask = 1;
    unsure.trails.assign(1, done.trail);
  }
  const uint32_t most = done.surely + done.undefined;
  if (kind == BarKind::red_popc) {
    // Bits above the highest one in which the least and the greatest count differ are defined.
    const uint32_t open = std::bit_ceil((done.surely ^ most) + 1) - 1;
    for_lanes(mask, [&](int lane) { set_collective(op, lane, done.popc, open, unsure); });
    return;
  }
  const bool is_and = kind == BarKind::red_and;
  const bool truth = is_and ? done.popc == done.participants : done.popc != 0;
  const bool decided = is_and ? most < done.participants : done.surely != 0;
  set_collective_predicate(op, truth, mask, done.undefined != 0 && !decided, unsure);
}

}  // namespace assay::ptx
