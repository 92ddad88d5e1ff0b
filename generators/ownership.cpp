// Which elements the chosen blocks own: the contract's relation, solved for each block.
//
// Branch and prune: the relation is evaluated over a box of coordinates in interval arithmetic. A
// box on which it always holds is owned, one on which it never holds is dropped, others are split.
// At a single point intervals are exact, so the search ends; monotone relations (`rows == block.x`,
// `(rows * size(cols) + cols) / 256 == block.x`) take a logarithmic number of steps. Equalities of
// one coordinate narrow the box at once.
#include <algorithm>
#include <limits>

#include "generators/instance.hpp"

namespace assay {
namespace {

constexpr int64_t kMostSteps = int64_t{1} << 22;  // boxes looked at before giving up
constexpr __int128 kInfinite = static_cast<__int128>(1) << 100;

struct Interval {
  __int128 low = 0;
  __int128 high = 0;
  bool single() const { return low == high; }
};

__int128 clamped(__int128 value) { return std::clamp(value, -kInfinite, kInfinite); }
Interval make(__int128 low, __int128 high) { return {clamped(low), clamped(high)}; }
constexpr Interval kTruth{0, 1};

/// The relation with names resolved: a tree of operations over coordinates.
struct Node {
  enum class Op {
    constant,
    coordinate,
    negate,
    logical_not,
    add,
    sub,
    mul,
    div,
    mod,
    shl,
    shr,
    eq,
    ne,
    lt,
    le,
    gt,
    ge,
    land,
    lor,
    choose,
    minimum,
    maximum,
    ceil_div,
    div_floor,
    mod_floor,
  };
  Op op = Op::constant;
  int64_t value = 0;  ///< constant, or the dimension's number
  int a = -1, b = -1, c = -1;
};

struct OpName {
  const char* text;
  Node::Op op;
};
constexpr OpName kBinary[] = {{"+", Node::Op::add},  {"-", Node::Op::sub},   {"*", Node::Op::mul},
                              {"/", Node::Op::div},  {"%", Node::Op::mod},   {"<<", Node::Op::shl},
                              {">>", Node::Op::shr}, {"==", Node::Op::eq},   {"!=", Node::Op::ne},
                              {"<", Node::Op::lt},   {"<=", Node::Op::le},   {">", Node::Op::gt},
                              {">=", Node::Op::ge},  {"&&", Node::Op::land}, {"||", Node::Op::lor}};
constexpr OpName kCalls[] = {{"min", Node::Op::minimum},         {"max", Node::Op::maximum},
                             {"ceil_div", Node::Op::ceil_div},   {"div_floor", Node::Op::div_floor},
                             {"mod_floor", Node::Op::mod_floor}, {"div_trunc", Node::Op::div},
                             {"mod_trunc", Node::Op::mod}};

using BlockIndex = std::array<int64_t, 3>;

/// Compiles a relation for one block. Parts without coordinates become constants.
class Relation {
 public:
  Relation(const Instance& instance, const Tensor& output, const Ownership& owner,
           const BlockIndex& block)
      : instance_(instance), output_(output), owner_(owner), block_(block) {
    scope_.value = [this](std::string_view name) -> std::optional<int64_t> {
      Expr node;
      node.kind = Expr::Kind::name;
      node.text = std::string(name);
      return instance_.evaluate(node);
    };
    scope_.call = [this](const Expr& call) -> std::optional<int64_t> {
      return instance_.evaluate(call);
    };
    scope_.element = [this](const Expr& node) { return block_member(node); };
    root_ = compile(*owner.relation);
  }
  int root() const { return root_; }
  const Node& node(int index) const { return nodes_[index]; }
  Interval evaluate(int index, const Box& box) const;
  bool mentions(int index, int dimension) const;

 private:
  std::optional<int64_t> block_member(const Expr& node) const;
  int dimension_of(const Expr& node) const;
  bool has_coordinates(const Expr& node) const;
  int compile(const Expr& node);
  int add(Node node) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }
  [[noreturn]] void fail(const Expr& node) const {
    throw InputError(node.where, "'" + to_text(node) + "' is not understood in the ownership of '" +
                                     owner_.output + "'");
  }

  const Instance& instance_;
  const Tensor& output_;
  const Ownership& owner_;
  BlockIndex block_;
  IntegerScope scope_;
  std::vector<Node> nodes_;
  int root_ = -1;
};

std::optional<int64_t> Relation::block_member(const Expr& node) const {
  if (node.kind != Expr::Kind::member || node.operands.empty()) return std::nullopt;
  if (node.operands[0]->text != "block") return std::nullopt;
  if (node.text == "x") return block_[0];
  if (node.text == "y") return block_[1];
  if (node.text == "z") return block_[2];
  return std::nullopt;
}

int Relation::dimension_of(const Expr& node) const {
  if (node.kind != Expr::Kind::name) return -1;
  for (size_t d = 0; d < output_.dims.size(); ++d) {
    if (!node.text.empty() && output_.dims[d] == node.text) return static_cast<int>(d);
  }
  return -1;
}

bool Relation::has_coordinates(const Expr& node) const {
  if (dimension_of(node) >= 0) return true;
  if (node.kind == Expr::Kind::call &&
      (node.text == "size" || node.text == "stride" || node.text == "numel")) {
    return false;  // their arguments are names, not coordinates
  }
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [this](const ExprPtr& operand) { return has_coordinates(*operand); });
}

int Relation::compile(const Expr& node) {
  const int dimension = dimension_of(node);
  if (dimension >= 0) return add({Node::Op::coordinate, dimension});
  if (!has_coordinates(node)) return add({Node::Op::constant, evaluate_integer(node, scope_)});
  std::vector<int> parts;
  for (const ExprPtr& operand : node.operands) parts.push_back(compile(*operand));
  const auto find = [&](const auto& table) -> std::optional<Node::Op> {
    for (const OpName& entry : table) {
      if (node.text == entry.text) return entry.op;
    }
    return std::nullopt;
  };
  if (node.kind == Expr::Kind::unary && node.text == "-")
    return add({Node::Op::negate, 0, parts[0]});
  if (node.kind == Expr::Kind::unary && node.text == "!") {
    return add({Node::Op::logical_not, 0, parts[0]});
  }
  if (node.kind == Expr::Kind::ternary) {
    return add({Node::Op::choose, 0, parts[0], parts[1], parts[2]});
  }
  std::optional<Node::Op> op;
  if (node.kind == Expr::Kind::binary) op = find(kBinary);
  if (node.kind == Expr::Kind::call && parts.size() == 2) op = find(kCalls);
  if (!op) fail(node);
  return add({*op, 0, parts[0], parts[1]});
}

bool Relation::mentions(int index, int dimension) const {
  const Node& node = nodes_[index];
  if (node.op == Node::Op::coordinate) return node.value == dimension;
  return (node.a >= 0 && mentions(node.a, dimension)) ||
         (node.b >= 0 && mentions(node.b, dimension)) ||
         (node.c >= 0 && mentions(node.c, dimension));
}

__int128 floor_div(__int128 a, __int128 b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

template <typename Divide>
Interval quotient(Interval a, Interval b, Divide divide) {
  // By a positive divisor, division is monotone in each argument on each side of 0.
  if (b.low <= 0) return {-kInfinite, kInfinite};
  const __int128 corners[] = {divide(a.low, b.low), divide(a.low, b.high), divide(a.high, b.low),
                              divide(a.high, b.high)};
  return make(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

Interval remainder(Interval a, Interval b, bool floored) {
  if (!b.single() || b.low <= 0) return {-kInfinite, kInfinite};
  const __int128 m = b.low;
  if (!floored && a.low < 0) {
    if (a.single()) return {a.low % m, a.low % m};
    return {1 - m, a.high < 0 ? 0 : m - 1};
  }
  if (floor_div(a.low, m) == floor_div(a.high, m)) {
    const __int128 base = floor_div(a.low, m) * m;
    return {a.low - base, a.high - base};
  }
  return {0, m - 1};
}

Interval product(Interval a, Interval b) {
  const auto times = [](__int128 x, __int128 y) {
    const long double estimate = static_cast<long double>(x) * static_cast<long double>(y);
    if (estimate > 1e30L) return kInfinite;
    if (estimate < -1e30L) return -kInfinite;
    return x * y;
  };
  const __int128 corners[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                              times(a.high, b.high)};
  return make(*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4));
}

/// always (1), never (0) or either.
Interval truth(bool always, bool never) {
  if (always) return {1, 1};
  if (never) return {0, 0};
  return kTruth;
}

bool surely(Interval a) { return a.low > 0 || a.high < 0; }
bool surely_not(Interval a) { return a.low == 0 && a.high == 0; }

Interval compare(Node::Op op, Interval a, Interval b) {
  switch (op) {
    case Node::Op::eq:
      return truth(a.single() && b.single() && a.low == b.low, a.high < b.low || b.high < a.low);
    case Node::Op::ne:
      return truth(a.high < b.low || b.high < a.low, a.single() && b.single() && a.low == b.low);
    case Node::Op::lt:
      return truth(a.high < b.low, a.low >= b.high);
    case Node::Op::le:
      return truth(a.high <= b.low, a.low > b.high);
    case Node::Op::gt:
      return truth(a.low > b.high, a.high <= b.low);
    default:
      return truth(a.low >= b.high, a.high < b.low);
  }
}

Interval Relation::evaluate(int index, const Box& box) const {
  const Node& node = nodes_[index];
  if (node.op == Node::Op::constant) return {node.value, node.value};
  if (node.op == Node::Op::coordinate) {
    const auto& [low, high] = box.ranges[node.value];
    return {low, high - 1};
  }
  const Interval a = evaluate(node.a, box);
  if (node.op == Node::Op::negate) return {-a.high, -a.low};
  if (node.op == Node::Op::logical_not) return truth(surely_not(a), surely(a));
  if (node.op == Node::Op::land && surely_not(a)) return {0, 0};
  if (node.op == Node::Op::lor && surely(a)) return {1, 1};
  const Interval b = evaluate(node.b, box);
  switch (node.op) {
    case Node::Op::add:
      return make(a.low + b.low, a.high + b.high);
    case Node::Op::sub:
      return make(a.low - b.high, a.high - b.low);
    case Node::Op::mul:
      return product(a, b);
    case Node::Op::div:
      return quotient(a, b, [](__int128 x, __int128 y) { return x / y; });
    case Node::Op::div_floor:
      return quotient(a, b, floor_div);
    case Node::Op::ceil_div:
      return quotient(a, b, [](__int128 x, __int128 y) { return -floor_div(-x, y); });
    case Node::Op::mod:
      return remainder(a, b, false);
    case Node::Op::mod_floor:
      return remainder(a, b, true);
    case Node::Op::shl:
      if (!b.single() || b.low < 0 || b.low > 62) return {-kInfinite, kInfinite};
      return product(
          a, {__int128{1} << static_cast<int>(b.low), __int128{1} << static_cast<int>(b.low)});
    case Node::Op::shr:
      if (!b.single() || b.low < 0 || b.low > 62) return {-kInfinite, kInfinite};
      return make(a.low >> static_cast<int>(b.low), a.high >> static_cast<int>(b.low));
    case Node::Op::land:
      return truth(surely(a) && surely(b), surely_not(b));
    case Node::Op::lor:
      return truth(surely(b), surely_not(a) && surely_not(b));
    case Node::Op::minimum:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Node::Op::maximum:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    case Node::Op::choose: {
      if (surely(a)) return b;
      const Interval c = evaluate(node.c, box);
      if (surely_not(a)) return c;
      return {std::min(b.low, c.low), std::max(b.high, c.high)};
    }
    default:
      return compare(node.op, a, b);
  }
}

/// Finds the boxes of one block.
class Solver {
 public:
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
  if (++steps_ <= kMostSteps) return;
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
  const auto& grid = instance.launches[0].grid;
  const BlockIndex index = {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
  const Relation relation(instance, output, owner, index);
  return Solver(relation, owner, steps).solve(whole(output));
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
  int64_t steps = 0;
  for (const int64_t block : instance.the_case.blocks) {
    for (Box& box : solved(instance, output, *owner, block, steps)) out.push_back(std::move(box));
  }
  return out;
}

std::vector<Box> elements_of_block(const Instance& instance, const Tensor& output, int64_t block) {
  const Ownership* const owner = instance.contract->find_ownership(output.spec->name);
  int64_t steps = 0;
  return solved(instance, output, *owner, block, steps);
}

}  // namespace assay
