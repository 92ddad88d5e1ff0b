// Between the executor and the race checker: which accesses it sees, and how a race is told.
#include <algorithm>
#include <bit>
#include <cmath>
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
  if (type == Type::f32 || type == Type::f64) {
    const double value = type == Type::f64 ? std::bit_cast<double>(bits)
                                           : std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) return "NaN";
    std::snprintf(text, sizeof text, "%.*g", type == Type::f64 ? 17 : 9, value);
  } else if (type == Type::s32 || type == Type::u32) {
    std::snprintf(text, sizeof text, "%lld",
                  type == Type::s32 ? static_cast<long long>(static_cast<int32_t>(bits))
                                    : static_cast<long long>(bits));
  } else {
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  }
  return text;
}

/// The narrowest that both threads of a race belong to.
enum class RaceScope { warp, block, grid };

RaceScope scope_of(const Step& a, const Step& b, const LaunchConfig& config) {
  if (a.block != b.block) return RaceScope::grid;
  const auto warp = [&](const Step& step) {
    const auto& [x, y, z] = step.thread;
    return (x + config.block[0] * (y + config.block[1] * z)) / kLanes;
  };
  return warp(a) == warp(b) ? RaceScope::warp : RaceScope::block;
}

const char* verb(bool writes, uint32_t what) {
  return (what & RaceAccess::kAtomic) != 0 ? "atomic" : writes ? "store" : "load";
}

}  // namespace

/// Observers, the race checker and the trace learn of an access of `mask` to address_.
void Executor::track_access(const MicroOp& op, uint32_t mask, Space space, Access access,
                            int bytes) {
  if (observer) tell_observer(op, mask, space, access, bytes);
  if (traced()) trace_access(op, mask, space, access, bytes);
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
  if (ins.scope == Scope::cta) event.what |= RaceAccess::kBlockScope;
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
  if (ins.non_coherent && !event.shared) check_read_only(op, event);
  check_races(op, event);
  if (atomic) races_->goes_on_to_atomic(*block.races, warp_->index, event);
}

/// A load by the read-only path (ld.global.nc) of what this launch has stored, whoever stored it
/// and whatever lies between: memory so read must not change while the kernel runs, its cache is
/// not coherent (PTX ISA, "ld.global.nc"; CUDA C++ Programming Guide, "Read-Only Data Cache Load
/// Function"). What was loaded before it is stored was right.
void Executor::check_read_only(const MicroOp& op, const RaceEvent& event) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((event.mask >> lane & 1) == 0) continue;
    const uint64_t address = event.addresses[lane], number = address >> kPageBits;
    const Page* page = memory_->page(address);
    if (page == nullptr || !page->written) continue;
    RaceShadow* shadow = races_->page_shadow(number, kPageBytes);
    if (shadow == nullptr) continue;
    const auto offset = static_cast<int64_t>(address & (kPageBytes - 1));
    const int bytes = static_cast<int>(std::min<int64_t>(event.bytes, kPageBytes - offset));
    const std::optional<RaceAccess> stored = races_->stored_in_launch(*shadow, offset, bytes);
    if (stored) return stale_load(op, event, lane, *stored);
  }
}

void Executor::stale_load(const MicroOp& op, const RaceEvent& event, int lane,
                          const RaceAccess& stored) {
  const auto site = static_cast<int32_t>(stored.what & RaceAccess::kSite);
  const auto block = unfold(races_->linear_block(stored.thread), config_->grid);
  const auto thread = unfold(int64_t{stored.thread} % (1 << kBlockBits), config_->block);
  const bool atomic = (stored.what & RaceAccess::kAtomic) != 0;
  std::string operand;
  const std::string where = describe(Space::global, event.addresses[lane], event.bytes, &operand);
  std::string message = "read-only load of what this launch has stored, " + where +
                        ": ld.global.nc may give the value from before the " +
                        verb(true, stored.what) + " by thread " + coordinates_text(thread) +
                        " of block " + coordinates_text(block) + place(site);
  Diagnostic& d = report(DiagnosticKind::race, op.site, lane, std::move(message), operand);
  if (d.count > 1 || !d.steps.empty()) return;
  Step first = step_at(site, atomic ? "atomic" : "store");
  first.block = block;
  first.thread = thread;
  d.steps.push_back(std::move(first));
  Step second = step_at(op.site, "load");
  second.block = d.block;
  second.thread = d.thread;
  d.steps.push_back(std::move(second));
}

void Executor::check_races(const MicroOp& op, RaceEvent event) {
  race_op_ = &op;
  race_bytes_ = event.bytes;
  RaceBlock& block = *warp_->block->races;
  event.run = run_of(event.mask);
  if (event.run.count != 0) {
    const AddressPattern pattern = pattern_of(event.addresses, event.run, event.bytes);
    if (pattern == AddressPattern::uniform) event.period = 1;
    if (pattern == AddressPattern::scattered) {
      event.period = event.run.count == kLanes ? kit_.period(event.addresses, event.bytes) : 0;
      if (event.period == 0) event.run = {};
    }
  }
  if (event.shared) {
    return races_->access(block, warp_->index, event, block.shared, kSharedStart);
  }
  bool one_page = false;
  if (event.run.count != 0) {
    const int places = event.period != 0 ? event.period : event.run.count;
    const uint64_t end = event.addresses[event.run.first + places - 1] +
                         static_cast<uint64_t>(event.bytes) - 1;
    one_page = event.addresses[event.run.first] >> kPageBits == end >> kPageBits;
    if (!one_page) {
      event.run = {};
      event.period = 0;
    }
  }
  for (uint32_t left = event.mask; left != 0;) {
    const uint64_t number = event.addresses[std::countr_zero(left)] >> kPageBits;
    uint32_t same = 0;
    for (int lane = 0; !one_page && lane < kLanes; ++lane) {
      same |= static_cast<uint32_t>(event.addresses[lane] >> kPageBits == number) << lane;
    }
    event.mask = one_page ? left : left & same;
    left &= ~event.mask;
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
  uint64_t address[kLanes] = {};
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

bool Executor::same_line(uint32_t site, uint32_t other) {
  const SourceLine a = user_line(static_cast<int32_t>(site));
  const SourceLine b = user_line(static_cast<int32_t>(other));
  return a.line != 0 && a.line == b.line && a.file == b.file;
}

void Executor::stored_by_two_blocks(const RaceEvent& event, int lane) {
  if (owned_twice_ || event.shared) return;
  const Page* page = memory_->page(event.addresses[lane]);
  owned_twice_ = page != nullptr && memory_->regions()[page->region].spec.owned;
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

void Executor::add_values(Race& race, const RaceEvent& event) {
  const auto site_of = [&](uint32_t what) -> const Site& {
    return code_->sites[what & RaceAccess::kSite];
  };
  // The later access is not done yet: memory holds what the earlier one stored or loaded.
  const auto there = [&](const Site& site) -> std::string {
    const int bytes = std::max<int>(site.element_bytes, 1);
    const Target at = span(race.shared ? Space::shared : Space::global, race.address, bytes);
    if (at.data == nullptr) return "";
    uint8_t any = 0;
    for (int i = 0; i < bytes; ++i) any |= at.state[i];
    if ((any & kUndefined) == 0) return value_text(site.instruction->type, at.data, bytes);
    return (any & kWritten) == 0 ? "nothing written yet" : "an uninitialised value";
  };
  race.earlier_value = there(site_of(race.earlier.what));
  const Site& site = site_of(race.what);
  const bool atomic = (race.what & RaceAccess::kAtomic) != 0;
  if (!race.writes && !atomic) race.value = there(site);
  if (!race.writes || race_op_->kind != Kind::store) return;
  const size_t k = (race.address - event.addresses[race.lane]) / site.element_bytes;
  if (k >= site.rows.size()) return;
  race.value = value_text(site.instruction->type,
                          row(site.rows[k]) + race.lane * site.widths[k], site.element_bytes);
}

void Executor::race_found(const Race& race) {
  // A misaligned access ends the run; the shadow's granules take its neighbours for one place.
  if ((address_[race.lane] & static_cast<uint64_t>(race_bytes_ - 1)) != 0) return;
  struct Side {
    int32_t site;
    RaceThread thread;
    const char* verb;
    const std::string* value;
  };
  const auto site_of = [](uint32_t what) { return static_cast<int32_t>(what & RaceAccess::kSite); };
  Side first{site_of(race.earlier.what), race.earlier.thread,
             verb(race.earlier_writes, race.earlier.what), &race.earlier_value};
  Side second{site_of(race.what), race.thread, verb(race.writes, race.what), &race.value};
  // The place is the line further down, whichever access the schedule put first.
  const SourceLine a = named_line(first.site), b = named_line(second.site);
  const auto ptx_line = [&](const Side& side) {
    return code_->sites[side.site].instruction->ptx_line;
  };
  if (a.file == b.file ? a.line > b.line : ptx_line(first) > ptx_line(second)) {
    std::swap(first, second);
  }
  const auto number = [](RaceThread t) { return int64_t{t} % (1 << kBlockBits); };
  const auto block_of = [&](RaceThread t) {
    return unfold(races_->linear_block(t), config_->grid);
  };
  const auto thread_text = [&](RaceThread t) {
    return "thread " + coordinates_text(unfold(number(t), config_->block)) + " of block " +
           coordinates_text(block_of(t));
  };
  const RaceScope scope = first.thread >> kBlockBits != second.thread >> kBlockBits ? RaceScope::grid
                          : first.thread >> 5 != second.thread >> 5 ? RaceScope::block
                                                                    : RaceScope::warp;
  // Two lanes of a block of several warps may be all that this run shows of a missing barrier.
  const auto& [x, y, z] = config_->block;
  const bool one_warp = race.volatiles || x * y * z <= kLanes;
  const char* between = scope == RaceScope::grid    ? "blocks"
                        : scope == RaceScope::block ? "threads of a block"
                        : one_warp                  ? "lanes of a warp"
                                                    : "threads of a block, here of one warp";
  std::string operand;
  const std::string where =
      describe(race.shared ? Space::shared : Space::global, race.address, race.bytes, &operand);
  std::string message = std::string(race.volatiles ? "relies on volatile: " : "race between ") +
                        between + ", " + where + ": " + second.verb + " by " +
                        thread_text(second.thread) + " and " + first.verb + " by " +
                        thread_text(first.thread) + place(first.site) +
                        ", with nothing that orders them";
  Diagnostic& d =
      report(DiagnosticKind::race, second.site, race.lane, message, operand, race.volatiles);
  // The threads furthest apart of all that race here say which barrier is missing.
  if (!d.steps.empty()) {
    if (scope_of(d.steps.front(), d.steps.back(), *config_) >= scope) return;
    d.message = std::move(message);
    d.operand = operand;
    d.ptx_line = ptx_line(second);
    d.steps.clear();
  } else if (d.count > 1) {
    return;
  }
  d.block = block_of(second.thread);
  d.thread = unfold(number(second.thread), config_->block);
  for (const Side& side : {first, second}) {
    Step step = step_at(side.site, side.verb);
    step.block = block_of(side.thread);
    step.thread = unfold(number(side.thread), config_->block);
    step.value = *side.value;
    d.steps.push_back(std::move(step));
  }
}

void Executor::fence(const MicroOp& op, uint32_t mask) {
  const Scope scope = code_->sites[op.site].instruction->scope;
  races_->fence(*warp_->block->races, warp_->index, mask,
                scope == Scope::cta ? FenceScope::block : FenceScope::device);
}

void Executor::race_barrier(BlockState& block, int number) {
  const auto waits = [&](const auto& warp) { return block.barrier_masks[warp->index][number]; };
  const bool whole = std::all_of(block.warps.begin(), block.warps.end(), [&](const auto& warp) {
    return (warp->live & ~waits(warp)) == 0;
  });
  if (whole && block.barriers[number].arrived_threads == 0) return races_->barrier(*block.races);
  std::vector<uint32_t> masks;
  for (const auto& warp : block.warps) masks.push_back(waits(warp));
  races_->partial_barrier(*block.races, number, masks);
}

}  // namespace assay::ptx
