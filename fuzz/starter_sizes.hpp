// Sizes, shapes and strides of a starter contract, guessed from the names of a kernel's parameters:
// a first answer to questions that the contract asks in any case.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compilers/signature.hpp"

namespace assay {

/// "numTokens" and "num_tokens" are the words num, tokens.
std::vector<std::string> name_parts(const std::string& name);

struct StarterSize {
  std::string name;
  std::string range;  ///< "{ min = 0, max = 100000 }"
};

struct StarterShapes {
  std::vector<StarterSize> sizes;             ///< at least one; the first one counts the grid
  std::map<std::string, std::string> values;  ///< by integer scalar: "rows", "stride(x, 0)"
  std::map<std::string, std::vector<std::string>> extents;  ///< by pointer, in elements of its type
  std::map<std::string, bool> rows_at_a_stride;  ///< by pointer: its rows lie at a stride
  std::map<std::string, bool> indices;           ///< by pointer: its values index rows
  bool has_rows = false;                         ///< operands have rows and columns: a block a row
};

/// `is_integer`: of each parameter, whether it is an integer scalar; `whole`, whether its type is
/// an integer one. `taken`: other names of the contract, which a size that no scalar names avoids.
StarterShapes guess_shapes(const std::vector<KernelParameter>& parameters,
                           const std::vector<bool>& is_integer, const std::vector<bool>& whole,
                           const std::vector<std::string>& taken);

}  // namespace assay
