// The child process's side: holds the context, modules and memory.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "devices/cuda/driver.hpp"
#include "devices/cuda/mailbox.hpp"

namespace assay::cuda {

namespace {

constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;  // CUdevice_attribute
constexpr int kMaxDynamicShared = 8;                         // CUfunction_attribute
constexpr int kErrorLog = 5, kErrorLogBytes = 6;             // CUjit_option
constexpr unsigned kDefaultShared = 48u << 10;               // more needs the function attribute
constexpr int kNoDevice = 100;

struct Allocation {
  Pointer address;
  size_t bytes;
  bool used;
};

std::string shape(const uint32_t (&extent)[3]) {
  return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " +
         std::to_string(extent[2]);
}

class Server {
 public:
  explicit Server(Mailbox& mailbox) : box_(mailbox) {}

  void answer() {
    box_.code = kSuccess;
    box_.message[0] = 0;
    try {
      act();
    } catch (const CudaError& error) {
      box_.code = error.code();
      std::snprintf(box_.message, sizeof box_.message, "%s", error.what());
    }
  }

 private:
  void act() {
    switch (box_.verb) {
      case Verb::start:
        return start();
      case Verb::load:
        return load();
      case Verb::unload:
        for (ModuleHandle* module : modules_) driver_.unload_module(module);
        return modules_.clear();
      case Verb::allocate:
        return allocate();
      case Verb::release:
        for (Allocation& one : allocations_) one.used = false;
        return;
      case Verb::free_memory:
        return free_memory();
      case Verb::set_bytes:
        return driver_.check(driver_.set_bytes(box_.address, box_.value, box_.bytes),
                             "cuMemsetD8(" + std::to_string(box_.bytes) + " bytes)");
      case Verb::upload:
        return driver_.check(driver_.to_device(box_.address, box_.staging, box_.bytes),
                             "cuMemcpyHtoD(" + std::to_string(box_.bytes) + " bytes)");
      case Verb::download:
        return driver_.check(driver_.to_host(box_.staging, box_.address, box_.bytes),
                             "cuMemcpyDtoH(" + std::to_string(box_.bytes) + " bytes)");
      case Verb::launch:
        return launch();
    }
  }

  void start() {
    driver_ = Driver::open();
    driver_.check(driver_.init(0), "cuInit(0)");
    driver_.check(driver_.driver_version(&box_.cuda_version), "cuDriverGetVersion");
    int count = 0, device = 0, major = 0, minor = 0;
    driver_.check(driver_.device_count(&count), "cuDeviceGetCount");
    if (count == 0) throw CudaError(kNoDevice, "cuDeviceGetCount: 0 devices");
    driver_.check(driver_.device_get(&device, 0), "cuDeviceGet(0)");
    driver_.check(driver_.device_name(box_.card, sizeof box_.card, device), "cuDeviceGetName");
    driver_.check(driver_.device_attribute(&major, kCapabilityMajor, device),
                  "cuDeviceGetAttribute(compute capability)");
    driver_.check(driver_.device_attribute(&minor, kCapabilityMinor, device),
                  "cuDeviceGetAttribute(compute capability)");
    box_.capability = 10 * major + minor;
    Context* context = nullptr;
    driver_.check(driver_.primary_context(&context, device), "cuDevicePrimaryCtxRetain");
    driver_.check(driver_.set_current(context), "cuCtxSetCurrent");
  }

  void load() {
    const std::string text(reinterpret_cast<const char*>(box_.staging), box_.bytes);
    std::vector<char> log(8192);
    int names[] = {kErrorLog, kErrorLogBytes};
    void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
    ModuleHandle* module = nullptr;
    const int code = driver_.load_module(&module, text.c_str(), 2, names, values);
    log.back() = 0;
    const std::string said = log.data();
    driver_.check(code, "cuModuleLoadDataEx" + (said.empty() ? "" : " [" + said + "]"));
    modules_.push_back(module);
    box_.answer = modules_.size() - 1;
  }

  /// Reuses what is free: cuMemAlloc and cuMemFree cost more than a small kernel.
  void allocate() {
    Allocation* best = nullptr;
    for (Allocation& one : allocations_) {
      const bool fits = !one.used && one.bytes >= box_.bytes && one.bytes / 4 <= box_.bytes;
      if (fits && (best == nullptr || one.bytes < best->bytes)) best = &one;
    }
    if (best == nullptr) {
      constexpr size_t kStep = size_t{2} << 20;
      Allocation fresh{0, (box_.bytes + kStep - 1) / kStep * kStep, true};
      int code = driver_.allocate(&fresh.address, fresh.bytes);
      if (code == kOutOfMemory) {
        give_back();
        code = driver_.allocate(&fresh.address, fresh.bytes);
      }
      driver_.check(code, "cuMemAlloc(" + std::to_string(fresh.bytes) + " bytes)");
      allocations_.push_back(fresh);
      best = &allocations_.back();
    }
    best->used = true;
    box_.answer = best->address;
  }

  void give_back() {
    for (const Allocation& one : allocations_) {
      if (!one.used) driver_.check(driver_.release(one.address), "cuMemFree");
    }
    std::erase_if(allocations_, [](const Allocation& one) { return !one.used; });
  }

  void free_memory() {
    size_t free = 0, total = 0;
    driver_.check(driver_.memory_info(&free, &total), "cuMemGetInfo");
    for (const Allocation& one : allocations_) free += one.used ? 0 : one.bytes;
    box_.answer = free;
  }

  void launch() {
    FunctionHandle* function = nullptr;
    driver_.check(driver_.get_function(&function, modules_.at(box_.module), box_.entry),
                  std::string("cuModuleGetFunction(") + box_.entry + ")");
    const std::string call = std::string("(") + box_.entry + ", grid " + shape(box_.grid) +
                             ", block " + shape(box_.block) + ", " +
                             std::to_string(box_.shared_bytes) + " bytes of shared memory)";
    if (box_.shared_bytes > kDefaultShared) {
      driver_.check(driver_.set_function_attribute(function, kMaxDynamicShared,
                                                   static_cast<int>(box_.shared_bytes)),
                    "cuFuncSetAttribute" + call);
    }
    size_t bytes = box_.parameter_bytes;
    // CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END.
    void* extra[] = {reinterpret_cast<void*>(1), box_.parameters, reinterpret_cast<void*>(2),
                     &bytes, nullptr};
    const uint32_t(&g)[3] = box_.grid;
    const uint32_t(&b)[3] = box_.block;
    driver_.check(driver_.launch(function, g[0], g[1], g[2], b[0], b[1], b[2], box_.shared_bytes,
                                 nullptr, nullptr, bytes == 0 ? nullptr : extra),
                  "cuLaunchKernel" + call);
    driver_.check(driver_.synchronize(), "cuCtxSynchronize after cuLaunchKernel" + call);
  }

  Mailbox& box_;
  Driver driver_{};
  std::vector<ModuleHandle*> modules_;
  std::vector<Allocation> allocations_;
};

}  // namespace

void serve(Mailbox& mailbox, int socket) {
  Server server(mailbox);
  for (char bell = 0;;) {
    const ssize_t got = read(socket, &bell, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1) _exit(0);
    server.answer();
    if (write(socket, &bell, 1) != 1) _exit(0);
  }
}

}  // namespace assay::cuda
