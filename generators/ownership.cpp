// Which elements the chosen blocks own: the contract's relation, solved for each block.
//
// Branch and prune: the relation is evaluated over a box of coordinates in interval arithmetic. A
// box on which it always holds is owned, one on which it never holds is dropped, others are split.
// At a single point intervals are exact, so the search ends; monotone relations (`rows == block.x`,
// `(rows * size(cols) + cols) / 256 == block.x`) take a logarithmic number of steps. Equalities of
// one coordinate narrow the box at once.
#include <algorithm>

#include "generators/draft.hpp"
#include "generators/ownership_relation.hpp"
#include "generators/unowned.hpp"

namespace assay {
namespace {

using ownership::BlockIndex;
using ownership::Interval;
using ownership::Node;
using ownership::Relation;
using ownership::surely;
using ownership::surely_not;

constexpr int64_t kMostSteps = int64_t{1} << 22;  // boxes looked at before giving up
constexpr int64_t kMostOwnerSteps = 4096;         // the same for the owners of one element

/// Finds the boxes on which a relation holds: elements of one block, or blocks of one element.
class Solver {
 public:
  /// `steps` counts down.
  Solver(const Relation& relation, const Ownership& owner, int64_t& steps)
      : relation_(relation), owner_(owner), steps_(steps) {}

  std::vector<Box> solve(Box box) {
    narrow(relation_.root(), box);
    std::vector<Box> parts;
    if (!expand(relation_.root(), box, parts)) parts.push_back(std::move(box));
    for (Box& part : parts) split(std::move(part));
    merge();
    return std::move(owned_);
  }

 private:
  void narrow(int index, Box& box) const;
  void narrow_equal(int left, int64_t wanted, Box& box) const;
  bool expand(int index, const Box& box, std::vector<Box>& out);
  void count_step();
  void split(Box box);
  int dimension_to_split(const Box& box) const;
  void merge();

  const Relation& relation_;
  const Ownership& owner_;
  int64_t& steps_;
  std::vector<Box> owned_;
};

/// `d == e` and `d / K == e` under &&: the box shrinks without a search.
void Solver::narrow(int index, Box& box) const {
  const Node& node = relation_.node(index);
  if (node.op == Node::Op::land) {
    narrow(node.a, box);
    narrow(node.b, box);
  } else if (node.op == Node::Op::eq) {
    const Node& a = relation_.node(node.a);
    const Node& b = relation_.node(node.b);
    if (b.op == Node::Op::constant) narrow_equal(node.a, b.value, box);
    if (a.op == Node::Op::constant) narrow_equal(node.b, a.value, box);
  }
}

void Solver::narrow_equal(int left, int64_t wanted, Box& box) const {
  const Node& node = relation_.node(left);
  __int128 low = wanted, high = wanted;
  int64_t dimension = node.value;
  if (node.op == Node::Op::div) {
    const Node& dividend = relation_.node(node.a);
    const Node& divisor = relation_.node(node.b);
    if (dividend.op != Node::Op::coordinate || divisor.op != Node::Op::constant) return;
    if (divisor.value < 1 || wanted < 0) return;
    dimension = dividend.value;
    low = static_cast<__int128>(wanted) * divisor.value;
    high = low + divisor.value - 1;
  } else if (node.op != Node::Op::coordinate) {
    return;
  }
  auto& [first, last] = box.ranges[dimension];
  const __int128 new_first = std::max<__int128>(first, low);
  const __int128 new_last = std::min<__int128>(last, high + 1);
  if (new_first >= new_last) {
    last = first;
  } else {
    first = static_cast<int64_t>(new_first);
    last = static_cast<int64_t>(new_last);
  }
}

/// `d % M == e` and `d / K % M == e` (grid-stride loops) under &&: the ranges one by one. False: no
/// such part.
bool Solver::expand(int index, const Box& box, std::vector<Box>& out) {
  const Node& node = relation_.node(index);
  if (node.op == Node::Op::land) return expand(node.a, box, out) || expand(node.b, box, out);
  if (node.op != Node::Op::eq) return false;
  const Node& left = relation_.node(node.a);
  const Node& wanted = relation_.node(node.b);
  if (left.op != Node::Op::mod || wanted.op != Node::Op::constant) return false;
  const Node& modulus = relation_.node(left.b);
  const Node* coordinate = &relation_.node(left.a);
  int64_t width = 1;
  if (coordinate->op == Node::Op::div && relation_.node(coordinate->b).op == Node::Op::constant) {
    width = relation_.node(coordinate->b).value;
    coordinate = &relation_.node(coordinate->a);
  }
  if (coordinate->op != Node::Op::coordinate || modulus.op != Node::Op::constant) return false;
  if (width < 1 || modulus.value < 1) return false;
  if (wanted.value < 0 || wanted.value >= modulus.value) return true;
  const auto [low, high] = box.ranges[coordinate->value];
  const int64_t first = low / width;
  int64_t group = first + (wanted.value - first % modulus.value + modulus.value) % modulus.value;
  if (low >= high) return true;
  for (const int64_t last = (high - 1) / width; group <= last; group += modulus.value) {
    count_step();
    Box part = box;
    part.ranges[coordinate->value] = {std::max(low, group * width),
                                      std::min(high, (group + 1) * width)};
    out.push_back(std::move(part));
  }
  return true;
}

/// The mentioned dimension whose halving leaves the smallest uncertainty, by its neighbours'
/// spread.
int Solver::dimension_to_split(const Box& box) const {
  int best = -1;
  __int128 best_spread = 0;
  const auto spread = [&](auto&& self, int index, const Box& part) -> __int128 {
    const Node& node = relation_.node(index);
    const bool relational = node.op >= Node::Op::eq && node.op <= Node::Op::ge;
    if (node.op == Node::Op::constant || node.op == Node::Op::coordinate) return 0;
    if (relational) {
      if (relation_.evaluate(index, part).single()) return 0;
      const Interval a = relation_.evaluate(node.a, part);
      const Interval b = relation_.evaluate(node.b, part);
      return (a.high - a.low) + (b.high - b.low);
    }
    __int128 sum = 0;
    for (const int child : {node.a, node.b, node.c}) {
      if (child >= 0) sum += self(self, child, part);
    }
    return sum;
  };
  for (size_t d = 0; d < box.ranges.size(); ++d) {
    const auto [low, high] = box.ranges[d];
    if (high - low < 2 || !relation_.mentions(relation_.root(), static_cast<int>(d))) continue;
    Box half = box;
    half.ranges[d].second = low + (high - low) / 2;
    const __int128 left = spread(spread, relation_.root(), half);
    if (best < 0 || left < best_spread) {
      best = static_cast<int>(d);
      best_spread = left;
    }
  }
  return best;
}

void Solver::count_step() {
  if (--steps_ >= 0) return;
  throw InputError(owner_.where, "the ownership of '" + owner_.output +
                                     "' has no simple solution; blocks of a case this large "
                                     "cannot be chosen");
}

void Solver::split(Box box) {
  if (box.elements() == 0) return;
  count_step();
  const Interval holds = relation_.evaluate(relation_.root(), box);
  if (surely_not(holds)) return;
  if (surely(holds)) {
    owned_.push_back(std::move(box));
    return;
  }
  const int d = dimension_to_split(box);
  if (d < 0) {
    throw InputError(owner_.where, "the ownership of '" + owner_.output + "' cannot be decided");
  }
  const auto [low, high] = box.ranges[d];
  const int64_t middle = low + (high - low) / 2;
  Box lower = box;
  lower.ranges[d].second = middle;
  box.ranges[d].first = middle;
  split(std::move(lower));
  split(std::move(box));
}

/// Joins boxes that differ in one dimension and touch there.
void Solver::merge() {
  const size_t rank = owned_.empty() ? 0 : owned_[0].ranges.size();
  for (size_t d = rank; d-- > 0;) {
    std::sort(owned_.begin(), owned_.end(), [d](const Box& a, const Box& b) {
      for (size_t i = 0; i < a.ranges.size(); ++i) {
        if (i != d && a.ranges[i] != b.ranges[i]) return a.ranges[i] < b.ranges[i];
      }
      return a.ranges[d] < b.ranges[d];
    });
    std::vector<Box> merged;
    for (Box& box : owned_) {
      if (!merged.empty()) {
        Box joined = merged.back();
        if (joined.ranges[d].second == box.ranges[d].first) {
          joined.ranges[d] = box.ranges[d];
          if (joined.ranges == box.ranges) {
            merged.back().ranges[d].second = box.ranges[d].second;
            continue;
          }
        }
      }
      merged.push_back(std::move(box));
    }
    owned_ = std::move(merged);
  }
}

Box whole(const Tensor& tensor) {
  Box box;
  for (const int64_t extent : tensor.shape) box.ranges.emplace_back(0, extent);
  return box;
}

std::vector<Box> solved(const Instance& instance, const Tensor& output, const Ownership& owner,
                        int64_t block, int64_t& steps) {
  const BlockIndex index = ownership::block_index(instance, block);
  const Relation relation(instance, output, owner, index);
  return Solver(relation, owner, steps).solve(whole(output));
}

/// Boxes of block indices that own the element; nullopt where that cannot be told.
std::optional<std::vector<Box>> owner_boxes(const Instance& instance, const Tensor& output,
                                            const Ownership& owner,
                                            const std::vector<int64_t>& element) {
  Box grid;
  for (const int64_t extent : instance.launches[0].grid) grid.ranges.emplace_back(0, extent);
  int64_t steps = kMostOwnerSteps;
  try {
    const Relation relation(instance, output, owner, element);
    return Solver(relation, owner, steps).solve(grid);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

/// Whether some block of the grid owns the element; true also where that cannot be told.
bool has_owner(const Instance& instance, const Tensor& output, const Ownership& owner,
               const std::vector<int64_t>& element) {
  const auto boxes = owner_boxes(instance, output, owner, element);
  return !boxes || !boxes->empty();
}

/// What says which block of the one grid owns an element; nullptr where nothing does.
const Ownership* owner_by_grid(const Instance& instance, const Tensor& output) {
  if (instance.launches.size() != 1 || is_empty(instance.launches[0])) return nullptr;
  return instance.contract->find_ownership(output.spec->name);
}

}  // namespace

std::vector<Box> owned_elements(const Instance& instance, const Tensor& output) {
  if (instance.the_case.blocks.empty()) return {whole(output)};
  const Ownership* const owner = instance.contract->find_ownership(output.spec->name);
  if (owner == nullptr || instance.launches.size() != 1) {
    throw InputError(output.spec->where,
                     "only some blocks run, and the contract does not say in "
                     "'owns' what a block writes of '" +
                         output.spec->name + "'");
  }
  std::vector<Box> out;
  int64_t steps = kMostSteps;
  for (const int64_t block : instance.the_case.blocks) {
    for (Box& box : solved(instance, output, *owner, block, steps)) out.push_back(std::move(box));
  }
  return out;
}

std::vector<Box> elements_of_block(const Instance& instance, const Tensor& output, int64_t block) {
  const Ownership* const owner = instance.contract->find_ownership(output.spec->name);
  int64_t steps = kMostSteps;
  return solved(instance, output, *owner, block, steps);
}

std::vector<int64_t> owners_of(const Instance& instance, const Tensor& output,
                               const std::vector<int64_t>& element, size_t most) {
  const Ownership* const owner = owner_by_grid(instance, output);
  if (owner == nullptr) return {};
  const std::array<int64_t, 3>& grid = instance.launches[0].grid;
  std::vector<int64_t> out;
  const auto boxes = owner_boxes(instance, output, *owner, element);
  for (const Box& box : boxes.value_or(std::vector<Box>{})) {
    const auto& [first, last] = box.ranges[0];
    for (int64_t x = first; x < last && out.size() < most; ++x)
      out.push_back(x + grid[0] * (box.ranges[1].first + grid[1] * box.ranges[2].first));
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_unowned(const Instance& instance, const Tensor& output, const std::vector<int64_t>& at) {
  const Ownership* const owner = owner_by_grid(instance, output);
  return owner != nullptr && !has_owner(instance, output, *owner, at);
}

std::optional<std::vector<int64_t>> unowned_element(const Instance& instance,
                                                    const Tensor& output) {
  constexpr size_t kMostAxes = 4;  // whose two ends are looked at in every combination
  const Ownership* const owner = owner_by_grid(instance, output);
  if (owner == nullptr || output.elements() == 0) return std::nullopt;
  const auto is_owned = [&](const std::vector<int64_t>& at) {
    return has_owner(instance, output, *owner, at);
  };
  const size_t axes = std::min(output.shape.size(), kMostAxes);
  for (uint32_t low = 0; low < uint32_t{1} << axes; ++low) {
    std::vector<int64_t> at;
    for (size_t d = 0; d < output.shape.size(); ++d) {
      at.push_back(d < axes && (low >> d & 1) != 0 ? 0 : output.shape[d] - 1);
    }
    if (is_owned(at)) continue;
    // As near to the first element as halving gets, and still without an owner.
    for (int64_t& coordinate : at) {
      const int64_t far = coordinate;
      const auto owned_at = [&](int64_t value) {
        coordinate = value;
        return is_owned(at);
      };
      coordinate = owned_at(0) ? largest_where(0, far, owned_at) + 1 : 0;
    }
    return at;
  }
  return std::nullopt;
}

}  // namespace assay
