// The first tier's functions, built for AVX2; contraction stays off, so the bits are those of
// row_functions.cpp.
#include <array>
#include <bit>
#include <cstdint>

#include "oracles/row_functions.hpp"
#include "oracles/rows.hpp"

// Vectors are passed between inlined functions only.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace assay::rows {
namespace {
#include "oracles/row_functions_impl.inc.hpp"
#include "oracles/row_functions_trigonometric.inc.hpp"
}  // namespace

RowFunction avx2_function(std::string_view name) { return find_row(name); }

}  // namespace assay::rows
