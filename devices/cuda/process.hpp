// A child process that holds a CUDA context, as an object: a kernel that faults or hangs takes the
// child with it, and the next call starts another one. The child is the program `cuda_server`,
// which lies beside this one or in the folder above.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "devices/cuda/driver.hpp"

namespace assay::cuda {

struct Mailbox;

// Codes of CudaError beside the driver's own.
inline constexpr int kTimedOut = -1;      ///< a launch was killed after its time limit
inline constexpr int kChildDied = -2;     ///< ended by a signal or of itself, in another call
inline constexpr int kLaunchDied = -3;    ///< likewise while a kernel ran
inline constexpr int kCallTimedOut = -4;  ///< a call that runs no kernel was killed

struct Card {
  std::string name;
  int capability = 0;    ///< 90 for sm_90
  int cuda_version = 0;  ///< what the driver supports; 13000 for 13.0
};

struct GpuLaunch {
  std::array<int64_t, 3> grid{1, 1, 1};
  std::array<int64_t, 3> block{1, 1, 1};
  int64_t shared_bytes = 0;
  std::vector<uint8_t> parameters;  ///< laid out as PTX says
};

class Process {
 public:
  /// Starts the child and opens the first card. Throws MissingDependency without driver or card.
  Process();
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  const Card& card() const { return card_; }

  // All of these throw CudaError. After an error of the driver other than lack of memory, PTX that
  // it does not take, or a refused launch, memory and modules are gone.

  /// A module; equal keys must mean equal text, which is loaded once.
  uint64_t module(const std::string& key, const std::string& ptx);
  uint64_t allocate(int64_t bytes);
  /// Makes all memory free for reuse.
  void release();
  int64_t free_memory();
  void set_bytes(uint64_t address, uint8_t value, int64_t bytes);
  /// `fill(first, count, out)` gives bytes [first, first + count).
  using Fill = std::function<void(int64_t first, int64_t count, uint8_t* out)>;
  void upload(uint64_t address, int64_t bytes, const Fill& fill);
  using Take = std::function<void(int64_t first, int64_t count, const uint8_t* data)>;
  void download(uint64_t address, int64_t bytes, const Take& take);
  /// Launches and waits for the end; at most `seconds`.
  void launch(uint64_t module, const std::string& entry, const GpuLaunch& launch, double seconds);

 private:
  void start();
  void stop();
  void release_mailbox();
  enum class Call : uint8_t { other, launch };
  void ask(double seconds, Call call = Call::other);
  [[noreturn]] void child_ended(Call call);

  Mailbox* box_ = nullptr;
  pid_t child_ = -1;
  int socket_ = -1;
  int memory_ = -1;  ///< file behind the mailbox
  Card card_;
  std::map<std::string, uint64_t> modules_;
};

}  // namespace assay::cuda
