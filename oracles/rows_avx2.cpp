// The first tier's rows, built for AVX2; contraction stays off, so the bits are those of rows.cpp.
#include <bit>
#include <cstring>

#include "oracles/rows.hpp"

// Vectors are passed between inlined functions only.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace assay::rows {
namespace {
#include "oracles/rows_impl.inc.hpp"
#include "oracles/rows_vector.inc.hpp"
}  // namespace

const Kernels& avx2_kernels() {
  static const Kernels table = {add, sub,  mul,     div,      neg,      abs,       max2,
                                exp, sqrt, rsqrt,   settle,   publish,  hoist,     share,
                                sum, max,  squares, from_f32, from_f16, from_bf16, match};
  return table;
}

}  // namespace assay::rows
