// Where undefined values come from: trails beside registers and memory, and the findings that tell
// them.
#include <algorithm>
#include <bit>
#include <cstring>

#include "devices/ptx/executor.hpp"

namespace assay::ptx {

namespace {

/// Trails are looked up by word: bytes of one come from one store more often than not.
uint64_t word_of(uint64_t address) { return address & ~uint64_t{3}; }
uint64_t word_of_lane(int lane, uint64_t offset) {
  return static_cast<uint64_t>(lane) << 32 | word_of(offset);
}

/// Words of one memory whose trails are kept; values of further ones begin where they are loaded.
constexpr size_t kMostTrails = size_t{1} << 16;

constexpr char kComputed[] = "computed with";

/// What an instruction does to a value that it hands on.
const char* verb(const MicroOp& op) {
  switch (op.kind) {
    case Kind::load:
      return "loaded";
    case Kind::store:
      return "stored";
    case Kind::atomic:
      return "atomic";
    case Kind::shuffle:
      return "shuffled";
    case Kind::vote:
    case Kind::match:
    case Kind::redux:
    case Kind::barrier:
      return "combined over lanes";
    case Kind::async_source:
    case Kind::async_copy:
      return "copied";
    case Kind::tensor:
      return has_address(op.kind) && op.a != kNoSlot ? "moved" : "multiplied";
    default:
      return kComputed;
  }
}

}  // namespace

/// The registers that make an instruction's result undefined, and in which lanes of `mask` they
/// are.
UndefinedSources Executor::undefined_sources(const MicroOp& op, uint32_t mask) const {
  UndefinedSources sources;
  const int width = op.source_width == 0 ? op.width : op.source_width;
  sources.add(op.fa, undefined_lanes(op.fa, op.a, width, mask));
  sources.add(op.fb, undefined_lanes(op.fb, op.b, op.b_width == 0 ? width : op.b_width, mask));
  sources.add(op.fc, undefined_lanes(op.fc, op.c, op.c_width == 0 ? width : op.c_width, mask));
  sources.add(op.fe, undefined_lanes(op.fe, op.e, 4, mask));
  sources.add(op.fpa, predicate_undefined(op.fpa, op.pa) & mask);
  sources.add(op.fpb, predicate_undefined(op.fpb, op.pb) & mask);
  if (op.uses_carry) sources.add(kCarryFlag, warp_->carry_undefined & mask);
  return sources;
}

Trail& Executor::trail_at(uint32_t flag, int lane) {
  if (warp_->trails.size() <= flag) warp_->trails.resize(code_->flag_count);
  auto& row = warp_->trails[flag];
  if (row == nullptr) row = std::make_unique<TrailRow>();
  return (*row)[static_cast<size_t>(lane)];
}

/// A trail that begins here, in lane `lane` of the warp that runs.
Trail Executor::new_trail(Trail::Source source, int32_t site, int lane) const {
  Trail trail;
  trail.source = source;
  trail.site = site;
  trail.thread = warp_->index * kLanes + lane;
  trail.block = warp_->block->linear;
  return trail;
}

/// The trail of an undefined register, which the instruction at `site` reads: one of a register
/// that nothing wrote begins with its first reader.
const Trail& Executor::trail_of(uint32_t flag, int lane, int32_t site) {
  Trail& trail = trail_at(flag, lane);
  if (trail.source == Trail::Source::unknown) {
    trail = new_trail(Trail::Source::unset_register, site, lane);
    trail.place = flag;
  }
  return trail;
}

/// The same, as it leaves the instruction.
Trail Executor::trail_through(const MicroOp& op, uint32_t flag, int lane) {
  Trail trail = trail_of(flag, lane, op.site);
  pass(trail, op);
  return trail;
}

/// Undefined lanes of a result get the trails of what made them so.
void Executor::hand_on(const MicroOp& op, uint32_t to, uint32_t lanes,
                       const UndefinedSources& sources) {
  // Lanes mostly come the same way: then what the first one passed through serves the others.
  Trail before, after;
  uint32_t left = lanes;
  if (lanes == 0) return;
  trail_at(to, 0);  // makes the row
  TrailRow& row_to = *warp_->trails[to];
  for (const UndefinedSources::One& source : sources) {
    trail_at(source.flag, 0);
    const TrailRow& row_from = *warp_->trails[source.flag];
    for_lanes(left & source.lanes, [&](int lane) {
      Trail trail = row_from[static_cast<size_t>(lane)];
      if (trail.source == Trail::Source::unknown) trail = trail_of(source.flag, lane, op.site);
      if (after.site >= 0 && trail.came_as(before)) {
        trail.go_as(after);
      } else {
        before = trail;
        pass(trail, op);
        after = trail;
      }
      row_to[static_cast<size_t>(lane)] = trail;
    });
    left &= ~source.lanes;
  }
}

/// Computing steps are told once a source line, others once a line and operation: an unrolled loop
/// of shuffles is one step.
void Executor::pass(Trail& trail, const MicroOp& op) const {
  const Site& here = code_->sites[op.site];
  const auto same_line = [&](int32_t site) {
    if (site < 0) return false;
    const Site& there = code_->sites[site];
    if (there.function != here.function || there.instruction->line < 0) return false;
    if (here.instruction->line < 0) return false;
    const SourceLine& a = there.function->lines[there.instruction->line];
    const SourceLine& b = here.function->lines[here.instruction->line];
    return a.file == b.file && a.line == b.line;
  };
  if (only_computes(op.kind)) {
    const int32_t last =
        trail.passed == 0 ? trail.site : trail.sites[static_cast<size_t>(trail.passed - 1)];
    if (same_line(last)) return;
  }
  for (int i = 0; i < trail.passed; ++i) {
    const int32_t site = trail.sites[static_cast<size_t>(i)];
    if (same_line(site) && code_->sites[site].instruction->op == here.instruction->op) return;
  }
  trail.pass(op.site);
}

// ---- memory ----

/// Where the undefined bytes at an address come from, as the access of `lane` finds them.
Trail Executor::trail_in_memory(int32_t site, Space space, int lane, uint64_t address) {
  const auto known = [&](const std::unordered_map<uint64_t, Trail>& trails,
                         uint64_t key) -> const Trail* {
    const auto found = trails.find(key);
    return found == trails.end() ? nullptr : &found->second;
  };
  const Trail* stored =
      space == Space::shared  ? known(warp_->block->shared_trails, word_of(address))
      : space == Space::local ? known(warp_->local_trails, word_of_lane(lane, address))
                              : known(global_trails_, word_of(address));
  const bool pending = space == Space::shared && copy_is_pending(address);
  if (stored != nullptr && !pending) {
    Trail trail = *stored;
    trail.pass(site);
    return trail;
  }
  Trail trail =
      new_trail(pending ? Trail::Source::pending_copy : Trail::Source::memory, site, lane);
  trail.space = space;
  trail.place = address;
  return trail;
}

/// Whether a cp.async of the block that nobody has waited for writes this byte of shared memory.
bool Executor::copy_is_pending(uint64_t address) const {
  for (const auto& warp : warp_->block->warps) {
    for (const AsyncCopy& copy : warp->async.copies) {
      if (address - copy.shared_address < copy.bytes) return true;
    }
  }
  return false;
}

void Executor::keep_trail(Space space, int lane, uint64_t address, int bytes, const Trail& trail) {
  auto& trails = space == Space::shared  ? warp_->block->shared_trails
                 : space == Space::local ? warp_->local_trails
                                         : global_trails_;
  for (uint64_t at = word_of(address); at < address + static_cast<uint64_t>(bytes); at += 4) {
    const uint64_t key = space == Space::local ? word_of_lane(lane, at) : at;
    if (trails.size() < kMostTrails) {
      trails[key] = trail;
    } else {
      trails.erase(key);
    }
  }
}

/// An asynchronous copy brings an undefined byte along.
void Executor::keep_copied_trail(const WarpState& warp, const AsyncCopy& copy, int byte) {
  Trail trail = trail_in_memory(copy.site, Space::global, copy.lane,
                                copy.global_address + static_cast<uint64_t>(byte));
  if (trail.site == copy.site) trail.thread = warp.index * kLanes + copy.lane;
  keep_trail(Space::shared, copy.lane, copy.shared_address + static_cast<uint64_t>(byte), 1, trail);
}

/// Call parameters take their trails along; stale ones are never looked at.
void Executor::copy_local_trails(WarpState& warp, const LocalCopy& copy, int lane) {
  if (warp.local_trails.empty()) return;
  for (int i = 0; i < copy.bytes; i += 4) {
    const auto found =
        warp.local_trails.find(word_of_lane(lane, static_cast<uint64_t>(copy.from + i)));
    if (found == warp.local_trails.end()) continue;
    const Trail trail = found->second;
    warp.local_trails[word_of_lane(lane, static_cast<uint64_t>(copy.to + i))] = trail;
  }
}

/// Undefined bytes went to memory: a finding when an output is judged there.
void Executor::undefined_stored(const MicroOp& op, Space space, int lane, Page* page,
                                uint64_t address, int bytes, const Trail& trail) {
  keep_trail(space, lane, address, bytes, trail);
  if (page == nullptr) return;
  page->has_undefined = true;
  if (!memory_->regions()[page->region].spec.judged) return;
  std::string operand;
  const std::string where = describe(Space::global, address, bytes, &operand);
  report_undefined(op, lane, "an uninitialised value is stored to " + where + ": ", trail,
                   "store to " + where, operand);
}

// ---- findings ----

std::string Executor::register_name(uint32_t flag) const {
  for (const Code::MaybeUnset& r : code_->maybe_unset) {
    if (r.flag == flag) return r.name;
  }
  return "a register";
}

Step Executor::first_step(const Trail& trail) const {
  std::string operand, what, value;
  switch (trail.source) {
    case Trail::Source::unset_register:
      what = "read of register " + register_name(static_cast<uint32_t>(trail.place)) +
             ", which nothing wrote,";
      break;
    case Trail::Source::memory:
      what = "load of what nothing wrote";
      value = describe(trail.space, trail.place, 1, &operand);
      break;
    case Trail::Source::pending_copy:
      what = "load of what an asynchronous copy has not written yet";
      value = describe(trail.space, trail.place, 1, &operand);
      break;
    case Trail::Source::absent_lane:
      what = "shuffle from a lane that takes no part";
      break;
    case Trail::Source::ended_object:
      what = "end of an mbarrier object";
      break;
    case Trail::Source::unknown:
      what = "an undefined value";
      break;
  }
  Step step = step_at(trail.site, std::move(what));
  if (trail.block >= 0) {
    step.block = unfold(trail.block, config_->grid);
    step.thread = unfold(trail.thread, config_->block);
  }
  step.value = std::move(value);
  return step;
}

/// "shared memory that nothing wrote: tile + 12 bytes, loaded at sum.cu:34".
std::string Executor::origin_text(const Trail& trail) const {
  std::string operand;
  const std::string at = place(trail.site);
  const bool pending = trail.source == Trail::Source::pending_copy;
  switch (trail.source) {
    case Trail::Source::unset_register:
      return "register " + register_name(static_cast<uint32_t>(trail.place)) +
             ", which nothing wrote, read" + at;
    case Trail::Source::memory:
    case Trail::Source::pending_copy: {
      const std::string why =
          pending ? " that an asynchronous copy has not written yet" : " that nothing wrote";
      if (trail.space == Space::shared) {
        const std::string variable = shared_name(trail.place, 1, &operand);
        if (!variable.empty())
          return "shared memory" + why + ": " + variable + " bytes, loaded" + at;
      }
      return describe(trail.space, trail.place, 1, &operand) + ", which" + why.substr(5) +
             ", loaded" + at;
    }
    case Trail::Source::absent_lane:
      return "what a lane that takes no part gave to a shuffle" + at;
    case Trail::Source::ended_object:
      return "an mbarrier object that has ended" + at;
    case Trail::Source::unknown:
      break;
  }
  return "an undefined value";
}

/// The finding of a value that was first read at the same line: its further uses are none of their
/// own.
Diagnostic* Executor::same_origin(const Trail& trail) {
  if (trail.site < 0) return nullptr;
  const SourceLine line = named_line(trail.site);
  const auto file = code_->module->files.find(line.file);
  const bool known = file != code_->module->files.end();
  const int ptx_line = code_->sites[trail.site].instruction->ptx_line;
  for (Diagnostic& d : diagnostics) {
    if (d.kind != DiagnosticKind::uninitialised || d.steps.empty()) continue;
    const Step& first = d.steps.front();
    if (known ? first.line == line.line && first.file == file->second : first.ptx_line == ptx_line)
      return &d;
  }
  return nullptr;
}

/// A finding of an undefined value, with the steps from where it was first read to its use.
void Executor::report_undefined(const MicroOp& op, int lane, const std::string& message,
                                const Trail& trail, std::string use, std::string operand) {
  const bool absent = barriers_on() && trail.source == Trail::Source::absent_lane;
  if (Diagnostic* const known = absent ? nullptr : same_origin(trail)) {
    constexpr size_t kMostUses = 8;
    ++known->count;
    const SourceLine line = named_line(op.site);
    const int ptx_line = code_->sites[op.site].instruction->ptx_line;
    const bool same = line.line > 0 ? line.line == known->line : ptx_line == known->ptx_line;
    const std::string detail = "also: " + use + place(op.site);
    std::vector<std::string>& uses = known->details;
    if (!same && uses.size() < kMostUses &&
        std::find(uses.begin(), uses.end(), detail) == uses.end())
      uses.push_back(detail);
    return;
  }
  Diagnostic& d = absent ? report_absent(trail, use + place(op.site))
                         : report(DiagnosticKind::uninitialised, op.site, lane,
                                  message + origin_text(trail), std::move(operand));
  if (d.count > 1 || !d.steps.empty()) return;
  d.steps.push_back(first_step(trail));
  Step last = step_at(op.site, std::move(use));
  const auto same_line = [](const Step& a, const Step& b) {
    return a.line > 0 && a.line == b.line && a.file == b.file;
  };
  for (int i = 0; i < trail.passed; ++i) {
    const int32_t site = trail.sites[static_cast<size_t>(i)];
    if (site == op.site) continue;
    Step step = step_at(site, trail_verb(site));
    // What a line computes on the way to its own use goes without saying.
    const bool computes = step.what == kComputed;
    if (computes && (same_line(step, last) || same_line(step, d.steps.back()))) continue;
    d.steps.push_back(std::move(step));
  }
  if (trail.shortened && d.steps.size() > 1) d.steps[1].what = "... " + d.steps[1].what;
  last.block = warp_->block->at;
  last.thread = thread_of(*warp_, lane);
  d.steps.push_back(std::move(last));
}

std::string Executor::trail_verb(int32_t site) const {
  for (const MicroOp& op : code_->ops) {
    if (op.site == site) return verb(op);
  }
  return "handed on";
}

void Executor::check_guard(const MicroOp& op, uint32_t mask) {
  check_predicate(op, op.fguard, op.guard, mask, "guard");
}

void Executor::check_predicate(const MicroOp& op, uint32_t flag, Slot slot, uint32_t mask,
                               const char* what) {
  report_operand(op, flag, predicate_undefined(flag, slot) & mask, what);
}

void Executor::report_operand(const MicroOp& op, uint32_t flag, uint32_t undefined,
                              const char* what) {
  if (undefined == 0) return;
  const int lane = std::countr_zero(undefined);
  const std::string& spelling = code_->sites[op.site].instruction->spelling;
  report_undefined(op, lane,
                   (op.kind == Kind::branch ? "a branch"
                                            : "the " + std::string(what) + " of " + spelling) +
                       " depends on ",
                   trail_of(flag, lane, op.site), op.kind == Kind::branch ? "branch" : what);
}

}  // namespace assay::ptx
