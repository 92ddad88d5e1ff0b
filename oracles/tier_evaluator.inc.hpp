// The evaluator of the higher tiers over a number type, included where that type is known.
//
// Traits: Num; from(double); from(int128); add, sub, mul, div, sqrt, negate; less; is_nan, infinity
// (sign or 0); to_double; Bound, a number for errors, to_bound and from_bound; function_units;
// exact_sum(a, b, s), exact_product, exact_quotient, exact_root: no rounding took place;
// scaled_unit(r): error of an operation that rounds to r; function(name, x, y, ok).
#pragma once

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "oracles/functions.hpp"
#include "oracles/tier.hpp"
#include "oracles/walk.hpp"

namespace assay {

template <typename T>
class TierEvaluator : public ExactTier {
  using Num = typename T::Num;
  /// Errors reach below the smallest double (next to f64 subnormals they decide) and far above.
  using Bound = typename T::Bound;
  struct Element {
    Num v{};
    Bound e = 0;
  };
  struct Array {
    int node = -1;
    Grid grid;
    std::vector<Element> at;
  };

 public:
  explicit TierEvaluator(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) settles_ |= may_settle(node);
  }

  Margins margins(RowEvaluator& leaves, int node, const Chunk& chunk, const Cell& cell, double lo,
                  double hi) override {
    const Element x = element(leaves, node, chunk);
    Margins m;
    // Made of what this tier does not know: no infinity or NaN of the exact value.
    const bool special = T::is_nan(x.v) || T::infinity(x.v) != 0;
    if (special && x.e != 0) {
      m.value_error = std::numeric_limits<double>::infinity();
      return m;
    }
    m.nan = T::is_nan(x.v);
    m.infinite = m.nan ? 0 : T::infinity(x.v);
    m.value = T::to_double(x.v);
    m.beyond = m.infinite == 0 && std::isinf(m.value);
    if (m.beyond) m.value = std::copysign(std::numeric_limits<double>::max(), m.value);
    // Next to a number beyond double its error may be beyond it, too.
    const bool certain = m.beyond && x.e < size_of(T::to_bound(x.v)) / 2;
    m.value_error = certain ? std::numeric_limits<double>::max() : upwards(x.e);
    if (m.nan || m.infinite != 0 || !std::isfinite(cell.value)) return m;
    const Element over = distance(exact(cell.value), x, {cell.below, hi});
    const Element under = distance(x, exact(cell.value), {cell.above, lo});
    m.over = signed_double(over.v);
    m.over_error = doubt(over);
    m.under = signed_double(under.v);
    m.under_error = doubt(under);
    return m;
  }

  std::string text(RowEvaluator& leaves, int node, const Chunk& chunk, int digits) override {
    return T::text(element(leaves, node, chunk).v, digits);
  }

 private:
  static Element exact(double v) { return {T::from(v), 0}; }

  static double upwards(Bound e) {
    return e == 0 ? 0 : static_cast<double>(e) * (1 + 0x1p-50) + 0x1p-1074;
  }

  /// The error of a margin: none where its sign is certain.
  static double doubt(const Element& margin) {
    const bool certain = size_of(T::to_bound(margin.v)) * (1 - 0x1p-50L) > margin.e;
    return certain ? 0 : upwards(margin.e);
  }

  static double signed_double(const Num& x) {
    const double d = T::to_double(x);
    if (d != 0 || T::is_zero(x)) return d;
    return T::less(x, T::from(0.0)) ? -0x1p-1074 : 0x1p-1074;
  }

  /// a - b - reaches, with the error of doing so. An infinite reach decides by itself.
  static Element distance(const Element& a, const Element& b,
                          std::initializer_list<double> reaches) {
    Element d = sub(a, b);
    for (const double reach : reaches) d = sub(d, exact(reach));
    return d;
  }

  Element element(RowEvaluator& leaves, int node, const Chunk& chunk) {
    // Rows that several elements share are kept while the case stays the same.
    const bool other_reading = settles_ && reading_ != leaves.reading_number();
    if (leaves_ != &leaves || case_ != leaves.case_number() || other_reading ||
        kept_ > kKeptElements) {
      arrays_.clear();
      kept_ = 0;
    }
    std::erase_if(arrays_, [this](const Array& array) {
      return array.grid.size <= 1 && graph_.nodes[static_cast<size_t>(array.node)].reduced.empty();
    });
    leaves_ = &leaves;
    case_ = leaves.case_number();
    reading_ = leaves.reading_number();
    return at(node, chunk).at.front();
  }

  // --- arithmetic with a running error -----------------------------------------------------------

  static Bound rounding(const Num& r, bool is_exact) {
    if (is_exact || T::is_nan(r) || T::infinity(r) != 0) return 0;
    return T::scaled_unit(r);
  }

  static Bound size_of(const Bound& x) { return x < 0 ? Bound(-x) : x; }
  /// 0 times what is not known is not known either.
  static Bound outward(Bound e) {
    return e == e ? Bound(e * (1 + 0x1p-46L)) : std::numeric_limits<Bound>::infinity();
  }
  static Bound size(const Element& x) { return size_of(T::to_bound(x.v)) * (1 + 0x1p-50L) + x.e; }

  static bool special(const Num& x) { return T::is_nan(x) || T::infinity(x) != 0; }

  /// An infinity or NaN is exact, unless it is made of what is not, or of numbers (`numbers`): then
  /// the exact value is a number beyond this tier's.
  static Element settle_special(Element r, Bound in_error, bool numbers) {
    if (!special(r.v)) return r;
    const bool known = !numbers && in_error - in_error == 0;
    r.e = known ? Bound(0) : std::numeric_limits<Bound>::infinity();
    return r;
  }

  static Element add(const Element& a, const Element& b) {
    const Num s = T::add(a.v, b.v);
    const Bound e = a.e + b.e + rounding(s, T::exact_sum(a.v, b.v, s));
    return settle_special({s, e == 0 ? Bound(0) : outward(e)}, a.e + b.e,
                          !special(a.v) && !special(b.v));
  }
  static Element negated(const Element& a) { return {T::negate(a.v), a.e}; }
  static Element sub(const Element& a, const Element& b) { return add(a, negated(b)); }

  static Element mul(const Element& a, const Element& b) {
    const Num p = T::mul(a.v, b.v);
    const Bound spread = a.e == 0 && b.e == 0 ? Bound(0) : Bound(a.e * size(b) + b.e * size(a));
    const Bound e = spread + rounding(p, T::exact_product(a.v, b.v));
    return settle_special({p, e == 0 ? Bound(0) : outward(e)}, a.e + b.e,
                          !special(a.v) && !special(b.v));
  }

  static Element div(const Element& a, const Element& b) {
    const Num q = T::div(a.v, b.v);
    Bound spread = 0;
    if (a.e != 0 || b.e != 0) {
      const Bound least = size_of(T::to_bound(b.v)) * (1 - 0x1p-50L) - b.e;
      spread = least > 0 ? Bound((a.e + size({q, 0}) * b.e) / least)
                         : std::numeric_limits<Bound>::infinity();
    }
    const bool is_exact = T::infinity(b.v) != 0 || T::exact_quotient(a.v, b.v, q);
    const Bound e = spread + rounding(q, is_exact);
    return settle_special({q, e == 0 ? Bound(0) : outward(e)}, a.e + b.e,
                          !special(a.v) && !special(b.v) && !T::is_zero(b.v));
  }

  static Element root(const Element& a) {
    const Num r = T::sqrt(a.v);
    Bound spread = 0;
    if (a.e != 0) {
      const Bound x = T::to_bound(a.v);
      const Bound below = std::max<Bound>(0, x * (1 - 0x1p-50L) - a.e);
      // |sqrt(x + d) - sqrt(x)| <= d / (2 sqrt(least)), and <= sqrt(d) when least is 0.
      using std::sqrt;
      spread = below > 0 ? Bound(a.e / (2 * sqrt(below))) : Bound(sqrt(Bound(2 * a.e + x)));
    }
    const Bound e = spread + rounding(r, T::exact_root(a.v, r));
    return settle_special({r, e == 0 ? Bound(0) : outward(e)}, a.e, false);
  }

  static Element function(const Node& node, const Element& x, const Element& y) {
    if (node.text == "sqrt") return root(x);
    if (node.text == "rsqrt") return div(exact(1), root(x));
    bool known = true;
    bool is_exact = false;
    const Num f = T::function(node.text, x.v, y.v, known, is_exact);
    if (!known) return {f, std::numeric_limits<Bound>::infinity()};
    Bound e = T::function_units * rounding(f, is_exact);
    if (x.e != 0 || (y.e != 0 && find_function(node.text)->arguments == 2))
      e += spread_of(node, x, f);
    const bool two = find_function(node.text)->arguments == 2;
    const bool numbers = !special(x.v) && (!two || !special(y.v));
    // The poles of functions, and NaN outside of their domains, are exact.
    return settle_special({f, e == 0 ? Bound(0) : outward(e)}, x.e, numbers && !is_exact);
  }

  /// Error that x.e makes in f(x), from the function's shape.
  static Bound spread_of(const Node& node, const Element& x, const Num& f) {
    const FunctionInfo& info = *find_function(node.text);
    const auto own = [&](const Num& at) {  // of the function itself
      return info.exact ? Bound(0) : Bound(2 * T::function_units * rounding(at, false));
    };
    if (info.shape == Shape::other) return std::numeric_limits<Bound>::infinity();
    if (info.shape == Shape::lipschitz) return static_cast<Bound>(info.slope) * x.e;
    Bound spread = 0;
    const Num by = T::from_bound(outward(x.e));
    for (const Num& away_by : {by, T::negate(by)}) {
      bool known = true;
      bool is_exact = false;
      const Num end = T::function(node.text, T::add(x.v, away_by), T::from(0.0), known, is_exact);
      if (!known || T::is_nan(end)) return std::numeric_limits<Bound>::infinity();
      const Num away = T::sub(end, f);
      spread = std::max<Bound>(spread, size_of(T::to_bound(away)) * (1 + 0x1p-40L) + own(end));
    }
    return spread;
  }

  // --- nodes -------------------------------------------------------------------------------------

  const Array& at(int id, const Chunk& chunk) {
    const Node& node = graph_.nodes[static_cast<size_t>(id)];
    Grid grid = grid_of(node.dims, chunk);
    for (auto array = arrays_.rbegin(); array != arrays_.rend(); ++array)
      if (array->node == id && array->grid == grid) return *array;
    Array fresh{id, std::move(grid), {}};
    fresh.at.resize(static_cast<size_t>(fresh.grid.size));
    kept_ += fresh.grid.size;
    evaluate(node, id, chunk, fresh);
    arrays_.push_back(std::move(fresh));
    return arrays_.back();
  }

  void evaluate(const Node& node, int id, const Chunk& chunk, Array& out) {
    switch (node.op) {
      case Op::literal:
      case Op::named:
      case Op::load:
      case Op::gather:
        return leaf(id, chunk, out);
      case Op::to_real:
        return integers(node, chunk, out);
      case Op::settle:
      case Op::prescaled:
      case Op::rescaled:
      case Op::hull:
      case Op::total:
      case Op::forms:
        out.at = at(node.args[0], chunk).at;
        return;
      case Op::where:
        return choice(node, chunk, out);
      case Op::cumsum:
        return scan(node, chunk, out);
      case Op::sum:
      case Op::max:
      case Op::min:
      case Op::mean:
      case Op::var:
        return reduction(node, chunk, out);
      default:
        elementwise(node, chunk, out);
        if (may_settle(node)) settled(id, chunk, out);
    }
  }

  /// Functions that the first tier evaluates by table.
  static bool may_settle(const Node& node) {
    if (node.op != Op::function || node.integral) return false;
    return node.text != "exp" && node.text != "sqrt" && node.text != "rsqrt";
  }

  /// What the first tier has settled stands for the exact value.
  void settled(int id, const Chunk& chunk, Array& out) {
    const auto [value, base] = first_tier(leaves_->beside(), id, chunk);
    if (value.settled == nullptr) return;
    for_runs<1>(out.grid, {&value.grid},
                [&, &value = value, base = base](int64_t done, int64_t n, const auto& offset,
                                                 const auto& stride) {
                  for (int64_t k = 0; k < n; ++k) {
                    const int64_t from = base + offset[0] + k * stride[0];
                    if (value.settled[from] != 0)
                      out.at[static_cast<size_t>(done + k)] = exact(value.v[from]);
                  }
                });
  }

  /// A node's array in the first tier, and where in it the chunk begins: of the dimensions that
  /// reductions run over, of which the chunk may hold a part, it has all.
  struct FirstTier {
    const Value& value;
    int64_t base = 0;
  };
  FirstTier first_tier(RowEvaluator& rows, int id, const Chunk& chunk) const {
    Chunk whole = chunk;
    for (int dim = 0; dim < static_cast<int>(whole.low.size()); ++dim)
      if (graph_.reduced_dim(dim)) whole = whole_along({dim}, whole);
    const Value& value = rows.at(id, whole);
    return {value, base_in(value.grid, chunk)};
  }

  void leaf(int id, const Chunk& chunk, Array& out) {
    const Value& value = leaves_->at(id, chunk);
    for (int64_t k = 0; k < out.grid.size; ++k) out.at[static_cast<size_t>(k)] = exact(value.v[k]);
  }

  void integers(const Node& node, const Chunk& chunk, Array& out) {
    const auto [value, base] = first_tier(*leaves_, node.args[0], chunk);
    for_runs<1>(out.grid, {&value.grid},
                [&, &value = value, base = base](int64_t done, int64_t n, const auto& offset,
                                                 const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    out.at[static_cast<size_t>(done + k)] = {
                        T::from_integer(value.i[base + offset[0] + k * stride[0]]), 0};
                });
  }

  void elementwise(const Node& node, const Chunk& chunk, Array& out) {
    const Array& a = at(node.args[0], chunk);
    const Array& b = node.args.size() > 1 ? at(node.args[1], chunk) : a;
    for_runs<2>(out.grid, {&a.grid, &b.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    out.at[static_cast<size_t>(done + k)] =
                        apply(node, a.at[static_cast<size_t>(offset[0] + k * stride[0])],
                              b.at[static_cast<size_t>(offset[1] + k * stride[1])]);
                });
  }

  Element apply(const Node& node, const Element& a, const Element& b) const {
    switch (node.op) {
      case Op::neg:
        return negated(a);
      case Op::abs:
        return T::less(a.v, T::from(0.0)) ? negated(a) : a;
      case Op::add:
        return add(a, b);
      case Op::sub:
        return sub(a, b);
      case Op::mul:
        return mul(a, b);
      case Op::div:
        return div(a, b);
      case Op::max2:
        return larger(a, b);
      case Op::min2:
        return negated(larger(negated(a), negated(b)));
      default:
        return function(node, a, b);
    }
  }

  Element larger(const Element& a, const Element& b) const {
    const bool a_nan = T::is_nan(a.v);
    if (a_nan || T::is_nan(b.v)) {
      if (leaves_->settings().nan != rows::NanMode::ignore) return a_nan ? a : b;
      return a_nan ? b : a;
    }
    Element m = T::less(a.v, b.v) ? b : a;
    m.e = std::max(a.e, b.e);
    if (m.e == 0 || special(a.v) || special(b.v)) return m;
    // What surely loses takes its error with it.
    const Bound lag = size_of(T::to_bound(T::sub(a.v, b.v))) * (1 - 0x1p-40L);
    const Bound rest = T::less(a.v, b.v) ? a.e - lag : b.e - lag;
    const Bound own = T::less(a.v, b.v) ? b.e : a.e;
    m.e = rest > own ? outward(rest) : own;
    return m;
  }

  void choice(const Node& node, const Chunk& chunk, Array& out) {
    const Array& a = at(node.args[1], chunk);
    const Array& b = at(node.args[2], chunk);
    const auto [c, base] = first_tier(*leaves_, node.args[0], chunk);
    for_runs<3>(
        out.grid, {&c.grid, &a.grid, &b.grid},
        [&, &c = c, base = base](int64_t done, int64_t n, const auto& offset, const auto& stride) {
          for (int64_t k = 0; k < n; ++k) {
            const bool first = c.i[base + offset[0] + k * stride[0]] != 0;
            out.at[static_cast<size_t>(done + k)] =
                first ? a.at[static_cast<size_t>(offset[1] + k * stride[1])]
                      : b.at[static_cast<size_t>(offset[2] + k * stride[2])];
          }
        });
  }

  Chunk whole_along(const std::vector<int>& dims, const Chunk& chunk) const {
    Chunk whole = chunk;
    for (const int dim : dims) {
      whole.low[static_cast<size_t>(dim)] = 0;
      whole.extent[static_cast<size_t>(dim)] = leaves_->extents()[static_cast<size_t>(dim)];
    }
    return whole;
  }

  /// Running sums along one dimension, over all of it whatever part is asked for.
  void scan(const Node& node, const Chunk& chunk, Array& out) {
    const int along = node.reduced[0];
    const Array& a = at(node.args[0], whole_along(node.reduced, chunk));
    const int64_t step_in = stride_along(a.grid, along);
    const int64_t step_out = stride_along(out.grid, along);
    const int64_t first = chunk.low[static_cast<size_t>(along)];
    const int64_t end = first + chunk.extent[static_cast<size_t>(along)];
    const int64_t whole = leaves_->extents()[static_cast<size_t>(along)];
    const bool reversed = node.text == "reversed";
    const bool exclusive = node.text == "exclusive";
    Grid lines = out.grid;
    for (size_t d = 0; d < lines.dims.size(); ++d)
      if (lines.dims[d] == along) lines.extent[d] = 1;
    lines.size = out.grid.size / std::max<int64_t>(end - first, 1);
    for_runs<2>(lines, {&a.grid, &out.grid},
                [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k) {
                    Element total = exact(0);
                    for (int64_t i = 0; i < whole; ++i) {
                      const int64_t j = reversed ? whole - 1 - i : i;
                      const int64_t from = offset[0] + k * stride[0] + j * step_in;
                      const int64_t to = offset[1] + k * stride[1] + (j - first) * step_out;
                      const bool wanted = j >= first && j < end;
                      if (wanted && exclusive) out.at[static_cast<size_t>(to)] = total;
                      total = add(total, a.at[static_cast<size_t>(from)]);
                      if (wanted && !exclusive) out.at[static_cast<size_t>(to)] = total;
                    }
                  }
                });
  }

  void reduction(const Node& node, const Chunk& chunk, Array& out) {
    const Chunk whole = whole_along(node.reduced, chunk);
    const Array& a = at(node.args[0], whole);
    const Grid reduced = grid_of(node.reduced, whole);
    for_runs<1>(out.grid, {&a.grid},
                [&](int64_t done, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    out.at[static_cast<size_t>(done + k)] =
                        reduce(node, a, reduced, offset[0] + k * stride[0]);
                });
  }

  template <typename Visit>
  static void each(const Array& a, const Grid& reduced, int64_t base, Visit visit) {
    for_runs<1>(reduced, {&a.grid},
                [&](int64_t, int64_t n, const auto& offset, const auto& stride) {
                  for (int64_t k = 0; k < n; ++k)
                    visit(a.at[static_cast<size_t>(base + offset[0] + k * stride[0])]);
                });
  }

  Element reduce(const Node& node, const Array& a, const Grid& reduced, int64_t base) const {
    if (node.op == Op::max || node.op == Op::min) return extremum(node, a, reduced, base);
    Element total = exact(0);
    each(a, reduced, base, [&](const Element& x) { total = add(total, x); });
    if (node.op == Op::sum) return total;
    const Element n = exact(static_cast<double>(reduced.size));
    const Element mean = div(total, n);
    if (node.op == Op::mean) return mean;
    Element squares = exact(0);
    each(a, reduced, base, [&](const Element& x) {
      const Element d = sub(x, mean);
      squares = add(squares, mul(d, d));
    });
    return div(squares, n);
  }

  Element extremum(const Node& node, const Array& a, const Grid& reduced, int64_t base) const {
    Element best = exact(-std::numeric_limits<double>::infinity());
    bool first = true;
    each(a, reduced, base, [&](const Element& x) {
      const Element y = node.op == Op::max ? x : negated(x);
      best = first ? y : larger(best, y);
      first = false;
    });
    return node.op == Op::max ? best : negated(best);
  }

  const Graph& graph_;
  static constexpr int64_t kKeptElements = 1 << 14;
  RowEvaluator* leaves_ = nullptr;
  int64_t case_ = -1;
  int64_t reading_ = -1;
  bool settles_ = false;  ///< some element may be: arrays hold for one reading
  int64_t kept_ = 0;
  std::deque<Array> arrays_;
};

}  // namespace assay
