// What the type parameters of a kernel without a contract are likely to stand for: their names, and
// what the source does with the parameters of such a type.
#pragma once

#include <string>
#include <vector>

#include "compilers/signature.hpp"

namespace assay {

/// Types that a kernel usually serves together.
enum class TypeFamily {
  floating,  ///< f32, f16, bf16
  fp8,       ///< e4m3, e5m2
  index,     ///< i32, i64
  storage,   ///< u8: bits that a conversion made
  any,       ///< f64, i32, i8, u8
};

/// The kernel's body for a search by regular expressions, whose matching nests as deep as a match is
/// long: without the statements that are too long for it.
std::string searchable_body(const KernelSignature& kernel);

/// Its dtypes in the order in which they are tried.
const std::vector<std::string>& dtypes_of(TypeFamily family);

/// The family that names and source speak for; floating where they say nothing.
TypeFamily likely_family(const KernelSignature& kernel, const KernelTemplateParameter& type);

}  // namespace assay
