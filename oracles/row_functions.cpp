// The first tier's functions, for any x86-64 and other machines.
#include "oracles/row_functions.hpp"

#include <array>
#include <bit>
#include <cstdint>

#include "oracles/rows.hpp"

// Vectors are passed between inlined functions only.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace assay::rows {
namespace {
#include "oracles/row_functions_impl.inc.hpp"
#include "oracles/row_functions_trigonometric.inc.hpp"
}  // namespace

RowFunction plain_function(std::string_view name) { return find_row(name); }

RowFunction row_function(std::string_view name) {
  static const bool fast = has_avx2();
  return fast ? avx2_function(name) : plain_function(name);
}

}  // namespace assay::rows
