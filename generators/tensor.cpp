// Index arithmetic of a tensor: logical row-major indices, coordinates, storage positions.
//
// `instantiate` admits only nested layouts: sorted by stride, each dimension steps over everything
// that the smaller ones span. So a storage position belongs to at most one element, and dividing by
// the strides, largest first, finds it.
#include <algorithm>

#include "generators/instance.hpp"
#include "generators/storage_run.hpp"

namespace assay {

int64_t Tensor::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

bool Tensor::is_read() const {
  return spec->kind == OperandKind::input || spec->kind == OperandKind::inout ||
         spec->kind == OperandKind::index;
}

bool Tensor::is_written() const {
  return spec->is_judged() || spec->kind == OperandKind::workspace;
}

bool Tensor::is_judged() const {
  return spec->is_judged();
}

std::optional<TensorAxis> Tensor::axis(std::string_view dimension) const {
  int64_t inner = 1;
  for (size_t d = dims.size(); d-- > 0 && !dimension.empty(); inner *= shape[d]) {
    if (dims[d] == dimension) return TensorAxis{shape[d], inner};
  }
  return std::nullopt;
}

bool Tensor::is_contiguous() const {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] > 1 && strides[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

int64_t Tensor::storage_of(int64_t linear) const {
  int64_t position = offset;
  for (size_t d = shape.size(); d-- > 0;) {
    position += linear % shape[d] * strides[d];
    linear /= shape[d];
  }
  return position;
}

std::vector<int64_t> Tensor::coordinates(int64_t linear) const {
  std::vector<int64_t> out(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    out[d] = linear % shape[d];
    linear /= shape[d];
  }
  return out;
}

int64_t Tensor::linear(const std::vector<int64_t>& coordinates) const {
  int64_t out = 0;
  for (size_t d = 0; d < shape.size(); ++d) out = out * shape[d] + coordinates[d];
  return out;
}

std::optional<int64_t> Tensor::logical_of(int64_t storage) const {
  const StorageRun run = StorageMap(*this).run_at(storage);
  if (run.padding) return std::nullopt;
  return run.logical;
}

int64_t Box::elements() const {
  int64_t product = 1;
  for (const auto& [low, high] : ranges) product *= std::max<int64_t>(0, high - low);
  return product;
}

bool Box::holds(const std::vector<int64_t>& at) const {
  for (size_t d = 0; d < at.size(); ++d)
    if (at[d] < ranges[d].first || at[d] >= ranges[d].second) return false;
  return true;
}

StorageMap::StorageMap(const Tensor& tensor) : offset_(tensor.offset) {
  int64_t logical_step = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    if (tensor.shape[d] == 0) empty_ = true;
    if (tensor.shape[d] > 1 && tensor.strides[d] > 0 && count_ < kMostDims) {
      levels_[count_++] = {tensor.strides[d], tensor.shape[d], logical_step, 0};
    }
    logical_step *= tensor.shape[d];
  }
  std::sort(levels_.begin(), levels_.begin() + count_,
            [](const Level& a, const Level& b) { return a.stride > b.stride; });
  int64_t span = 0;
  for (int i = count_; i-- > 0;) {
    span += (levels_[i].extent - 1) * levels_[i].stride;
    levels_[i].span = span;
  }
}

StorageRun StorageMap::run_at(int64_t position) const {
  StorageRun run;
  run.padding = true;
  int64_t rest = position - offset_;
  if (rest < 0) {
    run.length = -rest;
    return run;
  }
  run.length = kEndless;
  if (empty_ || (count_ > 0 ? rest > levels_[0].span : rest > 0)) return run;
  for (int i = 0; i < count_; ++i) {
    const Level& level = levels_[i];
    const int64_t at = std::min(rest / level.stride, level.extent - 1);
    rest -= at * level.stride;
    run.logical += at * level.logical_step;
    const int64_t inner_span = i + 1 < count_ ? levels_[i + 1].span : 0;
    if (rest > inner_span) {  // in the gap before this level's next step
      run.length = level.stride - rest;
      return run;
    }
    if (i + 1 == count_) {  // an element; a run when neighbours lie side by side
      run.length = level.stride == 1 ? level.extent - at : 1;
      run.logical_step = level.logical_step;
    }
  }
  run.padding = false;
  if (count_ == 0) run.length = 1;
  return run;
}

}  // namespace assay
