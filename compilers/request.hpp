// What a compiler is asked for: a contract's source with a variant put into it.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "kernels_under_test/contract.hpp"

namespace assay {

struct CompileRequest {
  std::string source;  ///< absolute path
  std::string entry;   ///< C++ expression: "softmax<float, 256>"
  /// Entries of all launches, each once, in the contract's order; `entry` is among them. They are
  /// compiled into one module, as a user's compiler does: launches share its __device__ variables.
  std::vector<std::string> entries;
  std::string target;                ///< "sm_80"
  std::vector<std::string> macros;   ///< "BLOCK=256"
  std::vector<std::string> include;  ///< absolute folders of the user's headers
  std::vector<std::string> flags;    ///< as written; the contract's parser allowed them
  SourceLocation where;              ///< of the contract's `source`

  /// "compute_80" for "sm_80".
  std::string virtual_architecture() const;
};

/// Puts a variant into a contract's entry. `{T}` becomes the dtype's C++ spelling, `{BLOCK}` the
/// knob's value, `{flag}` true or false. Names that no entry of the contract mentions become macros
/// (a macro named like a template parameter would break the template), except one-letter names:
/// the compiler's own headers say `template <typename T>`. Throws InputError for an unknown name in
/// braces or a type without C++ spelling.
CompileRequest make_request(const Contract& contract, const Variant& variant, int launch);

/// C++ spelling of an element type, "__nv_bfloat16"; "" for packed 4-bit types.
std::string cxx_spelling(DType type);

/// The flags of a request as a compiler takes them; the others have no meaning for it.
std::vector<std::string> flags_for(CudaCompiler compiler, const std::vector<std::string>& flags);

/// A source text with comments and string literals blanked; lines stay where they are.
std::string without_comments(const std::string& text);

/// The words of a text: runs of letters, digits and underscores.
std::set<std::string> words_of(const std::string& text);

/// Names of the __global__ functions defined in a source text, in order, each once. Comments and
/// strings are skipped; macros are not expanded.
std::vector<std::string> kernel_names(const std::string& source_text);

/// Names of the .entry functions of a PTX module, mangled, in order.
std::vector<std::string> ptx_entries(const std::string& ptx);

/// "softmax" for "ns::softmax<float, 256>" and for "softmax".
std::string unqualified_name(const std::string& entry);

/// A file that the source includes with quotes (or finds in the user's folders), with its text.
struct IncludedFile {
  std::string path;
  std::string text;
};

/// The user's headers that a source includes, recursively, in order of discovery. Found by their
/// text, whatever #if surrounds them: a superset is right for a content key. Headers of the toolkit
/// are not followed.
std::vector<IncludedFile> included_files(const std::string& source_path,
                                         const std::string& source_text,
                                         const std::vector<std::string>& folders);

/// Whole file; throws InputError (at `where`) when it cannot be read.
std::string read_text(const std::string& path, const SourceLocation& where);

}  // namespace assay
