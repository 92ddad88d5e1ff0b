#include "devices/cuda/process.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <new>

#include "devices/cuda/mailbox.hpp"
#include "kernels_under_test/input_error.hpp"

extern char** environ;

namespace assay::cuda {

namespace {

constexpr double kCallSeconds = 60;  ///< everything but launches; module loading is the slowest
constexpr size_t kMostModules = 256;

/// `cuda_server` beside this program (or in the folder above: tests and benchmarks).
std::string server_program() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path folder = self.parent_path();
  for (const auto& place : {folder, folder.parent_path()}) {
    const std::string file = (place / "cuda_server").string();
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  throw CudaError(kChildDied, "no program " + (folder / "cuda_server").string());
}

/// Starts `cuda_server` with these two open; everything else of ours is closed on exec.
int spawn_server(const std::string& program, int socket, int memory, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Onto itself: takes the close-on-exec flag away in the child.
  posix_spawn_file_actions_adddup2(&actions, socket, socket);
  posix_spawn_file_actions_adddup2(&actions, memory, memory);
  std::string texts[] = {program, std::to_string(socket), std::to_string(memory)};
  char* arguments[] = {texts[0].data(), texts[1].data(), texts[2].data(), nullptr};
  const int failure = posix_spawn(&child, arguments[0], &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failure;
}

/// Whether the context is as good as before.
bool harmless(int code) {
  return code == kOutOfMemory || code == kInvalidPtx || code == kNoBinaryForGpu ||
         code == kUnsupportedPtxVersion || code == kInvalidValue || code == kLaunchOutOfResources;
}

}  // namespace

Process::Process() {
  memory_ = memfd_create("assay-cuda", MFD_CLOEXEC);
  if (memory_ < 0 || ftruncate(memory_, sizeof(Mailbox)) != 0) throw std::bad_alloc();
  void* memory = mmap(nullptr, sizeof(Mailbox), PROT_READ | PROT_WRITE, MAP_SHARED, memory_, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  box_ = static_cast<Mailbox*>(memory);  // zeros are its initial state
  try {
    start();
  } catch (const CudaError& error) {
    stop();
    release_mailbox();
    throw MissingDependency(std::string("no CUDA device: ") + error.what());
  }
}

Process::~Process() {
  stop();
  release_mailbox();
}

void Process::release_mailbox() {
  munmap(box_, sizeof(Mailbox));
  close(memory_);
}

void Process::start() {
  const std::string program = server_program();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw CudaError(kChildDied, std::string("socketpair: ") + std::strerror(errno));
  }
  pid_t child = -1;
  const int failure = spawn_server(program, ends[1], memory_, child);
  close(ends[1]);
  if (failure != 0) {
    close(ends[0]);
    throw CudaError(kChildDied, program + ": " + std::strerror(failure));
  }
  child_ = child;
  socket_ = ends[0];
  box_->verb = Verb::start;
  ask(kCallSeconds);
  card_ = {box_->card, box_->capability, box_->cuda_version};
}

void Process::stop() {
  modules_.clear();
  if (socket_ >= 0) close(socket_);
  socket_ = -1;
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  while (waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

void Process::child_ended(Call call) {
  int status = 0;
  const bool known = waitpid(child_, &status, 0) == child_;
  if (known) child_ = -1;
  stop();
  const std::string when = call == Call::launch ? " while the kernel ran" : "";
  throw CudaError(
      call == Call::launch ? kLaunchDied : kChildDied,
      "the process that holds the GPU ended" + when +
          (known && WIFSIGNALED(status) ? ", by signal " + std::to_string(WTERMSIG(status)) : ""));
}

/// Rings, waits for the answer, throws what went wrong.
void Process::ask(double seconds, Call call) {
  if (child_ < 0) throw CudaError(kChildDied, "no process holds the GPU");
  const char bell = 1;
  if (send(socket_, &bell, 1, MSG_NOSIGNAL) != 1) child_ended(call);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    pollfd wait{socket_, POLLIN, 0};
    const int ready = poll(&wait, 1, std::max(0, static_cast<int>(left.count() * 1000)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) {
      stop();
      const std::string what = call == Call::launch ? "" : "a call that runs no kernel: ";
      throw CudaError(
          call == Call::launch ? kTimedOut : kCallTimedOut,
          what + "killed after " + std::to_string(static_cast<int>(seconds)) + " s without an end");
    }
    char answer = 0;
    const ssize_t got = read(socket_, &answer, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) child_ended(call);
    break;
  }
  if (box_->code == kSuccess) return;
  const CudaError error(box_->code, box_->message);
  if (!harmless(error.code())) stop();
  throw error;
}

uint64_t Process::module(const std::string& key, const std::string& ptx) {
  if (child_ < 0) start();
  const auto known = modules_.find(key);
  if (known != modules_.end()) return known->second;
  if (ptx.size() > kStagingBytes) {
    throw CudaError(kInvalidPtx, "PTX of " + std::to_string(ptx.size()) + " bytes is too long");
  }
  if (modules_.size() >= kMostModules) {
    box_->verb = Verb::unload;
    ask(kCallSeconds);
    modules_.clear();
  }
  box_->verb = Verb::load;
  box_->bytes = ptx.size();
  std::memcpy(box_->staging, ptx.data(), ptx.size());
  ask(kCallSeconds);
  return modules_[key] = box_->answer;
}

uint64_t Process::allocate(int64_t bytes) {
  if (child_ < 0) start();
  box_->verb = Verb::allocate;
  box_->bytes = static_cast<uint64_t>(bytes);
  ask(kCallSeconds);
  return box_->answer;
}

void Process::release() {
  if (child_ < 0) return;  // nothing is held
  box_->verb = Verb::release;
  ask(kCallSeconds);
}

int64_t Process::free_memory() {
  if (child_ < 0) start();
  box_->verb = Verb::free_memory;
  ask(kCallSeconds);
  return static_cast<int64_t>(box_->answer);
}

void Process::set_bytes(uint64_t address, uint8_t value, int64_t bytes) {
  if (bytes == 0) return;
  box_->verb = Verb::set_bytes;
  box_->address = address;
  box_->value = value;
  box_->bytes = static_cast<uint64_t>(bytes);
  ask(kCallSeconds);
}

void Process::upload(uint64_t address, int64_t bytes, const Fill& fill) {
  for (int64_t first = 0; first < bytes;) {
    const int64_t count = std::min<int64_t>(bytes - first, kStagingBytes);
    fill(first, count, box_->staging);
    box_->verb = Verb::upload;
    box_->address = address + static_cast<uint64_t>(first);
    box_->bytes = static_cast<uint64_t>(count);
    ask(kCallSeconds);
    first += count;
  }
}

void Process::download(uint64_t address, int64_t bytes, const Take& take) {
  for (int64_t first = 0; first < bytes;) {
    const int64_t count = std::min<int64_t>(bytes - first, kStagingBytes);
    box_->verb = Verb::download;
    box_->address = address + static_cast<uint64_t>(first);
    box_->bytes = static_cast<uint64_t>(count);
    ask(kCallSeconds);
    take(first, count, box_->staging);
    first += count;
  }
}

void Process::launch(uint64_t module, const std::string& entry, const GpuLaunch& launch,
                     double seconds) {
  if (entry.size() >= sizeof box_->entry || launch.parameters.size() > sizeof box_->parameters) {
    throw CudaError(kInvalidValue, "entry name or parameters too long");
  }
  box_->verb = Verb::launch;
  box_->module = module;
  for (size_t d = 0; d < 3; ++d) {
    if (launch.grid[d] > UINT32_MAX || launch.block[d] > UINT32_MAX) {
      throw CudaError(kInvalidValue, "a launch extent does not fit in 32 bits");
    }
    box_->grid[d] = static_cast<uint32_t>(launch.grid[d]);
    box_->block[d] = static_cast<uint32_t>(launch.block[d]);
  }
  box_->shared_bytes = static_cast<uint32_t>(launch.shared_bytes);
  box_->parameter_bytes = static_cast<uint32_t>(launch.parameters.size());
  std::memcpy(box_->parameters, launch.parameters.data(), launch.parameters.size());
  std::memcpy(box_->entry, entry.c_str(), entry.size() + 1);
  ask(seconds, Call::launch);
}

}  // namespace assay::cuda
