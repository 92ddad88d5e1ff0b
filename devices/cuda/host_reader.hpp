// Outputs of a GPU's runs, as the judge reads them.
#pragma once

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "generators/instance.hpp"

namespace assay::cuda {

/// What an operand held after the runs.
struct Contents {
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> written;  ///< one a byte
};

class HostReader : public OutputReader {
 public:
  explicit HostReader(std::map<int, Contents> contents) : contents_(std::move(contents)) {}

  void read(const Tensor& tensor, int64_t first, int64_t count, uint8_t* bits,
            uint8_t* written) const override {
    const Contents& from = contents_.at(tensor.position);
    const int bytes = byte_size(tensor.dtype);
    const bool contiguous = tensor.is_contiguous();
    const int64_t start = contiguous && count > 0 ? tensor.storage_of(first) - first : 0;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t storage = contiguous ? start + first + i : tensor.storage_of(first + i);
      const size_t at = static_cast<size_t>(storage * bytes);
      std::memcpy(bits + i * bytes, from.bytes.data() + at, static_cast<size_t>(bytes));
      uint8_t all = 1;
      for (int b = 0; b < bytes; ++b) all &= from.written[at + static_cast<size_t>(b)];
      written[i] = all;
    }
  }

 private:
  std::map<int, Contents> contents_;  ///< by operand position
};

}  // namespace assay::cuda
