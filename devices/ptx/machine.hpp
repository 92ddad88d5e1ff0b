// The emulated GPU under the device interface: memory regions and launches of lowered code with raw
// parameters. The PTX device and the tests both stand on it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devices/device.hpp"
#include "devices/ptx/code.hpp"
#include "devices/ptx/memory.hpp"
#include "devices/ptx/tensor.hpp"
#include "generators/launch_limits.hpp"

namespace assay::ptx {

struct LaunchConfig {
  std::array<int64_t, 3> grid{1, 1, 1};
  std::array<int64_t, 3> block{1, 1, 1};
  int64_t shared_bytes = 0;     ///< dynamic
  std::vector<uint8_t> params;  ///< the parameter space, laid out as Parameter::offset says
  std::vector<int64_t> blocks;  ///< linear indices (x fastest) that run; empty: all
  uint64_t block_seed = 0;      ///< 0: blocks in order
  uint64_t warp_seed = 0;       ///< 0: warps in order; also chooses the layout of wmma's fragments
  MmaErrors mma_errors;         ///< how sums of mma and wmma err
  uint64_t atomic_seed = 0;     ///< 0: the lanes of an atomic in order
  uint64_t watched_address = 0; ///< of RunOptions::watch, where exceptional arithmetic is traced
  /// Tests: runs one block with these coordinates, whatever the grid says.
  std::optional<std::array<int64_t, 3>> only_block;
  /// Tests: only this thread of each block exists, whatever the block's shape says.
  std::optional<std::array<int64_t, 3>> only_thread;
};

/// Coordinates of a linear index, x fastest.
inline std::array<int64_t, 3> unfold(int64_t linear, const std::array<int64_t, 3>& shape) {
  return {linear % shape[0], linear / shape[0] % shape[1], linear / shape[0] / shape[1]};
}

/// One memory access of a warp, as checkers see it (races and others build on this).
struct AccessEvent {
  const Function* function = nullptr;
  const Instruction* instruction = nullptr;
  Space space = Space::global;          ///< resolved: global, shared or local
  uint32_t mask = 0;                    ///< active lanes
  const uint64_t* addresses = nullptr;  ///< of 32 lanes; shared and local: offsets in their windows
  int bytes = 0;                        ///< of one lane
  bool is_read = false;
  bool is_write = false;
  bool is_atomic = false;
  int64_t block = 0;  ///< linear index
  int warp = 0;
};
/// Empty: no cost beyond one test an access.
using AccessObserver = std::function<void(const AccessEvent&)>;

/// What a program itself limits of its launches: `.reqntid` and `.maxntid` of the entry, and static
/// shared memory (CUDA C++ Programming Guide 13.0, technical specifications).
struct ProgramLimit {
  LaunchNumber number{};
  std::string message;  ///< "" when the launch keeps to all; else ", more than ..."
};
ProgramLimit program_limit(const Function& entry, const ResolvedLaunch& launch,
                           int64_t static_shared_bytes);

/// Blocks that a whole device of compute capability 8.0 (A100: 108 multiprocessors) holds at once,
/// by threads, blocks and shared memory; registers, which PTX does not tell, may lower it (CUDA C++
/// Programming Guide 13.0, technical specifications). `shared_bytes`: of a block, static included.
int64_t co_resident_blocks(const LaunchConfig& config, int64_t shared_bytes);

class Executor;

class Machine {
 public:
  /// `avx2`: use the fast build of rows; both builds give the same bits.
  explicit Machine(bool avx2);
  ~Machine();

  Memory& memory() { return *memory_; }
  /// The memory, to keep and read after later runs.
  std::shared_ptr<const Memory> keep_memory() const { return memory_; }
  /// Empties the memory, or takes another one while somebody keeps this one.
  void renew_memory();
  /// Forgets findings and coverage. Call before the first launch of a run.
  void begin(const Module& module, const RunOptions& options);
  /// Runs a launch; findings gather in diagnostics(). Stops at the first fault.
  RunStatus launch(const Code& code, const LaunchConfig& config);

  std::vector<Diagnostic>& diagnostics();
  int64_t lane_instructions() const;
  /// What the launches since `begin` showed, by module; empty when nobody asked.
  std::vector<Coverage> take_coverage();
  /// How often each block of a module was entered since `begin`, by its number in the module.
  std::vector<uint32_t> block_hits(const Module& module) const;
  void observe(AccessObserver observer);

  /// Adds a region for each global and const variable of the module; once a run and module. They
  /// hold what they hold in `left`, the memory of an earlier run; null: what the module says.
  void add_variables(const Code& code, std::shared_ptr<const Memory> left = nullptr);
  /// Adds a note on the exceptional arithmetic that the last store to the watched bytes carries.
  void tell_exceptional();
  /// Whether two blocks of this run stored to one element of a region that is `owned`; only with
  /// races on.
  bool owned_twice() const;

 private:
  void show_parameters(const LaunchConfig& config);

  std::shared_ptr<Memory> memory_;
  std::vector<std::shared_ptr<Memory>> spares_;
  std::unique_ptr<Executor> executor_;
  std::vector<uint8_t> shown_parameters_;
  int parameter_region_ = -1;
};

/// Whether the fast build serves on this machine: cpu_has_avx2() unless ASSAY_NO_AVX2=1.
bool use_avx2();

}  // namespace assay::ptx
