// Interval arithmetic over the expressions of a contract, on 64-bit integers.
#include "kernels_under_test/interval.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "kernels_under_test/dtype.hpp"

namespace assay {
namespace {

using Wide = __int128;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
constexpr Interval kTruth{0, 1};

/// What does not fit 64 bits is an error when it is evaluated: no value of it is lost here.
Interval cut(Wide low, Wide high) {
  const auto within = [](Wide value) {
    return static_cast<int64_t>(std::clamp<Wide>(value, kLowest, kHighest));
  };
  return {within(low), within(high)};
}

Interval hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

/// Hull of `f` over the four corners: of what is monotone in each operand.
template <typename F>
Interval corners(const Interval& a, const Interval& b, F f) {
  const std::array<Wide, 4> values{f(a.low, b.low), f(a.low, b.high), f(a.high, b.low),
                                   f(a.high, b.high)};
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return cut(*low, *high);
}

Wide truncated(Wide a, Wide b) { return a / b; }
Wide floored(Wide a, Wide b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
Wide ceiled(Wide a, Wide b) { return a / b + (a % b != 0 && (a < 0) == (b < 0)); }

/// A quotient of some rounding: monotone in each operand on either side of divisor 0.
template <typename F>
Interval quotient(const Interval& a, const Interval& b, F f) {
  std::optional<Interval> out;
  const auto add = [&](int64_t low, int64_t high) {
    if (low > high) return;
    const Interval part = corners(a, {low, high}, f);
    out = out ? hull(*out, part) : part;
  };
  add(b.low, std::min<int64_t>(b.high, -1));
  add(std::max<int64_t>(b.low, 1), b.high);
  return out.value_or(Interval{});
}

/// Magnitude less than the divisor's; the sign of the dividend, or of the divisor when `floored`.
Interval remainder(const Interval& a, const Interval& b, bool is_floored) {
  if (a.low >= 0 && b.low > 0) {
    // One stretch between two multiples keeps its order.
    if (b.is_point() && a.low / b.low == a.high / b.low) return {a.low % b.low, a.high % b.low};
    return {0, std::min(a.high, b.high - 1)};
  }
  const Wide most = std::max(-static_cast<Wide>(b.low), static_cast<Wide>(b.high)) - 1;
  const Interval& sign = is_floored ? b : a;
  return cut(sign.low < 0 ? -most : 0, sign.high > 0 ? most : 0);
}

Interval negated(const Interval& a) {
  return cut(-static_cast<Wide>(a.high), -static_cast<Wide>(a.low));
}

Interval absolute(const Interval& a) {
  if (a.low >= 0) return a;
  const Interval other = negated(a);
  if (a.high <= 0) return other;
  return {0, std::max(a.high, other.high)};
}

/// 1: true whatever is chosen, 0: false, kTruth: either.
Interval truth(const Interval& a) {
  if (!a.holds(0)) return Interval::of(1);
  return a.is_point() ? Interval::of(0) : kTruth;
}

Interval inverted(const Interval& a) {
  const Interval is = truth(a);
  return {1 - is.high, 1 - is.low};
}

Interval less(const Interval& a, const Interval& b) {
  if (a.high < b.low) return Interval::of(1);
  return a.low >= b.high ? Interval::of(0) : kTruth;
}

Interval equal(const Interval& a, const Interval& b) {
  if (a.is_point() && a == b) return Interval::of(1);
  return a.high < b.low || b.high < a.low ? Interval::of(0) : kTruth;
}

/// The least 2^k - 1 that is at least `value`, which is not negative.
int64_t all_ones(int64_t value) {
  uint64_t ones = static_cast<uint64_t>(value);
  for (int shift = 1; shift < 64; shift *= 2) ones |= ones >> shift;
  return static_cast<int64_t>(ones);
}

Interval bits(char op, const Interval& a, const Interval& b) {
  if (a.is_point() && b.is_point()) {
    return Interval::of(op == '&' ? a.low & b.low : op == '|' ? a.low | b.low : a.low ^ b.low);
  }
  if (a.low < 0 || b.low < 0) return {};
  if (op == '&') return {0, std::min(a.high, b.high)};
  return {op == '|' ? std::max(a.low, b.low) : 0, all_ones(std::max(a.high, b.high))};
}

Interval shifted(bool left, const Interval& a, const Interval& b) {
  const Interval count{std::max<int64_t>(b.low, 0), std::min<int64_t>(b.high, 63)};
  if (count.low > count.high) return {};
  return corners(a, count, [&](Wide value, Wide by) {
    return left ? value * (static_cast<Wide>(1) << static_cast<int>(by))
                : value >> static_cast<int>(by);
  });
}

Interval binary(const std::string& op, const Interval& a, const Interval& b) {
  if (op == "+") return corners(a, b, [](Wide x, Wide y) { return x + y; });
  if (op == "-") return corners(a, b, [](Wide x, Wide y) { return x - y; });
  if (op == "*") return corners(a, b, [](Wide x, Wide y) { return x * y; });
  if (op == "/") return quotient(a, b, truncated);
  if (op == "%") return remainder(a, b, false);
  if (op == "==") return equal(a, b);
  if (op == "!=") return inverted(equal(a, b));
  if (op == "<") return less(a, b);
  if (op == ">") return less(b, a);
  if (op == "<=") return inverted(less(b, a));
  if (op == ">=") return inverted(less(a, b));
  if (op == "<<" || op == ">>") return shifted(op == "<<", a, b);
  if (op == "&" || op == "|" || op == "^") return bits(op[0], a, b);
  return {};
}

/// Smallest k with 2^k >= value, which is at least 1.
int64_t log2_ceil(int64_t value) {
  return value <= 1 ? 0 : 64 - __builtin_clzll(static_cast<uint64_t>(value - 1));
}

bool is_power(int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

Interval call(const std::string& name, const Interval& a, const Interval& b) {
  if (name == "min") return {std::min(a.low, b.low), std::min(a.high, b.high)};
  if (name == "max") return {std::max(a.low, b.low), std::max(a.high, b.high)};
  if (name == "abs") return absolute(a);
  if (name == "ceil_div") return quotient(a, b, ceiled);
  if (name == "div_floor") return quotient(a, b, floored);
  if (name == "div_trunc") return quotient(a, b, truncated);
  if (name == "mod_trunc") return remainder(a, b, false);
  if (name == "mod_floor") return remainder(a, b, true);
  if (name == "is_pow2") return a.is_point() ? Interval::of(is_power(a.low)) : kTruth;
  if (name == "log2_ceil") {
    return {log2_ceil(std::max<int64_t>(a.low, 1)), log2_ceil(std::max<int64_t>(a.high, 1))};
  }
  if (name == "next_pow2") {
    const auto power = [](int64_t value) { return static_cast<Wide>(1) << log2_ceil(value); };
    return cut(power(a.low), power(a.high));
  }
  if (name == "align_up") {
    const int64_t low = std::max<int64_t>(b.low, 1), high = std::max<int64_t>(b.high, 1);
    if (low == high) return corners(a, {low, low}, [](Wide x, Wide y) { return ceiled(x, y) * y; });
    return cut(a.low, static_cast<Wide>(a.high) + high - 1);
  }
  return {};
}

class Evaluation {
 public:
  explicit Evaluation(const IntervalScope& scope) : scope_(scope) {}

  Interval value(const Expr& node) const {
    switch (node.kind) {
      case Expr::Kind::integer:
        return Interval::of(node.integer);
      case Expr::Kind::name:
        return named(node);
      case Expr::Kind::unary: {
        const Interval a = value(*node.operands[0]);
        if (node.text == "-") return negated(a);
        if (node.text == "!") return inverted(a);
        return cut(-static_cast<Wide>(a.high) - 1, -static_cast<Wide>(a.low) - 1);
      }
      case Expr::Kind::binary:
        return joined(node);
      case Expr::Kind::ternary: {
        const Interval condition = truth(value(*node.operands[0]));
        if (condition.is_point()) return value(*node.operands[condition.low != 0 ? 1 : 2]);
        return hull(value(*node.operands[1]), value(*node.operands[2]));
      }
      case Expr::Kind::call:
        return called(node);
      default:
        return {};
    }
  }

 private:
  Interval named(const Expr& node) const {
    if (scope_.value) {
      if (const auto known = scope_.value(node.text)) return *known;
    }
    if (const auto type = parse_dtype(node.text)) return Interval::of(static_cast<int>(*type));
    return {};
  }

  Interval joined(const Expr& node) const {
    const bool both = node.text == "&&";
    if (!both && node.text != "||") {
      return binary(node.text, value(*node.operands[0]), value(*node.operands[1]));
    }
    const Interval left = truth(value(*node.operands[0]));
    // What settles the answer leaves the other side unasked.
    if (left == Interval::of(both ? 0 : 1)) return left;
    const Interval right = truth(value(*node.operands[1]));
    return both ? Interval{std::min(left.low, right.low), std::min(left.high, right.high)}
                : Interval{std::max(left.low, right.low), std::max(left.high, right.high)};
  }

  Interval called(const Expr& node) const {
    if (scope_.call) {
      if (const auto known = scope_.call(node)) return *known;
    }
    if (node.operands.empty()) return {};
    const Interval first = value(*node.operands[0]);
    if (node.operands.size() == 1) return call(node.text, first, Interval::of(0));
    Interval out = first;
    for (size_t i = 1; i < node.operands.size(); ++i) {
      out = call(node.text, out, value(*node.operands[i]));
    }
    return out;
  }

  const IntervalScope& scope_;
};

}  // namespace

Interval evaluate_interval(const Expr& expr, const IntervalScope& scope) {
  return Evaluation(scope).value(expr);
}

}  // namespace assay
