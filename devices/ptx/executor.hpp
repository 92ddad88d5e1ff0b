// Runs lowered code: warps of resident blocks over sparse memory, with the shadows of
// ARCHITECTURE.md ("Devices"). machine.hpp is the interface; this is its inside.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "devices/ptx/code.hpp"
#include "devices/ptx/exceptional.hpp"
#include "devices/ptx/executor_async.hpp"
#include "devices/ptx/executor_state.hpp"
#include "devices/ptx/joins.hpp"
#include "devices/ptx/lanes.hpp"
#include "devices/ptx/machine.hpp"
#include "devices/ptx/memory.hpp"
#include "devices/ptx/races.hpp"
#include "devices/ptx/row_kit.hpp"
#include "devices/ptx/stillness.hpp"
#include "devices/ptx/tensor.hpp"
#include "devices/ptx/undefined.hpp"

namespace assay::ptx {

class Executor : public RaceOwner {
 public:
  Executor(Memory& memory, bool avx2);

  void use(Memory& memory) { memory_ = &memory; }
  void begin(const RunOptions& options, const Module& module);
  RunStatus launch(const Code& code, const LaunchConfig& config);
  /// Whether two blocks stored to one element of a region of which each element is one block's.
  bool owned_twice() const { return owned_twice_; }
  std::vector<Coverage> take_coverage();
  std::vector<uint32_t> block_hits(const Module& module) const;
  void tell_traced() {
    if (traced()) tell_exceptional();
  }

  std::vector<Diagnostic> diagnostics;
  int64_t lane_instructions = 0;
  AccessObserver observer;

 private:
  // executor.cpp: the interpreter
  template <bool kShadow, Counting kCounting, bool kTrace>
  void run_group(WarpState& warp, Group& group);
  template <Counting kCounting>
  void run_counting(WarpState& warp, Group& group);
  void run_group(WarpState& warp, Group& group);
  const uint8_t* row(Slot slot) const { return bases_[slot & 3] + (slot & ~3u); }
  uint8_t* frame_row(Slot slot) const { return warp_->frame + slot; }
  uint32_t predicate(Slot slot) const;
  void set_predicate(Slot slot, uint32_t value, uint32_t mask);
  template <bool kShadow, bool kLook>
  void compute(const MicroOp& op, uint32_t mask);
  template <bool kShadow, bool kLook>
  void compute_pred(const MicroOp& op, uint32_t mask);
  void run_computing(const MicroOp& op, uint32_t mask);
  void clock(const MicroOp& op, uint32_t mask);
  void is_space(const MicroOp& op, uint32_t mask);
  void active_mask(const MicroOp& op, uint32_t mask);
  void diverge(WarpState& warp, Group& group, const MicroOp& op, uint32_t taken_mask);
  uint32_t same_index(const MicroOp& op, uint32_t mask, uint32_t* wanted);
  void write_row(Slot d, int width, const void* from, uint32_t mask);
  void result_defined(uint32_t flag, Slot slot, int width, uint32_t mask);

  // executor_pack.cpp
  void pack(const MicroOp& op, uint32_t mask);
  void unpack(const MicroOp& op, uint32_t mask);

  // scheduler.cpp
  void run_blocks();
  bool run_block(BlockState& block, int64_t slice);
  void run_warp(WarpState& warp, int64_t slice);
  Group* pick(WarpState& warp);
  void merge(WarpState& warp);
  void exit_lanes(WarpState& warp, Group& group, uint32_t mask);
  void split_off(WarpState& warp, Group& group, uint32_t mask, int32_t pc);
  void end_rotation(int64_t waiting_blocks, int64_t most, int64_t& limit);
  void fit(BlockState& block) const;
  void recycle(std::unique_ptr<BlockState> block);
  void keep_few_blocks();
  int64_t budget() const;  ///< warp instructions that this launch may take
  int64_t block_number(int64_t index, int64_t count) const;

  // block_barriers.cpp
  void arrive(WarpState& warp, Group& group, const MicroOp& op, uint32_t mask);
  void count_arrivals(WarpState& warp, int number, uint32_t mask);
  void hold(WarpState& warp, Group& group, uint32_t mask, Wait wait, uint32_t wait_mask);
  void try_release(BlockState& block, int barrier);

  // executor_start.cpp
  std::unique_ptr<BlockState> start_block(std::array<int64_t, 3> at, int64_t linear);
  void start_warp(WarpState& warp, BlockState& block, int32_t index);
  void count_warps();

  // machine.cpp
  void prepare_constants();
  uint64_t special_value(Special which) const;

  // executor_memory.cpp
  void load(const MicroOp& op, uint32_t mask);
  void store(const MicroOp& op, uint32_t mask);
  void atomic(const MicroOp& op, uint32_t mask);
  void atomic_undefined(const MicroOp& op, Space space, int lane, const Target& at, uint64_t old,
                        const uint64_t* operands, const uint64_t* undefined);
  void addresses(const MicroOp& op);
  enum class Access { read, write, atomic };
  void observe_access(const MicroOp& op, uint32_t mask, Space space, Access access, int bytes = 0) {
    if (tracked_) track_access(op, mask, space, access, bytes);
  }
  void track_access(const MicroOp& op, uint32_t mask, Space space, Access access, int bytes);
  void tell_observer(const MicroOp& op, uint32_t mask, Space space, Access access, int bytes);
  uint32_t split_spaces(const MicroOp& op, uint32_t mask, Space& space);
  void load_from(const MicroOp& op, uint32_t mask, Space space);
  void store_to(const MicroOp& op, uint32_t mask, Space space);
  Target span_of_lanes(uint32_t mask, Space space, int bytes, uint64_t* first);
  bool load_near(const MicroOp& op, uint32_t mask, Space space);
  bool store_near(const MicroOp& op, uint32_t mask, Space space);
  Target span(Space space, uint64_t address, int64_t bytes);
  Target locate(const MicroOp& op, Space space, int lane, uint64_t address, int bytes,
                bool is_store);
  [[noreturn]] void out_of_bounds(const MicroOp& op, Space space, int lane, uint64_t address,
                                  int bytes, bool is_store);
  [[noreturn]] void misaligned(const MicroOp& op, Space space, int lane, uint64_t address,
                               int bytes);
  std::string shared_name(uint64_t address, int bytes, std::string* operand) const;
  std::string describe(Space space, uint64_t address, int bytes, std::string* operand) const;
  void stray_write(const MicroOp& op, int lane, uint64_t address, int bytes);
  void load_deltas(const MicroOp& op, uint32_t mask, Space space);
  void store_deltas(const MicroOp& op, uint32_t mask, Space space);
  void forget_locals(WarpState& warp, const CallInfo& call, uint32_t mask);
  void copy_local(WarpState& warp, const std::vector<LocalCopy>& copies, uint32_t mask);
  void copy_local_trails(WarpState& warp, const LocalCopy& copy, int lane);

  // executor_memory_rows.cpp
  AddressPattern pattern_of(const uint64_t* addresses, const LaneRun& lanes, int bytes) const;
  bool any_undefined(const uint8_t* state, int64_t bytes) const;
  bool load_wide(const MicroOp& op, uint32_t mask, Space space);
  bool store_wide(const MicroOp& op, uint32_t mask, Space space);

  // executor_warp.cpp
  bool synchronise(WarpState& warp, Group& group, const MicroOp& op, uint32_t mask);
  bool synchronise_parts(WarpState& warp, Group& group, const MicroOp& op, uint32_t mask);
  bool try_rendezvous(WarpState& warp, uint32_t mask);
  struct Participant {
    Group* group = nullptr;
    const MicroOp* op = nullptr;
    uint32_t mask = 0;
  };
  void perform(WarpState& warp, std::span<const Participant> all);
  bool is_uniform(Slot slot) const;
  bool shuffle_whole(const MicroOp& op, uint32_t mask);
  void shuffle(WarpState& warp, std::span<const Participant> all);
  void set_result_predicate(const MicroOp& op, uint32_t value, uint32_t mask, uint32_t undefined);
  uint32_t member_mask(const MicroOp& op, uint32_t mask) const;

  // executor_vote.cpp
  void vote(WarpState& warp, std::span<const Participant> all);
  void match(WarpState& warp, std::span<const Participant> all);
  void redux(WarpState& warp, std::span<const Participant> all);
  void elect(WarpState& warp, std::span<const Participant> all);

  // undefined_lanes.cpp
  void shuffle_undefined(const MicroOp& op, uint32_t mask, const int* sources,
                         const UndefinedLanes& given, const UndefinedSources& chooser,
                         uint32_t absent, const int* asked);
  void gather_undefined(const MicroOp& op, uint32_t flag, Slot slot, int width, uint32_t mask,
                        UndefinedLanes& lanes);
  void set_collective(const MicroOp& op, int lane, uint32_t value, uint32_t undefined,
                      const UndefinedLanes& made_of);
  void set_collective_predicate(const MicroOp& op, bool value, uint32_t mask, bool undefined,
                                const UndefinedLanes& made_of);
  void set_reduction(const MicroOp& op, BarKind kind, uint32_t mask, const BarrierState& done);

  // executor_barriers.cpp
  Step step_of(const WarpState& warp, int32_t pc, uint32_t mask, std::string what) const;
  Diagnostic* report_lanes(WarpState& warp, int32_t pc, uint32_t mask, std::string message,
                           bool note = false);
  int64_t threads_wanted(const MicroOp& op, int lane) const;
  void check_arrival(WarpState& warp, int32_t pc, uint32_t mask, uint32_t rest);
  void check_release(BlockState& block, int number);
  void tell_apart(WarpState& warp_a, const Group& a, WarpState& warp_b, const Group& b,
                  std::string message, bool note);
  bool stands_above(const Group& a, const Group& b) const;
  void tell_divergent(WarpState& warp, const Group& first, const Group& second);
  void check_membermask(WarpState& warp, int32_t pc, uint32_t mask, uint32_t named);
  void check_participants(WarpState& warp, std::span<const Participant> all);
  Diagnostic& report_absent(const Trail& trail, const std::string& use);

  // executor_hangs.cpp
  std::string awaited(const Group& g, const char* running) const;
  uint32_t lacking(const WarpState& home, const Group& waits, const WarpState& warp) const;
  void tell_missing(const WarpState& home, const Group& waits, const char* running,
                    std::string& message, std::vector<Step>& steps) const;
  int32_t loop_of(const Group& g) const;
  [[noreturn]] void report_hang(const std::string& why, const char* running);

  // executor_passed.cpp
  bool is_landmark(int32_t pc) const;
  int32_t landmark_from(int32_t pc) const;
  void note_passed(WarpState& warp, const Group& goes);
  void check_exit(WarpState& warp, uint32_t leaving);
  Joins& joins();
  void watch_joins(const WarpState& warp);
  void check_left(WarpState& warp);

  // executor_coverage.cpp
  void begin_coverage(const Module& module);
  void count_in(const Module& module);
  void change_look();
  void note_access(const MicroOp& op, uint32_t mask, uint32_t all);
  void note_ends(const Page& page, int64_t offset, int64_t bytes);
  void note_result(const MicroOp& op, const uint8_t* row, uint32_t mask);
  void note_compare(const MicroOp& op, uint32_t holds, uint32_t mask);
  void note_turn(Group& group, int32_t edge) {
    if (turns_ == nullptr) return;
    group.turns = edge == group.loop ? group.turns + 1 : 1;
    group.loop = edge;
    if (group.turns > turns_[edge]) turns_[edge] = group.turns;
  }

  // executor_tensor.cpp
  /// By element: 0, or 1 + 32 * (number of the register) + lane of what is undefined.
  using UndefinedElements = std::array<uint16_t, kMaxElements>;
  void tensor(WarpState& warp, std::span<const Participant> all);
  void set_register_row(const FragmentRows& registers, size_t k, const uint8_t* bytes,
                        const uint8_t* undefined);
  template <class F>
  void store_bytes(const MicroOp& op, Space space, int lane, uint64_t address, int bytes,
                   const uint8_t* from, const uint8_t* undefined, F trail);
  template <class F>
  void set_row_trails(const FragmentRows& registers, size_t k, F trail_of_part);
  template <class F>
  void set_fragment_trails(const FragmentRows& registers, size_t first, const Fragment& f, F trail);
  void note_undefined(const uint8_t* bad, size_t k, int parts, const uint16_t* element,
                      UndefinedElements& undefined) const;
  Trail element_trail(const MicroOp& op, const FragmentRows& registers, uint16_t where);
  Space find_matrix_rows(const MicroOp& op, int count, Access access);
  void load_matrices(const MicroOp& op, const Instruction& ins);
  void store_matrices(const MicroOp& op, const Instruction& ins);
  void move_matrix(const MicroOp& op);
  const Fragment& fragment(const Instruction& ins, Matrix matrix);
  bool gather(const FragmentRows& registers, size_t first, const Fragment& f, Elements& values,
              UndefinedElements& undefined);
  void scatter(const FragmentRows& registers, size_t first, const Fragment& f, const uint32_t* bits,
               const UndefinedElements* undefined);
  void matrix_product(const MicroOp& op, const Instruction& ins);
  void transfer_fragment(WarpState& warp, const MicroOp& op, const Instruction& ins);
  void fragment_bits(const FragmentRows& registers, const Fragment& f, uint32_t* bits,
                     UndefinedElements& undefined);

  // executor_async.cpp
  void asynchronous(const MicroOp& op, uint32_t mask);
  void async_source(const MicroOp& op, uint32_t mask);
  void async_copy(const MicroOp& op, uint32_t mask);
  void async_group(const MicroOp& op, uint32_t mask);
  void complete_copies(WarpState& warp, const std::function<bool(const AsyncCopy&)>& is_due);
  void arrive_at_object(uint64_t* object, uint64_t count, bool drop, int32_t site, int lane);
  void finish_arrivals(uint64_t address, uint64_t* object);
  void barrier_object(const MicroOp& op, uint32_t mask);
  bool barrier_object_lane(const MicroOp& op, const Instruction& ins, Space space, int lane);

  // shadow_*.cpp
  uint32_t undefined_lanes(uint32_t flag, Slot slot, int width, uint32_t mask) const;
  void mark_undefined(uint32_t flag, Slot slot, int width, uint32_t mask);
  void mark_defined(uint32_t flag, Slot slot, int width, uint32_t mask);
  void shadow_compute(const MicroOp& op, uint32_t mask, uint8_t flags);
  void shadow_predicates(const MicroOp& op, uint32_t mask, const Rows& rows,
                         const UndefinedSources& sources);
  void shadow_carry(const MicroOp& op, uint32_t mask, const UndefinedSources& sources);
  void run_unsure(const MicroOp& op, uint32_t mask, uint32_t active);
  bool stays_exact(const MicroOp& op) const;
  uint64_t undefined_result(const MicroOp& op, int lane) const;
  void propagate_undefined(const MicroOp& op, uint32_t mask);
  void propagate_wrap(const MicroOp& op, uint32_t mask, uint8_t flags);
  uint8_t* undefined_row(uint32_t flag, Slot slot, int width);
  WrapRow& wrap_row(uint32_t flag);
  const uint8_t* undefined_source(uint32_t flag, Slot slot) const;
  uint32_t predicate_undefined(uint32_t flag, Slot slot) const;
  void set_predicate_undefined(uint32_t flag, Slot slot, uint32_t undefined, uint32_t mask);
  void check_address(const MicroOp& op, uint32_t mask);
  void note_compared_wrap(const MicroOp& op, uint32_t mask);
  std::string wrap_message(const WrapOrigin& origin) const;

  // undefined_trail.cpp
  UndefinedSources undefined_sources(const MicroOp& op, uint32_t mask) const;
  Trail& trail_at(uint32_t flag, int lane);
  Trail new_trail(Trail::Source source, int32_t site, int lane) const;
  const Trail& trail_of(uint32_t flag, int lane, int32_t site);
  Trail trail_through(const MicroOp& op, uint32_t flag, int lane);
  void hand_on(const MicroOp& op, uint32_t to, uint32_t lanes, const UndefinedSources& sources);
  void pass(Trail& trail, const MicroOp& op) const;
  Trail trail_in_memory(int32_t site, Space space, int lane, uint64_t address);
  void keep_trail(Space space, int lane, uint64_t address, int bytes, const Trail& trail);
  bool copy_is_pending(uint64_t address) const;
  void keep_copied_trail(const WarpState& warp, const AsyncCopy& copy, int byte);
  std::string register_name(uint32_t flag) const;
  std::string trail_verb(int32_t site) const;
  Step first_step(const Trail& trail) const;
  std::string origin_text(const Trail& trail) const;
  Diagnostic* same_origin(const Trail& trail);
  void report_undefined(const MicroOp& op, int lane, const std::string& message, const Trail& trail,
                        std::string use, std::string operand = "");
  void check_guard(const MicroOp& op, uint32_t mask);
  /// An operand that decides what a warp, a barrier or a copy does, not what it computes.
  void check_operand(const MicroOp& op, uint32_t flag, Slot slot, int width, uint32_t mask,
                     const char* what) {
    if (flag == 0 || (warp_->flags[flag] & kMaybeUndefined) == 0) return;
    report_operand(op, flag, undefined_lanes(flag, slot, width, mask), what);
  }
  void report_operand(const MicroOp& op, uint32_t flag, uint32_t undefined, const char* what);
  void check_predicate(const MicroOp& op, uint32_t flag, Slot slot, uint32_t mask,
                       const char* what);
  void undefined_stored(const MicroOp& op, Space space, int lane, Page* page, uint64_t address,
                        int bytes, const Trail& trail);

  // executor_races.cpp
  void check_races(const MicroOp& op, RaceEvent event);
  void check_read_only(const MicroOp& op, const RaceEvent& event);
  void stale_load(const MicroOp& op, const RaceEvent& event, int lane, const RaceAccess& stored);
  void track_copied(WarpState& warp, const AsyncCopy& copy);
  void fence(const MicroOp& op, uint32_t mask);
  void race_barrier(BlockState& block, int number);
  void race_found(const Race& race) override;
  void add_values(Race& race, const RaceEvent& event) override;
  bool stores_what_is_there(const RaceEvent& event, int lane) override;
  bool same_line(uint32_t site, uint32_t other) override;
  void stored_by_two_blocks(const RaceEvent& event, int lane) override;
  bool lanes_store_equal(const RaceEvent& event, int a, int b) override;

  // executor_exceptional.cpp; only where trace_ is set
  bool is_traced() const;
  CauseRow& causes(uint32_t flag);
  uint64_t traced_place(Space space, int lane, uint64_t address) const;
  void trace_before(const MicroOp& op);
  void trace_after(const MicroOp& op, uint32_t mask);
  void trace_numbers(const MicroOp& op, const Instruction& ins, int lane, uint64_t result,
                     Cause& cause);
  void trace_parts(const MicroOp& op, uint32_t mask);
  void trace_access(const MicroOp& op, uint32_t mask, Space space, Access access, int bytes);
  void trace_matrix_access(const MicroOp& op, uint32_t mask, Space space, Access access, int bytes);
  void trace_shuffle(const MicroOp& op, uint32_t mask, const int* sources);
  uint32_t nonfinite_lanes(Slot slot, Type type) const;
  void trace_product(const MicroOp& op, const Instruction& ins, bool ordinary);
  void tell_exceptional();

  // findings.cpp
  [[noreturn]] void assert_failed(const MicroOp& op, uint32_t mask);
  Diagnostic& report(DiagnosticKind kind, int32_t site, int lane, std::string message,
                     std::string operand = "", bool note = false);
  std::array<int64_t, 3> thread_of(const WarpState& warp, int lane) const;
  SourceLine user_line(int32_t site) const;
  SourceLine named_line(int32_t site) const;
  Step step_at(int32_t site, std::string what) const;
  std::string place(int32_t site) const;

  Memory* memory_;
  const RowKit& kit_;
  bool owned_twice_ = false;
  RunOptions options_;
  const Code* code_ = nullptr;
  const LaunchConfig* config_ = nullptr;
#ifdef ASSAY_WITHOUT_CHECKERS
  static constexpr bool shadow_ = false, tracked_ = false, counting_ = false;
#else
  bool shadow_ = true;
  bool counting_ = true;  ///< somebody asks for counters: coverage, or the checkers that use them
  bool tracked_ = false;  ///< somebody looks at accesses: observer, race checker or trace
#endif
  bool barriers_on() const { return kCheckersBuilt && options_.barriers; }
  bool races_on() const { return kCheckersBuilt && options_.races; }
  bool traced() const { return kCheckersBuilt && trace_ != nullptr; }
  std::unique_ptr<Races> races_;
  std::unique_ptr<ExceptionTrace> trace_;  ///< null: exceptional arithmetic is not looked for
  const MicroOp* race_op_ = nullptr;  ///< whose access is being checked
  int64_t warp_count_ = 0;            ///< of a block of the launch
  int race_bytes_ = 0;                ///< of a lane in that access, a power of two
  AlignedBytes constants_;
  uint64_t constants_of_ = 0;           ///< Code::serial
  BlockShape shape_{};                  ///< of the launch
  uint64_t free_blocks_of_ = 0;         ///< Code::serial of the launch before
  std::array<const uint8_t*, 4> bases_{};
  struct Counted {
    const Module* module = nullptr;
    Coverage seen;
    std::vector<uint32_t> turns;  ///< Coverage::turns, by edge
  };
  std::vector<Counted> counted_;        ///< one a module that was launched
  Coverage* seen_ = nullptr;            ///< of the module that runs
  uint32_t* turns_ = nullptr;           ///< of the module that runs, by edge; nullptr: not counted
  uint8_t* access_seen_ = &no_access_;  ///< of the memory instruction that runs
  uint8_t no_access_ = 0;               ///< of one without a counter
  bool looking_ = false;                ///< results of floating instructions are looked at
  int64_t look_change_ = 0;             ///< `instructions_` at which that changes
  uint64_t look_state_ = 0;
  WarpState* warp_ = nullptr;
  const MicroOp* ops_ = nullptr;
  int64_t instructions_ = 0;
  int64_t slice_end_ = 0;  ///< the warp gives way
  int64_t pause_ = 0;      ///< the group does: there, or where the look changes
  int64_t shared_bytes_ = 0;
  std::vector<int32_t> warp_order_;
  std::deque<std::unique_ptr<BlockState>> resident_;
  Stillness stillness_;
  std::unordered_map<uint64_t, Joins> all_joins_;  ///< by Code::serial
  /// Of sites whose own line is 0, by Code::serial.
  mutable std::map<std::pair<uint64_t, int32_t>, SourceLine> named_lines_;
  Joins* joins_now_ = nullptr;  ///< of the program that runs; null: not asked for yet
  /// A block's barrier at which others wait while a warp runs, and how often the blocks behind it
  /// had been entered when that warp began.
  struct WatchedBarrier {
    int number = 0;
    int32_t pc = -1;
    std::array<uint32_t, Joins::kMostBehind> entries{};
  };
  std::vector<WatchedBarrier> watched_barriers_;
  std::vector<std::unique_ptr<BlockState>> free_blocks_;
  std::vector<WrapOrigin> origins_ = std::vector<WrapOrigin>(1);
  std::unordered_map<uint64_t, Trail> global_trails_;  ///< by 4-byte word; of the launch
  std::unordered_map<uint64_t, Fragment> fragments_;  ///< those that ran, by shape, type, layout
  std::array<Target, kLanes> async_from_{};           ///< from async_source to async_copy
  std::array<uint64_t, kLanes> async_address_{};
  std::array<uint8_t, kLanes> async_bytes_{};
  alignas(64) uint64_t address_[kLanes];
  alignas(64) uint8_t scratch_[256];
};

}  // namespace assay::ptx
