// Rows of `sorted` operands of values: what their class makes, in ascending order.
#include <algorithm>
#include <vector>

#include "generators/instance.hpp"
#include "generators/value_parts.hpp"

namespace assay {

namespace {

/// A row that is longer has so many values, each of them several times: any element of it costs as
/// much as one of a short row.
constexpr int64_t kMostValues = 1024;

int64_t row_length(const Tensor& tensor) {
  return tensor.shape.empty() ? 1 : std::max<int64_t>(1, tensor.shape.back());
}

/// Ascending, NaN last, as sorting functions leave it.
void sort_values(DType type, std::vector<uint64_t>& bits) {
  if (!is_floating(type)) {
    std::sort(bits.begin(), bits.end(), [type](uint64_t a, uint64_t b) {
      return to_integer(type, a) < to_integer(type, b);
    });
    return;
  }
  std::sort(bits.begin(), bits.end(), [type](uint64_t a, uint64_t b) {
    const double x = to_double(type, a), y = to_double(type, b);
    if (x != x || y != y) return x == x && y != y;
    return x < y;
  });
}

/// The row that was asked for last, and of what.
struct SortedRow {
  ValuePlan plan;
  DType type = DType::f32;
  int64_t length = 0;
  int64_t row = -1;
  std::vector<uint64_t> ascending;

  bool is_of(const Tensor& tensor, int64_t wanted) const {
    const ValuePlan& other = tensor.plan;
    const auto alike = [](const ValueRange& a, const ValueRange& b) {
      return a.low == b.low && a.high == b.high && a.low_int == b.low_int &&
             a.high_int == b.high_int;
    };
    return row == wanted && type == tensor.dtype && length == row_length(tensor) &&
           plan.key == other.key && plan.kind == other.kind && plan.p == other.p &&
           plan.exclude_nan == other.exclude_nan && plan.axis_extent == other.axis_extent &&
           plan.axis_step == other.axis_step &&
           std::equal(plan.domain.begin(), plan.domain.end(), other.domain.begin(),
                      other.domain.end(), alike);
  }
};

void make_row(const Tensor& tensor, int64_t row, SortedRow& made) {
  const int64_t length = row_length(tensor);
  const int64_t values = std::min(length, kMostValues);
  const int size = byte_size(tensor.dtype);
  std::vector<uint8_t> bytes(static_cast<size_t>(values * size));
  Chunk chunk;
  chunk.step = length / values;
  for (int64_t done = 0; done < values; done += kChunk) {
    chunk.first = row * length + done * chunk.step;
    chunk.count = static_cast<int>(std::min<int64_t>(kChunk, values - done));
    fill_chunk(tensor.plan, tensor.dtype, chunk, bytes.data() + done * size);
  }
  made = {tensor.plan, tensor.dtype, length, row, {}};
  for (int64_t i = 0; i < values; ++i)
    made.ascending.push_back(load_bits(bytes.data() + i * size, size));
  sort_values(tensor.dtype, made.ascending);
}

}  // namespace

void fill_sorted(const Tensor& tensor, const Chunk& chunk, uint8_t* out) {
  static thread_local SortedRow last;  // readers ask for a few elements at a time
  const int64_t length = row_length(tensor);
  const int size = byte_size(tensor.dtype);
  int64_t row = -1;
  for (int i = 0; i < chunk.count; ++i) {
    const int64_t index = chunk.first + i * chunk.step;
    if (row != index / length) {
      row = index / length;
      if (!last.is_of(tensor, row)) make_row(tensor, row, last);
    }
    const auto values = static_cast<__int128>(last.ascending.size());
    const auto at = static_cast<size_t>((index - row * length) * values / length);
    store(out + i * size, last.ascending[at], size);
  }
}

}  // namespace assay
