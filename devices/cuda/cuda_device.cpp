// A real GPU as a device. Every case runs at least twice, each time over outputs that hold another
// poison (poison.hpp): a byte that equals its poison each time was not written. (Of operands that
// the kernel also reads the values before count as written: an element that was missed shows as a
// wrong value.) The first run's outputs are judged.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "devices/cuda/host_reader.hpp"
#include "devices/cuda/poison.hpp"
#include "devices/cuda/process.hpp"
#include "devices/device.hpp"
#include "devices/launch_parameters.hpp"
#include "devices/ptx/module.hpp"
#include "generators/launch_limits.hpp"
#include "generators/storage_run.hpp"
#include "kernels_under_test/input_error.hpp"

namespace assay {

namespace cuda {
namespace {

/// Around each buffer; holds 0xff, a NaN of every float type, and is looked at after the run.
constexpr int64_t kGuardBytes = int64_t{64} << 10;
constexpr uint8_t kGuard = 0xff;
constexpr double kLaunchSeconds = 20;
/// Filling and reading back what is larger would take seconds a case.
constexpr double kMostGib = 1;
/// Threads of a whole grid that runs in place of some of its blocks.
constexpr int64_t kMostThreads = int64_t{1} << 33;

struct Buffer {
  const Tensor* tensor = nullptr;  ///< whose memory it is
  const Tensor* writer = nullptr;  ///< what is written in it: another where that shares the memory
  int64_t stored = 0;              ///< bytes that the case fills
  uint64_t allocation = 0;
  uint64_t address = 0;

  bool is_poisoned() const { return tensor->spec->kind == OperandKind::output; }
  std::string name() const {
    return (writer == tensor ? "" : writer->spec->name + "=") + tensor->spec->name;
  }
};

std::string gib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f GiB", bytes / 0x1p30);
  return text;
}

/// Bytes of a case that are filled at most; ASSAY_CUDA_MOST_GIB raises it for a large card.
double most_bytes() {
  const char* given = std::getenv("ASSAY_CUDA_MOST_GIB");
  if (given == nullptr) return kMostGib * 0x1p30;
  const char* end = given + std::strlen(given);
  double chosen = 0;
  const auto [rest, error] = std::from_chars(given, end, chosen);
  if (error != std::errc() || rest != end || !std::isfinite(chosen) || chosen <= 0) {
    throw InputError({}, std::string("ASSAY_CUDA_MOST_GIB is '") + given +
                             "': expected a number of GiB above 0, such as 4");
  }
  return chosen * 0x1p30;
}

struct Meaning {
  RunStatus status;
  DiagnosticKind kind;
};
/// What a failed launch says about the kernel.
Meaning meaning_of(int code) {
  switch (code) {
    case kIllegalAddress:
    case kInvalidAddressSpace:
      return {RunStatus::fault, DiagnosticKind::out_of_bounds};
    case kMisalignedAddress:
      return {RunStatus::fault, DiagnosticKind::misaligned};
    case kLaunchDied:
    case kAssert:
    case kIllegalInstruction:
    case kInvalidPc:
    case kLaunchFailed:
      return {RunStatus::fault, DiagnosticKind::trap};
    case kLaunchTimeout:
    case kTimedOut:
      return {RunStatus::hang, DiagnosticKind::hang};
    case kInvalidValue:
    case kLaunchOutOfResources:
      return {RunStatus::refused, DiagnosticKind::launch_limit};
    default:
      return {RunStatus::unsupported, DiagnosticKind::unsupported};
  }
}

void report(Run& run, DiagnosticKind kind, std::string message, std::string operand = "") {
  Diagnostic d;
  d.kind = kind;
  d.message = std::move(message);
  d.operand = std::move(operand);
  d.block = d.thread = {-1, -1, -1};  // a GPU does not say
  run.diagnostics.push_back(std::move(d));
}

/// For what each run of a case is looked through for: told once for each operand.
void report_once(Run& run, DiagnosticKind kind, std::string message, const std::string& operand) {
  for (const Diagnostic& known : run.diagnostics) {
    if (known.kind == kind && known.operand == operand) return;
  }
  report(run, kind, std::move(message), operand);
}

class CudaDevice : public Device {
 public:
  std::string_view name() const override { return "cuda"; }
  bool repeats() const override { return false; }
  Run run(const Instance& instance, const std::vector<Program>& programs,
          const RunOptions& options) override;

 private:
  const ptx::Module& decoded(const Program& program);
  std::vector<Buffer> plan(const Instance& instance) const;
  std::string obstacle(const Instance& instance, const std::vector<Buffer>& buffers);
  void place(std::vector<Buffer>& buffers);
  void fill(const Instance& instance, const Buffer& buffer, uint8_t mask);
  void launch_all(const Instance& instance, const std::vector<Program>& programs,
                  const std::vector<Buffer>& buffers);
  void read(const Instance& instance, const Buffer& buffer, const PoisonRuns& runs,
            Contents& contents, Run& run);
  void check_guards(const std::vector<Buffer>& buffers, Run& run);
  void run_over_poisons(const Instance& instance, const std::vector<Program>& programs, Run& run);

  const double most_bytes_ = most_bytes();  ///< read first: a bad value needs no card to be told
  Process process_;
  std::map<std::string, ptx::Module> modules_;  ///< by Program::key, for parameters and digests
};

const ptx::Module& CudaDevice::decoded(const Program& program) {
  auto found = modules_.find(program.key);
  if (found == modules_.end()) {
    found = modules_.emplace(program.key, ptx::decode(program.ptx, program.source)).first;
  }
  return found->second;
}

std::vector<Buffer> CudaDevice::plan(const Instance& instance) const {
  std::vector<Buffer> buffers;
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || tensor.is_shared()) continue;
    Buffer buffer;
    buffer.tensor = &tensor;
    buffer.writer = &instance.writer_of(tensor);
    buffer.stored = tensor.storage_bytes();
    buffers.push_back(buffer);
  }
  return buffers;
}

/// Why the case cannot run here; "" when it can.
std::string CudaDevice::obstacle(const Instance& instance, const std::vector<Buffer>& buffers) {
  double needed = 0;
  for (const Buffer& buffer : buffers) needed += static_cast<double>(buffer.stored);
  if (needed > most_bytes_) {
    // To a power of two, so that a summary counts few reasons.
    return "needs up to " + gib(std::exp2(std::ceil(std::log2(needed)))) +
           " of GPU memory, and at most " + gib(most_bytes_) +
           " are filled for a case (ASSAY_CUDA_MOST_GIB)";
  }
  process_.release();  // what the case before held is free for this one
  const double free = static_cast<double>(process_.free_memory());
  if (needed > free) return "needs " + gib(needed) + " of GPU memory; " + gib(free) + " are free";
  if (instance.the_case.blocks.empty()) return "";
  for (const ResolvedLaunch& launch : instance.launches) {
    double threads = 1;
    for (size_t d = 0; d < 3; ++d) {
      threads *= static_cast<double>(launch.grid[d]) * static_cast<double>(launch.block[d]);
    }
    if (threads > static_cast<double>(kMostThreads)) {
      return "a GPU runs whole grids, and this one is too large to run for some of its blocks";
    }
  }
  return "";
}

/// Buffers of cases before are free: obstacle() released them.
void CudaDevice::place(std::vector<Buffer>& buffers) {
  for (Buffer& buffer : buffers) {
    const int64_t misalign = buffer.tensor->misalign;
    const int64_t whole = buffer.stored + misalign + 2 * kGuardBytes;
    buffer.allocation = process_.allocate(whole);
    buffer.address = buffer.allocation + static_cast<uint64_t>(kGuardBytes + misalign);
    const uint64_t end = buffer.address + static_cast<uint64_t>(buffer.stored);
    process_.set_bytes(buffer.allocation, kGuard, kGuardBytes + misalign);
    process_.set_bytes(end, kGuard, kGuardBytes);
  }
}

void CudaDevice::fill(const Instance& instance, const Buffer& buffer, uint8_t mask) {
  process_.upload(buffer.address, buffer.stored, [&](int64_t first, int64_t count, uint8_t* out) {
    storage_bytes(instance, *buffer.tensor, first, count, out);
    for (int64_t i = 0; mask != 0 && i < count; ++i) out[i] ^= mask;
  });
}

void CudaDevice::launch_all(const Instance& instance, const std::vector<Program>& programs,
                            const std::vector<Buffer>& buffers) {
  const auto address_of = [&](const Tensor& tensor) -> uint64_t {
    for (const Buffer& buffer : buffers) {
      if (buffer.tensor->position == tensor.buffer()) return buffer.address;
    }
    return 0;
  };
  for (size_t i = 0; i < instance.launches.size(); ++i) {
    const ResolvedLaunch& launch = instance.launches[i];
    if (is_empty(launch)) continue;  // nothing to compute: a host launches nothing
    const Program& program = programs[i];
    const uint64_t module = process_.module(program.key, program.ptx);
    const ptx::Function* entry = decoded(program).find(program.entry);
    if (entry == nullptr) throw CudaError(kInvalidPtx, "the PTX has no entry " + program.entry);
    GpuLaunch gpu;
    gpu.grid = launch.grid;
    gpu.block = launch.block;
    gpu.shared_bytes = launch.shared_bytes;
    gpu.parameters = launch_parameters(instance, launch, *entry, address_of);
    process_.launch(module, program.entry, gpu, kLaunchSeconds);
  }
}

/// Stores between the elements of what is written in a buffer, of which bytes [first, first +
/// count) are `held`, over the poison of `mask`.
void check_padding(const Instance& instance, const Buffer& buffer, int64_t first, int64_t count,
                   const uint8_t* held, uint8_t mask, Run& run) {
  const Tensor& tensor = *buffer.tensor;
  if (tensor.storage_elements == tensor.elements()) return;
  const StorageMap map(tensor);
  const int bytes = byte_size(tensor.dtype);
  const int64_t end = (first + count) / bytes;
  std::vector<uint8_t> poison;
  for (int64_t at = first / bytes; at < end;) {
    const StorageRun piece = map.run_at(at);
    const int64_t length = std::min(piece.length, end - at);
    if (piece.padding) {
      poison.resize(static_cast<size_t>(length * bytes));
      storage_bytes(instance, tensor, at * bytes, length * bytes, poison.data());
      for (uint8_t& byte : poison) byte ^= mask;
      const auto differs = std::mismatch(poison.begin(), poison.end(), held + (at * bytes - first));
      if (differs.first != poison.end()) {
        const std::string name = buffer.name();
        const int64_t element = at + (differs.first - poison.begin()) / bytes;
        return report_once(run, DiagnosticKind::stray_write,
                           "store to padding of " + name + ", element " + std::to_string(element),
                           name);
      }
    }
    at += length;
  }
}

/// The first run's bytes are kept; every run's say which were written.
void CudaDevice::read(const Instance& instance, const Buffer& buffer, const PoisonRuns& runs,
                      Contents& contents, Run& run) {
  const uint8_t mask = buffer.is_poisoned() ? runs.mask() : 0;
  if (runs.first()) {
    contents.bytes.resize(static_cast<size_t>(buffer.stored));
    contents.written.assign(static_cast<size_t>(buffer.stored), buffer.is_poisoned() ? 0 : 1);
  }
  std::vector<uint8_t> poison;
  process_.download(
      buffer.address, buffer.stored, [&](int64_t first, int64_t count, const uint8_t* data) {
        check_padding(instance, buffer, first, count, data, mask, run);
        if (runs.first()) {
          std::memcpy(contents.bytes.data() + first, data, static_cast<size_t>(count));
        }
        if (!buffer.is_poisoned()) return;
        poison.resize(static_cast<size_t>(count));
        storage_bytes(instance, *buffer.tensor, first, count, poison.data());
        mark_written(poison, mask, data, contents.written.data() + first);
      });
}

/// Bytes of elements, not of padding, that no run wrote.
int64_t unwritten_bytes(const Buffer& buffer, const Contents& contents) {
  const auto& written = contents.written;
  if (buffer.tensor->storage_elements == buffer.tensor->elements()) {
    return std::count(written.begin(), written.end(), uint8_t{0});
  }
  const StorageMap map(*buffer.tensor);
  const int64_t bytes = byte_size(buffer.tensor->dtype);
  int64_t unwritten = 0;
  for (int64_t at = 0; at < buffer.tensor->storage_elements;) {
    const StorageRun piece = map.run_at(at);
    const auto begin = written.begin() + at * bytes;
    if (!piece.padding) unwritten += std::count(begin, begin + piece.length * bytes, uint8_t{0});
    at += piece.length;
  }
  return unwritten;
}

/// Stores just before or after a buffer, which no GPU faults on.
void CudaDevice::check_guards(const std::vector<Buffer>& buffers, Run& run) {
  for (const Buffer& buffer : buffers) {
    const int64_t before = static_cast<int64_t>(buffer.address - buffer.allocation);
    const auto look = [&](uint64_t start, int64_t bytes, int64_t offset) {
      int64_t found = -1;
      process_.download(start, bytes, [&](int64_t first, int64_t count, const uint8_t* data) {
        for (int64_t i = 0; i < count && found < 0; ++i) {
          if (data[i] != kGuard) found = first + i;
        }
      });
      if (found < 0) return false;
      report_once(run, DiagnosticKind::out_of_bounds,
                  "store outside of " + buffer.name() + ", at byte " +
                      std::to_string(offset + found) + " of its " + std::to_string(buffer.stored),
                  buffer.name());
      return true;
    };
    if (look(buffer.allocation, before, -before)) continue;
    look(buffer.address + static_cast<uint64_t>(buffer.stored), kGuardBytes, buffer.stored);
  }
}

/// Whether no launch breaks a limit that its contract tells; otherwise `run` says which.
bool keeps_to_limits(const Instance& instance, Run& run) {
  for (const ResolvedLaunch& launch : instance.launches) {
    const auto breach = launch_breach(instance, launch);
    if (!breach) continue;
    run.status = RunStatus::refused;
    report(run, DiagnosticKind::launch_limit, breach->message);
    run.diagnostics.back().launch = launch.position;
    run.diagnostics.back().number = assay::name(breach->number);
    return false;
  }
  return true;
}

void CudaDevice::run_over_poisons(const Instance& instance, const std::vector<Program>& programs,
                                  Run& run) {
  if (!keeps_to_limits(instance, run)) return;
  std::vector<Buffer> buffers = plan(instance);
  if (const std::string why = obstacle(instance, buffers); !why.empty()) {
    run.status = RunStatus::unsupported;
    return report(run, DiagnosticKind::unsupported, why);
  }
  place(buffers);
  std::map<int, Contents> contents;
  PoisonRuns runs;
  while (true) {
    for (const Buffer& buffer : buffers) {
      if (!runs.first() && !buffer.writer->is_written()) continue;
      fill(instance, buffer, buffer.is_poisoned() ? runs.mask() : 0);
    }
    launch_all(instance, programs, buffers);
    int64_t unwritten = 0;
    for (const Buffer& buffer : buffers) {
      if (!buffer.writer->is_judged()) continue;
      Contents& held = contents[buffer.writer->position];
      read(instance, buffer, runs, held, run);
      unwritten += unwritten_bytes(buffer, held);
    }
    check_guards(buffers, run);
    if (!runs.again(unwritten)) break;
  }
  run.outputs = std::make_unique<HostReader>(std::move(contents));
}

Run CudaDevice::run(const Instance& instance, const std::vector<Program>& programs,
                    const RunOptions&) {
  Run run;
  for (const Program& program : programs) {
    const std::string& digest = decoded(program).digest;
    if (run.program_digest.find(digest) != std::string::npos) continue;
    if (!run.program_digest.empty()) run.program_digest += '+';
    run.program_digest += digest;
  }
  try {
    run_over_poisons(instance, programs, run);
  } catch (const CudaError& error) {
    const Meaning meaning = meaning_of(error.code());
    run.status = meaning.status;
    run.outputs.reset();
    report(run, meaning.kind, error.what());
  }
  return run;
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Device> make_cuda_device() { return std::make_unique<cuda::CudaDevice>(); }

}  // namespace assay
