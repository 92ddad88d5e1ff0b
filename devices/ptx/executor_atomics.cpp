// Atomic operations, lane by lane in order, and the exact values that shared and local memory keep.
#include <bit>
#include <cstring>

#include "devices/ptx/atomics.hpp"
#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// The lanes of a mask: ascending without a seed, otherwise begun at some lane and in steps of an
/// odd number, which seed and time choose.
class LaneOrder {
 public:
  LaneOrder(uint64_t seed, int64_t time, uint32_t mask) : left_(mask) {
    if (seed == 0) return;
    // SplitMix64's finaliser (Steele, Lea and Flood, 2014).
    uint64_t z = seed + static_cast<uint64_t>(time) * 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    step_ = static_cast<uint32_t>(z >> 32) | 1;
    lane_ = static_cast<uint32_t>(z) % kLanes;
  }
  int next() {
    while ((left_ >> lane_ & 1) == 0) lane_ = (lane_ + step_) % kLanes;
    left_ &= ~(1u << lane_);
    return static_cast<int>(lane_);
  }

 private:
  uint32_t left_;
  uint32_t lane_ = 0;
  uint32_t step_ = 1;
};

}  // namespace

void Executor::atomic(const MicroOp& op, uint32_t mask) {
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, mask);
  // Lanes take their turns: they count as instructions of their own, here as in hardware, so that
  // warps that spin use up their slices and the budget in the time of others.
  instructions_ += std::popcount(mask);
  const Site& site = code_->sites[op.site];
  const Instruction& ins = *site.instruction;
  const int bytes = site.element_bytes;
  while (mask != 0) {
    Space space;
    const uint32_t same = split_spaces(op, mask, space);
    observe_access(op, same, space, Access::atomic);
    LaneOrder order(config_->atomic_seed, instructions_, same);
    for (uint32_t left = same; left != 0; left &= left - 1) {
      const int lane = order.next();
      const Target at = locate(op, space, lane, address_[lane], bytes, true);
      if (at.page != nullptr) {
        stray_write(op, lane, address_[lane], bytes);
        at.page->written = true;
        at.page->last_writer = op.site;
      }
      uint64_t operands[2] = {}, undefined[2] = {};
      for (size_t k = 0; k < site.rows.size() && k < 2; ++k) {
        const int at_lane = lane * site.widths[k];
        std::memcpy(&operands[k], row(site.rows[k]) + at_lane, bytes);
        if (shadow_ && (warp_->flags[site.flags[k]] & kMaybeUndefined)) {
          std::memcpy(&undefined[k], warp_->undefined + site.rows[k] + at_lane, bytes);
        }
      }
      uint64_t old = 0;
      std::memcpy(&old, at.data, bytes);
      const bool flush = space == Space::global && ins.type == Type::f32;
      const uint64_t made = atomic_result(ins.atom, ins.type, old, operands[0], operands[1], flush);
      if (stillness_.watching() && std::memcmp(at.data, &made, bytes) != 0) stillness_.disturb();
      std::memcpy(at.data, &made, bytes);
      if (op.d != kNoSlot) {
        std::memcpy(frame_row(op.d) + lane * op.width, &old, op.width);
        result_defined(op.fd, op.d, op.width, 1u << lane);
      }
      if (shadow_) {
        atomic_undefined(op, space, lane, at, old, operands, undefined);
      } else {
        std::memset(at.state, kWritten, bytes);
      }
    }
    if (space == Space::shared && !warp_->block->shared_deltas.empty()) {
      for (uint32_t left = same; left != 0; left &= left - 1) {
        const uint64_t address = address_[std::countr_zero(left)];
        warp_->block->shared_deltas.erase(static_cast<uint32_t>(address) & ~3u);
      }
    }
    mask &= ~same;
  }
}

/// The undefined bits of the old value, which the instruction gives, and of the new one.
void Executor::atomic_undefined(const MicroOp& op, Space space, int lane, const Target& at,
                                uint64_t old, const uint64_t* operands, const uint64_t* undefined) {
  const Site& site = code_->sites[op.site];
  const int bytes = site.element_bytes;
  uint64_t old_undefined = 0;
  for (int i = 0; i < bytes; ++i) {
    if ((at.state[i] & kUndefined) != 0) old_undefined |= uint64_t{0xff} << (8 * i);
  }
  std::memset(at.state, kWritten, bytes);
  if ((old_undefined | undefined[0] | undefined[1]) == 0) return;
  const uint64_t address = address_[lane];
  const Trail found = old_undefined == 0 ? Trail() : trail_in_memory(op.site, space, lane, address);
  if (op.d != kNoSlot && op.fd != 0 && old_undefined != 0) {
    std::memcpy(undefined_row(op.fd, op.d, op.width) + lane * op.width, &old_undefined, op.width);
    trail_at(op.fd, lane) = found;
  }
  const Instruction& ins = *site.instruction;
  const uint64_t made = undefined_atomic(ins.atom, ins.type, {old, old_undefined},
                                         {operands[0], undefined[0]}, {operands[1], undefined[1]});
  bool any = false;
  for (int i = 0; i < bytes; ++i) {
    if ((made >> (8 * i) & 0xff) == 0) continue;
    at.state[i] |= kUndefined;
    any = true;
  }
  if (!any) return;
  const size_t from = undefined[0] != 0 ? 0 : 1;
  undefined_stored(op, space, lane, at.page, address, bytes,
                   undefined[from] == 0 ? found : trail_through(op, site.flags[from], lane));
}

/// The exact values of integers that were stored here while they differed from their bits.
void Executor::load_deltas(const MicroOp& op, uint32_t mask, Space space) {
  const Site& site = code_->sites[op.site];
  const bool shared = space == Space::shared;
  const auto& by_word = warp_->block->shared_deltas;
  const auto& by_lane = warp_->local_deltas;
  if (shared ? by_word.empty() : by_lane.empty()) return;
  for (size_t k = 0; k < site.rows.size(); ++k) {
    const uint32_t flag = site.flags[k];
    const bool carries = flag != 0 && code_->wrap_rows[flag] >= 0 &&
                         site.element_bytes == site.widths[k] && site.element_bytes >= 4;
    if (!carries) continue;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const uint32_t offset = static_cast<uint32_t>(address_[lane] + k * site.element_bytes);
      Delta delta;
      if (shared) {
        const auto found = by_word.find(offset);
        if (found != by_word.end()) delta = found->second;
      } else {
        const auto found = by_lane.find(static_cast<uint64_t>(lane) << 32 | offset);
        if (found != by_lane.end()) delta = found->second;
      }
      if (delta.s == 0 && delta.u == 0) continue;
      WrapRow& exact = wrap_row(flag);
      exact.s[lane] = delta.s;
      exact.u[lane] = delta.u;
      warp_->origins[flag] = delta.origin;
    }
  }
}

void Executor::store_deltas(const MicroOp& op, uint32_t mask, Space space) {
  const Site& site = code_->sites[op.site];
  const bool shared = space == Space::shared;
  auto& by_word = warp_->block->shared_deltas;
  auto& by_lane = warp_->local_deltas;
  for (size_t k = 0; k < site.rows.size(); ++k) {
    const uint32_t flag = site.flags[k];
    const bool wrapped = (warp_->flags[flag] & kWrapped) != 0 && site.element_bytes >= 4 &&
                         site.element_bytes == site.widths[k];
    if (!wrapped && (shared ? by_word.empty() : by_lane.empty())) continue;
    for (uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const uint32_t offset = static_cast<uint32_t>(address_[lane] + k * site.element_bytes);
      Delta delta;
      if (wrapped) {
        const WrapRow& exact = wrap_row(flag);
        delta = {exact.s[lane], exact.u[lane], warp_->origins[flag]};
      }
      const bool keep = delta.s != 0 || delta.u != 0;
      const uint64_t key = static_cast<uint64_t>(lane) << 32 | (keep ? offset : offset & ~3u);
      if (shared) {
        if (keep)
          by_word[offset] = delta;
        else
          by_word.erase(offset & ~3u);
      } else {
        if (keep)
          by_lane[key] = delta;
        else
          by_lane.erase(key);
      }
    }
  }
}

}  // namespace assay::ptx
