// Values of one operand of any type, as the recipes of a case make them.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "generators/instance.hpp"
#include "generators/values.hpp"
#include "tests/generators/contracts.hpp"

namespace assay::testing_contracts {

/// y[rows] = sum(x, cols) over any type, x with free strides.
inline Contract sum_contract(const std::string& extra = "", const std::string& policy = "") {
  return parsed(R"toml(
name = "sum"
source = { cuda = "kernel.cu", entry = "k" }
types = { T = ["f64","f32","f16","bf16","e4m3","e5m2","i64","i32","i16","i8","u64","u32","u16","u8","bool"] }
sizes = { rows = { min = 0, max = 100000 }, cols = { min = 0, max = 100000 } }
launch = { grid = ["rows"], block = ["32"] }
owns = { y = "rows == block.x" }
args = [
  { name = "y", kind = "output", dtype = "T", shape = ["rows"] },
  { name = "x", kind = "input", dtype = "T", shape = ["rows", "cols"], strides = ["any", "any"])toml" +
                extra + R"toml( },
]
[formula]
y = "sum(x, cols)"
)toml" + policy);
}

inline Case sum_case(DType type, int64_t rows, int64_t cols, const ValueRecipe& recipe) {
  Case c;
  c.kernel = "sum";
  c.types = {{"T", type}};
  c.sizes = {{"rows", rows}, {"cols", cols}};
  c.values = {{"x", recipe}};
  c.value_seed = 12345;
  return c;
}

inline uint64_t element(const std::vector<uint8_t>& bytes, int64_t index, int size) {
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size, size);
  return bits;
}

inline std::vector<uint8_t> logical(const Instance& instance, const Tensor& tensor) {
  std::vector<uint8_t> out(tensor.elements() * byte_size(tensor.dtype));
  logical_values(instance, tensor, 0, tensor.elements(), out.data());
  return out;
}

inline std::vector<double> reals(const Instance& instance, const Tensor& tensor) {
  const std::vector<uint8_t> bytes = logical(instance, tensor);
  std::vector<double> out(tensor.elements());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = to_double(tensor.dtype, element(bytes, i, byte_size(tensor.dtype)));
  }
  return out;
}

inline std::vector<double> sum_values(const Contract& contract, DType type, int64_t rows,
                                      int64_t cols, const ValueRecipe& recipe) {
  const Instance instance = instantiate(contract, sum_case(type, rows, cols, recipe));
  return reals(instance, *instance.find("x"));
}

}  // namespace assay::testing_contracts
