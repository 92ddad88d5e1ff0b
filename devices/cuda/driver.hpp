// The few functions of the CUDA driver API that we call, found at run time: no CUDA headers, no
// library at link time, so that one build serves machines with and without a GPU.
//
// Declarations follow the CUDA Driver API reference, version 13.0. Call only in a process that may
// hold a CUDA context (devices/cuda/server.cpp): a context does not survive fork().
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace assay::cuda {

// CUresult values that we tell apart.
inline constexpr int kSuccess = 0;
inline constexpr int kInvalidValue = 1;
inline constexpr int kOutOfMemory = 2;
inline constexpr int kNoBinaryForGpu = 209;
inline constexpr int kInvalidPtx = 218;
inline constexpr int kUnsupportedPtxVersion = 222;
inline constexpr int kIllegalAddress = 700;
inline constexpr int kLaunchOutOfResources = 701;
inline constexpr int kLaunchTimeout = 702;
inline constexpr int kAssert = 710;
inline constexpr int kIllegalInstruction = 715;
inline constexpr int kMisalignedAddress = 716;
inline constexpr int kInvalidAddressSpace = 717;
inline constexpr int kInvalidPc = 718;
inline constexpr int kLaunchFailed = 719;

/// A call that failed. `what()` is the call's text, the error's name and its description.
class CudaError : public std::runtime_error {
 public:
  CudaError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

struct Context;
struct ModuleHandle;
struct FunctionHandle;
using Pointer = unsigned long long;

/// The driver's entry points; null until open().
struct Driver {
  int (*init)(unsigned flags);
  int (*driver_version)(int* version);
  int (*device_count)(int* count);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int length, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*primary_context)(Context** context, int device);
  int (*set_current)(Context* context);
  int (*synchronize)();
  int (*memory_info)(size_t* free, size_t* total);
  int (*allocate)(Pointer* address, size_t bytes);
  int (*release)(Pointer address);
  int (*to_device)(Pointer to, const void* from, size_t bytes);
  int (*to_host)(void* to, Pointer from, size_t bytes);
  int (*set_bytes)(Pointer to, unsigned char value, size_t count);
  int (*load_module)(ModuleHandle** module, const void* image, unsigned options, int* names,
                     void** values);
  int (*unload_module)(ModuleHandle* module);
  int (*get_function)(FunctionHandle** function, ModuleHandle* module, const char* name);
  int (*set_function_attribute)(FunctionHandle* function, int attribute, int value);
  int (*launch)(FunctionHandle* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                void* stream, void** parameters, void** extra);
  int (*error_name)(int code, const char** text);
  int (*error_string)(int code, const char** text);

  /// Loads libcuda.so.1. Throws CudaError that says what is missing.
  static Driver open();
  /// Throws CudaError unless `code` is success; `call` as a reader would write it.
  void check(int code, const std::string& call) const;
};

}  // namespace assay::cuda
