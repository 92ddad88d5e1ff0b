// A measured figure replaces a default row; measuring: docs/measured/conformance.md.
#include "oracles/tensor_core_table.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>
#include <string>

namespace assay {
namespace {

// Four products is the shortest step of any published generation (Volta, Turing), and no bits below
// the 24 of f32 the fewest of any for 16-bit inputs (Volta). Ada and Hopper keep 13 bits below the
// binary point of fp8 sums (DeepSeek-AI, "DeepSeek-V3 technical report", arXiv:2412.19437, section
// 3.3.2: "FP8 GEMM on NVIDIA Hopper GPUs ... retaining around 14 bits"): 2^-13 is 2^(-23 + 10).
constexpr std::string_view kDefault = "cautious default, not measured: Fasi et al. 2021, Volta";
// On an H200 two bits below f32's 24 are kept, over steps of the instruction's k; 8 is the least k.
constexpr std::string_view kMeasured = "measured on an H200: docs/measured/conformance.md";
constexpr std::string_view kDefaultFp8 = "cautious default, not measured: arXiv:2412.19437, 3.3.2";

}  // namespace

const std::vector<TensorCoreRow>& tensor_core_table() {
  // Of one input type, ascending by architecture.
  static const std::vector<TensorCoreRow> table = {
      {70, DType::f16, 4, 0, false, kDefault},
      {90, DType::f16, 8, 2, true, kMeasured},
      {80, DType::bf16, 4, 0, false, kDefault},
      {90, DType::bf16, 8, 2, true, kMeasured},
      {89, DType::e4m3, 4, -10, false, kDefaultFp8},
      {89, DType::e5m2, 4, -10, false, kDefaultFp8},
  };
  return table;
}

const TensorCoreRow& tensor_core_row(std::string_view target, DType input) {
  int architecture = 0;
  for (const char c : target)
    if (std::isdigit(static_cast<unsigned char>(c)) != 0)
      architecture = 10 * architecture + (c - '0');
  const TensorCoreRow* best = nullptr;
  for (const TensorCoreRow& row : tensor_core_table()) {
    if (row.input != input) continue;
    if (best == nullptr || row.architecture <= architecture) best = &row;
  }
  if (best == nullptr) throw std::out_of_range("no tensor core takes " + std::string(name(input)));
  return *best;
}

bool is_tensor_core_input(DType type) {
  return std::any_of(tensor_core_table().begin(), tensor_core_table().end(),
                     [type](const TensorCoreRow& row) { return row.input == type; });
}

}  // namespace assay
