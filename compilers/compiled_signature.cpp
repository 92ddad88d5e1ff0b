#include "compilers/compiled_signature.hpp"

#include <cxxabi.h>

#include <cstdlib>

#include "compilers/nvcc.hpp"
#include "compilers/nvrtc.hpp"
#include "compilers/program.hpp"
#include "compilers/request.hpp"
#include "compilers/toolkit.hpp"

namespace assay {

namespace {

/// A kernel whose mangled name holds a type.
constexpr const char* kProbe =
    "\ntemplate <typename Function> __global__ void assay_signature() {}\n";

std::string demangled(const std::string& entry) {
  int status = 0;
  char* text = abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 && text != nullptr ? text : "";
  std::free(text);
  return name;
}

}  // namespace

std::vector<KernelParameter> mangled_parameters(const std::string& entry) {
  return parameters_in(parameter_list_of(demangled(entry)));
}

std::vector<KernelParameter> compiled_parameters(const Contract& contract, const Variant& variant,
                                                 int launch) {
  CompileRequest request = make_request(contract, variant, launch);
  const std::string text = read_text(request.source, request.where);
  request.entry = "assay_signature<decltype(&" + request.entry + ")>";
  request.entries = {request.entry};
  CompiledText compiled;
  if (contract.source.compiler == CudaCompiler::nvrtc) {
    compiled = Nvrtc::load()->compile(request, text + kProbe);
  } else {
    compiler_version(CudaCompiler::nvcc);  // says what is missing where nvcc is
    compiled = compile_with_nvcc(find_nvcc(), request, text, kProbe);
  }
  const std::string name = demangled(compiled.entry);
  // "void assay_signature<void (*)(float*, long)>()"
  const size_t end = name.rfind(">()");
  if (end == std::string::npos) return {};
  const size_t pointer = name.find("(*)(");
  if (pointer == std::string::npos) return {};
  return parameters_in(parameter_list_of(name.substr(pointer + 3, end - pointer - 3)));
}

}  // namespace assay
