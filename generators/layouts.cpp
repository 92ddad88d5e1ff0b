// Layouts: padded rows, transposed, every second element, stride 0, storage offsets, shifted bases.
#include <algorithm>

#include "generators/draft.hpp"

namespace assay {
namespace {

/// Strides for dimensions taken innermost first in `order`; those with a fixed stride keep it.
bool strides_in_order(const Tensor& tensor, const std::vector<size_t>& order, int64_t inner_step,
                      int64_t padding, Layout& out) {
  const std::vector<StrideRule>& rules = tensor.spec->strides;
  out.strides.assign(tensor.shape.size(), 0);
  __int128 next = inner_step;
  bool innermost = true;
  for (const size_t d : order) {
    const StrideRule& rule = rules[d];
    const int64_t stride = rule.any ? static_cast<int64_t>(next) : rule.value->integer;
    out.strides[d] = stride;
    next = static_cast<__int128>(stride) * std::max<int64_t>(tensor.shape[d], 1);
    if (innermost) next += padding;
    innermost = false;
    if (next > (int64_t{1} << 46)) return false;
  }
  return true;
}

std::vector<size_t> inner_first(size_t rank) {
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = rank - 1 - d;
  return order;
}

}  // namespace

bool make_layout(const Tensor& tensor, LayoutKind kind, Random& random, Layout& out) {
  out.strides.clear();
  const size_t rank = tensor.shape.size();
  if (kind == LayoutKind::contiguous) return true;
  const std::vector<size_t> free = free_strides(*tensor.spec);
  if (free.empty() || tensor.spec->strides.size() != rank) return false;
  std::vector<size_t> order = inner_first(rank);
  const bool inner_free = tensor.spec->strides[rank - 1].any;
  switch (kind) {
    case LayoutKind::padded: {
      if (rank < 2) return false;
      const int64_t row = std::max<int64_t>(tensor.shape[rank - 1], 1);
      const int64_t round = random.pick({8, 16, 32, 64, 128});
      const int64_t padding =
          random.chance(0.5) ? random.pick({1, 2, 3, 5, 8, 16}) : (round - row % round) % round;
      return strides_in_order(tensor, order, 1, padding, out);
    }
    case LayoutKind::transposed:
      if (rank < 2 || !inner_free) return false;
      std::swap(order[0], order[1 + random.below(static_cast<int64_t>(rank) - 1)]);
      return strides_in_order(tensor, order, 1, random.pick({0, 0, 1, 3}), out);
    case LayoutKind::step_two:
      if (!inner_free) return false;
      return strides_in_order(tensor, order, random.pick({2, 2, 3}), 0, out);
    case LayoutKind::broadcast:
      if (tensor.is_written()) return false;
      if (!strides_in_order(tensor, order, 1, 0, out)) return false;
      out.strides[random.pick(free)] = 0;
      return true;
    case LayoutKind::contiguous:
      break;
  }
  return true;
}

/// Storage offset and base address, within the alignment that the kernel may rely on.
void draw_base(const Instance& instance, const Tensor& tensor, Random& random, Layout& out) {
  const int64_t size = byte_size(tensor.dtype);
  const int64_t align = tensor.spec->align ? instance.evaluate(*tensor.spec->align) : size;
  const int64_t unit = std::max<int64_t>(1, align / size);  // elements between aligned places
  if (random.chance(0.6)) out.offset = unit * random.pick({1, 2, 3, 4, 7, 8, 16, 31, 100});
  if (random.chance(0.4)) {
    const int64_t bytes = std::max(align, size) * random.pick({1, 1, 2, 3, 4, 8});
    if (bytes < 256) out.misalign = bytes;
  }
}

void draw_layouts(const Instance& instance, Random& random, Case& c) {
  c.layouts.clear();
  for (const Tensor& tensor : instance.tensors) {
    if (tensor.is_scalar() || !tensor.present || tensor.is_shared()) continue;
    Layout layout;
    if (random.chance(0.45)) {
      const auto kind =
          random.pick({LayoutKind::padded, LayoutKind::padded, LayoutKind::padded,
                       LayoutKind::transposed, LayoutKind::step_two, LayoutKind::broadcast});
      if (!make_layout(tensor, kind, random, layout)) layout = {};
    }
    if (random.chance(0.25)) draw_base(instance, tensor, random, layout);
    if (layout != Layout{}) c.layouts[tensor.spec->name] = std::move(layout);
  }
}

}  // namespace assay
