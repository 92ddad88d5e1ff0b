// How tensor cores add: data with their source, by architecture and input type.
//
// The hardware adds k products and the accumulator in one step: all are aligned to the largest
// exponent, cut to a common last place, added exactly, and the sum is cut to the accumulator's
// precision (Fasi, Higham, Mikaitis & Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ
// Computer Science 7:e330, 2021). A step errs by at most
//
//   (k + 1) 2^(-23 - e) max(|c|, |p_i|) + 2^-23 |result|
//
// (docs/judging/matmul.md). One instruction is one such step or several, one after another.
#pragma once

#include <string_view>
#include <vector>

#include "kernels_under_test/dtype.hpp"

namespace assay {

struct TensorCoreRow {
  int architecture = 0;  ///< compute capability times ten: 80 for sm_80
  DType input = DType::f16;
  int products = 4;       ///< k: products that one step adds; fewer is more cautious
  int extra_bits = 0;     ///< e: bits kept below the 24 of f32; negative where fewer are kept
  bool measured = false;  ///< false: `products` and `extra_bits` are the cautious defaults
  std::string_view source;
};

const std::vector<TensorCoreRow>& tensor_core_table();

/// The row for kernels compiled for `target` ("sm_80", "sm_90a"): that of the newest listed
/// architecture that is no newer. Each input type has a row from the oldest architecture on.
/// Throws std::out_of_range for a type that no tensor core takes.
const TensorCoreRow& tensor_core_row(std::string_view target, DType input);

/// Whether mma adds products of this type in f32 or f16.
bool is_tensor_core_input(DType type);

}  // namespace assay
