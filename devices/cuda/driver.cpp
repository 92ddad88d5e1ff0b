#include "devices/cuda/driver.hpp"

#include <dlfcn.h>

namespace assay::cuda {

namespace {

constexpr int kNotFound = 500;  // CUDA_ERROR_NOT_FOUND

template <class Function>
void find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  if (function == nullptr) {
    throw CudaError(kNotFound, std::string("libcuda.so.1 has no ") + name + ": driver too old");
  }
}

}  // namespace

Driver Driver::open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw CudaError(kNotFound, dlerror());
  Driver d{};
  find(library, "cuInit", d.init);
  find(library, "cuDriverGetVersion", d.driver_version);
  find(library, "cuDeviceGetCount", d.device_count);
  find(library, "cuDeviceGet", d.device_get);
  find(library, "cuDeviceGetName", d.device_name);
  find(library, "cuDeviceGetAttribute", d.device_attribute);
  find(library, "cuDevicePrimaryCtxRetain", d.primary_context);
  find(library, "cuCtxSetCurrent", d.set_current);
  find(library, "cuCtxSynchronize", d.synchronize);
  find(library, "cuMemGetInfo_v2", d.memory_info);
  find(library, "cuMemAlloc_v2", d.allocate);
  find(library, "cuMemFree_v2", d.release);
  find(library, "cuMemcpyHtoD_v2", d.to_device);
  find(library, "cuMemcpyDtoH_v2", d.to_host);
  find(library, "cuMemsetD8_v2", d.set_bytes);
  find(library, "cuModuleLoadDataEx", d.load_module);
  find(library, "cuModuleUnload", d.unload_module);
  find(library, "cuModuleGetFunction", d.get_function);
  find(library, "cuFuncSetAttribute", d.set_function_attribute);
  find(library, "cuLaunchKernel", d.launch);
  find(library, "cuGetErrorName", d.error_name);
  find(library, "cuGetErrorString", d.error_string);
  return d;
}

void Driver::check(int code, const std::string& call) const {
  if (code == kSuccess) return;
  const char* title = nullptr;
  const char* text = nullptr;
  error_name(code, &title);
  error_string(code, &text);
  throw CudaError(code, call + ": " + (title ? title : "error " + std::to_string(code)) +
                            (text ? std::string(" (") + text + ")" : ""));
}

}  // namespace assay::cuda
