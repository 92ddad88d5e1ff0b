// Walks a dense output array in runs along which every argument has one stride.
#pragma once

#include <array>
#include <vector>

#include "oracles/evaluate.hpp"

namespace assay {

/// Element step of `grid` along dimension `dim`; 0 where it does not vary.
inline int64_t stride_along(const Grid& grid, int dim) {
  int64_t stride = 1;
  for (size_t k = grid.dims.size(); k-- > 0;) {
    if (grid.dims[k] == dim) return stride;
    stride *= grid.extent[k];
  }
  return 0;
}

/// Element of `grid`, some node's array, at which a part of it begins.
inline int64_t base_in(const Grid& grid, const Chunk& part) {
  int64_t base = 0;
  for (size_t d = 0; d < grid.dims.size(); ++d)
    base += (part.low[static_cast<size_t>(grid.dims[d])] - grid.low[d]) *
            stride_along(grid, grid.dims[d]);
  return base;
}

template <size_t N>
struct Axis {
  int64_t extent = 1;
  std::array<int64_t, N> stride{};
};

/// The axes of `out` with neighbours merged wherever every argument steps evenly over both.
template <size_t N>
std::vector<Axis<N>> merged_axes(const Grid& out, const std::array<const Grid*, N>& args) {
  std::vector<Axis<N>> axes;
  for (size_t k = 0; k < out.dims.size(); ++k) {
    Axis<N> axis;
    axis.extent = out.extent[k];
    if (axis.extent == 1) continue;
    for (size_t a = 0; a < N; ++a) axis.stride[a] = stride_along(*args[a], out.dims[k]);
    bool even = !axes.empty();
    for (size_t a = 0; a < N && even; ++a)
      even = axes.back().stride[a] == axis.stride[a] * axis.extent;
    if (even) {
      axes.back().extent *= axis.extent;
      axes.back().stride = axis.stride;
    } else {
      axes.push_back(axis);
    }
  }
  return axes;
}

/// Calls run(out_offset, n, arg_offsets, arg_strides) for each run; `out` is dense.
template <size_t N, typename Run>
void for_runs(const Grid& out, const std::array<const Grid*, N>& args, Run run) {
  if (out.size == 0) return;
  std::vector<Axis<N>> axes = merged_axes<N>(out, args);
  if (axes.empty()) axes.push_back({});
  const Axis<N> inner = axes.back();
  axes.pop_back();
  std::vector<int64_t> at(axes.size(), 0);
  std::array<int64_t, N> offsets{};
  for (int64_t done = 0; done < out.size; done += inner.extent) {
    run(done, inner.extent, offsets, inner.stride);
    for (size_t k = axes.size(); k-- > 0;) {
      for (size_t a = 0; a < N; ++a) offsets[a] += axes[k].stride[a];
      if (++at[k] < axes[k].extent) break;
      for (size_t a = 0; a < N; ++a) offsets[a] -= axes[k].stride[a] * axes[k].extent;
      at[k] = 0;
    }
  }
}

}  // namespace assay
