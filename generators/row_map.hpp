// Which elements of a batch are those of a few of its rows, run by themselves (rows_independent).
#pragma once

#include <cstdint>
#include <string>

#include "generators/instance.hpp"

namespace assay {

/// For one operand: element i along `dimension` is the batch's element first + i.
struct RowMap {
  std::string dimension;  ///< "": elements correspond
  int64_t first = 0;
  int64_t count = 0;         ///< rows of those that run; elements beyond are no row's
  bool is_delimited = false;  ///< by prefix sums, which say where the rows begin and end
  bool is_sums = false;       ///< it holds the prefix sums: they begin at 0 again
};

/// Of the batch's operand `tensor` when its rows from `first` on along `rows` run alone, `count` of
/// them.
RowMap row_map(const Instance& batch, const Tensor& tensor, const std::string& rows, int64_t first,
               int64_t count);

/// Elements first, first + step, ... of the operand `tensor` of the few rows, as fill_values.
void fill_rows(const Instance& batch, const RowMap& map, const Tensor& tensor, int64_t first,
               int64_t step, int64_t count, uint8_t* out);

}  // namespace assay
