// Leaves of the first tier: constants, indices, and elements of operands.
#include <algorithm>
#include <cmath>

#include "oracles/node_work.hpp"

namespace assay {

void NodeWork::constant() {
  __int128 integer = node_.integer;
  double real = node_.real;
  const Instance& instance = *evaluator_.instance_;
  if (node_.op == Op::extent) {
    integer = evaluator_.extents_[static_cast<size_t>(node_.dimension)];
  } else if (node_.op == Op::named && node_.operand >= 0) {
    const Tensor& scalar = instance.tensors[static_cast<size_t>(node_.operand)];
    real = scalar.scalar_value;
    if (node_.integral) integer = to_integer(scalar.dtype, scalar.scalar_bits);
  } else if (node_.op == Op::named) {
    const auto found = instance.names.find(node_.text);
    if (found == instance.names.end())
      throw InputError(node_.where_, "'" + node_.text + "' has no value in this case");
    integer = found->second;
  }
  if (node_.integral) {
    __int128* out = out_.own_i.get(1);
    out[0] = integer;
    out_.i = out;
  } else {
    double* out = out_.own_v.get(1);
    out[0] = real;
    out_.v = out;
    if (!std::isnan(real)) out_.least = real;
  }
}

void NodeWork::dim_index() {
  __int128* out = out_.own_i.get(std::max<int64_t>(out_.grid.size, 1));
  for (int64_t k = 0; k < out_.grid.size; ++k) out[k] = out_.grid.low[0] + k;
  out_.i = out;
}

void NodeWork::load() {
  const Tensor& tensor = evaluator_.instance_->tensors[static_cast<size_t>(node_.operand)];
  if (!tensor.present)
    throw InputError(node_.where_, "'" + tensor.spec->name + "' is absent in this case");
  if (load_from_whole(tensor)) return;
  const int64_t size = std::max<int64_t>(out_.grid.size, 1);
  const int bytes = byte_size(tensor.dtype);
  uint8_t* bits = evaluator_.buffers_->bits.get(size * bytes);
  uint8_t* status = nullptr;
  if (node_.op == Op::load)
    load_box(tensor, bits);
  else
    status = gather_bits(tensor, bits);
  out_.status = status;
  if (node_.integral) {
    __int128* out = out_.own_i.get(size);
    for (int64_t k = 0; k < out_.grid.size; ++k)
      out[k] = node_.raw ? static_cast<__int128>(packed_bits(bits, k, bytes))
                         : to_integer(tensor.dtype, packed_bits(bits, k, bytes));
    out_.i = out;
    return;
  }
  double* out = out_.own_v.get(size);
  to_doubles(*evaluator_.kernels_, tensor.dtype, out_.grid.size, bits, out);
  out_.v = out;
  if (evaluator_.settings_.flush) flush_inputs(out);
  if (status != nullptr) forget_undefined();
}

/// Operands of moderate size are converted once a case; a chunk then is a slice of that, or a copy.
/// Larger ones only once chunks have asked for a share of them: a case that runs few blocks may
/// need a few elements of many.
bool NodeWork::load_from_whole(const Tensor& tensor) {
  constexpr int64_t most = int64_t{1} << 20;
  constexpr int64_t small = int64_t{1} << 12;
  constexpr int64_t share = 16;
  if (node_.op != Op::load || node_.integral || node_.from_output || tensor.elements() > most)
    return false;
  for (const std::string& dim : tensor.dims)
    if (dim.empty()) return false;
  auto& whole = evaluator_.whole_[static_cast<size_t>(node_.operand)];
  const int64_t count = std::max<int64_t>(tensor.elements(), 1);
  whole.asked += out_.grid.size;
  if (!whole.loaded) {
    if (count > small && whole.asked < count / share) return false;
    uint8_t* bits = evaluator_.buffers_->bits.get(count * byte_size(tensor.dtype));
    logical_values(*evaluator_.instance_, tensor, 0, tensor.elements(), bits);
    to_doubles(*evaluator_.kernels_, tensor.dtype, tensor.elements(), bits,
               whole.values.get(count));
    whole.loaded = true;
  }
  Grid full = out_.grid;
  full.low.assign(full.dims.size(), 0);
  full.extent = tensor.shape;
  int64_t base = 0;
  for (size_t k = 0; k < full.dims.size(); ++k)
    base += out_.grid.low[k] * stride_along(full, full.dims[k]);
  const double* from = whole.values.get(count) + base;
  const auto axes = merged_axes<1>(out_.grid, {&full});
  const bool slice = axes.empty() || (axes.size() == 1 && axes[0].stride[0] == 1);
  out_.v = from;
  if (!slice) {
    double* out = out_.own_v.get(std::max<int64_t>(out_.grid.size, 1));
    for_runs<1>(out_.grid, {&full}, [&](int64_t done, int64_t n, const auto& at, const auto& step) {
      for (int64_t k = 0; k < n; ++k) out[done + k] = from[at[0] + k * step[0]];
    });
    out_.v = out;
  }
  if (evaluator_.settings_.flush) flush_inputs(out_.v);
  return true;
}

void NodeWork::load_box(const Tensor& tensor, uint8_t* bits) {
  std::vector<int64_t> low;
  std::vector<int64_t> extent;
  size_t k = 0;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    if (tensor.dims[axis].empty()) {
      if (tensor.shape[axis] != 1)
        throw InputError(node_.where_, "dimension " + std::to_string(axis) + " of '" +
                                           tensor.spec->name +
                                           "' has no name: a formula cannot range over it");
      low.push_back(0);
      extent.push_back(1);
      continue;
    }
    low.push_back(out_.grid.low[k]);
    extent.push_back(out_.grid.extent[k]);
    ++k;
  }
  uint8_t* written = nullptr;
  const OutputReader* outputs = node_.from_output ? evaluator_.outputs_ : nullptr;
  if (node_.from_output)
    written = evaluator_.buffers_->written.get(std::max<int64_t>(out_.grid.size, 1));
  read_box(*evaluator_.instance_, outputs, tensor, low, extent, bits, written);
}

/// Elements at computed indices, in runs along the last dimension where it is no index.
uint8_t* NodeWork::gather_bits(const Tensor& tensor, uint8_t* bits) {
  const int64_t size = out_.grid.size;
  uint8_t* status = nullptr;
  const auto mark = [&](int64_t k) {
    if (status == nullptr) {
      status = out_.own_status.get(std::max<int64_t>(size, 1));
      std::fill_n(status, size, kKnown);
    }
    status[k] = kUndefined;
  };
  const int bytes = byte_size(tensor.dtype);
  std::vector<int> axis_of_dim(out_.grid.dims.size(), -1);
  for (size_t axis = 0; axis < tensor.dims.size(); ++axis) {
    const bool indexed = std::find(node_.indexed.begin(), node_.indexed.end(),
                                   static_cast<int>(axis)) != node_.indexed.end();
    for (size_t d = 0; d < out_.grid.dims.size(); ++d) {
      const auto& name = evaluator_.graph_.dims[static_cast<size_t>(out_.grid.dims[d])];
      if (!indexed && name == tensor.dims[axis]) axis_of_dim[d] = static_cast<int>(axis);
    }
  }
  const int64_t run = gather_run(tensor, axis_of_dim);
  std::vector<int64_t> at(tensor.shape.size());
  for (int64_t k = 0; k < size; k += run) {
    if (gather_place(tensor, axis_of_dim, k, at)) {
      logical_values(*evaluator_.instance_, tensor, tensor.linear(at), run, bits + k * bytes);
    } else {
      std::fill_n(bits + k * bytes, run * bytes, uint8_t{0});
      for (int64_t j = k; j < k + run; ++j) mark(j);
    }
  }
  return status;
}

/// How many neighbouring elements of the result are neighbours in the operand too.
int64_t NodeWork::gather_run(const Tensor& tensor, const std::vector<int>& axis_of_dim) const {
  if (out_.grid.dims.empty()) return 1;
  if (axis_of_dim.back() != static_cast<int>(tensor.shape.size()) - 1) return 1;
  for (size_t k = 0; k < node_.args.size(); ++k)
    if (stride_along(argument(k).grid, out_.grid.dims.back()) != 0) return 1;
  return std::max<int64_t>(out_.grid.extent.back(), 1);
}

bool NodeWork::gather_place(const Tensor& tensor, const std::vector<int>& axis_of_dim, int64_t k,
                            std::vector<int64_t>& at) const {
  std::fill(at.begin(), at.end(), 0);
  std::vector<int64_t> offsets(node_.args.size(), 0);
  int64_t rest = k;
  for (size_t d = out_.grid.dims.size(); d-- > 0;) {
    const int64_t step = rest % out_.grid.extent[d];
    rest /= out_.grid.extent[d];
    if (axis_of_dim[d] >= 0) at[static_cast<size_t>(axis_of_dim[d])] = out_.grid.low[d] + step;
    for (size_t a = 0; a < offsets.size(); ++a)
      offsets[a] += step * stride_along(argument(a).grid, out_.grid.dims[d]);
  }
  for (size_t a = 0; a < offsets.size(); ++a) {
    const Value& index = argument(a);
    if (index.status != nullptr && index.status[offsets[a]] != kKnown) return false;
    const __int128 value = index.i[offsets[a]];
    const auto axis = static_cast<size_t>(node_.indexed[a]);
    if (value < 0 || value >= tensor.shape[axis]) return false;
    at[axis] = static_cast<int64_t>(value);
  }
  return true;
}

/// A subnormal input may be read as 0.
void NodeWork::flush_inputs(const double* v) {
  if (!errs()) return;
  const int64_t size = out_.grid.size;
  const double limit = rounding_of(evaluator_.settings_.arithmetic, true).min_normal;
  double* lo = nullptr;
  double* hi = nullptr;
  for (int64_t k = 0; k < size; ++k) {
    if (v[k] == 0 || !(std::fabs(v[k]) < limit)) continue;
    if (lo == nullptr) {
      lo = out_.own_lo.get(size);
      hi = out_.own_hi.get(size);
      std::fill_n(lo, size, 0.0);
      std::fill_n(hi, size, 0.0);
    }
    (v[k] > 0 ? lo : hi)[k] = std::fabs(v[k]);
  }
  out_.lo = lo;
  out_.hi = hi;
}

/// Elements whose index is out of range: no bound.
void NodeWork::forget_undefined() {
  const int64_t size = out_.grid.size;
  double* lo = out_.own_lo.get(size);
  double* hi = out_.own_hi.get(size);
  for (int64_t k = 0; k < size; ++k) {
    const double none = out_.status[k] == kKnown ? 0 : std::nan("");
    lo[k] = (out_.lo == nullptr ? 0 : out_.lo[k]) + none;
    hi[k] = (out_.hi == nullptr ? 0 : out_.hi[k]) + none;
  }
  out_.lo = lo;
  out_.hi = hi;
  out_.status = nullptr;
}

}  // namespace assay
