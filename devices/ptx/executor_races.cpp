// Between the executor and the race checker: which accesses it sees, and how a race is told.
#include <bit>
#include <cstdio>
#include <cstring>
#include <utility>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

std::string value_text(Type type, const uint8_t* bytes, int size) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes, static_cast<size_t>(std::min(size, 8)));
  char text[48];
  if (type == Type::f32) {
    std::snprintf(text, sizeof text, "%.9g",
                  static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits))));
  } else if (type == Type::f64) {
    std::snprintf(text, sizeof text, "%.17g", std::bit_cast<double>(bits));
  } else if (type == Type::s32 || type == Type::u32) {
    std::snprintf(text, sizeof text, "%lld",
                  type == Type::s32 ? static_cast<long long>(static_cast<int32_t>(bits))
                                    : static_cast<long long>(bits));
  } else {
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  }
  return text;
}

std::string coordinates(const std::array<int64_t, 3>& at) {
  return "(" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) +
         ")";
}

std::array<int64_t, 3> unfold(int64_t linear, const std::array<int64_t, 3>& shape) {
  return {linear % shape[0], linear / shape[0] % shape[1], linear / shape[0] / shape[1]};
}

const char* verb(bool writes, uint32_t what) {
  return (what & RaceAccess::kAtomic) != 0 ? "atomic" : writes ? "store" : "load";
}

}  // namespace

/// Observers and the race checker learn of an access of `mask` to address_.
void Executor::track_access(const MicroOp& op, uint32_t mask, Space space, Access access,
                            int bytes) {
  if (observer) tell_observer(op, mask, space, access, bytes);
  BlockState& block = *warp_->block;
  if (block.races == nullptr || space == Space::local) return;
  const Site& site = code_->sites[op.site];
  const Instruction& ins = *site.instruction;
  const bool atomic = access == Access::atomic;
  if (bytes == 0) bytes = static_cast<int>(site.element_bytes * (atomic ? 1 : site.rows.size()));
  RaceEvent event;
  event.addresses = address_;
  event.mask = mask;
  event.bytes = bytes;
  event.shared = space == Space::shared;
  event.reads = access != Access::write;
  event.writes = access != Access::read;
  event.what = static_cast<uint32_t>(op.site) & RaceAccess::kSite;
  if (atomic) event.what |= RaceAccess::kAtomic;
  if (ins.order == Order::volatile_) event.what |= RaceAccess::kVolatile;
  if (atomic || ins.order != Order::weak) event.what |= RaceAccess::kStrong;
  if (op.kind == Kind::tensor) event.what |= RaceAccess::kCollective;
  if ((event.what & RaceAccess::kStrong) != 0) {
    const bool releases = ins.order == Order::release || ins.order == Order::acq_rel ||
                          ins.order == Order::sc;
    if (releases) {
      races_->fence(*block.races, warp_->index, mask,
                    ins.scope == Scope::cta ? FenceScope::block : FenceScope::device);
    }
    const bool acquires = event.reads && (!atomic || op.d != kNoSlot);
    races_->strong_access(*block.races, warp_->index, event, acquires);
  }
  check_races(op, event);
}

void Executor::check_races(const MicroOp& op, RaceEvent event) {
  race_op_ = &op;
  RaceBlock& block = *warp_->block->races;
  if (event.shared) {
    return races_->access(block, warp_->index, event, block.shared, kSharedStart);
  }
  for (uint32_t left = event.mask; left != 0;) {
    const uint64_t number = event.addresses[std::countr_zero(left)] >> kPageBits;
    uint32_t same = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      same |= static_cast<uint32_t>(event.addresses[lane] >> kPageBits == number) << lane;
    }
    event.mask = left & same;
    left &= ~same;
    const Page* page = memory_->page(number << kPageBits);
    // What no thread may write holds no race: a stray store there is a finding of its own.
    if (page == nullptr || !memory_->regions()[page->region].spec.writable) continue;
    RaceShadow* shadow = races_->page_shadow(number, kPageBytes);
    if (shadow == nullptr) continue;
    races_->access(block, warp_->index, event, *shadow, number << kPageBits);
  }
}

/// The bytes of an asynchronous copy arrive now.
void Executor::track_copied(WarpState& warp, const AsyncCopy& copy) {
  uint64_t address[kLanes];
  address[copy.lane] = copy.shared_address;
  RaceEvent event;
  event.addresses = address;
  event.mask = 1u << copy.lane;
  event.bytes = copy.bytes;
  event.shared = event.writes = true;
  event.what = static_cast<uint32_t>(copy.site) & RaceAccess::kSite;
  WarpState* const current = std::exchange(warp_, &warp);
  // The micro-op of the site is not at hand, and its value is none of a register's.
  MicroOp op;
  op.kind = Kind::async_copy;
  op.site = copy.site;
  check_races(op, event);
  race_op_ = nullptr;
  warp_ = current;
}

bool Executor::stores_what_is_there(const RaceEvent& event, int lane) {
  if (race_op_->kind != Kind::store) return false;
  const Site& site = code_->sites[race_op_->site];
  const Space space = event.shared ? Space::shared : Space::global;
  const Target at = span(space, event.addresses[lane], event.bytes);
  if (at.data == nullptr) return false;
  for (size_t k = 0; k < site.rows.size(); ++k) {
    const uint8_t* value = row(site.rows[k]) + lane * site.widths[k];
    if (std::memcmp(at.data + k * site.element_bytes, value, site.element_bytes) != 0) return false;
  }
  return true;
}

bool Executor::lanes_store_equal(const RaceEvent&, int a, int b) {
  if (race_op_->kind != Kind::store) return false;
  const Site& site = code_->sites[race_op_->site];
  for (size_t k = 0; k < site.rows.size(); ++k) {
    const uint8_t* values = row(site.rows[k]);
    const int width = site.widths[k];
    if (std::memcmp(values + a * width, values + b * width, site.element_bytes) != 0) return false;
  }
  return true;
}

void Executor::race_found(const Race& race) {
  const auto number = [](RaceThread t) { return int64_t{t} % (1 << kBlockBits); };
  const auto block_of = [&](RaceThread t) {
    return unfold(races_->linear_block(t), config_->grid);
  };
  const auto site_of = [](uint32_t what) { return static_cast<int32_t>(what & RaceAccess::kSite); };
  const int32_t site = site_of(race.what), earlier_site = site_of(race.earlier.what);
  const bool same_block = race.thread >> kBlockBits == race.earlier.thread >> kBlockBits;
  const auto thread_text = [&](RaceThread t) {
    return "thread " + coordinates(unfold(number(t), config_->block)) + " of block " +
           coordinates(block_of(t));
  };
  const Space space = race.shared ? Space::shared : Space::global;
  std::string operand;
  const std::string where = describe(space, race.address, race.bytes, &operand);
  // Of many readers the one that is remembered may be the thread that stores.
  const std::string other =
      race.earlier.thread == race.thread ? "another thread" : thread_text(race.earlier.thread);
  const std::string earlier_verb = verb(race.earlier_writes, race.earlier.what);
  const std::string later_verb = verb(race.writes, race.what);
  std::string message =
      (race.volatiles ? "relies on volatile: " : "race between ") +
      std::string(same_block ? race.thread >> 5 == race.earlier.thread >> 5 ? "lanes of a warp"
                                                                            : "threads of a block"
                             : "blocks") +
      ", " + where + ": " + later_verb + " by " + thread_text(race.thread) + " and " +
      earlier_verb + " by " + other + place(earlier_site) + ", with nothing that orders them";
  Diagnostic& d = report(DiagnosticKind::race, site, race.lane, std::move(message), operand,
                         race.volatiles);
  if (d.count > 1 || !d.details.empty()) return;
  d.block = block_of(race.thread);
  d.thread = unfold(number(race.thread), config_->block);
  const Target at = span(space, race.address, 1);
  const auto there = [&](int32_t of) {
    const Site& s = code_->sites[of];
    const int bytes = std::max<int>(s.element_bytes, 1);
    const Target whole = span(space, race.address, bytes);
    return whole.data == nullptr ? "?" : value_text(s.instruction->type, whole.data, bytes);
  };
  if (at.data == nullptr || race_op_ == nullptr) return;  // told at the end of the launch
  const Site& s = code_->sites[site];
  std::string later_value = there(earlier_site);
  if (race.writes && race_op_->kind == Kind::store && s.rows.size() > 0) {
    later_value = value_text(s.instruction->type, row(s.rows[0]) + race.lane * s.widths[0],
                             s.element_bytes);
  }
  d.details.push_back(earlier_verb + place(earlier_site) + " (" +
                      code_->sites[earlier_site].instruction->spelling + "): " +
                      there(earlier_site) + " by " + other);
  d.details.push_back(later_verb + place(site) + " (" + s.instruction->spelling + "): " +
                      (race.what & RaceAccess::kAtomic ? "" : later_value + " ") + "by " +
                      thread_text(race.thread));
}

void Executor::fence(const MicroOp& op, uint32_t mask) {
  const Scope scope = code_->sites[op.site].instruction->scope;
  races_->fence(*warp_->block->races, warp_->index, mask,
                scope == Scope::cta ? FenceScope::block : FenceScope::device);
}

void Executor::race_barrier(BlockState& block, int number) {
  bool whole = true;
  std::vector<uint32_t> masks;
  for (const auto& warp : block.warps) {
    const uint32_t here = block.barrier_masks[warp->index][number];
    masks.push_back(here);
    whole &= (warp->live & ~here) == 0;
  }
  if (whole && block.barriers[number].arrived_threads == 0) {
    races_->barrier(*block.races);
  } else {
    races_->partial_barrier(*block.races, number, masks);
  }
}

}  // namespace assay::ptx
