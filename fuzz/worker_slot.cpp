#include "fuzz/worker_slot.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "kernels_under_test/input_error.hpp"

namespace assay {

WorkerSlot::WorkerSlot(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  // posix_fallocate, not ftruncate: a page without disk behind it would end the worker by SIGBUS.
  const int error = file < 0 ? errno : posix_fallocate(file, 0, sizeof(Shared));
  void* mapped = error ? MAP_FAILED
                       : mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int reason = error ? error : errno;
  if (file >= 0) close(file);
  if (mapped == MAP_FAILED) {
    throw InputError({path}, std::string("cannot write: ") + std::strerror(reason));
  }
  shared_ = static_cast<Shared*>(mapped);
}

WorkerSlot::~WorkerSlot() { munmap(shared_, sizeof(Shared)); }

void WorkerSlot::begin_case(const char* text, size_t size) {
  size = std::min(size, kMostText);
  std::memcpy(shared_->text, text, size);
  shared_->text_size.store(size, std::memory_order_release);
}

void WorkerSlot::end_case(bool skipped) {
  shared_->text_size.store(0, std::memory_order_release);
  shared_->executions.fetch_add(1, std::memory_order_relaxed);
  if (skipped) shared_->skipped.fetch_add(1, std::memory_order_relaxed);
}

void WorkerSlot::publish(const std::string& tally) {
  size_t size = tally.size();
  if (size > kMostTally) size = tally.rfind('\n', kMostTally - 1) + 1;
  const uint32_t other = 1 - shared_->tally_at.load(std::memory_order_relaxed) % 2;
  std::memcpy(shared_->tally[other], tally.data(), size);
  shared_->tally_size[other].store(size, std::memory_order_relaxed);
  shared_->tally_at.store(other, std::memory_order_release);
}

std::string WorkerSlot::tally() const {
  const uint32_t at = shared_->tally_at.load(std::memory_order_acquire) % 2;
  return {shared_->tally[at], std::min<uint64_t>(shared_->tally_size[at], kMostTally)};
}

void WorkerSlot::reset() {
  shared_->tally_at = 0;
  shared_->tally_size[0] = shared_->tally_size[1] = 0;
  shared_->executions = 0;
  shared_->skipped = 0;
  shared_->text_size = 0;
}

std::string WorkerSlot::running_case() const {
  const uint64_t size = std::min<uint64_t>(shared_->text_size, kMostText);
  return {shared_->text, size};
}

}  // namespace assay
