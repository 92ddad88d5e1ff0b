// What a CUDA source says of its kernels' parameters: names, types and templates. Read from the
// text, without a preprocessor; whoever uses it compiles and compares.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels_under_test/dtype.hpp"

namespace assay {

struct KernelParameter {
  std::string name;  ///< "" when it has none
  std::string type;  ///< pointee or value type without qualifiers: "float", "T", "long long"
  bool pointer = false;
  bool pointee_const = false;
};

struct KernelTemplateParameter {
  std::string name;
  std::string type;      ///< "typename" for types; "int", "bool", "Mode"
  std::string fallback;  ///< its default, as written
};

struct KernelSignature {
  std::string name;
  std::string scope;        ///< "ns::" of the namespaces around it
  int line = 0;             ///< of the name, from 1
  bool is_cut_off = false;  ///< the text ends inside its parameter list
  std::vector<KernelTemplateParameter> templates;
  std::vector<KernelParameter> parameters;
  std::string body;           ///< its definition from "{" to "}", without comments; or ""
  std::string launch_bounds;  ///< threads of its __launch_bounds__, as written: "WARPS*32"; or ""
};

/// The __global__ functions that a source defines or declares, in order; a declaration with its
/// definition is one, a specialisation none. A macro of the source without arguments that stands
/// for `__global__`, and what else it stands for, is read as that.
std::vector<KernelSignature> kernel_signatures(const std::string& source_text);

/// The parameters of a list as a demangler or a source writes it: "float*, float const*, int".
std::vector<KernelParameter> parameters_in(const std::string& list);

/// Of "void k<float>(float*, int)", a demangled name: the list; "" where there is none.
std::string parameter_list_of(const std::string& demangled);

/// The element type of a C++ type's name ("unsigned int", "half2"); nullopt for others.
std::optional<DType> dtype_of_cxx(const std::string& type);

/// Elements of that type in one of a C++ type: 4 of float4, 2 of __half2, 1 of others.
int lanes_of_cxx(const std::string& type);

/// Bytes that the address of such a type is a multiple of: those of its elements together, at most
/// 16, but of vectors of three those of one element (CUDA C++ Programming Guide 13.0, Built-in
/// Vector Types). 0 for types that dtype_of_cxx does not know.
int alignment_of_cxx(const std::string& type);

}  // namespace assay
