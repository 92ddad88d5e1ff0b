// Cases that reach far: offsets past 2^31 and 2^32 elements or bytes, grids past 65535 blocks.
// Cheap, because memory is sparse and few blocks run.
#include <algorithm>
#include <array>
#include <span>

#include "generators/draft.hpp"
#include "generators/unowned.hpp"

namespace assay {
namespace {

constexpr int64_t k2To31 = int64_t{1} << 31;
constexpr int64_t k2To32 = int64_t{1} << 32;

/// A place where 32-bit arithmetic goes wrong, in elements of `size` bytes.
int64_t draw_target(int64_t size, Random& random) {
  const int64_t target = random.chance(0.5) ? k2To31 : k2To32;
  return random.chance(0.7) ? target : target / size;
}

int64_t small_size(const Facts& facts, const SizeSpec& size, Random& random) {
  const auto kind = random.pick({SizeKind::one, SizeKind::two, SizeKind::two, SizeKind::prime,
                                 SizeKind::above_step, SizeKind::head});
  return std::max<int64_t>(std::min<int64_t>(1, size.max),
                           draw_size(facts, size, kind, random.chance(0.7) ? 40 : 300, random));
}

void draw_small_sizes(const Facts& facts, Random& random, Case& c) {
  for (const SizeSpec& size : facts.contract.sizes) {
    c.sizes[size.name] = small_size(facts, size, random);
  }
}

/// Operands of two or more dimensions with a stride of free choice.
std::vector<const OperandSpec*> strided_operands(const Contract& contract) {
  std::vector<const OperandSpec*> out;
  for (const OperandSpec& operand : contract.args) {
    if (operand.kind != OperandKind::scalar && operand.shape.size() >= 2 &&
        operand.strides.size() == operand.shape.size() && !free_strides(operand).empty()) {
      out.push_back(&operand);
    }
  }
  return out;
}

/// The product of the sizes at their greatest; `limit` where that is less.
int64_t greatest_product(std::span<const SizeSpec* const> sizes, int64_t limit) {
  __int128 most = 1;
  for (const SizeSpec* size : sizes) most = std::min<__int128>(most * greatest(*size), limit);
  return static_cast<int64_t>(most);
}

/// Sizes whose product just reaches `target`, outermost last so that rows stay short.
bool reach_product(const std::vector<const SizeSpec*>& sizes, int64_t target, Random& random,
                   Case& c) {
  __int128 rest = target;
  for (size_t i = sizes.size(); i-- > 0;) {
    const __int128 others = greatest_product(std::span(sizes).first(i), target);
    const auto least = static_cast<int64_t>((rest + others - 1) / std::max<__int128>(others, 1));
    const int64_t most = greatest(*sizes[i]);
    if (least > most) return false;
    int64_t value = least;
    if (i > 0) {
      // Somewhere between what is needed and four times that, often a power of two.
      const int64_t high = std::min(most, std::max<int64_t>(least * 4, 16));
      value = random.between(std::max<int64_t>(least, 1), std::max<int64_t>(high, 1));
      int64_t power = 1;
      while (power < value) power *= 2;
      if (random.chance(0.5) && power <= most) value = power;
    } else {
      value = std::min(most, least + random.pick({0, 0, 1, 2, 3, 5}));
    }
    if (value < sizes[i]->min) value = sizes[i]->min;
    if (!sizes[i]->in.empty() &&
        std::find(sizes[i]->in.begin(), sizes[i]->in.end(), value) == sizes[i]->in.end()) {
      value = most;
    }
    c.sizes[sizes[i]->name] = value;
    rest = (rest + value - 1) / std::max<int64_t>(value, 1);
  }
  return true;
}

int64_t elements_of(const Contract& contract, const Case& c, const OperandSpec& operand) {
  const std::optional<Instance> instance = if_valid(contract, c);
  if (!instance) return 0;
  const Tensor& tensor = *instance->find(operand.name);
  return tensor.present ? tensor.elements() : 0;
}

/// A value of one of several sizes, of any order of magnitude; often the greatest, which leaves
/// least to the others.
int64_t draw_magnitude(const SizeSpec& size, Random& random) {
  if (!size.in.empty()) return random.pick(size.in);
  int64_t value = greatest(size);
  if (random.chance(0.5)) return value;
  const int64_t least = std::max<int64_t>(size.min, 1);
  for (int64_t halvings = random.below(12); halvings > 0 && value / 2 >= least; --halvings)
    value /= 2;
  return value;
}

/// Sizes with which the operand's elements just reach `target`, or come as near as they can. Its
/// extents are expressions: they are taken to grow with each size, which a search tries out.
bool reach_extents(const Facts& facts, const OperandSpec& operand, int64_t target, Random& random,
                   Case& c) {
  const std::vector<const SizeSpec*> sizes = extent_sizes(facts.contract, operand);
  const auto searched = std::find_if(sizes.begin(), sizes.end(),
                                     [](const SizeSpec* size) { return size->in.empty(); });
  if (searched == sizes.end()) return false;
  int64_t& value = c.sizes[(*searched)->name];
  for (const bool greatest_others : {false, true}) {
    for (const SizeSpec* size : sizes)
      c.sizes[size->name] = greatest_others ? greatest(*size) : draw_magnitude(*size, random);
    value = greatest(**searched);
    if (!lower_to_fit(facts.contract, sizes, c)) continue;
    const int64_t most = value;
    const int64_t reached = elements_of(facts.contract, c, operand);
    if (reached < target && !greatest_others) continue;
    if (reached < k2To31 / 2) return false;
    const auto falls_short = [&](int64_t at) {
      value = at;
      return elements_of(facts.contract, c, operand) < std::min(target, reached);
    };
    const int64_t least = std::max<int64_t>((*searched)->min, std::min<int64_t>(1, most));
    const int64_t needed =
        falls_short(least) ? largest_where(least, most, falls_short) + 1 : least;
    value = std::min(most, needed + random.pick({0, 0, 1, 2, 3, 5}));
    return true;
  }
  return false;
}

/// The case resolved, where it has one launch: of its grid a few blocks can run.
std::optional<Instance> resolved(const Facts& facts, const Case& c) {
  std::optional<Instance> instance = if_valid(facts.contract, c);
  if (instance && instance->launches.size() != 1) instance.reset();
  return instance;
}

/// An element of a judged output that belongs to element `linear` of `operand`: the same place
/// along the dimensions that they share, the last along others.
std::vector<int64_t> judged_element(const Tensor& operand, int64_t linear, const Tensor& output) {
  const std::vector<int64_t> place = operand.coordinates(linear);
  std::vector<int64_t> out;
  for (size_t d = 0; d < output.shape.size(); ++d) {
    const auto same = std::find(operand.dims.begin(), operand.dims.end(), output.dims[d]);
    const bool shared = !output.dims[d].empty() && same != operand.dims.end();
    const int64_t at =
        shared ? place[static_cast<size_t>(same - operand.dims.begin())] : output.shape[d] - 1;
    out.push_back(std::clamp<int64_t>(at, 0, output.shape[d] - 1));
  }
  return out;
}

/// Blocks that own what belongs to elements `target` (the first past the place), `target` - 1 and
/// the last of an operand: by their fraction of the grid they are found only where a grid is as
/// long as the work.
std::vector<int64_t> blocks_at(const Instance& instance, const Tensor& operand, int64_t target) {
  std::vector<int64_t> out;
  const int64_t count = operand.elements();
  for (const Tensor& output : instance.tensors) {
    if (!output.present || !output.is_judged() || output.elements() == 0) continue;
    for (const int64_t linear : {target, count - 1, target - 1}) {
      if (linear < 0 || linear >= count) continue;
      const std::vector<int64_t> element = judged_element(operand, linear, output);
      for (const int64_t block : owners_of(instance, output, element, 1))
        if (std::find(out.begin(), out.end(), block) == out.end()) out.push_back(block);
    }
  }
  return out;
}

/// Gives the case the first of `wanted` that can be afforded together, which come in order of
/// weight. False when not even one can.
bool choose_blocks(const Contract& contract, const std::vector<int64_t>& wanted, int64_t work_limit,
                   Case& c) {
  c.blocks.clear();
  for (const int64_t block : wanted) {
    std::vector<int64_t> more = c.blocks;
    more.insert(std::lower_bound(more.begin(), more.end(), block), block);
    more.erase(std::unique(more.begin(), more.end()), more.end());
    std::swap(c.blocks, more);
    const auto work = work_if_valid(contract, c);
    if (!work || *work > work_limit) std::swap(c.blocks, more);
  }
  return !c.blocks.empty();
}

/// How many strides reach the target: often a power of two, which divides it.
int64_t draw_step_count(int64_t most, Random& random) {
  const int64_t k = random.between(1, most);
  if (!random.chance(0.75)) return k;
  int64_t power = 1;
  while (power * 2 <= k) power *= 2;
  return power;
}

}  // namespace

int64_t greatest(const SizeSpec& size) {
  return size.in.empty() ? size.max : *std::max_element(size.in.begin(), size.in.end());
}

std::vector<const SizeSpec*> plain_sizes(const Contract& contract, const OperandSpec& operand) {
  std::vector<const SizeSpec*> out;
  for (const Dimension& dimension : operand.shape) {
    const SizeSpec* const size = size_of_dimension(contract, dimension);
    if (size == nullptr || std::find(out.begin(), out.end(), size) != out.end()) return {};
    out.push_back(size);
  }
  return out;
}

std::vector<const SizeSpec*> extent_sizes(const Contract& contract, const OperandSpec& operand) {
  std::vector<const SizeSpec*> out;
  for (const std::string& name : shape_sources(contract, operand)) {
    for (const SizeSpec& size : contract.sizes) {
      if (size.name == name) out.push_back(&size);
    }
  }
  return out;
}

std::vector<int64_t> notable_blocks(const std::array<int64_t, 3>& grid, double fraction, int count,
                                    Random& random) {
  std::vector<int64_t> out;
  const auto coordinate = [&](int64_t extent) -> int64_t {
    const auto at = static_cast<int64_t>(fraction * static_cast<double>(extent));
    switch (random.below(6)) {
      case 0:
        return 0;
      case 1:
        return extent - 1;
      case 2:
        return std::max<int64_t>(0, extent - 2);
      case 3:
        return std::clamp<int64_t>(at + random.between(-1, 1), 0, extent - 1);
      case 4:
        return std::clamp<int64_t>(at, 0, extent - 1);
      default:
        return random.below(extent);
    }
  };
  if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1) return out;
  out.push_back(0);
  out.push_back(grid[0] * grid[1] * grid[2] - 1);
  while (static_cast<int>(out.size()) < count) {
    const int64_t x = coordinate(grid[0]), y = coordinate(grid[1]), z = coordinate(grid[2]);
    out.push_back(x + grid[0] * (y + grid[1] * z));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool draw_far_stride(const Facts& facts, Random& random, Case& c) {
  const auto operands = strided_operands(facts.contract);
  if (operands.empty()) return false;
  const OperandSpec& operand = *random.pick(operands);
  const size_t d = random.pick(free_strides(operand));
  const SizeSpec* const size = size_of_dimension(facts.contract, operand.shape[d]);
  draw_small_sizes(facts, random, c);
  if (size != nullptr && size->in.empty()) {
    const int64_t wanted = random.pick({2, 3, 4, 5, 5, 8, 9, 9, 17, 33});
    c.sizes[size->name] = std::clamp(wanted, size->min, size->max);
  }
  c.layouts.clear();
  const auto instance = if_valid(facts.contract, c);
  if (!instance) return false;
  const Tensor& tensor = *instance->find(operand.name);
  if (!tensor.present || tensor.shape[d] < 2) return false;
  for (int attempt = 0; attempt < 4; ++attempt) {  // the kernel's stride may be an int
    const int64_t target = draw_target(byte_size(tensor.dtype), random);
    const int64_t k = draw_step_count(tensor.shape[d] - 1, random);
    const int64_t beyond = random.pick({0, 0, 0, 0, 1, 8, -1});
    Layout layout;
    layout.strides = tensor.strides;
    layout.strides[d] = (target + k - 1) / k + beyond;
    c.layouts[operand.name] = std::move(layout);
    if (if_valid(facts.contract, c)) return true;
  }
  c.layouts.clear();
  return false;
}

bool draw_far_count(const Facts& facts, int64_t work_limit, Random& random, Case& c) {
  if (!facts.subset_allowed) return false;
  draw_small_sizes(facts, random, c);
  c.layouts.clear();
  std::vector<const OperandSpec*> eligible;
  for (const OperandSpec& operand : facts.contract.args) {
    if (operand.kind == OperandKind::scalar) continue;
    // Where an extent is an expression, `reach_extents` tells.
    const auto plain = plain_sizes(facts.contract, operand);
    if (plain.empty() ? !extent_sizes(facts.contract, operand).empty()
                      : greatest_product(plain, k2To32) >= k2To31 / 2)
      eligible.push_back(&operand);
  }
  if (eligible.empty()) return false;
  const OperandSpec& operand = *random.pick(eligible);
  const int64_t size = byte_size(resolve_dtype(operand, c.variant()));
  int64_t target = draw_target(std::max<int64_t>(size, 1), random);
  if (const auto sizes = plain_sizes(facts.contract, operand); !sizes.empty()) {
    target = std::min(target, greatest_product(sizes, k2To32));
    if (!reach_product(sizes, target, random, c)) return false;
    // Just below the place counts too: where scalars carry no more, a counter still steps past it.
    if (!lower_to_fit(facts.contract, sizes, c)) return false;
  } else if (!reach_extents(facts, operand, target, random, c)) {
    return false;
  }
  const auto instance = resolved(facts, c);
  if (!instance) return false;
  const Tensor& tensor = *instance->find(operand.name);
  if (!tensor.present || tensor.elements() < 1) return false;
  const auto elements = static_cast<double>(tensor.elements());
  std::vector<int64_t> blocks = blocks_at(*instance, tensor, target);
  const std::vector<int64_t> notable = notable_blocks(
      instance->launches[0].grid, std::min(1.0, static_cast<double>(target) / elements), 5, random);
  if (random.chance(0.5)) blocks.insert(blocks.end(), notable.begin(), notable.end());
  if (choose_blocks(facts.contract, blocks, work_limit, c)) return true;
  c.blocks = notable;
  return !c.blocks.empty();
}

bool draw_many_blocks(const Facts& facts, Random& random, Case& c) {
  if (!facts.subset_allowed) return false;
  std::vector<const SizeSpec*> eligible;
  for (const SizeSpec& size : facts.contract.sizes) {
    if (size.in.empty() && size.max >= 65535) eligible.push_back(&size);
  }
  if (eligible.empty()) return false;
  const SizeSpec& size = *random.pick(eligible);
  draw_small_sizes(facts, random, c);
  int64_t value = random.pick({65535, 65536, 65537, 65538, 131071});
  if (random.chance(0.5)) {
    const int64_t step = random.pick(facts.steps);
    const int64_t tiled = random.pick({65535, 65536, 65537}) * step + random.pick({-1, 0, 1, 1});
    if (tiled <= size.max) value = tiled;
  }
  if (random.chance(0.1)) value = size.max;
  c.sizes[size.name] = std::clamp(value, size.min, size.max);
  c.layouts.clear();
  const auto instance = resolved(facts, c);
  if (!instance) return false;
  c.blocks =
      notable_blocks(instance->launches[0].grid, 65535.0 / static_cast<double>(value), 6, random);
  return !c.blocks.empty();
}

}  // namespace assay
