// One interface over the places where a kernel can run: the PTX emulator, a GPU, LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compilers/program.hpp"
#include "devices/coverage.hpp"
#include "generators/instance.hpp"

namespace assay {

enum class RunStatus {
  completed,
  fault,        ///< a memory fault, trap or failed assert; see diagnostics
  hang,         ///< no warp can progress, or the instruction budget ran out
  refused,      ///< the launch breaks a limit of the device
  unsupported,  ///< the program uses what this device does not implement; see diagnostics
};

enum class DiagnosticKind {
  out_of_bounds,
  misaligned,
  uninitialised,
  wrap,
  race,
  barrier,
  launch_limit,
  stray_write,
  narrow_accumulation,  ///< a sum kept in a narrower type than the contract's `accumulate`
  exceptional,          ///< a note: the first NaN, infinity, ... made out of ordinary operands
  trap,
  hang,
  unsupported,
};
std::string_view name(DiagnosticKind kind);

/// "(16,0,0)"
std::string coordinates_text(const std::array<int64_t, 3>& at);

/// What led to a finding, as one access or operation: of a race each of the two accesses, of a
/// wrapped offset the product and its use, of an undefined value where it was loaded.
struct Step {
  std::string what;         ///< "store", "load", "65536 * 65536 = ... became 0"
  std::string file;         ///< source file, from .loc; empty without line table
  int line = 0;
  int ptx_line = 0;
  std::string instruction;  ///< as PTX spells it; empty when none is concerned
  std::array<int64_t, 3> block{-1, -1, -1};   ///< -1: not known
  std::array<int64_t, 3> thread{-1, -1, -1};  ///< -1: not known
  std::string value;        ///< what was stored, loaded or made; empty when that is not known
  /// "store at row_max.cu:8 (st.shared.f32) by thread (16,0,0) of block (0,0,0): 48"
  std::string text() const;
};

/// One thing that a checker saw. Equal (kind, file, line) are reported once a run, with a count.
struct Diagnostic {
  DiagnosticKind kind{};
  std::string message;    ///< one line, with addresses as operand + element offset
  std::string file;       ///< source file, from .loc; empty without line table
  int line = 0;           ///< source line
  int ptx_line = 0;
  std::string operand;    ///< "" when no operand is concerned
  int launch = -1;        ///< launch_limit: position in Contract::launches; -1: not known
  std::string number;     ///< launch_limit: which number of the launch, "grid.y"; "" when not known
  std::array<int64_t, 3> block{};  ///< -1: not known
  std::array<int64_t, 3> thread{};
  int64_t count = 1;
  bool note = false;      ///< true: context for another finding, no finding itself
  std::vector<Step> steps;           ///< what led here, first things first
  std::vector<std::string> details;  ///< further lines, such as what each warp of a hang waits for
};

/// The finding of `found` with the kind and place of `d`, counted once more; nullptr: none.
Diagnostic* count_again(std::vector<Diagnostic>& found, const Diagnostic& d);

/// Bytes of an operand's buffer whose last store a run tells; none by default. Costs time on each
/// access: for a run that repeats another.
struct Watch {
  int operand = -1;   ///< Tensor::position
  int64_t first = 0;  ///< from the start of the buffer
  int64_t bytes = 0;
  /// The only block that `exceptional` traces; -1: all.
  std::array<int64_t, 3> block{-1, -1, -1};
};

/// The last store to what was watched.
struct LastStore {
  std::string file;  ///< source file, from .loc; empty without line table
  int line = 0;      ///< the user's line where a toolkit header was inlined
  int ptx_line = 0;
  std::array<int64_t, 3> block{};
  std::array<int64_t, 3> thread{};
  int64_t count = 0;  ///< stores to it in the run
};

/// Narrower formats that an accumulator in f32 may be given by mistake.
enum class Narrow : uint8_t { none, tf32, f16, bf16 };

/// What is broken on purpose in a run, to see whether the judge notices. The emulator only.
struct Defect {
  int operand = -1;      ///< Tensor::position: of an operand that reads one of its elements wrongly
  int64_t element = -1;  ///< logical index of that element
  int64_t reads = -1;    ///< logical index of the element whose value is read in its place; -1: 0
  /// Every add, sub and fma of f32 that rounds to nearest rounds to this format instead.
  Narrow sums = Narrow::none;
};

struct RunOptions {
  bool definedness = true;
  bool wrap = true;
  bool races = true;
  bool barriers = true;     ///< divergent or missing participation in barriers and warp operations
  bool narrow = true;       ///< narrow accumulation, where the instance's contract is wider
  /// Exceptional arithmetic that flows into what `watch` says: for runs that explain a failure, at
  /// some hundred times the cost; definedness and wrap are not looked for then.
  bool exceptional = false;
  bool coverage = true;
  /// Coverage looks at the results of every floating instruction, not of a sample. Slower.
  bool every_result = false;
  Watch watch;
  int64_t instruction_budget = int64_t{1} << 33;  ///< warp instructions of one launch
  /// The same for programs that may wait for other threads (global atomics, gpu fences, volatile
  /// accesses), when larger: a correct spin lock costs instructions that no work explains.
  int64_t waiting_budget = 0;
  /// Not 0: the emulator errs on purpose as far as a correct device may. Approximate instructions of
  /// f32 are off by up to their documented bound (by a hash of their operands; special values stay),
  /// sums of mma and wmma are cut as the seed says, and the lanes of an atomic take turns in an order
  /// that the seed chooses.
  uint64_t adversarial_seed = 0;
  Defect defect;

  /// For runs that repeat another: no checker, no coverage.
  void switch_off_checkers() {
    definedness = wrap = races = barriers = narrow = exceptional = coverage = false;
  }
};

struct Run {
  RunStatus status = RunStatus::completed;
  std::vector<Diagnostic> diagnostics;
  std::unique_ptr<OutputReader> outputs;  ///< set when status is completed
  std::vector<Coverage> coverage;  ///< of each decoded program, in the order of the launches
  int64_t lane_instructions = 0;  ///< executed instructions, counted once an active lane
  std::string program_digest;     ///< of the decoded programs
  std::optional<LastStore> last_store;  ///< to what options.watch says; empty when there was none
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;
  /// Whether a case fixes the order in which threads come, so that every run gives the same bits.
  virtual bool repeats() const { return true; }
  /// Runs the instance's launches in order; programs[i] belongs to instance.launches[i]. Findings
  /// are data; throws only InputError (PTX that does not parse).
  virtual Run run(const Instance& instance, const std::vector<Program>& programs,
                  const RunOptions& options) = 0;
};

/// The PTX emulator. Keeps decoded programs between runs; one a thread.
std::unique_ptr<Device> make_ptx_device();

/// The first CUDA card, through the driver, in a process of its own. Throws MissingDependency
/// without a driver or a card. One a thread.
std::unique_ptr<Device> make_cuda_device();

}  // namespace assay
