// What a worker process tells its parent: a small file mapped by both, which outlives the worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace assay {

/// Written by the worker, read by the parent. The case is stored before it runs, so that a worker
/// that is killed leaves what it was at.
class WorkerSlot {
 public:
  /// Maps `path`, creating it when it is not there. Throws InputError when that fails.
  explicit WorkerSlot(const std::string& path);
  ~WorkerSlot();
  WorkerSlot(const WorkerSlot&) = delete;
  WorkerSlot& operator=(const WorkerSlot&) = delete;

  void begin_case(const char* text, size_t size);
  void end_case(bool skipped);
  /// What the worker has counted so far (KernelReport::tally); cut at a line's end when too long.
  void publish(const std::string& tally);
  void reset();

  int64_t executions() const { return shared_->executions; }
  int64_t skipped() const { return shared_->skipped; }
  /// The case that runs, "" between cases.
  std::string running_case() const;
  std::string tally() const;  ///< the last one that was published whole

 private:
  static constexpr size_t kMostText = size_t{1} << 16;
  static constexpr size_t kMostTally = size_t{1} << 18;
  struct Shared {
    std::atomic<int64_t> executions;
    std::atomic<int64_t> skipped;
    std::atomic<uint64_t> text_size;
    char text[kMostText];
    /// Two, so that a worker killed while it writes one leaves the other.
    std::atomic<uint32_t> tally_at;
    std::atomic<uint64_t> tally_size[2];
    char tally[2][kMostTally];
  };
  Shared* shared_ = nullptr;
};

}  // namespace assay
