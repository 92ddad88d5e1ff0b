// What a buffer holds before a run: values where the layout has elements, poison everywhere else.
#include <algorithm>
#include <cstring>

#include "generators/instance.hpp"
#include "generators/storage_run.hpp"
#include "generators/values.hpp"
#include "generators/variation.hpp"

namespace assay {
namespace {

void fill_with(uint64_t bits, DType type, int64_t count, uint8_t* out) {
  const int size = byte_size(type);
  uint64_t word = bits;
  for (int width = size; width < 8; width *= 2) word |= word << (8 * width);
  const int64_t bytes = count * size;
  int64_t at = 0;
  for (; at + 8 <= bytes; at += 8) std::memcpy(out + at, &word, 8);
  if (at < bytes) std::memcpy(out + at, &word, bytes - at);
}

/// What outputs and workspaces hold.
void fill_poison(DType type, int64_t count, uint8_t* out) {
  fill_with(poison_bits(type), type, count, out);
}

/// Storage positions [first, first + count) of the buffer.
void storage_elements(const Instance& instance, const Tensor& tensor, int64_t first, int64_t count,
                      uint8_t* out) {
  if (!tensor.is_read()) return fill_poison(tensor.dtype, count, out);
  const int size = byte_size(tensor.dtype);
  const StorageMap map(tensor);
  while (count > 0) {
    const StorageRun run = map.run_at(first);
    const int64_t length = std::min(run.length, count);
    if (run.padding) {
      fill_with(padding_bits(instance, tensor.dtype), tensor.dtype, length, out);
    } else {
      fill_values(instance, tensor, run.logical, run.logical_step, length, out);
    }
    first += length;
    count -= length;
    out += length * size;
  }
}

}  // namespace

void storage_bytes(const Instance& instance, const Tensor& tensor, int64_t first, int64_t count,
                   uint8_t* out) {
  if (tensor.is_shared())
    return storage_bytes(instance, instance.tensors[static_cast<size_t>(tensor.shares)], first,
                         count, out);
  const int size = byte_size(tensor.dtype);
  // A range may cut elements at its ends.
  const int64_t head = first % size;
  if (head != 0 && count > 0) {
    uint8_t element[8];
    storage_elements(instance, tensor, first / size, 1, element);
    const int64_t taken = std::min<int64_t>(size - head, count);
    std::memcpy(out, element + head, taken);
    first += taken;
    count -= taken;
    out += taken;
  }
  storage_elements(instance, tensor, first / size, count / size, out);
  const int64_t tail = count % size;
  if (tail != 0) {
    uint8_t element[8];
    storage_elements(instance, tensor, (first + count) / size, 1, element);
    std::memcpy(out + count - tail, element, tail);
  }
}

void logical_values(const Instance& instance, const Tensor& tensor, int64_t first, int64_t count,
                    uint8_t* out) {
  if (tensor.is_shared())
    return logical_values(instance, instance.tensors[static_cast<size_t>(tensor.shares)], first,
                          count, out);
  if (!tensor.is_read()) return fill_poison(tensor.dtype, count, out);
  if (!tensor.broadcast) return fill_values(instance, tensor, first, 1, count, out);
  // Along stride 0 every coordinate is coordinate 0: go row by row.
  const int64_t row = tensor.shape.back();
  const int size = byte_size(tensor.dtype);
  const int64_t step = tensor.strides.back() == 0 ? 0 : 1;
  while (count > 0) {
    std::vector<int64_t> at = tensor.coordinates(first);
    const int64_t length = std::min(count, row - at.back());
    for (size_t d = 0; d < at.size(); ++d) {
      if (tensor.strides[d] == 0) at[d] = 0;
    }
    fill_values(instance, tensor, tensor.linear(at), step, length, out);
    first += length;
    count -= length;
    out += length * size;
  }
}

void join_ranges(std::vector<std::pair<int64_t, int64_t>>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  size_t kept = 0;
  for (const auto& range : ranges) {
    if (kept > 0 && range.first <= ranges[kept - 1].second)
      ranges[kept - 1].second = std::max(ranges[kept - 1].second, range.second);
    else
      ranges[kept++] = range;
  }
  ranges.resize(kept);
}

}  // namespace assay
