// Outputs held in memory, and cases made of plain numbers: what the judge's tests run on.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "generators/instance.hpp"
#include "oracles/verdict.hpp"

namespace assay::testing {

/// Every output's elements as bits, all written unless marked.
class FakeRun : public OutputReader {
 public:
  struct Output {
    int bytes = 4;
    std::vector<uint8_t> bits;
    std::vector<uint8_t> written;
  };

  explicit FakeRun(const Instance& instance) {
    for (const Tensor& tensor : instance.tensors) {
      if (!tensor.is_judged()) continue;
      Output& out = outputs_[tensor.spec->name];
      out.bytes = byte_size(tensor.dtype);
      out.bits.assign(static_cast<size_t>(tensor.elements() * out.bytes), 0);
      out.written.assign(static_cast<size_t>(tensor.elements()), 1);
    }
  }

  void read(const Tensor& tensor, int64_t first, int64_t count, uint8_t* bits,
            uint8_t* written) const override {
    const Output& out = outputs_.at(tensor.spec->name);
    std::memcpy(bits, out.bits.data() + first * out.bytes, static_cast<size_t>(count * out.bytes));
    std::memcpy(written, out.written.data() + first, static_cast<size_t>(count));
  }

  uint64_t get(const std::string& name, int64_t k) const {
    const Output& out = outputs_.at(name);
    uint64_t bits = 0;
    std::memcpy(&bits, out.bits.data() + k * out.bytes, static_cast<size_t>(out.bytes));
    return bits;
  }
  void set(const std::string& name, int64_t k, uint64_t bits) {
    Output& out = outputs_.at(name);
    std::memcpy(out.bits.data() + k * out.bytes, &bits, static_cast<size_t>(out.bytes));
  }
  void write(const std::string& name, int64_t k) {
    outputs_.at(name).written[static_cast<size_t>(k)] = 1;
  }
  void unwrite(const std::string& name, int64_t k) {
    outputs_.at(name).written[static_cast<size_t>(k)] = 0;
  }

 private:
  std::map<std::string, Output> outputs_;
};

/// A case of `contract` with the given dtypes and sizes; first choice of everything else. Inputs
/// are set element by element.
struct Experiment {
  Contract contract;
  Case the_case;

  explicit Experiment(Contract c) : contract(std::move(c)) {
    the_case.kernel = contract.name;
    for (const auto& type : contract.types) the_case.types[type.name] = type.kinds.front();
    for (const auto& knob : contract.knobs) the_case.knobs[knob.name] = knob.values.front();
    for (const auto& flag : contract.flags) the_case.flags[flag] = 1;
    for (const auto& size : contract.sizes)
      the_case.sizes[size.name] = size.in.empty() ? size.min : size.in.front();
    for (const auto& operand : contract.args)
      if (operand.kind == OperandKind::scalar && !operand.values.empty())
        the_case.scalars[operand.name] = 0;
  }

  /// Sets elements of an operand; `shape` gives its coordinates.
  void put(const std::string& operand, const std::vector<int64_t>& shape, DType type,
           const std::vector<double>& values) {
    for (size_t k = 0; k < values.size(); ++k) {
      const uint64_t bits = is_floating(type)
                                ? round_to_bits(type, values[k])
                                : static_cast<uint64_t>(static_cast<int64_t>(values[k]));
      put_bits(operand, shape, static_cast<int64_t>(k), type, bits);
    }
  }
  void put_bits(const std::string& operand, const std::vector<int64_t>& shape, int64_t k,
                DType type, uint64_t bits) {
    std::vector<int64_t> at(shape.size());
    for (size_t d = shape.size(); d-- > 0;) {
      at[d] = k % shape[d];
      k /= shape[d];
    }
    const int width = bit_width(type);
    if (width < 64) bits &= (uint64_t{1} << width) - 1;
    the_case.overrides.push_back({operand, at, bits});
  }
  Instance instance() const { return instantiate(contract, the_case); }
};

inline double as_double(float x) { return static_cast<double>(x); }
inline uint64_t f32_bits(float x) { return round_to_bits(DType::f32, as_double(x)); }

inline Contract tree_contract(const std::string& kernel) {
  return load_contract(std::string(ASSAY_SOURCE_DIR) + "/kernels_under_test/kernels/" + kernel +
                       ".toml");
}

/// Bits of a whole operand as doubles.
inline std::vector<double> values_of(const Instance& instance, const std::string& operand) {
  const Tensor& tensor = *instance.find(operand);
  const int bytes = byte_size(tensor.dtype);
  std::vector<uint8_t> bits(static_cast<size_t>(tensor.elements() * bytes + 8));
  logical_values(instance, tensor, 0, tensor.elements(), bits.data());
  std::vector<double> out(static_cast<size_t>(tensor.elements()));
  for (size_t k = 0; k < out.size(); ++k) {
    uint64_t b = 0;
    std::memcpy(&b, bits.data() + static_cast<int64_t>(k) * bytes, static_cast<size_t>(bytes));
    out[k] = to_double(tensor.dtype, b);
  }
  return out;
}

}  // namespace assay::testing
