// What the executor keeps of warps and blocks: registers, groups of lanes, barriers, shadows; and
// the small things that all its parts use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/ptx/code.hpp"
#include "devices/ptx/executor_async.hpp"
#include "devices/ptx/machine.hpp"
#include "devices/ptx/races.hpp"
#include "devices/ptx/undefined.hpp"

namespace assay::ptx {

/// Uninitialised bytes aligned to 64.
class AlignedBytes {
 public:
  /// Makes room; contents are lost when it grows.
  void reserve(size_t bytes) {
    if (bytes <= size_) return;
    data_.reset(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{64})));
    size_ = bytes;
  }
  uint8_t* data() { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<uint8_t, Free> data_;
  size_t size_ = 0;
};

/// Shadow flags of a register: some byte of some lane may be undefined; some lane's exact value
/// differs from its bits.
inline constexpr uint8_t kMaybeUndefined = 1;
inline constexpr uint8_t kWrapped = 2;
/// Index of the carry flag among trails; as a register's flag index 0 stands for constants.
inline constexpr uint32_t kCarryFlag = 0;

/// What an exact value differs by, under the signed and the unsigned reading of its leaves.
struct Delta {
  int64_t s = 0;
  int64_t u = 0;
  uint32_t origin = 0;  ///< index in Executor::origins_; 0: none
};
struct WrapRow {
  int64_t s[kLanes];
  int64_t u[kLanes];
};

/// Where a value first wrapped, for messages.
struct WrapOrigin {
  int32_t site = -1;
  WrapStep step = WrapStep::none;
  int score = 0;
  int64_t a = 0, b = 0, c = 0;  ///< exact operands under the reading that wrapped
  int64_t exact = 0;
  int64_t wrapped = 0;
  bool is_signed = true;
};

enum class Wait : uint8_t { none, rendezvous, barrier };

/// Lanes of a warp with one program counter and one call stack.
struct Group {
  int32_t pc = 0;
  uint32_t mask = 0;
  std::vector<int32_t> stack;  ///< return addresses
  uint32_t epoch = 0;          ///< how often it was passed over in rotation
  uint32_t back_edges = 0;
  int32_t loop = -1;   ///< back edge that was taken last, with coverage
  uint32_t turns = 0;  ///< how often in a row
  Wait wait = Wait::none;
  uint32_t wait_mask = 0;  ///< rendezvous: lanes named; barrier: its number
  uint32_t passed = 0;     ///< while it waits: lanes that went past and can come no more
  int32_t passed_at = -1;  ///< where they did
};

struct BlockState;

struct WarpState {
  AlignedBytes storage;  ///< frame, undefined frame, wrap rows, local memory
  uint8_t* frame = nullptr;
  uint8_t* undefined = nullptr;
  WrapRow* wrap = nullptr;
  uint8_t* local = nullptr;  ///< lane after lane
  uint8_t* local_state = nullptr;
  std::vector<uint8_t> flags;
  std::vector<uint32_t> origins;                     ///< by flag index
  std::unordered_map<uint64_t, Delta> local_deltas;  ///< (lane << 32 | offset)
  alignas(64) uint8_t constants[kWarpRows * kRow32];
  uint32_t live = 0;   ///< lanes that have not exited
  uint32_t carry = 0;  ///< CC.CF of each lane
  uint32_t carry_undefined = 0;
  /// By flag index; made where something is undefined.
  std::vector<std::unique_ptr<TrailRow>> trails;
  uint64_t trails_of = 0;  ///< Code::serial
  std::unordered_map<uint64_t, Trail> local_trails;  ///< (lane << 32 | word)
  std::vector<Group> groups;
  AsyncState async;
  int32_t index = 0;
  BlockState* block = nullptr;
};

/// Arrivals at one of a block's sixteen barriers.
struct BarrierState {
  int64_t wanted = -1;          ///< thread count of the instruction; -1: all threads of the block
  int64_t arrived_threads = 0;  ///< by bar.arrive
  uint32_t popc = 0;            ///< bar.red: threads whose predicate was true
  uint32_t participants = 0;
  int32_t first_pc = -1;     ///< of the first arrival
  int64_t first_wanted = 0;  ///< threads that it asked for, those of the block included
  uint32_t undefined = 0;    ///< bar.red: threads whose predicate was undefined
  uint32_t surely = 0;       ///< bar.red: threads whose predicate was defined and true
  Trail trail;               ///< of an undefined predicate
};

/// A block's threads in x, y and z; whether only one of them runs.
using BlockShape = std::array<int64_t, 4>;

struct BlockState {
  BlockShape shape{};  ///< that the constants of the warps are of
  std::array<int64_t, 3> at{};
  int64_t linear = 0;
  alignas(64) uint8_t constants[kBlockRows * kRow32];
  std::vector<uint8_t> shared;
  std::vector<uint8_t> shared_state;
  std::unordered_map<uint32_t, Delta> shared_deltas;  ///< by 4-byte word
  std::unordered_map<uint64_t, Trail> shared_trails;  ///< likewise, of undefined bytes
  std::vector<std::unique_ptr<WarpState>> warps;
  std::array<BarrierState, 16> barriers;
  std::vector<std::array<uint32_t, 16>> barrier_masks;  ///< by warp: lanes waiting at each barrier
  int32_t finished_warps = 0;
  uint32_t barriers_in_use = 0;  ///< bit b: somebody has arrived at barrier b
  std::unique_ptr<RaceBlock> races;  ///< null: races are not looked for
};

/// A build without any checker and any counter, to measure what those that are off cost
/// (bench/off_cost). It runs kernels and tells of faults alone.
#ifdef ASSAY_WITHOUT_CHECKERS
inline constexpr bool kCheckersBuilt = false;
#else
inline constexpr bool kCheckersBuilt = true;
#endif

/// What the interpreter counts (devices/coverage.hpp) while a group runs.
enum class Counting : uint8_t {
  nothing,
  entries,  ///< edges and accesses
  results,  ///< and classes of results: in a window of executor_coverage.cpp
};

/// "lane 3", "lanes 0-15", "lanes 0-3 and 8".
std::string lanes_text(uint32_t mask);
/// "0x0000ffff"
std::string hex32(uint32_t value);
/// " of warp 3"
std::string of_warp(const WarpState& warp);
/// All threads of a warp have to execute the same one (PTX ISA, "barrier": bar is barrier.aligned).
inline bool is_aligned(const Instruction& ins) { return ins.op == Op::bar || ins.aligned; }

inline bool reduces(BarKind kind) {
  return kind == BarKind::red_popc || kind == BarKind::red_and || kind == BarKind::red_or;
}

/// Thrown to end a run early; the diagnostic is already recorded.
struct Stop {
  RunStatus status;
};

/// Bytes of memory that one lane may touch.
struct Target {
  uint8_t* data = nullptr;
  uint8_t* state = nullptr;
  Page* page = nullptr;
};

}  // namespace assay::ptx
