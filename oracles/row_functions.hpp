// Elementwise functions of the first tier: doubles near the exact value, each with a bound.
//
// Basic IEEE operations and integer ones only, without contraction, so the plain and the AVX2 build
// give the same bits. docs/judging.md derives the bounds, tests/oracles/row_functions_test.cpp
// compares them with multiprecision.
#pragma once

#include <string_view>

namespace assay::rows {

/// v[i] near f(x[i]), or f(x[i], y[i]), and |v[i] - f| <= e[i], for i in [0, n). An e that is
/// infinite: the argument is outside the range of this evaluation, and v[i] means nothing. Values
/// that are not finite are exact (e = 0). y is ignored by functions of one argument.
using RowFunction = void (*)(int n, const double* x, const double* y, double* v, double* e);

/// Null for a function that has no evaluation here.
RowFunction plain_function(std::string_view name);
RowFunction avx2_function(std::string_view name);
/// The fastest build that this machine runs.
RowFunction row_function(std::string_view name);

}  // namespace assay::rows
