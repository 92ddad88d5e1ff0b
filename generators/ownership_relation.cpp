#include "generators/ownership_relation.hpp"

#include <algorithm>
#include <string_view>

namespace assay::ownership {
namespace {

constexpr __int128 kInfinite = static_cast<__int128>(1) << 100;

__int128 clamped(__int128 value) { return std::clamp(value, -kInfinite, kInfinite); }
Interval make(__int128 low, __int128 high) { return {clamped(low), clamped(high)}; }
constexpr Interval kTruth{0, 1};

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

/// 0, 1 or 2 of block.x, block.y, block.z; -1 of anything else.
int axis_of(const Expr& node) {
  if (node.kind != Expr::Kind::member || node.operands.empty()) return -1;
  if (node.operands[0]->text != "block") return -1;
  const auto at = std::string_view("xyz").find(node.text);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
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

}  // namespace

BlockIndex block_index(const Instance& instance, int64_t block) {
  const auto& grid = instance.launches[0].grid;
  return {block % grid[0], block / grid[0] % grid[1], block / grid[0] / grid[1]};
}

Relation::Relation(const Instance& instance, const Tensor& output, const Ownership& owner,
                   const BlockIndex& block)
    : instance_(instance), output_(output), owner_(owner), block_(block) {
  resolve();
}

Relation::Relation(const Instance& instance, const Tensor& output, const Ownership& owner,
                   const std::vector<int64_t>& element)
    : instance_(instance), output_(output), owner_(owner), element_(element) {
  resolve();
}

void Relation::resolve() {
  scope_.value = [this](std::string_view name) -> std::optional<int64_t> {
    Expr node;
    node.kind = Expr::Kind::name;
    node.text = std::string(name);
    const int dimension = dimension_of(node);
    if (dimension >= 0 && !block_) return element_[static_cast<size_t>(dimension)];
    return instance_.evaluate(node);
  };
  scope_.call = [this](const Expr& call) -> std::optional<int64_t> {
    return instance_.evaluate(call);
  };
  scope_.element = [this](const Expr& node) -> std::optional<int64_t> {
    const int axis = axis_of(node);
    if (axis < 0 || !block_) return std::nullopt;
    return (*block_)[static_cast<size_t>(axis)];
  };
  root_ = compile(*owner_.relation);
}

void Relation::fail(const Expr& node) const {
  throw InputError(node.where, "'" + to_text(node) + "' is not understood in the ownership of '" +
                                   owner_.output + "'");
}

int Relation::dimension_of(const Expr& node) const {
  if (node.kind != Expr::Kind::name) return -1;
  for (size_t d = 0; d < output_.dims.size(); ++d) {
    if (!node.text.empty() && output_.dims[d] == node.text) return static_cast<int>(d);
  }
  return -1;
}

/// The number of the coordinate that a node is and that is not given; -1: none.
int Relation::free_coordinate(const Expr& node) const {
  return block_ ? dimension_of(node) : axis_of(node);
}

bool Relation::has_coordinates(const Expr& node) const {
  if (free_coordinate(node) >= 0) return true;
  if (node.kind == Expr::Kind::call &&
      (node.text == "size" || node.text == "stride" || node.text == "numel")) {
    return false;  // their arguments are names, not coordinates
  }
  return std::any_of(node.operands.begin(), node.operands.end(),
                     [this](const ExprPtr& operand) { return has_coordinates(*operand); });
}

int Relation::compile(const Expr& node) {
  const int coordinate = free_coordinate(node);
  if (coordinate >= 0) return add({Node::Op::coordinate, coordinate});
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

bool Relation::mentions(int index, int coordinate) const {
  const Node& node = nodes_[index];
  if (node.op == Node::Op::coordinate) return node.value == coordinate;
  return (node.a >= 0 && mentions(node.a, coordinate)) ||
         (node.b >= 0 && mentions(node.b, coordinate)) ||
         (node.c >= 0 && mentions(node.c, coordinate));
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

}  // namespace assay::ownership
