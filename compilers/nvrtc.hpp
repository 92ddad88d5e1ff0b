// NVRTC, NVIDIA's run-time compiler, loaded when first asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compilers/request.hpp"

namespace assay {

/// What a compiler gives back.
struct CompiledText {
  std::string ptx;
  std::string entry;  ///< mangled name
};

class Nvrtc {
 public:
  /// The library that the environment asks for (toolkit.hpp); loaded once for each environment.
  /// Throws MissingDependency, naming what to install, when there is none.
  static std::shared_ptr<const Nvrtc> load();

  /// "nvrtc 13.0".
  const std::string& version() const { return version_; }
  const std::vector<std::string>& headers() const { return headers_; }

  /// Options that a request amounts to, without the source itself: part of the content key.
  std::vector<std::string> options(const CompileRequest& request) const;

  /// Compiles. Throws InputError with the compiler's text at the first error's line.
  CompiledText compile(const CompileRequest& request, const std::string& source_text) const;

 private:
  struct Functions;
  Nvrtc() = default;
  static std::shared_ptr<const Nvrtc> open();

  std::shared_ptr<const Functions> functions_;
  std::string version_;
  std::vector<std::string> headers_;
};

/// An InputError at the first error in a compiler's log (`file(line): error: ...` or
/// `file:line: error: ...`), followed by the log as written. An error about the entry itself names
/// the source's __global__ functions instead.
[[noreturn]] void throw_compile_error(const CompileRequest& request, const std::string& source_text,
                                      const std::string& log, CudaCompiler compiler);

/// Whether such an error says that NVRTC met code or a header of the host, which nvcc compiles.
bool is_host_code_error(const std::string& message);

}  // namespace assay
