// Compiles a kernel that has no contract yet: with which types, values of its template parameters
// and compiler it compiles, and what its parameters are then.
#pragma once

#include <string>
#include <vector>

#include "compilers/signature.hpp"
#include "fuzz/pointer_use.hpp"
#include "fuzz/starter_block.hpp"
#include "fuzz/starter_types.hpp"
#include "kernels_under_test/contract.hpp"

namespace assay {

/// A template parameter that the contract's `types` choose.
struct StarterType {
  std::string name;
  std::vector<std::string> dtypes;
  bool is_fixed = false;  ///< by its default
};

struct CompiledKernel {
  CudaCompiler compiler = CudaCompiler::nvrtc;
  std::string entry;  ///< "ns::k<{T}, {BLOCK}>"
  std::vector<StarterType> types;
  std::vector<KernelParameter> parameters;  ///< their types as compiled, or a type parameter's name
  BlockLimits limits;
  std::vector<PointerUse> uses;  ///< one a parameter; empty where the compiled form does not tell
};

/// Drops the template parameters at the end of `kernel` that a contract need not choose, gives
/// those without default a value that compiles, and compiles it. `source`: its file;
/// `contract_path`: where its contract is to lie. Throws InputError at the kernel, or in the
/// source, where nothing compiles.
CompiledKernel compile_kernel(const std::string& source, KernelSignature& kernel,
                              const std::string& contract_path);

/// A path of the source in a contract at `contract_path`.
std::string source_beside(const std::string& source, const std::string& contract_path);

/// Refuses a kernel, at its line: "kernel 'k' MESSAGE".
[[noreturn]] void refuse(const std::string& source, const KernelSignature& kernel,
                         const std::string& message);

}  // namespace assay
