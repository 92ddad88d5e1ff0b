// nvcc -ptx in a child process, for sources that need host headers.
#pragma once

#include <string>
#include <vector>

#include "compilers/nvrtc.hpp"
#include "compilers/request.hpp"

namespace assay {

/// "nvcc 13.0", of the program at `nvcc`; asked once for each path. Throws MissingDependency when
/// it does not run.
std::string nvcc_version(const std::string& nvcc);

/// Options that a request amounts to, without files: part of the content key.
std::vector<std::string> nvcc_options(const CompileRequest& request);

/// Compiles through a generated file that includes the source and uses the entry, so that a
/// template is instantiated; `added` stands below the source there. Throws InputError with the
/// compiler's text at the first error's line.
CompiledText compile_with_nvcc(const std::string& nvcc, const CompileRequest& request,
                               const std::string& source_text, const std::string& added = "");

}  // namespace assay
