// From a contract's source and a variant to PTX.
#pragma once

#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

/// One compiled launch.
struct Program {
  std::string ptx;       ///< text of the whole module
  std::string entry;     ///< mangled name of the entry in it
  std::string display;   ///< entry as the contract writes it, e.g. "softmax<float, 256>"
  std::string compiler;  ///< "nvrtc 13.0 sm_80"
  std::string key;       ///< content key: equal keys mean equal PTX and entry (caches use it)
  std::string source;    ///< path of the source file, for messages
  std::string note;      ///< e.g. "judged the sm_80 build"; empty usually
};

/// Compiles (or takes from the cache) launch number `launch` of a contract under a variant.
/// Throws InputError for errors in the user's source, with the compiler's own text as written, and
/// MissingDependency when the compiler is not there.
Program compile(const Contract& contract, const Variant& variant, int launch);

/// Where compiled programs are cached on disk: ASSAY_CACHE, else $XDG_CACHE_HOME/assay, else
/// ~/.cache/assay; "" when none is writable (then memory only).
std::string cache_folder();

/// Version of a compiler, "nvrtc 13.0"; throws MissingDependency when it is not there.
std::string compiler_version(CudaCompiler compiler);

}  // namespace assay
