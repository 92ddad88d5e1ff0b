// Layouts: padded rows, transposed, every second element, stride 0, storage offsets, shifted bases.
#include <algorithm>

#include "generators/draft.hpp"

namespace assay {
namespace {

/// Gaps between neighbours: every `inner_step`-th element is used, and in dimension `padded` each
/// stride is `padding` elements longer than what it steps over.
struct Gaps {
  int64_t inner_step = 1;
  int64_t padding = 0;
  size_t padded = 0;
};

/// Strides for dimensions taken innermost first in `order`. Those that the contract fixes keep what
/// they are in `tensor`, which has the case's sizes.
bool strides_in_order(const Tensor& tensor, const std::vector<size_t>& order, const Gaps& gaps,
                      Layout& out) {
  const std::vector<StrideRule>& rules = tensor.spec->strides;
  out.strides.assign(tensor.shape.size(), 0);
  __int128 next = gaps.inner_step;
  for (const size_t d : order) {
    if (d == gaps.padded) next += gaps.padding;
    const int64_t stride = rules[d].any ? static_cast<int64_t>(next) : tensor.strides[d];
    out.strides[d] = stride;
    next = static_cast<__int128>(stride) * std::max<int64_t>(tensor.shape[d], 1);
    if (next > (int64_t{1} << 46)) return false;
  }
  return true;
}

/// Free dimensions of `order` but for its innermost, which has nothing to step over.
std::vector<size_t> steps_over(const std::vector<size_t>& order, const std::vector<size_t>& free) {
  std::vector<size_t> out;
  for (size_t i = 1; i < order.size(); ++i) {
    if (std::find(free.begin(), free.end(), order[i]) != free.end()) out.push_back(order[i]);
  }
  return out;
}

/// The place of the padding: most often the innermost, as in rows of a larger matrix; of several,
/// also further out, where a kernel that works it out itself would be right about the inner one.
size_t draw_padded(const std::vector<size_t>& candidates, Random& random) {
  if (candidates.size() == 1 || random.chance(0.5)) return candidates.front();
  return random.pick(candidates);
}

std::vector<size_t> inner_first(size_t rank) {
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = rank - 1 - d;
  return order;
}

/// Exchanges two dimensions whose strides are free, as [tokens, heads] and [heads, tokens]; false
/// where there are none.
bool swap_outer(const std::vector<size_t>& free, std::vector<size_t>& order, Random& random) {
  if (free.size() < 2) return false;
  const int64_t count = static_cast<int64_t>(free.size());
  const int64_t first = random.below(count);
  const int64_t second = (first + 1 + random.below(count - 1)) % count;
  const auto at = [&](int64_t i) {
    return std::find(order.begin(), order.end(), free[static_cast<size_t>(i)]);
  };
  std::iter_swap(at(first), at(second));
  return true;
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
      const std::vector<size_t> places = steps_over(order, free);
      if (places.empty()) return false;
      const int64_t row = std::max<int64_t>(tensor.shape[rank - 1], 1);
      const int64_t round = random.pick({8, 16, 32, 64, 128});
      const int64_t padding =
          random.chance(0.5) ? random.pick({1, 2, 3, 5, 8, 16}) : (round - row % round) % round;
      return strides_in_order(tensor, order, {1, padding, draw_padded(places, random)}, out);
    }
    case LayoutKind::transposed: {
      if (rank < 2) return false;
      if (inner_free) {
        std::swap(order[0], order[1 + random.below(static_cast<int64_t>(rank) - 1)]);
      } else if (!swap_outer(free, order, random)) {
        return false;
      }
      const int64_t padding = random.pick({0, 0, 1, 3});
      return strides_in_order(tensor, order, {1, padding, steps_over(order, free).front()}, out);
    }
    case LayoutKind::step_two:
      if (!inner_free) return false;
      return strides_in_order(tensor, order, {random.pick({2, 2, 3}), 0, 0}, out);
    case LayoutKind::broadcast:
      if (tensor.is_written()) return false;
      if (!strides_in_order(tensor, order, {}, out)) return false;
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
