// Private to generators: which elements of an operand the contract's `live` says are used.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "generators/instance.hpp"

namespace assay {

/// False where elements that `live` tells apart share a place (stride 0 along a dimension that it
/// mentions): one that is used may lie there, so none can be poisoned.
bool can_be_dead(const Tensor& tensor);

/// Whether the contract's `live` relation holds at elements of an operand that has one; quickest
/// when they come in order. Both arguments must outlive it.
class Liveness {
 public:
  Liveness(const Instance& instance, const Tensor& tensor);
  bool at(int64_t index);

 private:
  std::optional<int64_t> value(std::string_view wanted) const;

  const Instance& instance_;
  const Tensor& tensor_;
  IntegerScope scope_;
  std::vector<int64_t> coordinates_;
  const NamedPlaces* places_ = nullptr;  ///< live = "any(...)"
  // `last dimension < something of the others` is decided once a row.
  const Expr* limit_of_row_ = nullptr;
  int64_t limit_ = 0;
  int64_t row_length_ = 1;  ///< elements that share the answer, or the limit
  int64_t row_ = -1;
  bool live_ = false;
};

}  // namespace assay
