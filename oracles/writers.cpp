#include "oracles/writers.hpp"

#include <algorithm>

namespace assay {
namespace {

/// Elements of a slice of values that are evaluated at once.
constexpr int64_t kSlice = int64_t{1} << 16;
/// Slots that one writer may name, listed; beyond, any may be.
constexpr __int128 kMostPossible = 64;

bool among(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Writers::Writers(CaseState& state, const FormulaRoot& root, const Tensor& output)
    : state_(state), graph_(state.formula.graph), output_(output), dims_(root.writer_dims) {
  for (const int dim : dims_)
    dim_extents_.push_back(state.formula.rows.extents()[static_cast<size_t>(dim)]);
  find_axes(root);
  find_slots(root);
}

void Writers::find_axes(const FormulaRoot& root) {
  int64_t step = 1;
  axes_.resize(output_.shape.size());
  for (size_t k = axes_.size(); k-- > 0;) {
    axes_[k].extent = output_.shape[k];
    axes_[k].step = step;
    step *= std::max<int64_t>(output_.shape[k], 1);
    const auto named = std::find(graph_.dims.begin(), graph_.dims.end(), output_.dims[k]);
    if (!output_.dims[k].empty() && !among(root.scatter_axes, static_cast<int>(k)))
      axes_[k].dim = static_cast<int>(named - graph_.dims.begin());
  }
  for (size_t k = 0; k < axes_.size(); ++k) {
    const bool indexed = among(root.scatter_axes, static_cast<int>(k));
    const bool fixed = axes_[k].dim >= 0 && among(dims_, axes_[k].dim);
    (indexed || fixed ? slot_axes_ : row_axes_).push_back(static_cast<int>(k));
    if (!indexed && !fixed) row_size_ *= axes_[k].extent;
  }
}

Chunk Writers::writer_chunk() const {
  Chunk chunk;
  chunk.low.assign(graph_.dims.size(), 0);
  chunk.extent = state_.formula.rows.extents();
  return chunk;
}

void Writers::doubt(int64_t writer, const WideRange& range, int64_t extent, int64_t step) {
  int64_t& slot = slots_[static_cast<size_t>(writer)];
  const auto found = possible_.find(writer);
  if (slot < 0 && found == possible_.end()) return;  // it names nothing, or may name any
  const std::vector<int64_t> before =
      found == possible_.end() ? std::vector<int64_t>{slot} : found->second;
  slot = -1;
  const __int128 first = std::max<__int128>(range.low, 0);
  const __int128 last = std::min<__int128>(range.high, extent - 1);
  const __int128 width = last < first ? 0 : last - first + 1;
  if (range.any() || width * static_cast<__int128>(before.size()) > kMostPossible) {
    anywhere_.insert(writer);
    possible_.erase(writer);
    return;
  }
  std::vector<int64_t>& after = possible_[writer];
  after.clear();
  for (const int64_t partial : before)
    for (__int128 at = first; at <= last; ++at)
      after.push_back(partial + static_cast<int64_t>(at) * step);
}

/// An index outside of its axis names nothing, and neither does one that is undefined.
void Writers::find_slots(const FormulaRoot& root) {
  const Chunk chunk = writer_chunk();
  const Grid grid = grid_of(dims_, chunk);
  slots_.assign(static_cast<size_t>(grid.size), 0);
  const auto walk = [&](const Grid& from, const auto& each) {
    for_runs<1>(grid, {&from},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k) each(done + k, offset[0] + k * stride[0]);
                });
  };
  for (const int axis : slot_axes_) {
    const auto [extent, dim, step] = axes_[static_cast<size_t>(axis)];
    const auto indexed = std::find(root.scatter_axes.begin(), root.scatter_axes.end(), axis);
    if (indexed == root.scatter_axes.end()) {
      Chunk other = chunk;
      for (const int each : dims_)
        if (each != dim) other.extent[static_cast<size_t>(each)] = 1;
      const Grid own = grid_of({dim}, other);
      walk(own, [&, step = step](int64_t writer, int64_t at) { add(writer, at * step); });
      continue;
    }
    const auto which = static_cast<size_t>(indexed - root.scatter_axes.begin());
    const Value& index = state_.formula.rows.at(root.scatter_indices[which], chunk);
    walk(index.grid, [&, extent = extent, step = step](int64_t writer, int64_t at) {
      auto& slot = slots_[static_cast<size_t>(writer)];
      if (leaves_open(index, at)) return doubt(writer, range_at(index, at), extent, step);
      if (status_of(index, at) != kKnown || index.i[at] < 0 || index.i[at] >= extent) {
        slot = -1;
        possible_.erase(writer);
        anywhere_.erase(writer);
      } else {
        add(writer, static_cast<int64_t>(index.i[at]) * step);
      }
    });
  }
  gather_slots();
}

void Writers::add(int64_t writer, int64_t offset) {
  if (int64_t& slot = slots_[static_cast<size_t>(writer)]; slot >= 0) slot += offset;
  if (const auto found = possible_.find(writer); found != possible_.end())
    for (int64_t& slot : found->second) slot += offset;
}

void Writers::gather_slots() {
  for (const int64_t slot : slots_)
    if (slot >= 0) named_.push_back(slot);
  std::sort(named_.begin(), named_.end());
  size_t kept = 0;
  for (const int64_t slot : named_) {
    if (kept > 0 && named_[kept - 1] == slot) {
      ++counts_[kept - 1];
      continue;
    }
    named_[kept++] = slot;
    counts_.push_back(1);
  }
  named_.resize(kept);
  if (!anywhere_.empty()) doubtful_ = named_;
  for (const auto& [writer, slots] : possible_)
    doubtful_.insert(doubtful_.end(), slots.begin(), slots.end());
  std::sort(doubtful_.begin(), doubtful_.end());
  doubtful_.erase(std::unique(doubtful_.begin(), doubtful_.end()), doubtful_.end());
}

bool Writers::in_doubt(int64_t slot) const {
  return !anywhere_.empty() || std::binary_search(doubtful_.begin(), doubtful_.end(), slot);
}

bool Writers::may_be_named(int64_t slot) const { return find(slot) >= 0 || in_doubt(slot); }

int64_t Writers::find(int64_t slot) const {
  const auto found = std::lower_bound(named_.begin(), named_.end(), slot);
  return found != named_.end() && *found == slot ? found - named_.begin() : -1;
}

int64_t Writers::logical(int64_t slot, int64_t k) const {
  for (size_t i = row_axes_.size(); i-- > 0;) {
    const Axis& axis = axes_[static_cast<size_t>(row_axes_[i])];
    slot += k % axis.extent * axis.step;
    k /= axis.extent;
  }
  return slot;
}

std::pair<int64_t, int64_t> Writers::place(int64_t logical) const {
  const std::vector<int64_t> at = output_.coordinates(logical);
  int64_t slot = 0;
  int64_t k = 0;
  for (const int axis : slot_axes_)
    slot += at[static_cast<size_t>(axis)] * axes_[static_cast<size_t>(axis)].step;
  for (const int axis : row_axes_)
    k = k * axes_[static_cast<size_t>(axis)].extent + at[static_cast<size_t>(axis)];
  return {slot, k};
}

void Writers::each_value(int node, const Visit& visit) {
  if (count() == 0 || row_size_ == 0) return;
  // Slices of the first dimension: the values of one fit the cache.
  const int64_t outer = dims_.empty() ? 1 : dim_extents_[0];
  const int64_t inner = count() / outer;
  const int64_t most = std::max<int64_t>(1, kSlice / std::max<int64_t>(1, inner * row_size_));
  Chunk chunk = writer_chunk();
  std::vector<int> row_dims;
  for (const int axis : row_axes_) row_dims.push_back(axes_[static_cast<size_t>(axis)].dim);
  for (int64_t first = 0; first < outer; first += most) {
    if (!dims_.empty()) {
      chunk.low[static_cast<size_t>(dims_[0])] = first;
      chunk.extent[static_cast<size_t>(dims_[0])] = std::min(most, outer - first);
    }
    const Value& value = state_.formula.rows.at(node, chunk);
    const Grid points = grid_of(dims_, chunk);
    Grid row;
    for (size_t i = 0; i < row_axes_.size(); ++i) {
      row.dims.push_back(row_dims[i] >= 0 ? row_dims[i] : -1 - row_axes_[i]);
      row.extent.push_back(axes_[static_cast<size_t>(row_axes_[i])].extent);
      row.size *= row.extent.back();
    }
    row.low.assign(row.dims.size(), 0);
    for_runs<1>(points, {&value.grid},
                [&](int64_t done, int64_t n, const auto& base, const auto& point_stride) {
                  for (int64_t p = 0; p < n; ++p) {
                    const int64_t writer = first * inner + done + p;
                    if (slot(writer) < 0) continue;
                    const int64_t start = base[0] + p * point_stride[0];
                    for_runs<1>(row, {&value.grid},
                                [&](int64_t k, int64_t m, const auto& offset, const auto& stride) {
                                  for (int64_t j = 0; j < m; ++j)
                                    visit(value, writer, k + j, start + offset[0] + j * stride[0]);
                                });
                  }
                });
  }
}

Chunk Writers::single(int64_t writer, int64_t k) const {
  Chunk chunk;
  chunk.low.assign(graph_.dims.size(), 0);
  chunk.extent = state_.formula.rows.extents();
  const auto fix = [&chunk](int dim, int64_t at) {
    chunk.low[static_cast<size_t>(dim)] = at;
    chunk.extent[static_cast<size_t>(dim)] = 1;
  };
  for (size_t i = dims_.size(); i-- > 0;) {
    fix(dims_[i], writer % dim_extents_[i]);
    writer /= dim_extents_[i];
  }
  for (size_t i = row_axes_.size(); i-- > 0;) {
    const Axis& axis = axes_[static_cast<size_t>(row_axes_[i])];
    if (axis.dim >= 0) fix(axis.dim, k % axis.extent);
    k /= axis.extent;
  }
  return chunk;
}

}  // namespace assay
