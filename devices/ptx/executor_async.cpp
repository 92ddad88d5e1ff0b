// cp.async and mbarrier (PTX ISA 9.7.9.25.3, 9.7.13.15).
//
// An asynchronous copy may be seen from its issue on and must be seen after the wait. Here it is
// done by the wait: until then shared memory keeps its old bytes, which count as undefined, so that
// a kernel that lacks a wait, or waits for too few groups, computes with undefined values. Global
// memory is read by the wait, too.
#include "devices/ptx/executor_async.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// The 64 bits of an mbarrier object, opaque to kernels: pending and expected arrivals of the
/// current phase (20 bits each, PTX ISA 9.7.13.15.2), the number of complete phases, and a mark.
struct BarrierWord {
  static constexpr uint64_t kCount = (uint64_t{1} << 20) - 1;
  static constexpr uint64_t kMark = uint64_t{1} << 63;
  uint64_t bits = 0;

  uint64_t pending() const { return bits & kCount; }
  uint64_t expected() const { return (bits >> 20) & kCount; }
  uint64_t phase() const { return (bits & ~kMark) >> 40; }
  bool valid() const { return (bits & kMark) != 0; }
  void set(uint64_t pending, uint64_t expected, uint64_t phase) {
    bits = (pending & kCount) | (expected & kCount) << 20 | (phase << 40 & ~kMark) | kMark;
  }
};

}  // namespace

void Executor::asynchronous(const MicroOp& op, uint32_t mask) {
  // All but looking at an object changes memory, or the copies and arrivals that are on their way.
  const Async what = code_->sites[op.site].instruction->async;
  if (what != Async::test_wait && what != Async::try_wait && what != Async::pending_count) {
    stillness_.disturb();
  }
  switch (op.kind) {
    case Kind::async_source:
      return async_source(op, mask);
    case Kind::async_copy:
      return async_copy(op, mask);
    case Kind::async_group:
      return async_group(op, mask);
    default:
      return barrier_object(op, mask);
  }
}

/// First half of a copy: where it reads, checked when it is issued. Bytes that are not read
/// (src-size, ignore-src) may lie anywhere.
void Executor::async_source(const MicroOp& op, uint32_t mask) {
  const int bytes = code_->sites[op.site].element_bytes;
  const auto* wanted = reinterpret_cast<const uint32_t*>(row(op.b));
  const uint32_t ignored = op.pa == kNoSlot ? 0 : predicate(op.pa);
  uint32_t reading = 0;
  for_lanes(mask, [&](int lane) {
    const uint32_t size = (ignored >> lane) & 1 ? 0 : std::min<uint32_t>(wanted[lane], bytes);
    async_bytes_[lane] = static_cast<uint8_t>(size);
    async_from_[lane] = {};
    if (size != 0) reading |= 1u << lane;
  });
  if (shadow_) {
    check_operand(op, op.fb, op.b, 4, mask, "number of bytes");
    check_predicate(op, op.fpa, op.pa, mask, "choice to read");
  }
  if (reading == 0) return;
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, reading);
  observe_access(op, reading, Space::global, Access::read, bytes);
  for_lanes(reading, [&](int lane) {
    if ((address_[lane] & static_cast<uint64_t>(bytes - 1)) != 0) {
      misaligned(op, Space::global, lane, address_[lane], bytes);
    }
    const Target from = span(Space::global, address_[lane], async_bytes_[lane]);
    if (from.data == nullptr) {
      out_of_bounds(op, Space::global, lane, address_[lane], async_bytes_[lane], false);
    }
    async_from_[lane] = from;
    async_address_[lane] = address_[lane];
  });
}

/// Second half: where it writes. Until the wait the bytes there are undefined.
void Executor::async_copy(const MicroOp& op, uint32_t mask) {
  const int bytes = code_->sites[op.site].element_bytes;
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, mask);
  observe_access(op, mask, Space::shared, Access::write, bytes);
  AsyncState& async = warp_->async;
  for_lanes(mask, [&](int lane) {
    const Target to = locate(op, Space::shared, lane, address_[lane], bytes, true);
    if (options_.definedness) std::memset(to.state, kWritten | kUndefined, bytes);
    AsyncCopy copy;
    copy.to = to.data;
    copy.to_state = to.state;
    copy.from = async_from_[lane].data;
    copy.from_state = async_from_[lane].state;
    copy.shared_address = address_[lane];
    copy.global_address = async_address_[lane];
    copy.order = async.issued++;
    copy.group = async.groups[lane];
    copy.site = op.site;
    copy.lane = static_cast<uint8_t>(lane);
    copy.bytes = static_cast<uint8_t>(bytes);
    copy.source_bytes = async_bytes_[lane];
    async.copies.push_back(copy);
  });
}

void Executor::async_group(const MicroOp& op, uint32_t mask) {
  AsyncState& async = warp_->async;
  const Instruction& ins = *code_->sites[op.site].instruction;
  if (ins.async != Async::wait_group) {  // wait_all commits, then waits for all groups
    for_lanes(mask, [&](int lane) { ++async.groups[lane]; });
    if (ins.async == Async::commit_group) return;
  }
  const auto* allowed = reinterpret_cast<const uint32_t*>(row(op.b));
  std::array<int64_t, kLanes> first_pending;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool waits = (mask >> lane) & 1;
    first_pending[lane] = waits ? int64_t{async.groups[lane]} - allowed[lane] : 0;
  }
  complete_copies(*warp_, [&](const AsyncCopy& copy) {
    return int64_t{copy.group} < first_pending[copy.lane];
  });
}

/// Does the copies that `is_due` names, in the order in which they were issued.
void Executor::complete_copies(WarpState& warp,
                               const std::function<bool(const AsyncCopy&)>& is_due) {
  auto& deltas = warp.block->shared_deltas;
  const auto perform_one = [&](const AsyncCopy& copy) {
    if (copy.source_bytes != 0) std::memcpy(copy.to, copy.from, copy.source_bytes);
    std::memset(copy.to + copy.source_bytes, 0, copy.bytes - copy.source_bytes);
    for (int i = 0; i < copy.bytes; ++i) {
      const bool undefined = i < copy.source_bytes && (copy.from_state[i] & kUndefined) != 0;
      copy.to_state[i] = kWritten | (undefined ? kUndefined : 0);
      if (undefined) keep_copied_trail(warp, copy, i);
    }
    for (int i = 0; i < copy.bytes && !deltas.empty(); i += 4) {
      deltas.erase(static_cast<uint32_t>(copy.shared_address + i));
    }
  };
  auto& copies = warp.async.copies;
  const auto rest = std::remove_if(copies.begin(), copies.end(), [&](const AsyncCopy& copy) {
    if (!is_due(copy)) return false;
    if (warp.block->races != nullptr) track_copied(warp, copy);
    perform_one(copy);
    return true;
  });
  copies.erase(rest, copies.end());
}

// ---- mbarrier ----

/// `count` arrivals at the barrier object; the phase completes when none is pending.
void Executor::arrive_at_object(uint64_t* object, uint64_t count, bool drop, int32_t site,
                                int lane) {
  BarrierWord word{*object};
  if (count > word.pending()) {
    report(DiagnosticKind::barrier, site, lane,
           "mbarrier: " + std::to_string(count) + " arrivals where " +
               std::to_string(word.pending()) + " are pending");
    throw Stop{RunStatus::fault};
  }
  const uint64_t expected = word.expected() - (drop ? count : 0);
  const uint64_t pending = word.pending() - count;
  const bool complete = pending == 0;
  word.set(complete ? expected : pending, expected, word.phase() + (complete ? 1 : 0));
  *object = word.bits;
}

/// Somebody looks at the object: copies that arrive at it are done now, at the latest.
void Executor::finish_arrivals(uint64_t address, uint64_t* object) {
  for (const auto& warp : warp_->block->warps) {
    auto& arrivals = warp->async.arrivals;
    for (size_t i = 0; i < arrivals.size();) {
      const AsyncArrival arrival = arrivals[i];
      if (arrival.address != address) {
        ++i;
        continue;
      }
      complete_copies(*warp, [&](const AsyncCopy& copy) {
        return copy.lane == arrival.lane && copy.order < arrival.order;
      });
      if (RaceBlock* const races = warp->block->races.get()) {
        races_->release_to(*races, warp->index, arrival.lane, true, address);
      }
      arrivals.erase(arrivals.begin() + static_cast<std::ptrdiff_t>(i));
      stillness_.disturb();
      arrive_at_object(object, 1, false, arrival.site, arrival.lane);
    }
  }
}

void Executor::barrier_object(const MicroOp& op, uint32_t mask) {
  const Instruction& ins = *code_->sites[op.site].instruction;
  if (ins.async == Async::pending_count) {
    const auto* state = reinterpret_cast<const uint64_t*>(row(op.a));
    for_lanes(mask, [&](int lane) {
      const BarrierWord word{state[lane]};
      const auto pending = static_cast<uint32_t>(word.pending());
      std::memcpy(frame_row(op.d) + 4 * lane, &pending, 4);
    });
    UndefinedSources sources;
    sources.add(op.fa, undefined_lanes(op.fa, op.a, 8, mask));
    result_defined(op.fd, op.d, 4, mask);
    mark_undefined(op.fd, op.d, 4, sources.lanes());
    hand_on(op, op.fd, sources.lanes(), sources);
    return;
  }
  addresses(op);
  if (shadow_ && warp_->flags[op.fa] != 0) check_address(op, mask);
  if (shadow_ && op.b != kNoSlot) check_operand(op, op.fb, op.b, op.b_width, mask, "operand");
  uint32_t complete = 0;
  while (mask != 0) {
    Space space;
    const uint32_t same = split_spaces(op, mask, space);
    for_lanes(same, [&](int lane) {
      if (barrier_object_lane(op, ins, space, lane)) complete |= 1u << lane;
    });
    set_result_predicate(op, complete, same, 0);
    mask &= ~same;
  }
  // A warp that polls lets the others run.
  const bool polls = ins.async == Async::test_wait || ins.async == Async::try_wait;
  if (polls && complete == 0) slice_end_ = pause_ = std::min(slice_end_, instructions_);
}

/// Returns whether the phase that a wait asks for is complete.
bool Executor::barrier_object_lane(const MicroOp& op, const Instruction& ins, Space space,
                                   int lane) {
  const uint64_t address = address_[lane];
  const Target at = locate(op, space, lane, address, 8, true);
  auto* object = reinterpret_cast<uint64_t*>(at.data);
  const auto* operand = op.b == kNoSlot ? nullptr : row(op.b);
  const uint32_t number = operand == nullptr ? 1 : reinterpret_cast<const uint32_t*>(operand)[lane];
  if (ins.async == Async::init) {
    BarrierWord word;
    if (number == 0 || number > BarrierWord::kCount) {
      report(DiagnosticKind::barrier, op.site, lane,
             "mbarrier.init with a count of " + std::to_string(number) + ", 1 to 1048575 admitted");
      throw Stop{RunStatus::fault};
    }
    word.set(number, number, 0);
    *object = word.bits;
    std::memset(at.state, kWritten, 8);
    return false;
  }
  uint8_t state = 0;
  for (int i = 0; i < 8; ++i) state |= at.state[i];
  const bool poison = (state & kUndefined) != 0 || *object == ~uint64_t{0};
  if (poison || !BarrierWord{*object}.valid()) {
    report(DiagnosticKind::barrier, op.site, lane, ins.spelling + " on no mbarrier object");
    throw Stop{RunStatus::fault};
  }
  switch (ins.async) {
    case Async::inval:
      *object = 0;
      if (options_.definedness) {
        std::memset(at.state, kWritten | kUndefined, 8);
        keep_trail(space, lane, address, 8, new_trail(Trail::Source::ended_object, op.site, lane));
      }
      return false;
    case Async::arrive_after_copies: {
      // Without .noinc the arrival brings its own pending count.
      BarrierWord word{*object};
      if (!ins.no_increment) word.set(word.pending() + 1, word.expected(), word.phase());
      *object = word.bits;
      AsyncState& async = warp_->async;
      async.arrivals.push_back({address, async.issued++, static_cast<uint8_t>(lane), op.site});
      return false;
    }
    case Async::arrive:
    case Async::arrive_drop: {
      const uint64_t before = *object;
      if (RaceBlock* const races = warp_->block->races.get()) {
        races_->release_to(*races, warp_->index, lane, space == Space::shared, address);
      }
      arrive_at_object(object, number, ins.async == Async::arrive_drop, op.site, lane);
      if (op.d == kNoSlot) return false;
      std::memcpy(frame_row(op.d) + 8 * lane, &before, 8);
      result_defined(op.fd, op.d, 8, 1u << lane);
      return false;
    }
    default:
      break;
  }
  finish_arrivals(address, object);
  const BarrierWord now{*object};
  const auto* states = reinterpret_cast<const uint64_t*>(operand);
  const bool complete = ins.parity ? (now.phase() & 1) != (number & 1)
                                   : now.phase() != BarrierWord{states[lane]}.phase();
  RaceBlock* const races = warp_->block->races.get();
  if (complete && races != nullptr) {
    races_->acquire_from(*races, warp_->index, lane, space == Space::shared, address);
  }
  return complete;
}

}  // namespace assay::ptx
