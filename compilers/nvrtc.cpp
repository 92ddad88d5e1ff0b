#include "compilers/nvrtc.hpp"

#include <dlfcn.h>
#include <link.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "compilers/prelude.hpp"
#include "compilers/toolkit.hpp"

namespace assay {

// The part of nvrtc.h (CUDA 13.0) that is used, declared here so that the build needs no CUDA.
struct Nvrtc::Functions {
  using Program = void*;
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*create)(Program*, const char* source, const char* name, int headers,
                const char* const* texts, const char* const* names) = nullptr;
  int (*destroy)(Program*) = nullptr;
  int (*compile)(Program, int options, const char* const* texts) = nullptr;
  int (*ptx_size)(Program, size_t*) = nullptr;
  int (*ptx)(Program, char*) = nullptr;
  int (*log_size)(Program, size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*add_name)(Program, const char*) = nullptr;
  int (*lowered_name)(Program, const char*, const char**) = nullptr;
};

namespace {

template <typename Function>
bool resolve(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

std::string loaded_path(void* library, const std::string& asked) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name) {
    return map->l_name;
  }
  return asked;
}

/// One nvrtcProgram, destroyed on every path.
template <typename Functions>
class ProgramHandle {
 public:
  explicit ProgramHandle(const Functions& functions) : functions_(functions) {}
  ~ProgramHandle() {
    if (program) functions_.destroy(&program);
  }
  ProgramHandle(const ProgramHandle&) = delete;
  ProgramHandle& operator=(const ProgramHandle&) = delete;
  void* program = nullptr;

 private:
  const Functions& functions_;
};

}  // namespace

std::shared_ptr<const Nvrtc> Nvrtc::open() {
  std::string tried;
  for (const std::string& file : nvrtc_candidates()) {
    void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      tried += (tried.empty() ? "" : ", ") + file;
      continue;
    }
    // Never closed: NVRTC keeps state of its own behind its functions.
    auto functions = std::make_shared<Functions>();
    Functions& f = *functions;
    const bool whole = resolve(library, "nvrtcVersion", f.version) &&
                       resolve(library, "nvrtcGetErrorString", f.error_string) &&
                       resolve(library, "nvrtcCreateProgram", f.create) &&
                       resolve(library, "nvrtcDestroyProgram", f.destroy) &&
                       resolve(library, "nvrtcCompileProgram", f.compile) &&
                       resolve(library, "nvrtcGetPTXSize", f.ptx_size) &&
                       resolve(library, "nvrtcGetPTX", f.ptx) &&
                       resolve(library, "nvrtcGetProgramLogSize", f.log_size) &&
                       resolve(library, "nvrtcGetProgramLog", f.log) &&
                       resolve(library, "nvrtcAddNameExpression", f.add_name) &&
                       resolve(library, "nvrtcGetLoweredName", f.lowered_name);
    int major = 0, minor = 0;
    if (!whole || f.version(&major, &minor) != 0) {
      tried += (tried.empty() ? "" : ", ") + file + " (not NVRTC)";
      continue;
    }
    std::shared_ptr<Nvrtc> nvrtc(new Nvrtc);
    nvrtc->functions_ = functions;
    nvrtc->version_ = "nvrtc " + std::to_string(major) + "." + std::to_string(minor);
    nvrtc->headers_ = header_folders(loaded_path(library, file));
    return nvrtc;
  }
  throw MissingDependency(
      "NVRTC is not here (" + (tried.empty() ? "hidden by ASSAY_NVRTC=none" : "tried " + tried) +
      "): install a CUDA toolkit, or `pip install nvidia-cuda-nvrtc nvidia-cuda-runtime "
      "nvidia-cuda-cccl nvidia-cuda-crt` into .venv, or name the library in ASSAY_NVRTC");
}

std::shared_ptr<const Nvrtc> Nvrtc::load() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Nvrtc>> loaded;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Nvrtc>& slot = loaded[toolkit_environment()];
  if (!slot) slot = open();
  return slot;
}

std::vector<std::string> Nvrtc::options(const CompileRequest& request) const {
  std::vector<std::string> options = {
      "--gpu-architecture=" + request.virtual_architecture(),
      "-lineinfo",
      std::string("--pre-include=") + kImplicitPrelude,
  };
  const std::vector<std::string> flags = flags_for(CudaCompiler::nvrtc, request.flags);
  bool names_standard = false;
  for (const std::string& flag : flags) names_standard |= flag.starts_with("--std=");
  if (!names_standard) options.push_back("--std=c++17");
  options.insert(options.end(), flags.begin(), flags.end());
  for (const std::string& macro : request.macros) options.push_back("-D" + macro);
  options.push_back("-I" + std::filesystem::path(request.source).parent_path().string());
  for (const std::string& folder : request.include) options.push_back("-I" + folder);
  for (const std::string& folder : headers_) options.push_back("-I" + folder);
  return options;
}

CompiledText Nvrtc::compile(const CompileRequest& request, const std::string& source_text) const {
  const Functions& f = *functions_;
  std::vector<const char*> texts, names;
  for (const PreludeHeader& header : prelude_headers()) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  ProgramHandle<Functions> handle(f);
  const auto check = [&](int result, const char* what) {
    if (result == 0) return;
    throw InputError(request.where,
                     std::string("NVRTC refused ") + what + ": " + f.error_string(result));
  };
  check(f.create(&handle.program, source_text.c_str(), request.source.c_str(),
                 static_cast<int>(texts.size()), texts.data(), names.data()),
        "the source");
  for (const std::string& entry : request.entries) {
    check(f.add_name(handle.program, entry.c_str()), "the entry");
  }

  const std::vector<std::string> options = this->options(request);
  std::vector<const char*> pointers;
  for (const std::string& option : options) pointers.push_back(option.c_str());
  const int result = f.compile(handle.program, static_cast<int>(pointers.size()), pointers.data());
  if (result != 0) {
    size_t size = 0;
    f.log_size(handle.program, &size);
    std::string log(size, '\0');
    f.log(handle.program, log.data());
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    if (log.empty()) log = f.error_string(result);
    throw_compile_error(request, source_text, log, CudaCompiler::nvrtc);
  }

  CompiledText compiled;
  const char* lowered = nullptr;
  check(f.lowered_name(handle.program, request.entry.c_str(), &lowered), "the entry's name");
  compiled.entry = lowered;
  size_t size = 0;
  check(f.ptx_size(handle.program, &size), "to give PTX");
  compiled.ptx.resize(size);
  check(f.ptx(handle.program, compiled.ptx.data()), "to give PTX");
  while (!compiled.ptx.empty() && compiled.ptx.back() == '\0') compiled.ptx.pop_back();
  return compiled;
}

}  // namespace assay
