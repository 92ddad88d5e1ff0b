// The lowered form of a program: compact micro-ops over slots of a warp's frame. Made once a
// program by lower(), run by the executor.
//
// A slot is a row of 32 lanes (semantics.hpp) at a byte offset from one of four bases: the warp's
// frame, the launch's constants, the block's, the warp's. Immediates, addresses of variables,
// parameters and special registers are rows too, so every source of an instruction is a row.
//
// All functions that the entry can reach lie in one flat array, blocks in reverse post-order, so
// that the order of micro-ops is the order in which diverged lanes are scheduled. Registers and
// local memory of each function have fixed places in the frame: PTX functions that are not
// recursive run at most once at a time in each lane.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "devices/ptx/counters.hpp"
#include "devices/device.hpp"
#include "devices/ptx/module.hpp"
#include "devices/ptx/semantics.hpp"

namespace assay::ptx {

/// Byte offset of a row (a multiple of 32; of 4 for predicates) | Base.
using Slot = uint32_t;
inline constexpr Slot kNoSlot = 0xffffffffu;
enum Base : uint32_t { kFrame = 0, kConstants = 1, kBlock = 2, kWarp = 3 };

enum class Kind : uint8_t {
  compute,       ///< rows only
  compute_pred,  ///< with predicate sources or results, or the carry flag
  pack,          ///< mov.b64 d, {a, b}
  unpack,        ///< mov.b64 {d, e}, a
  clock,
  load,
  store,
  atomic,
  is_space,
  shuffle,
  vote,
  match,
  redux,
  active_mask,
  elect,
  tensor,  ///< matrix instructions, of all lanes together
  sync_warp,
  barrier,
  async_source,  ///< cp.async: where it reads
  async_copy,    ///< cp.async: where it writes
  async_group,   ///< commit and wait
  mbarrier,
  fence,   ///< membar, fence
  nop,     ///< prefetches, hints
  branch,  ///< taken under the guard, else `other`
  jump,
  branch_index,
  call,
  ret,
  exit,
  trap,
  assert_fail,
  unsupported,
};

/// Whether an instruction has no effect but its results.
inline bool only_computes(Kind kind) {
  switch (kind) {
    case Kind::compute:
    case Kind::compute_pred:
    case Kind::pack:
    case Kind::unpack:
    case Kind::clock:
    case Kind::is_space:
    case Kind::active_mask:
      return true;
    default:
      return false;
  }
}

/// Whether `a` is an address (mma and pending_count have none that can be wrong).
inline bool has_address(Kind kind) {
  switch (kind) {
    case Kind::load:
    case Kind::store:
    case Kind::atomic:
    case Kind::tensor:
    case Kind::async_source:
    case Kind::async_copy:
    case Kind::mbarrier:
      return true;
    default:
      return false;
  }
}

/// How undefined bits pass through a computing instruction: the table's DefinednessRule as the
/// executor applies it.
enum class UndefinedStep : uint8_t {
  none,         ///< the result is always defined
  whole,        ///< any undefined bit of a lane's sources makes the lane's result undefined
  bits,         ///< bit by bit
  and_,         ///< as bits, but a defined zero decides
  or_,          ///< as bits, but a defined one decides
  lop3,         ///< bit by bit, where the table's answer depends on an undefined bit
  sum,          ///< the bits that an undefined one or a carry out of one reaches
  difference,   ///< a - b, likewise
  negation,     ///< 0 - a
  product,      ///< from the lowest bit up that an undefined one reaches
  product_sum,  ///< a * b + c, likewise
  halves,       ///< by 16-bit halves
  pairs,        ///< two elements of half the width of source and result
  pack2,        ///< upper half from a, lower half from b
  select,       ///< that of the chosen source; an undefined predicate leaves what both agree in
  apply1,       ///< the instruction itself moves the bits of a: shifts, extracts, integer cvt
  apply2,       ///< of a and b: prmt, shf, bfi, slct
};

/// How the exact value passes through (ARCHITECTURE.md, "Wrap").
enum class WrapStep : uint8_t {
  none,  ///< a fresh leaf
  copy,
  add,
  sub,
  mul,
  mad,
  neg,
  not_,
  shl,
  shr,
  div,
  or_,
  select,
  widen_signed,
  widen_unsigned,
  mul_wide_signed,
  mul_wide_unsigned,
  mad_wide_signed,
  mad_wide_unsigned,
};

/// One lowered instruction. Flag indices (f*) number the registers of the frame from 1; 0 stands
/// for constants, whose shadows are always clean. All that a plain computing instruction needs lies
/// in the first of its two cache lines.
struct alignas(64) MicroOp {
  Kind kind = Kind::nop;
  uint8_t width = 0;  ///< bytes of an element of d; for predicates 0
  uint8_t source_width = 0;
  bool guard_negated = false;
  UndefinedStep undefined = UndefinedStep::whole;
  WrapStep wrap = WrapStep::none;
  bool wrap_check = false;  ///< clean sources may still wrap here, and it would matter
  bool back_edge = false;   ///< branch, jump: `target` lies at or before this op
  RowFunction row = nullptr;
  Slot d = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot, e = kNoSlot;
  uint32_t fd = 0, fa = 0, fb = 0, fc = 0, fe = 0;
  Slot guard = kNoSlot;
  uint32_t fguard = 0;

  Slot pa = kNoSlot, pb = kNoSlot;  ///< predicate sources
  Slot p1 = kNoSlot, p2 = kNoSlot;  ///< predicate results
  uint32_t fpa = 0, fpb = 0, fp1 = 0, fp2 = 0;
  int64_t offset = 0;   ///< memory: bytes added to the address
  int32_t target = -1;  ///< branch, jump: block entered; call: index in Code::calls;
                        ///< tensor: in Code::fragments
  int32_t other = -1;   ///< branch: block entered by the other lanes; call: block after it
  int32_t site = -1;    ///< index in Code::sites
  /// Coverage number (counters.hpp), -1: none. Of a memory or a floating instruction, of a comparison; of a branch's
  /// or jump's edge to `target` (that to `other` is the one before); of brx' first target's edge; of
  /// the callee's entry.
  int32_t counter = -1;
  bool pa_negated : 1 = false;
  bool pb_negated : 1 = false;
  bool sets_carry : 1 = false;
  bool uses_carry : 1 = false;
  bool is_copy = false;  ///< d = a, of one width
  uint8_t b_width = 0, c_width = 0;  ///< computing: bytes of an element of b and c
  uint8_t read_bytes = 0;            ///< of an element of a and b when not all: 8-bit types
  ResultFormat result = ResultFormat::none;  ///< of a floating instruction: what `d` holds
  CompareFormat compared = CompareFormat::none;  ///< of a comparison: what `a` and `b` hold
  Shuffle shuffle = Shuffle::none;
};
static_assert(sizeof(MicroOp) == 128);

/// Up to eight items in place: PTX vectors have no more elements.
template <class T>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<T> items) {
    for (T item : items) push_back(item);
  }
  void push_back(T item) {
    assert(size_ < items_.size());
    items_[size_++] = item;
  }
  size_t size() const { return size_; }
  const T& operator[](size_t i) const { return items_[i]; }
  T& operator[](size_t i) { return items_[i]; }
  const T* begin() const { return items_.data(); }
  const T* end() const { return items_.data() + size_; }

 private:
  std::array<T, 8> items_{};
  uint8_t size_ = 0;
};

/// Facts about the instruction behind a micro-op that computing does not need.
struct Site {
  const Function* function = nullptr;
  const Instruction* instruction = nullptr;
  Space space = Space::generic;
  uint8_t element_bytes = 0;  ///< memory: bytes of one element in memory
  bool sign_extend = false;
  bool mask_by_chance = false;  ///< warp operation: its membermask comes from activemask
  uint8_t address_width = 8;
  ShortList<Slot> rows;  ///< vector elements: of a load's results, a store's values
  ShortList<uint32_t> flags;
  ShortList<uint8_t> widths;
  std::vector<int32_t> targets;  ///< branch_index: blocks
};

/// Registers of a matrix instruction: results, then sources in the text's order.
struct FragmentRows {
  std::vector<Slot> rows;
  std::vector<uint32_t> flags;
  size_t results = 0;
};

struct Block {
  int32_t pc = 0;
  int32_t instructions = 0;  ///< of the PTX text
};

/// A copy of call parameters: per lane, `bytes` of local memory.
struct LocalCopy {
  int32_t from = 0, to = 0, bytes = 0;
};
struct CallInfo {
  int32_t callee = -1;  ///< in Module::functions
  int32_t callee_block = -1;
  std::vector<LocalCopy> arguments;
  std::vector<LocalCopy> results;
  std::vector<int32_t> argument_offsets;  ///< local offsets of the arguments, for builtins
  /// What holds nothing when the callee begins, whatever an earlier call left there: registers (in
  /// Code::maybe_unset) and local memory.
  std::vector<int32_t> unset;
  std::vector<std::pair<int32_t, int32_t>> fresh;  ///< offset, bytes
};

/// A constant row that depends on the launch or on where variables lie.
struct LaunchConstant {
  enum class Kind : uint8_t { param, special, variable, shared_variable, dynamic_shared };
  Kind kind{};
  Slot slot = kNoSlot;
  uint8_t width = 4;         ///< of the row
  uint8_t memory_width = 4;  ///< param: bytes read, then extended
  bool sign_extend = false;
  Special special = Special::none;
  int32_t variable = -1;  ///< index in Module::variables
  bool generic = false;   ///< shared_variable: address in the generic window
  int64_t offset = 0;
};

/// Where a shared variable lies.
struct SharedVariable {
  const Variable* variable = nullptr;
  int64_t offset = 0;
};

/// Why an entry cannot run.
struct Unsupported {
  std::string what;  ///< "discard.global.L2 (unknown instruction discard)"
  std::string file;  ///< of the user's own source; "" without a line table
  int line = 0;      ///< in `file`; 0: not known
  int ptx_line = 0;  ///< 0: no instruction's
  /// `what` with its place: "at k.cu:4", or "at line 38 of the PTX".
  std::string text() const;
};

/// The innermost line of the user's own text that an instruction came from; line 0: not known.
SourceLine user_line(const Module& module, const Function& function,
                     const Instruction& instruction);
/// The same for a finding. What the compiler moves or merges has no line of its own (`.loc` with
/// line 0): then that of the instruction that first uses its result, directly or by way of others
/// of this kind, or without one of what last set what it reads.
SourceLine named_line(const Module& module, const Function& function,
                      const Instruction& instruction);
/// A step at an instruction, without thread and value.
Step step_of(const Module& module, const Function& function, const Instruction& instruction,
             std::string what);

struct Code {
  uint64_t serial = 0;  ///< different for every lowered program of the process
  const Module* module = nullptr;
  const Function* entry = nullptr;
  std::vector<MicroOp> ops;
  std::vector<Site> sites;
  std::vector<Block> blocks;
  std::vector<CallInfo> calls;
  std::vector<FragmentRows> fragments;
  std::vector<uint8_t> constants;  ///< immediates filled in
  std::vector<LaunchConstant> launch_constants;
  std::vector<uint64_t> variable_addresses;  ///< of Module::variables
  std::vector<SharedVariable> shared;
  int64_t static_shared_bytes = 0;
  int64_t dynamic_shared_align = 16;
  int64_t frame_bytes = 0;
  int64_t local_bytes = 0;  ///< of one lane
  uint32_t flag_count = 1;
  std::vector<int32_t> wrap_rows;  ///< by flag index: row of carried differences, or -1
  int32_t wrap_row_count = 0;
  bool memory_carries_wrap = false;  ///< an address may come out of shared or local memory
  struct MaybeUnset {
    Slot slot;
    uint32_t flag;
    uint8_t width;
    int32_t function;  ///< in Module::functions
    std::string name;
  };
  std::vector<MaybeUnset> maybe_unset;   ///< registers that may be read before they are written
  std::vector<Unsupported> unsupported;  ///< why the entry cannot run; empty: it can
  std::string subset_obstacle;           ///< why not every subset of blocks may run; "" when it may
  int32_t entry_block = 0;
  bool points_to_parameters = false;  ///< takes the address of a kernel parameter
};

// Offsets of rows in the block's and the warp's constants.
inline constexpr uint32_t kRow32 = 128;
inline constexpr uint32_t kBlockRows = 3;  ///< ctaid x, y, z
inline constexpr uint32_t kWarpRows = 10;  ///< tid x, y, z, laneid, warpid, five lane masks

// Windows of the generic address space (PTX ISA 5.1: shared and local are windows of it).
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 32;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 32;
inline constexpr uint64_t kParamWindow = uint64_t{3} << 32;
inline constexpr uint64_t kVariableWindow = uint64_t{1} << 40;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;
/// First address of shared memory in its window: compute capability 8.0 keeps 1 KiB of it for
/// itself, and an address below 0 is then as wrong as one past the end.
inline constexpr int64_t kSharedStart = 1024;
inline constexpr int64_t kLocalStart = 256;

/// Modules whose variables have places of their own at the same time.
inline constexpr int kModuleSlots = 1024;

/// Lowers an entry and what it calls. `module` must outlive the result. `slot` places the module's
/// variables: modules that run on the same memory need different ones.
std::unique_ptr<Code> lower(const Module& module, const std::string& entry, bool avx2, int slot = 0,
                            const ArithmeticErrors& errors = {});

/// Readers of copies read what was copied; needs `maybe_unset` (lower_copies.cpp).
void remove_redundant_copies(Code& code);

/// The backward slice of addresses and comparisons: who carries exact values (lower_passes.cpp).
void slice_addresses(Code& code);

}  // namespace assay::ptx
