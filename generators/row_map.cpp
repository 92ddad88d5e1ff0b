#include "generators/row_map.hpp"

#include <algorithm>
#include <cstring>

#include "generators/variation.hpp"
#include "kernels_under_test/delimited.hpp"

namespace assay {
namespace {

int64_t integer_at(const Instance& instance, const Tensor& tensor, int64_t index) {
  uint8_t bytes[8] = {};
  logical_values(instance, tensor, index, 1, bytes);
  return to_integer(tensor.dtype, load_bits(bytes, byte_size(tensor.dtype)));
}

/// The new sums: differences of the batch's.
void fill_sums(const Instance& batch, const RowMap& map, const Tensor& source, int64_t first,
               int64_t step, int64_t count, uint8_t* out) {
  const int size = byte_size(source.dtype);
  const int64_t start = integer_at(batch, source, map.first);
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = integer_at(batch, source, map.first + first + i * step) - start;
    std::memcpy(out + i * size, &value, static_cast<size_t>(size));
  }
}

/// Beyond the batch's last element its rows begin again: no row's, so that any will do.
void fill_delimited(const Instance& batch, const RowMap& map, const Tensor& tensor,
                    const Tensor& source, int64_t first, int64_t step, int64_t count,
                    uint8_t* out) {
  const int size = byte_size(source.dtype);
  const auto [extent, inner] = *tensor.axis(map.dimension);
  const int64_t mine = extent * inner, theirs = source.axis(map.dimension)->extent * inner;
  for (int64_t done = 0; done < count;) {
    const int64_t linear = first + done * step;
    const int64_t at = (linear % mine + map.first * inner) % theirs;
    const int64_t run =
        step == 1 ? std::min({count - done, mine - linear % mine, theirs - at}) : 1;
    logical_values(batch, source, linear / mine * theirs + at, run, out + done * size);
    done += run;
  }
}

}  // namespace

RowMap row_map(const Instance& batch, const Tensor& tensor, const std::string& rows, int64_t first,
               int64_t count) {
  if (tensor.axis(rows)) return {rows, first, count};
  const Contract& contract = *batch.contract;
  if (sums_along(contract, *tensor.spec, rows))
    return {tensor.dims[0], first, count + 1, false, true};
  for (const DelimitedDimension& one : delimited_dimensions(contract, rows)) {
    if (!tensor.axis(one.dimension)) continue;
    const Tensor& sums = *batch.find(one.sums->name);
    if (!sums.present) continue;
    const int64_t start = integer_at(batch, sums, first);
    return {one.dimension, start, integer_at(batch, sums, first + count) - start, true, false};
  }
  return {};
}

void fill_rows(const Instance& batch, const RowMap& map, const Tensor& tensor, int64_t first,
               int64_t step, int64_t count, uint8_t* out) {
  const Tensor& source = batch.tensors[static_cast<size_t>(tensor.position)];
  if (map.is_sums) {
    fill_sums(batch, map, source, first, step, count, out);
  } else {
    fill_delimited(batch, map, tensor, source, first, step, count, out);
  }
}

}  // namespace assay
